"""Completes a half-typed word, asking the engine for what only it knows.

The person who pressed Tab is waiting. So the request has a short timeout, and without an answer
nothing is offered and no error is shown.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anyio
import click
import httpx
from click.shell_completion import CompletionItem

from kb.cli.session import engine_of
from kb.cli.terminal.safe_text import count, one_line
from kb.client import EngineClient, Json
from kb.settings import BadSetting

_DEADLINE = 0.5  # seconds
_FEW = 50  # offered where nothing is typed yet
_MANY = 1000  # looked through where something is
_HELP_WIDTH = 60

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _asked(context: click.Context, ask: Callable[[EngineClient], Awaitable[Json]]) -> Json | None:
    """The engine's answer, if it comes in time."""

    async def work() -> Json | None:
        given = context.params
        url, key, _ = engine_of(given.get("engine_url"), given.get("api_key_file"))
        with anyio.move_on_after(_DEADLINE):
            async with EngineClient(url, key) as client:
                return await ask(client)
        return None

    try:
        return anyio.run(work)
    except (BadSetting, httpx.HTTPError, httpx.InvalidURL, ValueError, OSError):
        return None


def complete_tags(context: click.Context, _parameter: Any, typed: str) -> list[CompletionItem]:
    """The last tag of a list with commas."""
    before, comma, begun = typed.rpartition(",")
    answer = _asked(context, lambda client: client.tags()) or {"tags": []}
    taken = {tag.strip() for tag in before.split(",")}
    return [
        CompletionItem(f"{before}{comma}{row['tag']}", help=count(row["count"], "document"))
        for row in answer["tags"]
        if row["tag"].startswith(begun) and row["tag"] not in taken
    ]


def complete_documents(**filters: Any) -> Complete:
    """The ids of the newest documents, with their titles; a path is completed by the shell."""

    def complete(context: click.Context, _parameter: Any, typed: str) -> list[CompletionItem]:
        path = CompletionItem(typed, type="file")
        if typed and not typed.isdecimal():
            return [path]
        limit = _MANY if typed else _FEW
        answer = _asked(context, lambda client: client.documents(**filters, limit=limit))
        found = (answer or {"documents": []})["documents"]
        return [path, *_ids(((each["id"], each["title"]) for each in found), typed)]

    return complete


def complete_jobs(*statuses: str) -> Complete:
    """The ids of the newest jobs, with what they are about; of these statuses only, if any."""

    def complete(context: click.Context, _parameter: Any, typed: str) -> list[CompletionItem]:
        limit = _MANY if typed else _FEW

        async def ask(client: EngineClient) -> Json:
            pages = [await client.jobs(status=each, limit=limit) for each in statuses or (None,)]
            return {"jobs": [job for page in pages for job in page["jobs"]]}

        found = (_asked(context, ask) or {"jobs": []})["jobs"]
        said = ((job["id"], f"{job['status']}: {job['filename'] or 'note'}") for job in found)
        return _ids(said, typed)

    return complete


def _ids(found: Iterable[tuple[int, str]], typed: str) -> list[CompletionItem]:
    return [
        CompletionItem(str(number), help=one_line(said)[:_HELP_WIDTH])
        for number, said in found
        if str(number).startswith(typed)
    ]
