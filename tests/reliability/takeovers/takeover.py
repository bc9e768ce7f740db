"""A v2 folder in, a store out, or a process that died on the way at a step of the test's choice."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from kb.engine.app import build_engine
from kb.engine.data_folder.folder import DataFolder
from kb.engine.settings import Settings

DIED = 77


def start_and_close(folder: str) -> None:
    """Everything that a start does to the data folder."""
    engine = build_engine(
        Settings(Path(folder), embedder="hash", reserve_mb=1), DataFolder(Path(folder))
    )
    engine.store.close()


def start_and_die(folder: str, at: int | None, steps: str) -> None:
    """Start, but end without warning just before step number `at`; list the steps when whole."""
    counter = _Steps(at)
    counter.plant()
    start_and_close(folder)
    Path(steps).write_text("\n".join(counter.seen), "utf-8")


class _Steps:
    """Counts what can change the disk: calls on files, and every statement of every connection."""

    def __init__(self, at: int | None) -> None:
        self._at = at
        self.seen: list[str] = []

    def plant(self) -> None:
        for module, name in (
            (os, "link"),
            (os, "fsync"),
            (os, "mkdir"),
            (os, "unlink"),
            (os, "rmdir"),
            (os, "rename"),
        ):
            setattr(module, name, self._counted(name, getattr(module, name)))
        shutil.copyfile = self._copied_in_two_steps  # type: ignore[assignment]
        apsw.connection_hooks.append(self._watch)

    def step(self, name: str) -> None:
        if len(self.seen) == self._at:
            os._exit(DIED)
        self.seen.append(name)

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.step(name)
            return call(*arguments, **named)

        return counted

    def _copied_in_two_steps(self, source: Path, target: Path) -> None:
        content = Path(source).read_bytes()
        for part in (content[: len(content) // 2], content):
            self.step("copy")
            Path(target).write_bytes(part)

    def _watch(self, connection: apsw.Connection) -> None:
        def statement(_cursor: object, sql: str, _values: object) -> bool:
            self.step(f"sql {sql.split(maxsplit=1)[0].upper()}")
            return True

        connection.exec_trace = statement
