"""An engine in, backups, checks and restores out: what somebody does who looks after a store."""

import hashlib
import json
import os
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kb.engine.backup.restoring import chosen
from kb.engine.backup.restoring import restore as restored
from kb.engine.backup.steps import tell_nobody

from .engine_process import EngineProcess, Gone, Zygote, wait_until
from .oracle import Oracle

RESTORE = "reliability.keeper:restore"
_SECONDS = 180.0
_RESERVE = 2**20


@dataclass(slots=True)
class Made:
    """A finished backup: the store at some instant between the two times."""

    folder: str
    began: float
    ended: float


@dataclass(slots=True)
class Keeper:
    """Has backups made and checks run while clients write, and puts backups in place."""

    engine: EngineProcess
    zygote: Zygote
    random: random.Random
    interrupt: Callable[[int], None]  # what befalls a process that restores
    made: Made | None = None
    strays: dict[str, bytes] = field(default_factory=dict)
    originals: set[str] = field(default_factory=set)  # that documents had when last looked at
    put_aside: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    @property
    def target(self) -> Path:
        """On the same disk, so that it fails with it."""
        return self.engine.folder.with_name(f"{self.engine.folder.name}-backups")

    def work_until_gone(self) -> None:
        """Begin with a backup, a check, or both; the engine dies while they run, mostly."""
        try:
            if self.random.random() < 0.5:
                self._begin("/api/v1/backups", {"folder": str(self.target), "keep": 3})
            if self.random.random() < 0.5:
                self._begin("/api/v1/verify", {})
            while True:
                self.engine.get("/api/v1/status")
                time.sleep(0.01)
        except Gone:
            return

    def back_up(self) -> None:
        """A whole one, whoever writes meanwhile."""
        began = time.monotonic()
        if not self._begin("/api/v1/backups", {"folder": str(self.target), "keep": 3}):
            return
        run = self._ended("/api/v1/backups", "run")
        if run["status"] != "done":
            self.violations.append(f"a backup failed: {run['error']}")
            return
        self._count("backups")
        self.made = Made(run["backup"]["folder"], began, time.monotonic())

    def check(self) -> None:
        """Everything is whole, as the engine itself sees it."""
        if not self._begin("/api/v1/verify", {}):
            return
        run = self._ended("/api/v1/verify")
        self._count("checks")
        if run["whole"] is not True:
            self.violations.append(f"verify: {run['failure']} {run['findings']}")

    def look_at_the_reserve(self) -> None:
        store = self.engine.get("/api/v1/status").body["store"]
        if store["reserve_bytes"] != _RESERVE:
            self.violations.append(f"the reserve has {store['reserve_bytes']} bytes")

    def meddle(self) -> None:
        """While no engine runs: take the reserve away, put a file down that no row names, put one
        aside that a row does name, as if the row had been missing at an earlier start."""
        if self.random.random() < 0.1:
            (self.engine.folder / "store-reserve").unlink(missing_ok=True)
            self._count("reserves taken away")
        files = self.engine.folder / "store-files"
        if files.is_dir() and self.random.random() < 0.1:
            name, content = f"{self.random.getrandbits(128):032x}", self.random.randbytes(99)
            (files / name).write_bytes(content)
            os.utime(files / name, (0, 0))
            self.strays[name] = content
            self._count("strays")
        named = sorted(name for name in self.originals if (files / name).exists())
        if named and self.random.random() < 0.1:
            self._put_aside(files / self.random.choice(named))
            self._count("originals put aside")

    def _put_aside(self, original: Path) -> None:
        lost = self.engine.folder / "store-lost"
        lost.mkdir(mode=0o700, exist_ok=True)
        content = original.read_bytes()
        line = {
            "name": original.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "when": "2026-01-01T00:00:00.000000Z",
            "why": "no document and no job names it",
        }
        with (lost / "manifest.jsonl").open("a") as manifest:
            manifest.write(json.dumps(line) + "\n")
        original.rename(lost / original.name)
        self.put_aside = True

    def take_back(self) -> None:
        """What a row names comes back by a repair; whoever looks at the store then misses it."""
        if self.put_aside and self._begin("/api/v1/verify", {"repair": True}):
            self._ended("/api/v1/verify")
            self._count("repairs")
        self.put_aside = False

    def look_for_strays(self) -> None:
        """What no row names is kept, and the manifest says what it is."""
        folder = self.engine.folder / "store-lost"
        if not self.strays:
            return
        manifest = folder / "manifest.jsonl"
        lines = manifest.read_text().splitlines() if manifest.exists() else []
        told = {line["name"] for line in map(json.loads, lines)}
        for name, content in self.strays.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != content:
                self.violations.append(f"a file that no row names is not kept: {name}")
            if name not in told:
                self.violations.append(f"a lost file is not in the manifest: {name}")

    def restore(self, oracles: Sequence[Oracle]) -> None:
        """Put the last backup in place of the store, now and then with a kill in between."""
        made = self.made
        if made is None or not Path(made.folder).exists():
            return
        arguments = [made.folder, str(self.engine.folder)]
        while self.random.random() < 0.4:
            pid = self.zygote.fork(self.engine.log, {}, run=RESTORE, arguments=arguments)
            self.interrupt(pid)
            self._count("restores interrupted")
        pid = self.zygote.fork(self.engine.log, {}, run=RESTORE, arguments=arguments)
        if self.zygote.wait(pid, _SECONDS) != 0:
            self.violations.append(f"a restore failed: {self.engine.log_text()[-500:]}")
            return
        self._count("restores")
        for aside in self.engine.folder.glob("store-before-restore-*"):
            shutil.rmtree(aside)
        self.strays.clear()  # moved aside with all the rest
        for oracle in oracles:
            oracle.go_back(made.began, made.ended)

    def _begin(self, path: str, body: dict[str, Any]) -> bool:
        answer = self.engine.send("POST", path, body)
        if answer.status not in (202, 409):  # another one runs
            self.violations.append(f"{path}: {answer.status} {answer.body}")
        return answer.status == 202

    def _ended(self, path: str, part: str | None = None) -> dict[str, Any]:
        def ended() -> dict[str, Any] | None:
            body = self.engine.get(path).body
            run: dict[str, Any] = body[part] if part else body
            running = "running" in (run.get("status"), run.get("state"))
            return None if running else run

        found: dict[str, Any] = wait_until(ended, _SECONDS, f"{path} ends")
        return found

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def restore(backup: str, folder: str) -> None:
    """In a process of its own, as `kb restore --replace` does it."""
    restored(chosen(Path(backup), None), Path(folder), True, tell_nobody)
