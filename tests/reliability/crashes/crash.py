"""A number of kills in, what was lost out: the engine is killed again and again while it works."""

import itertools
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.engine.store.jobs import MOST_ATTEMPTS

from ..clients import Client, check_by_api
from ..engine_process import EngineProcess, Zygote
from ..oracle import Oracle, Submission
from ..store_check import check_store
from .keeper import Keeper
from .other_writes import write_otherwise

CLIENTS = 4
_WINDOW = 0.35  # seconds of work before a kill, at most
_KILLED_AT_START = 0.15  # the share of starts that are killed as well
_WHOLE = 0.08  # the share of kills that come after a whole backup, or after a whole check
_FULL = 0.08  # the share of kills on a full disk
_VACUUM = 0.08  # the share of kills after many deletions, with nothing else to do
_MOVED = 0.08  # the share of kills after which all is exported and imported again
_DAMAGED = 0.06  # the share of kills after which a part of the database is damaged and rebuilt
_OLD = 0.15  # the share of kills after which what failed is old enough to go
_RESTORED = 0.1  # the share of kills after which the last backup takes the store's place
_FREE_PAGES = 64  # which the engine keeps
_DELETED = 8
_LOOKED_AT = 8  # changed documents that are asked for by the API after each kill


# What else happens while four clients write, until the kill.
_SHARES = {
    "backup": _WHOLE,
    "check": _WHOLE,
    "full": _FULL,
    "vacuum": _VACUUM,
    "busy": 1 - 2 * _WHOLE - _FULL - _VACUUM,
}


@dataclass(slots=True)
class Report:
    kills: int = 0
    acknowledged: int = 0
    uncertain: int = 0
    documents: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    within: Counter[str] = field(default_factory=Counter)  # kills by what was under way

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.seconds:.1f} s ({self.kills / self.seconds * 60:.0f} a "
            f"minute), {self.acknowledged} writes acknowledged, {self.uncertain} in flight, "
            f"{self.documents} documents left, "
            + "".join(f"{count} {what}, " for what, count in self.counts.items())
            + f"{len(self.violations)} violations; what was under way when a kill came: "
            + ", ".join(f"{what} {count}" for what, count in self.within.most_common())
        )


