"""`kb model`: lists and chooses the model that turns text into vectors."""

import anyio
import click
from rich.progress import TextColumn, TimeRemainingColumn
from rich.text import Text

from kb.cli.failure import FAILED, OK
from kb.cli.many import bar_of_steps
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.output import Column, print_fields, print_rows
from kb.cli.terminal.safe_text import count, one_line, size
from kb.client import EngineClient, Json

_POLL_SECONDS = 1.0
_STATES = {"active": "in use", "next": "to come", "available": ""}
_SHADES = {"active": "green", "next": "yellow", "available": ""}
_SET_BY = {"setting": "the setting KB_MODEL", "choice": "kb model use", "default": "default"}

_COLUMNS = [
    Column("model", style="bold"),
    Column("state"),
    Column("size", right=True),
    Column("languages", share=1),
    Column("from", style="dim", share=1),
]


@click.group("model")
def model_command() -> None:
    """Choose the model that search by meaning uses."""


@model_command.command("list")
@with_engine
def list_command(session: Session) -> None:
    """List the models installed on the engine's machine.

    In a pipe the columns are name, state, size, languages, origin.
    """
    session.show(session.run(lambda client: client.models()), _show_models)


@model_command.command("status")
@with_engine
def status_command(session: Session) -> None:
    """Show which model is in use, and the progress of a change to another one."""
    session.show(session.run(lambda client: client.models()), _show_status)


@model_command.command("use")
@click.argument("name")
@click.option("--wait", is_flag=True, help="Wait until the model is in use.")
@with_engine
def use_command(session: Session, name: str, wait: bool) -> int:
    """Switch to another model.

    Every passage gets a new vector, in the background. Search uses the old ones until all are
    there. To cancel the change, use the old model again.
    """

    async def work(client: EngineClient) -> Json:
        answer = await client.use_model(name)
        return await _changed(client) if wait else answer

    answer = session.run(work)
    session.show(answer, _show_use)
    failed = (answer["change"] or {}).get("state") == "failed"
    return FAILED if failed or (wait and answer["active"] != name) else OK


async def _changed(client: EngineClient) -> Json:
    """The models once the change is over, or cannot go on; with a bar on a terminal."""
    counted = TextColumn("{task.completed:,.0f} of {task.total:,.0f} passages")
    with bar_of_steps(counted, TimeRemainingColumn()) as tell:
        while True:
            answer = await client.models()
            change = answer["change"]
            if change is None or change["state"] == "failed":
                return answer
            tell(change["name"], change["done"], change["total"])
            await anyio.sleep(_POLL_SECONDS)


def _show_models(answer: Json) -> None:
    rows = []
    for model in answer["models"]:
        state = _STATES[model["state"]]
        if model["state"] == "next" and answer["change"]:
            state = f"{state}, {_share(answer['change'])}"
        rows.append(
            (
                model["name"],
                Text(state, style=_SHADES[model["state"]]),
                size(model["size_bytes"]) if model["installed"] else "",
                model["languages"],
                model["origin"] if model["installed"] else "not installed any more",
            )
        )
    print_rows(_COLUMNS, rows)


def _show_status(answer: Json) -> None:
    print_fields(
        [
            ("model", answer["active"]),
            ("chosen by", _SET_BY[answer["set_by"]]),
            ("change", describe_change(answer["change"]) if answer["change"] else None),
        ]
    )


def _show_use(answer: Json) -> None:
    change = answer["change"]
    if change is None:
        click.echo(f"{one_line(answer['active'])} is in use")
    elif change["state"] == "failed":
        click.echo(describe_change(change))
    else:
        click.echo(
            f"{one_line(change['name'])} gets its vectors for {count(change['total'], 'passage')} "
            f"in the background; until then search goes on with {one_line(answer['active'])}. "
            '"kb model status" shows how far it is'
        )


def describe_change(change: Json) -> str:
    """How far a change to another model is, on one line."""
    name = one_line(change["name"])
    if change["state"] == "failed":
        return f"{name} cannot be loaded: {one_line(change['failure'] or '')}"
    done = f"{change['done']:,} of {count(change['total'], 'passage')}"
    return f"to {name}: {done} ready, {_share(change)}"


def _share(change: Json) -> str:
    """Rounded down: a hundred per cent only when it is finished."""
    return f"{100 * change['done'] // max(1, change['total'])} %"
