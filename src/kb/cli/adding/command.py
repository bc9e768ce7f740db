"""`kb add`: sends files and folders to the engine."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import click
from rich.text import Text

from kb.cli.adding.files_to_add import Collected, collect
from kb.cli.adding.upload import OUTCOMES, Adding, Result, Source, as_source, tally
from kb.cli.commands.documents import as_metadata
from kb.cli.failure import FAILED, OK, Failure
from kb.cli.options import ANY_PATH, tags_option, with_engine
from kb.cli.session import Session
from kb.cli.terminal.output import console, cut_middle, is_terminal, print_text
from kb.cli.terminal.progress_bars import Bars
from kb.cli.terminal.safe_text import count, one_line
from kb.cli.terminal.say import print_json, warn
from kb.client import EngineClient

_FEW = 20
_INDENT = 12
_SHADES = {"added": "green", "updated": "green", "tags_added": "green", "failed": "red"}


@click.command("add")
@click.argument("paths", metavar="PATH|PATTERN|-...", nargs=-1, required=True, type=ANY_PATH)
@tags_option(help="Tags for the documents.")
@click.option("--title", metavar="TEXT", help="The title, for a single file.")
@click.option("--metadata", multiple=True, metavar="NAME=VALUE", help="Metadata; may be repeated.")
@click.option(
    "--filename", metavar="NAME", help="The name for standard input. [default: stdin.txt]"
)
@click.option("--all", "take_all", is_flag=True, help="Include hidden and git-ignored files.")
@click.option("--force-ocr", is_flag=True, default=None, help="Read pages as images.")
@click.option("--retry", is_flag=True, help="Send again what failed before.")
@click.option("--no-wait", is_flag=True, help="Do not wait until they can be found.")
@with_engine
def add_command(
    session: Session,
    paths: tuple[str, ...],
    title: str | None,
    metadata: tuple[str, ...],
    filename: str | None,
    take_all: bool,
    no_wait: bool,
    retry: bool,
    **fields: Any,
) -> int:
    """Add files and folders.

    A folder is added with everything below it, except hidden and empty files and what a .gitignore
    excludes. Links out of it are not followed. - reads a file from standard input. A file that
    was added before from the same path is updated if it has changed, and gets the tags it lacks.
    One that could not be read is not sent again until the file or kb changes.

    In a pipe there is a line for each file: outcome, document id, path, remark.
    """
    if paths.count("-") > 1:
        raise click.UsageError("- can be given only once: there is one standard input")
    if filename and "-" not in paths:
        raise click.UsageError("--filename names standard input: add it with -")
    collected = collect((path for path in paths if path != "-"), take_all)
    fields |= {"title": title, "metadata": as_metadata(metadata) if metadata else None}
    with _standard_input("-" in paths, filename or "stdin.txt") as piped:
        sources = [*piped, *map(as_source, collected.files)]
        if title and len(sources) > 1:
            raise click.UsageError(f"--title is for one file, and these are {len(sources)}")
        results = _add(session, sources, collected, wait=not no_wait, retry=retry, **fields)
    return FAILED if any(result.outcome == "failed" for result in results) else OK


@contextmanager
def _standard_input(wanted: bool, filename: str) -> Iterator[list[Source]]:
    """Standard input as a file for as long as it takes: its length must be known beforehand."""
    if not wanted:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="kb-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [Source(path, filename, None)]


def _add(
    session: Session, sources: list[Source], collected: Collected, *, wait: bool, **fields: Any
) -> list[Result]:
    results = [
        Result(path, "failed", None, {"error": "unreadable", "message": reason})
        for path, reason in collected.problems
    ]
    lines = not is_terminal() and not session.as_json
    on_result = _print_line if lines else lambda _: None
    for result in results:
        on_result(result)

    async def work(client: EngineClient) -> Adding:
        bars = Bars([source.size for source in sources])
        adding = Adding(client, bars, wait=wait, on_result=on_result, **fields)
        try:
            with bars:
                await adding.add(sources)
        except anyio.get_cancelled_exc_class():  # Ctrl-C
            warn(_stopped([*results, *adding.results]))
            raise
        return adding

    if sources:
        adding = session.run(work)
        results += adding.results
        if adding.lost is not None:
            warn(_stopped(results))
            raise session.failure(adding.lost)
    elif not results:
        raise Failure("nothing to add: there are only hidden, ignored or empty files")
    _report(session, results, collected.left_out)
    return results


def _stopped(results: list[Result]) -> str:
    """The outcome of an interrupted run: nothing that was sent is lost."""
    after = f"{count(len(results), 'file')}: {tally(results)}" if results else "0 files"
    return f'stopped after {after}; what was sent stays in the engine, see "kb jobs"'


def _report(session: Session, results: list[Result], left_out: int) -> None:
    total = f"{count(len(results), 'file')}: {tally(results)}"
    total += f" ({left_out:,} left out: hidden, ignored, empty or links)" if left_out else ""
    if session.as_json:
        counts = {name: sum(result.outcome == name for result in results) for name in OUTCOMES}
        files = [result.as_json() for result in results]
        print_json({**counts, "left_out": left_out, "files": files})
    elif not is_terminal():
        warn(total)
    else:
        told: set[str] = set()
        for result in results:
            if len(results) <= _FEW or result.outcome == "failed":
                _show_result(result, told)
        click.echo(total)


def _print_line(result: Result) -> None:
    document_id = (result.job or {}).get("document_id") or ""
    cells = (result.said, str(document_id), result.path, _remark(result))
    click.echo("\t".join(map(one_line, cells)))


def _remark(result: Result) -> str:
    """Why it failed, or which document has the same content."""
    if result.error:
        return one_line(result.error["message"])
    twin = (result.job or {}).get("duplicate_of")
    return f"the same content as document {twin}" if twin else ""


def _show_result(result: Result, told: set[str]) -> None:
    """A line, and a remark below it; what follows its first sentence is `told` only once."""
    line = Text()
    line.append(f"{result.said:<10}  ", style=_SHADES.get(result.outcome, "dim"))
    job, said = result.job or {}, ""
    if job.get("document_id"):
        passages = count(job.get("chunk_count") or 0, "passage")
        said = f"  document {job['document_id']}, {passages}"
    room = console().width - line.cell_len - len(said)
    path = cut_middle(one_line(result.path), max(20, room))
    line.append(path, style="" if result.outcome != "unchanged" else "dim")
    line.append(said, style="dim")
    print_text(line)
    remark, _, advice = _remark(result).partition(". ")
    if advice and advice not in told:
        told.add(advice)
        remark = f"{remark}. {advice}"
    if remark:
        print_text(Text(remark, "red" if result.error else "yellow"), indent=_INDENT)
