"""`kb events`: prints a line for each thing that happens in the engine."""

from contextlib import aclosing
from datetime import datetime
from typing import Any

import click
import httpx
from rich.text import Text

from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.job_rows import SHADES, in_short, what
from kb.cli.terminal.output import console, is_terminal
from kb.cli.terminal.safe_text import count, one_line
from kb.cli.terminal.say import print_json
from kb.client import ENDED, EngineClient, Json

_MOST_NAMES = 1000


@click.command("events")
@with_engine
def events_command(session: Session) -> None:
    """Follow what happens in the engine.

    A terminal shows a line for each document that is added, changed or deleted, and for each job
    that is queued, begins or ends, until Ctrl-C. In a pipe every event is a line: its name and its
    data. With --json a line is one object with event, id and data.
    """
    if session.as_json or not is_terminal():
        session.run(lambda client: _follow(client, session.as_json))
    else:
        session.run(_tell)


async def _follow(client: EngineClient, as_json: bool) -> None:
    async with aclosing(client.events()) as events:
        async for event in events:
            if as_json:
                print_json(event, indent=None)
            else:
                click.echo(f"{one_line(event['event'])}\t{_summary(event['data'])}")


def _summary(data: Any) -> str:
    """The short fields of an event as `name=value`."""
    if not isinstance(data, dict):
        return one_line(str(data))
    return "\t".join(
        f"{name}={one_line(str(value))}"
        for name, value in data.items()
        if isinstance(value, str | int | float)
    )


async def _tell(client: EngineClient) -> None:
    """In words. A job's steps are left out: `kb jobs --watch` shows them where they belong."""
    screen, teller = console(), _Teller(client)
    async with aclosing(client.events()) as events:
        async for event in events:
            said = await teller.words(event["event"], event["data"])
            if said is not None:
                now = datetime.now().astimezone().strftime("%H:%M:%S  ")
                screen.print(Text(now, style="dim") + said, no_wrap=True, overflow="ellipsis")


class _Teller:
    """Remembers what a job was last seen at and what a document is called, for a while."""

    def __init__(self, client: EngineClient) -> None:
        self._client = client
        self._statuses: dict[int, str] = {}
        self._names: dict[int, str] = {}

    async def words(self, event: str, data: Json) -> Text | None:
        if event == "job":
            return self._job(data)
        if event == "documents.cleared":
            return _line(count(data["documents_removed"], "document"), "deleted", "red", "")
        if "document_id" not in data:
            return Text(f"{one_line(event)}  {_summary(data)}")
        verb, document_id = one_line(event.rpartition(".")[2]), data["document_id"]
        name = await self._name(document_id, gone=verb == "deleted")
        shade = "green" if verb == "added" else "red" if verb == "deleted" else "yellow"
        return _line(f"document {document_id}", verb, shade, name)

    def _job(self, job: Json) -> Text | None:
        job_id, status = job["id"], job["status"]
        if job.get("document_id") and job["filename"]:
            self._remember(job["document_id"], what(job))
        if self._statuses.get(job_id) == status:
            return None
        self._statuses[job_id] = status
        if status in ENDED:
            del self._statuses[job_id]
        said = in_short(job) if status in ENDED else ""
        return _line(f"job {job_id}", status, SHADES.get(status, ""), what(job), said)

    async def _name(self, document_id: int, gone: bool) -> str:
        if document_id not in self._names and not gone:
            try:
                document = await self._client.document(document_id, chunks=False)
            except httpx.HTTPStatusError:  # gone meanwhile, which will be told next
                return ""
            self._remember(document_id, one_line(document["title"]))
        return self._names.pop(document_id, "") if gone else self._names[document_id]

    def _remember(self, document_id: int, name: str) -> None:
        self._names[document_id] = name
        if len(self._names) > _MOST_NAMES:
            del self._names[next(iter(self._names))]


def _line(subject: str, verb: str, shade: str, name: str, said: str = "") -> Text:
    """`document 607   added      Tides`, the columns below each other."""
    parts = [(f"{subject:<14}  ", ""), (f"{verb:<9}", shade), (f"  {name}", "bold")]
    return Text.assemble(*parts, (f"  {said}" if said else "", "dim"))
