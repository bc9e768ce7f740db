"""A number of backups in, what of them was not one instant of the history out.

Four clients write without a pause while backups are made; then they wait while what was made is
restored, started and compared. In the other run everything is killed at a random moment meanwhile.
"""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kb.engine.backup.restoring import chosen, restore
from kb.engine.backup.shelf import Kept, shelves
from kb.engine.backup.steps import tell_nobody
from kb.engine.errors import BackupFailed

from ..clients import Client
from ..engine_process import PATIENCE, Answer, EngineProcess, Zygote, wait_until
from ..store_check import check_store
from .crash import CrashRun
from .history import Historian, compare

CLIENTS = 4
_DONE_SECONDS = 180.0


@dataclass(slots=True)
class Report:
    finished: int = 0
    unfinished: int = 0
    refused: int = 0
    writes: int = 0
    during: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.finished} backups restored, {self.unfinished} killed and {self.refused} of "
            f"them refused, in {self.seconds:.0f} s; {self.writes} writes confirmed, {self.during} "
            f"of them while a backup was made; {len(self.violations)} violations"
        )


class Restored:
    """Restores backups and compares them with what was confirmed."""

    def __init__(self, zygote: Zygote, scratch: Path, historians: list[Historian]) -> None:
        self._zygote = zygote
        self._scratch = scratch
        self._historians = historians

    def violations(self, kept: Kept, began: float, ended: float) -> list[str]:
        shutil.rmtree(self._scratch, ignore_errors=True)
        restore(kept, self._scratch, False, tell_nobody)
        with EngineProcess(self._zygote, self._scratch) as engine:
            health = engine.get("/api/v1/status").body["health"]
            idle = engine.is_idle_within(PATIENCE)
            found = check_store(self._scratch)
        violations = [] if idle else ["the queue never got empty"]
        violations += [f"not healthy: {each}" for each in health["issues"]]
        return violations + found.violations + compare(self._historians, found, began, ended)


def back_up(engine: EngineProcess, target: Path) -> tuple[Answer, float]:
    """Have a backup made; how it ended, and when it had been asked for."""
    began = time.monotonic()
    assert engine.send("POST", "/api/v1/backups", {"folder": str(target)}).status == 202

    def ended() -> Answer | None:
        answer = engine.get("/api/v1/backups")
        return None if answer.body["run"]["status"] == "running" else answer

    return wait_until(ended, _DONE_SECONDS, "the backup ends"), began


class BackupRun:
    """Backups of one store under four writers. The same seed makes the same choices."""

    def __init__(self, zygote: Zygote, folder: Path, seed: int) -> None:
        self._engine = EngineProcess(zygote, folder)
        self._historians = [Historian("bcdf"[number], f"{seed}") for number in range(CLIENTS)]
        self._clients = [Client(self._engine, each) for each in self._historians]
        self._target = folder.with_name("backups")
        self._restored = Restored(zygote, folder.with_name("restored"), self._historians)

    def run(self, backups: int) -> Report:
        report, started = Report(), time.monotonic()
        with self._engine as engine:
            for number in range(backups):
                with self._writing():
                    before = self._confirmed()
                    answer, began = back_up(engine, self._target)
                    ended = time.monotonic()
                    report.during += self._confirmed() - before
                run = answer.body["run"]
                if run["status"] != "done":
                    report.violations.append(f"backup {number}: {run['error']}")
                    continue
                kept = chosen(Path(run["backup"]["folder"]), None)
                violations = self._restored.violations(kept, began, ended)
                report.violations += [f"backup {number}: {each}" for each in violations]
                report.finished += 1
        for historian in self._historians:
            report.violations += historian.refused
        report.writes, report.seconds = self._confirmed(), time.monotonic() - started
        return report

    def _confirmed(self) -> int:
        return sum(each.acknowledged for each in self._historians)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        enough = threading.Event()

        def write(client: Client) -> None:
            while not enough.is_set():
                client.step()

        threads = [threading.Thread(target=write, args=(each,)) for each in self._clients]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            enough.set()
            for thread in threads:
                thread.join()


class KilledRun(CrashRun):
    """Kills the engine, or the process that makes the backup, at a random moment of it."""

    def __init__(self, zygote: Zygote, folder: Path, seed: int) -> None:
        super().__init__(zygote, folder, seed)
        self._historians = [Historian("bcdf"[number], f"{seed}") for number in range(CLIENTS)]
        self.clients = [Client(self.engine, each) for each in self._historians]
        self._target = folder.with_name("backups")
        self._restored = Restored(zygote, folder.with_name("restored"), self._historians)
        self._seen: set[Path] = set()
        self._takes = 0.0
        self.backups = Report()

    def run_killed(self, kills: int) -> Report:
        started, report = time.monotonic(), self.backups
        self.engine.start()
        try:
            before = time.monotonic()
            back_up(self.engine, self._target)
            self._takes = time.monotonic() - before
            self._seen = {each for shelf in shelves(self._target) for each in shelf.names()}
            for number in range(kills):
                self._began = time.monotonic()
                self.crash(self._kill_a_backup)
                ended = time.monotonic()
                violations = self._look_at_backups(self._began, ended)
                report.violations += [f"kill {number}: {each}" for each in violations]
                self.engine.start()
                self.verify()
        finally:
            self.engine.kill()
        report.violations += self.report.violations
        report.writes, report.seconds = self.report.acknowledged, time.monotonic() - started
        return report

    def _kill_a_backup(self) -> None:
        self.engine.send("POST", "/api/v1/backups", {"folder": str(self._target)})
        threading.Event().wait(self.random.uniform(0, self._takes))
        if self.random.random() < 0.5:
            self._kill_its_process()
        self.engine.kill()

    def _kill_its_process(self) -> None:
        for pid in _children(self.engine.pid):
            with suppress(OSError):
                if b"kb.engine.backup" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    def _look_at_backups(self, began: float, ended: float) -> list[str]:
        """A process that was left behind by the engine ends by itself."""
        wait_until(self._is_alone, PATIENCE, "the process that makes the backup is gone")
        finished = [folder for shelf in shelves(self._target) for folder in shelf.names()]
        new = [folder for folder in finished if folder not in self._seen]
        self._seen.update(new)
        if not new:
            self.backups.unfinished += 1
            return self._refusals()
        violations: list[str] = []
        for folder in new:
            violations += self._restored.violations(chosen(folder, None), began, ended)
            self.backups.finished += 1
        return violations

    def _is_alone(self) -> bool:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (process / "cmdline").read_bytes()
                if b"kb.engine.backup" in command and os.fsencode(self._target) in command:
                    return False
        return True

    def _refusals(self) -> list[str]:
        """What is half made cannot be restored, by whatever name it is asked for."""
        for shelf in shelves(self._target):
            try:
                restore(chosen(shelf.path / "unfinished", None), Path("/none"), False, tell_nobody)
            except BackupFailed:
                self.backups.refused += 1
                return []
            return ["a backup that was not finished was restored"]
        self.backups.refused += 1  # it had not even begun
        return []


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found
