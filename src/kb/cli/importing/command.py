"""`kb import`: imports what kb or another program exported."""

from collections import Counter
from pathlib import Path

import anyio
import click

from kb.cli.failure import FAILED, OK, Failure
from kb.cli.importing.run import DAMAGED, OUTCOMES, Import, Result
from kb.cli.many import bar_of
from kb.cli.options import tags_option, with_engine
from kb.cli.session import Session
from kb.cli.terminal.output import is_terminal
from kb.cli.terminal.safe_text import count, one_line
from kb.cli.terminal.say import print_json, warn
from kb.cli.which import refuse_empty
from kb.client import EngineClient
from kb.imports.archive import unpacked
from kb.imports.item import Source, Unreadable
from kb.imports.sources import SOURCES, source_for

_FEW = 20
_KINDS = ("note", "file")


@click.command("import")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "name",
    metavar="NAME",
    type=click.Choice([source.name for source in SOURCES]),
    help=f"Which program it comes from: {', '.join(source.name for source in SOURCES)}.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--force", is_flag=True, help="Also replace what was changed here since.")
@tags_option(help="Tags for all documents, in addition to their own.")
@with_engine
def import_command(
    session: Session, path: Path, name: str | None, dry_run: bool, force: bool, tags: list[str]
) -> int:
    """Import what kb or another program exported.

    PATH is a folder, a file or a .zip; kb recognises the program. A document that was imported
    before is updated in place if anything is new. A document that was changed here since is a
    conflict and stays as it is, unless --force is given.

    In a pipe there is a line for each document: outcome, document id, key, title, remark.
    """
    refuse_empty("name a tag, or leave it out", "tags")
    if not path.exists():
        raise Failure(f"{path}: no such file or folder")
    place = path
    try:
        with unpacked(path) as place:
            source = source_for(place, name)
            run = session.run(
                lambda client: _run(client, session, source, place, path, tags, force, dry_run)
            )
            if not run.results and run.skipped and not source.recognises(place):
                raise Unreadable(
                    f"{path} is no export of {source.name}: nothing in it can be read as one "
                    f"({run.skipped[0].key}: {run.skipped[0].why})"
                )
    except Unreadable as error:
        raise Failure(str(error).replace(str(place), str(path))) from error
    _report(session, run, path, dry_run)
    if run.lost is not None:
        warn("stopped; what was imported stays, and the same command continues from there")
        raise (
            Failure(str(run.lost).replace(str(place), str(path)))
            if isinstance(run.lost, Unreadable)
            else session.failure(run.lost)
        )
    counts = run.tally()
    return FAILED if counts["failed"] or counts["conflict"] else OK


async def _run(
    client: EngineClient,
    session: Session,
    source: Source,
    place: Path,
    path: Path,
    tags: list[str],
    force: bool,
    dry_run: bool,
) -> Import:
    lines = not is_terminal() and not session.as_json
    run = Import(
        client,
        source,
        place,
        path,
        tuple(tags),
        force,
        _print_line if lines else lambda _: None,
    )
    await run.plan()
    if dry_run:
        for result in run.results.values():
            run.on_result(result)
        return run
    try:
        with bar_of("documents") as bar:
            await run.send(bar, bar.add_task("", total=len(run.to_do())))
    except anyio.get_cancelled_exc_class():  # Ctrl-C
        warn("stopped; what was imported stays, and the same command continues from there")
        raise
    return run


def _print_line(result: Result) -> None:
    document_id = str(result.document_id or "")
    cells = (result.outcome, document_id, result.key, result.title, _remark(result))
    click.echo("\t".join(map(one_line, cells)))


def _remark(result: Result) -> str:
    if result.error:
        return str(result.error["message"])
    return "changed here since" if result.outcome == "conflict" else ""


def _report(session: Session, run: Import, path: Path, dry_run: bool) -> None:
    counts = run.tally()
    if session.as_json:
        print_json(
            {
                "path": str(path),
                "source": run.source.name,
                "dry_run": dry_run,
                **{name: counts[name] for name in OUTCOMES},
                "skipped": [{"key": each.key, "why": each.why} for each in run.skipped],
                "remarks": [{"key": each.key, "why": each.why} for each in run.remarks],
                "documents": [result.as_json() for result in run.results.values()],
            }
        )
        return
    say = click.echo if is_terminal() else warn
    for told, word in ((run.skipped, "skipped"), (run.remarks, "a remark on")):
        for each in told[:_FEW]:
            warn(f"{word} {one_line(each.key)}: {one_line(each.why)}")
        if told[_FEW:]:
            warn(f"… and {len(told) - _FEW:,} more; --json has all")
    if is_terminal():
        _show_trouble(run)
    for kind in _KINDS:
        of_kind = Counter(r.outcome for r in run.results.values() if r.kind == kind)
        if of_kind:
            say(f"{count(of_kind.total(), kind)}: {_tally(of_kind)}")
    say(_summary(run, counts, dry_run))


def _show_trouble(run: Import) -> None:
    trouble = [r for r in run.results.values() if r.outcome in ("conflict", "unread", "failed")]
    for result in trouble[:_FEW]:
        where = f" (document {result.document_id})" if result.document_id else ""
        click.echo(
            f"{result.outcome}  {one_line(result.title)}{where}: {one_line(_remark(result))}"
        )
    if trouble[_FEW:]:
        click.echo(f"… and {len(trouble) - _FEW:,} more; in a pipe or with --json there are all")


def _tally(counts: Counter[str]) -> str:
    told = ((counts[name], name) for name in OUTCOMES if counts[name])
    return ", ".join(
        count(number, name) if name == "conflict" else f"{number:,} {name}" for number, name in told
    )


def _summary(run: Import, counts: Counter[str], dry_run: bool) -> str:
    damaged = sum(result.kind == DAMAGED for result in run.results.values())
    total = f"{count(len(run.results) - damaged, 'document')} from {run.source.name}"
    total += f", {damaged:,} damaged" if damaged else ""
    total += f", {len(run.skipped):,} skipped" if run.skipped else ""
    total += f", {count(len(run.remarks), 'remark')}" if run.remarks else ""
    if dry_run:
        return f"{total}; nothing was changed"
    if run.lost is not None:
        return f"{total}; it was stopped with {count(run.left, 'document')} still to do"
    if counts["conflict"] and not run.force:
        return f"{total}; --force replaces what was changed here"
    return total
