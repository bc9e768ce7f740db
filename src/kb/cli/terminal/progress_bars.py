"""Progress bars for files: on standard error, and only on a terminal."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from rich.cells import set_cell_size
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kb.cli.terminal.output import console, cut_middle
from kb.cli.terminal.safe_text import about, count, one_line, size
from kb.client import Json

_SHOW_AFTER = 0.4  # a row for every small file would only flicker
_MOST_ROWS = 4
_SHORTEST_BAR = 4
_GAP = 2
_TIME_WIDTH = len("59 min")
# What a file costs besides its bytes, in bytes: to send, store and commit even the smallest.
_EACH_FILE = 2048
_MEMORY = 20.0  # seconds that the pace goes back: unchanged files say little about new ones
_LONG = 2.0  # seconds without a file on its way: then others are before ours
_SOON = 3.0  # no guess from less than this many seconds


@dataclass
class _Row:
    """A file on its way: how much of it is sent, then done, and the seconds that will take."""

    name: str
    since: float
    sent: float = 0.0
    share: float = 0.0
    note: str = ""
    left: float | None = None


class Bars:
    """A bar for all files with their count, pace and time left, and below it those on their way.

    `sizes` are the bytes of each file: a large one takes longer than a small one.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._screen = console(err=True)
        self._clock = time.monotonic
        self._weights = [size + _EACH_FILE for size in sizes]
        self._pace = _Pace(self._clock())
        self._moved = self._clock()
        self._done, self._done_weight = 0, 0.0
        self._tally = ""
        self._rows: dict[int, _Row] = {}
        self._ahead: dict[int, int] = {}  # of each file that waits: how many jobs are before it
        self._live = Live(
            console=self._screen,
            get_renderable=self._draw,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        if self._screen.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def uploading(self, number: int, name: str, sent: int, total: int) -> None:
        row = self._row(number, name)
        row.note, row.sent = f"uploading, {size(sent)} of {size(total)}", sent / max(total, 1)

    def working(self, number: int, name: str, job: Json) -> None:
        if job["status"] == "queued":  # a row is for what moves
            self._rows.pop(number, None)
            self._ahead[number] = job.get("ahead") or 0
            return
        self._begun(number)
        row = self._row(number, name)
        row.sent = 0.0
        row.note = one_line(job.get("message") or job.get("step") or str(job["status"]))
        row.share, row.left = job["progress"], job.get("remaining_seconds")

    def finished(self, number: int, tally: str) -> None:
        self._rows.pop(number, None)
        self._begun(number)
        self._done += 1
        self._done_weight += self._weights[number]
        self._tally = tally

    def _begun(self, number: int) -> None:
        self._moved = self._clock()
        self._ahead.pop(number, None)

    @property
    def _width(self) -> int:
        """Room for the ^C that a terminal writes: were it to begin a line, that line would stay."""
        return max(20, self._screen.width - 3)

    def _row(self, number: int, name: str) -> _Row:
        return self._rows.setdefault(number, _Row(one_line(name), self._clock()))

    def _draw(self) -> RenderableType:
        now, rows = self._clock(), dict(self._rows)
        done = self._done_weight
        done += sum(self._weights[number] * row.share for number, row in rows.items())
        self._pace.look(now, self._done, done)
        shown = [row for row in rows.values() if now - row.since > _SHOW_AFTER][:_MOST_ROWS]
        shown = shown or list(rows.values())[-1:]
        lines: list[RenderableType] = [self._line(row) for row in shown]
        if not lines and now - self._moved > _LONG:
            lines = [self._waiting()]
        if len(self._weights) == 1:
            return Group(*lines)
        slowest = max((row.left or 0.0 for row in rows.values()), default=0.0)
        left = self._pace.left(sum(self._weights) - done, slowest)
        tally = Text(f"  {self._tally}", style="dim", no_wrap=True, overflow="ellipsis")
        return Group(self._all(left), *([tally] if self._tally else []), *lines)

    def _waiting(self) -> Text:
        ahead = min(dict(self._ahead).values(), default=0)
        what = count(ahead, "job") + " before these" if ahead else "what the engine did before"
        return Text(f"  waiting for {what}", style="dim", no_wrap=True, overflow="ellipsis")

    def _all(self, left: float | None) -> RenderableType:
        """All files: `312 of 1,204 files ━━━━━━━━ 41 files/s · about 3 min left`."""
        total = len(self._weights)
        counts = f"{self._done:,} of {count(total, 'file')}"
        rate = self._pace.rate(sum(self._weights) / total)
        times = [] if left is None else [f"{about(left)} left"]
        right = " · ".join([*filter(None, [rate]), *times])
        if self._width - len(counts) - len(right) < _SHORTEST_BAR + 2 * _GAP:
            right = "".join(times)
        room = self._width - len(counts) - len(right) - 2 * _GAP
        if room < _SHORTEST_BAR:
            return Text(f"{counts}  {right}", no_wrap=True, overflow="ellipsis")
        return _grid([Text(counts), _bar(self._done / total, room), Text(right)])

    def _line(self, row: _Row) -> RenderableType:
        """One file: its name, its bar, the current step, and the time it takes."""
        bar = self._width // 8
        room = self._width - bar - _TIME_WIDTH - 3 * _GAP
        name = room * 9 // 20
        note = Text(row.note, style="dim", no_wrap=True, overflow="ellipsis")
        note.truncate(room - name, overflow="ellipsis", pad=True)
        left = "" if row.left is None else about(row.left).removeprefix("about ")
        return _grid(
            [
                Text(set_cell_size(cut_middle(row.name, name), name)),
                _bar(row.sent or row.share, bar),
                note,
                Text(left[:_TIME_WIDTH].rjust(_TIME_WIDTH)),
            ]
        )


def _bar(share: float, width: int) -> ProgressBar:
    return ProgressBar(total=1.0, completed=share, width=width)


def _grid(cells: Sequence[RenderableType]) -> Table:
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in cells:
        grid.add_column(no_wrap=True)
    grid.add_row(*cells)
    return grid


class _Pace:
    """How fast it goes: what was done lately counts, what was done long ago fades."""

    def __init__(self, now: float) -> None:
        self._began = self._now = now
        self._seen = (0.0, 0.0)
        self._files = self._weight = self._seconds = 0.0

    def look(self, now: float, files: int, weight: float) -> None:
        passed, self._now = now - self._now, now
        fades = math.exp(-passed / _MEMORY)
        self._files = self._files * fades + files - self._seen[0]
        self._weight = self._weight * fades + max(0.0, weight - self._seen[1])
        self._seconds = self._seconds * fades + passed
        self._seen = (files, max(weight, self._seen[1]))

    def left(self, weight: float, at_least: float) -> float | None:
        """Seconds for the rest; None while too little is known."""
        if self._now - self._began < _SOON or not self._weight:
            return None
        return max(weight * self._seconds / self._weight, at_least)

    def rate(self, usual_weight: float) -> str:
        """`41 files/s`, or what fits where a file takes longer than a second."""
        if self._now - self._began < _SOON or not self._files:
            return ""
        files = self._files / self._seconds
        if files >= 1:
            return f"{files:.0f} files/s" if files >= 9.95 else f"{files:.1f} files/s"
        if usual_weight > 2**20:
            return f"{size(round(self._weight / self._seconds))}/s"
        return f"{files * 60:.0f} files/min"
