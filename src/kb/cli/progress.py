"""What happens to files in, moving bars out: on standard error, and only on a terminal."""

import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from kb.cli.output import console
from kb.cli.text import count, one_line, size
from kb.client import Json

_SHOW_AFTER = 0.4  # a row for every small file would only flicker
_NAME_WIDTH = 32


class Bars:
    """One bar for all files, and one for each that takes long; gone when the work is done."""

    def __init__(self, total: int) -> None:
        self._screen = console(err=True)
        # Room for the ^C that a terminal writes: it must not begin a line, or that line would stay.
        self._screen.width = max(20, self._screen.width - 3)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=self._screen,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self._screen.is_terminal,
        )
        self._total = total
        self._all = self._progress.add_task(_column(count(total, "file")), total=total, note="")
        self._rows: dict[int, tuple[TaskID, float]] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def uploading(self, number: int, name: str, sent: int, total: int) -> None:
        if sent >= total:  # a bar that was full once would show that time for ever
            self._drop(number)
            return
        note = f"uploading, {size(sent)} of {size(total)}"
        self._update(number, name, sent / max(total, 1), note)

    def working(self, number: int, name: str, job: Json) -> None:
        if job["status"] == "queued":  # a row is for what moves
            self._drop(number)
            return
        note = one_line(job.get("message") or job.get("step") or "")
        self._update(number, name, job["progress"], note or str(job["status"]))

    def finished(self, number: int, tally: str) -> None:
        self._drop(number)
        self._progress.update(self._all, advance=1, note=tally)

    def _drop(self, number: int) -> None:
        row = self._rows.pop(number, None)
        if row is not None:
            self._progress.remove_task(row[0])

    def _update(self, number: int, name: str, share: float, note: str) -> None:
        now = time.monotonic()
        if number not in self._rows:
            task = self._progress.add_task(_column(name), total=1.0, note="", visible=False)
            self._rows[number] = (task, now)
        task, since = self._rows[number]
        visible = self._total == 1 or now - since > _SHOW_AFTER
        self._progress.update(task, completed=share, note=note, visible=visible)


def _column(name: str) -> str:
    """The name in a column of fixed width, so that the bars stand below each other."""
    name = one_line(name)
    if len(name) > _NAME_WIDTH:
        name = f"{name[: _NAME_WIDTH - 13]}…{name[-12:]}"
    return f"{name:<{_NAME_WIDTH}}"