class CrashRun:
    """One data folder, four clients, many kills. The same seed makes the same choices."""

    def __init__(self, zygote: Zygote, folder: Path, seed: int, plants: Sequence[str] = ()) -> None:
        self.zygote = zygote
        self.engine = EngineProcess(zygote, folder, plants)
        self.clients = [
            Client(self.engine, Oracle("bcdf"[number], f"{seed}"), write_otherwise)
            for number in range(CLIENTS)
        ]
        self.random = random.Random(seed)
        self.keeper = Keeper(self.engine, zygote, random.Random(f"{seed}-keeper"), self.interrupt)
        self.report = Report(counts=self.keeper.counts)
        self.verified = 1.0  # the share of kills after which everything is looked at
        self.patience = 60.0  # seconds until every job has to have ended
        self._went_back = False

    def run(self, kills: int, until: str | None = None, writes: int = 0) -> Report:
        """Kill this many times, or until a violation says `until`; verify after every restart."""
        began = time.monotonic()
        self.engine.start()
        try:
            for number in itertools.count(1):
                self.crash(self._kill_some_time)
                self.restart()
                self.verify_now_and_then()
                if self.is_enough(number >= kills, until, writes):
                    break
            self.verify()
            self.report.violations += check_by_api(self.engine, self._submissions)
        finally:
            self.engine.kill()
        self.report.seconds = time.monotonic() - began
        return self.report

    def is_enough(self, died: bool, until: str | None, writes: int) -> bool:
        """A machine that is busy acknowledges few writes before each death, and needs more of them
        until there are as many as prove something."""
        if until and any(until in violation for violation in self.report.violations):
            return True
        return died and sum(oracle.acknowledged for oracle in self.oracles) > writes

    def crash(self, die: Callable[[], None]) -> None:
        """Have all clients write until the engine is dead.

        Now and then a whole backup or check is made meanwhile; else they die with the engine.
        """
        [kind] = self.random.choices(list(_SHARES), list(_SHARES.values()))
        if kind == "full" and not self.keeper.can_fill():
            kind = "busy"
        if kind == "vacuum":
            for client in self.clients:
                client.delete_longest(_DELETED)
        workers: list[Client | Keeper] = [*self.clients] if kind != "vacuum" else []
        workers += [self.keeper] if kind == "busy" else []
        threads = [threading.Thread(target=worker.work_until_gone) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            if kind == "backup":
                self.keeper.back_up()
            elif kind == "check":
                self.keeper.check()
            elif kind == "full":
                self.keeper.fill(self.oracles)
                self.keeper.count("full disks")
            die()
        finally:
            self.engine.kill()  # also where that failed: nobody stops writing before
            for thread in threads:
                thread.join()
        self.report.kills += 1
        self._note_what_was_interrupted(kind)

    def _note_what_was_interrupted(self, kind: str) -> None:
        if kind == "vacuum" and self.keeper.free_pages() > _FREE_PAGES:
            self.report.within["give room back"] += 1
        if kind == "full":
            self.report.within["a full disk"] += 1
        for worker in (*self.clients, self.keeper):
            self.report.within += worker.interrupted
            worker.interrupted.clear()

    def restart(self) -> None:
        """Start again; now and then the start itself is killed, too."""
        if self.random.random() < 0.5:  # else it starts on a disk that is full, if it is
            self.keeper.make_room(self.oracles)
            self.meddle()
        while self.random.random() < _KILLED_AT_START:
            self.engine.launch()
            self.some_time_passes()
            self.die_at_start()
            self.report.kills += 1
            self.report.within["start"] += 1
        self.engine.start()
        self.keeper.make_room(self.oracles)

    def die_at_start(self) -> None:
        self.engine.kill()

    def meddle(self) -> None:
        """What people do to a store that no engine runs on."""
        self.keeper.meddle()
        if self.random.random() < _OLD:
            self.keeper.age_failures(self.oracles)
        if self.random.random() < _DAMAGED:
            self.keeper.damage_and_repair()
        if self.random.random() < _RESTORED:
            self._went_back = True
            self.keeper.restore(self.oracles)

    def verify_now_and_then(self) -> None:
        """What is uncertain may wait, except for which instant a backup was of."""
        if self._went_back or self.random.random() < self.verified:
            self._went_back = False
            self.verify()

    def interrupt(self, pid: int) -> None:
        """Kill a process that is at work on the store."""
        self.some_time_passes()
        os.kill(pid, signal.SIGKILL)
        self.zygote.wait(pid, 30)

    def verify(self) -> None:
        """Repeat what was never answered, let the queue empty, then look at everything.

        Of a store that takes no writes any more, at what is there.
        """
        if damage := self.engine.damage():
            found = check_store(self.engine.folder, ends=("failed", "cancelled"))
            self._note([*found.violations, damage])
            return
        for client in self.clients:
            client.retry_some()
        self._retry_what_was_given_up()
        idle = self.engine.is_idle_within(self.patience)
        self.keeper.take_back()
        found = check_store(
            self.engine.folder, ends=("failed", "cancelled"), newest=self.engine.newest_at_start
        )
        self.keeper.originals = set(found.originals)
        violations = found.violations + ([] if idle else ["the queue never got empty"])
        for client in self.clients:
            violations += client.oracle.reconcile(found)
        violations += [f"{path}: a document nobody added" for path in found.documents]
        violations += [f"job {key} is {found.jobs[key].status}" for key in found.unhappy]
        touched = [each for each in self._submissions if each.touched]
        self.keeper.look_at_the_reserve()
        self.keeper.look_at_the_model()
        if self.random.random() < _MOVED:
            self.keeper.move_out_and_in()
        self.keeper.look_for_strays()
        violations += self.keeper.violations
        self.keeper.violations.clear()
        looked_at = self.random.sample(touched, min(_LOOKED_AT, len(touched)))
        violations += check_by_api(self.engine, looked_at)
        for each in touched:
            each.touched = False
        self._note(violations)
        oracles = self.oracles
        self.report.acknowledged = sum(oracle.acknowledged for oracle in oracles)
        self.report.uncertain = sum(oracle.uncertain for oracle in oracles)
        self.report.documents = sum(each.acknowledged is not None for each in self._submissions)

    def _note(self, violations: list[str]) -> None:
        self.report.violations += [f"kill {self.report.kills}: {each}" for each in violations]

    def _retry_what_was_given_up(self) -> None:
        """Some jobs were at work in three kills in a row; what they hold is to be all there."""
        jobs = self.engine.get("/api/v1/jobs?status=failed&limit=100").body["jobs"]
        for job in jobs:
            if job["error"]["code"] == "worker_killed" and job["attempts"] == MOST_ATTEMPTS:
                self.engine.send("POST", f"/api/v1/jobs/{job['id']}/retry")

    @property
    def oracles(self) -> list[Oracle]:
        return [client.oracle for client in self.clients]

    @property
    def _submissions(self) -> list[Submission]:
        return [each for client in self.clients for each in client.oracle.submissions]

    def some_time_passes(self) -> None:
        threading.Event().wait(self.random.uniform(0, _WINDOW))

    def _kill_some_time(self) -> None:
        self.some_time_passes()
        self.engine.kill()
