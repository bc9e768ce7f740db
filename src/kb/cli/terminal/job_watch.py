"""`kb jobs --watch`: shows the queue as a live screen, or a line for each change."""

from collections.abc import Iterator
from contextlib import aclosing

import anyio
from rich.console import Group
from rich.live import Live
from rich.text import Text

from kb.cli.terminal.job_rows import COLUMNS, print_jobs, row
from kb.cli.terminal.output import console, table
from kb.cli.terminal.safe_text import about
from kb.cli.terminal.say import print_json
from kb.client import ENDED, EngineClient, Json
from kb.platform import RESIZED

_REFRESH_SECONDS = 1.0
_AROUND = 4  # the totals, an empty line, the names of the columns, and how to end it


async def watch_screen(client: EngineClient, status: str | None, limit: int | None) -> None:
    """As much as fits on the screen, redrawn every second and whenever the screen changes."""
    screen = console()
    with (
        anyio.open_signal_receiver(*RESIZED) as resizes,
        Live(console=screen, screen=True, auto_refresh=False) as live,
    ):
        while True:
            rows = max(1, min(screen.height - _AROUND, limit or screen.height))
            queue = await _look(client, status, rows)
            live.update(frame(queue, rows, screen.width), refresh=True)
            with anyio.move_on_after(_REFRESH_SECONDS):
                await anext(resizes)


async def _look(client: EngineClient, status: str | None, rows: int) -> Json:
    """The queue; with a status, only the jobs that have it."""
    queue = await client.queue(limit=rows)
    if status in ENDED:
        queue["ended"] = (await client.jobs(status=status, limit=rows))["jobs"]
    for name in ("running", "queued", "ended"):
        if status is not None and name != (status if status not in ENDED else "ended"):
            queue[name] = []
    return queue


def frame(queue: Json, rows: int, width: int) -> Group:
    """The totals, and a table of at most this many rows."""
    return Group(
        Text(_totals(queue), no_wrap=True, overflow="ellipsis"),
        Text(),
        table(COLUMNS, list(_rows(queue, rows)), width),
        Text("Ctrl-C ends this", style="dim", no_wrap=True, overflow="ellipsis"),
    )


def _totals(queue: Json) -> str:
    counts = queue["counts"]
    going = f"{counts['running']:,} running · {counts['queued']:,} queued"
    if counts["running"] or counts["queued"]:
        going += f", {about(queue['remaining_seconds'])} left"
    return f"{going} · {counts['done']:,} done · {counts['failed']:,} failed"


def _rows(queue: Json, room: int) -> Iterator[tuple[object, ...]]:
    """Running jobs come first. Ended ones keep a third of the rest, however many wait."""
    running = queue["running"][:room]
    room -= len(running)
    queued = queue["queued"][: room - min(len(queue["ended"]), room // 3)]
    more = queue["counts"]["queued"] - len(queued) if queued else 0
    if more:
        queued, more = queued[:-1], more + 1
    yield from map(row, [*running, *queued])
    if more:
        yield ("", Text("queued"), "", "", Text(f"… and {more:,} more", style="dim"), "", "")
    yield from map(row, queue["ended"][: room - len(queued) - bool(more)])


async def watch_lines(client: EngineClient, as_json: bool, status: str | None) -> None:
    """A line for each change of a job: columns for people's tools, JSON for programs."""
    async with aclosing(client.events()) as events:
        async for event in events:
            job = event["data"]
            if not event["event"].startswith("job") or status not in (None, job.get("status")):
                continue
            if as_json:
                print_json(job, indent=None)
            else:
                print_jobs([job])
