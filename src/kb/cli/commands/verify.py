"""`kb verify`: checks everything stored, through the engine or in a folder that no engine uses."""

from pathlib import Path

import anyio
import click
import httpx
from rich.progress import TextColumn

from kb.cli.at_rest import own_folder, run_at_rest
from kb.cli.failure import FAILED, OK, Failure
from kb.cli.many import bar_of_steps
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.safe_text import clean, count, one_line
from kb.client import EngineClient, Json, problem

_EVERY = 0.2  # seconds
_SHOWN = 200
_SHOWN_REPAIRED = 10  # of what was found, where a repair has more to say
_COUNTED = {
    "pages": "page",
    "documents": "document",
    "passages": "passage",
    "originals": "original",
    "jobs": "job",
}


@click.command("verify")
@click.option("--repair", is_flag=True, help="Repair what can be repaired, and name what is lost.")
@click.option(
    "--data-dir",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Check this folder, which no engine may be using, instead of a running engine.",
)
@click.option("--cancel", is_flag=True, help="Stop the check that a running engine is doing.")
@with_engine
def verify_command(session: Session, repair: bool, data_dir: Path | None, cancel: bool) -> int:
    """Check everything that is stored; --repair repairs what it can.

    The running engine does the check. If none runs on this machine, kb checks the data folder
    itself. To rebuild a damaged database, stop kb first; the old file is kept beside the new one.

    \b
    Exit code 0 if everything is in order, or is again after --repair;
    1 if something is wrong or lost.
    """
    if cancel:
        session.show(session.run(lambda client: client.cancel_verify()), _show)
        return OK
    answer = None if data_dir else _by_engine(session, repair)
    if answer is None:
        options = ["--data-dir", str(data_dir or own_folder()), *(["--repair"] if repair else [])]
        answer = run_at_rest("kb.engine.verify", options, "checking ")
    session.show(answer, _show)
    return OK if _is_whole(answer) else FAILED


def _by_engine(session: Session, repair: bool) -> Json | None:
    """None where no engine runs on this machine."""

    async def work(client: EngineClient) -> Json | None:
        try:
            state = await client.start_verify(repair=repair)
        except httpx.HTTPStatusError as error:
            if problem(error)["error"] != "verify_running":
                raise
            state = await client.verify()
        except httpx.ConnectError:
            if session.is_here():
                return None
            raise
        with bar_of_steps(TextColumn("{task.percentage:.0f} %")) as tell:
            while state["state"] == "running":
                tell(f"checking {state['step']}", state["progress"], 1)
                await anyio.sleep(_EVERY)
                state = await client.verify()
        return state

    state = session.run(work)
    if state is not None and state["state"] == "failed":
        raise Failure(f"the check could not be made: {state['failure']}")
    return state


def _is_whole(answer: Json) -> bool:
    """After a repair what counts is what it has left."""
    left = answer.get("left")
    is_whole = bool(answer["whole"]) if left is None else not left
    return is_whole and not answer.get("lost") and not answer.get("unproven")


def _show(answer: Json) -> None:
    checked = answer.get("checked") or {}
    if not checked and answer.get("state"):
        click.echo(f"no check was made: {answer['state']}")
        return
    told = _checked(checked)
    click.echo(f"checked {told}" if told else "nothing could be checked")
    if answer.get("state") == "cancelled":
        click.echo("the check was cancelled")
    for line in _lines(answer):
        click.echo(clean(line))


def _checked(counts: Json) -> str:
    """What a person stored is counted; what was derived from it is only named."""
    told = [count(number, _COUNTED[name]) for name, number in counts.items() if name in _COUNTED]
    if not told:  # the database cannot be opened
        return ""
    rest = "" if counts.keys() <= _COUNTED.keys() else ", indexes and totals"
    return ", ".join(told) + rest


def _lines(answer: Json) -> list[str]:
    findings, total = answer.get("findings") or [], answer.get("findings_total", 0)
    most = _SHOWN if answer.get("left") is None else _SHOWN_REPAIRED
    lines = [_finding(finding) for finding in findings[:most]]
    if total > len(lines):
        lines.append(f"… and {total - len(lines):,} more; --json has them")
    for said, name in (("repaired", "repaired"), ("lost", "lost"), ("not proven", "unproven")):
        lines += [f"{said}: {one_line(each)}" for each in answer.get(name) or []]
    if answer.get("damaged_database"):
        lines.append(f"the damaged database is kept as {answer['damaged_database']}")
    lines += [f"still wrong: {_finding(each)}" for each in (answer.get("left") or [])[:_SHOWN]]
    if answer.get("hint"):
        lines.append(one_line(answer["hint"]))
    if not total:
        lines.append("all is whole")
    elif answer.get("left") is None or _is_for_rest(answer):
        lines.append(f"{count(total, 'finding')}; {_advice(answer)}")
    elif unread := [each for each in answer["left"] if each["kind"] == "text" and each["job_id"]]:
        are = "document is" if len(unread) == 1 else "documents are"
        lines.append(f"{len(unread)} {are} read again {_when(answer)}")
    elif _is_whole(answer):
        lines.append("everything is in order again; nothing is lost")
    return lines


def _when(answer: Json) -> str:
    return "now, by a job" if "state" in answer else "by the engine's next start"


def _advice(answer: Json) -> str:
    repair = "kb verify --repair repairs what it can"
    return f"stop kb, then {repair}" if _is_for_rest(answer) else repair


def _is_for_rest(answer: Json) -> bool:
    """Whether a running engine found damage that only a repair without one can fix."""
    kinds = {finding["kind"] for finding in answer.get("findings") or []}
    return "state" in answer and "database" in kinds


def _finding(finding: Json) -> str:
    about = ""
    if finding.get("document_id"):
        title = f" ({one_line(finding['title'])})" if finding.get("title") else ""
        about = f"document {finding['document_id']}{title}: "
    source = finding.get("made_from")
    can = f"; {_chance(finding)} from {source}" if source else ""
    return f"{about}{one_line(finding['what'])}{can}"


def _chance(finding: Json) -> str:
    """Nobody knows before trying how much of lost data a repair can recover."""
    return "may be had again" if finding["kind"] == "database" else "can be made again"
