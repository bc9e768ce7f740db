"""Makes backups on request and on schedule, one at a time, each in a process of its own.

Meanwhile the engine only keeps the originals. A separate process can run at low priority, does not
hold the interpreter that answers searches, and takes nothing down with it if it fails.
"""

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from kb.engine import errors
from kb.engine.backup.making import usable_target
from kb.engine.backup.manifest import Manifest
from kb.engine.backup.rescue import with_earlier
from kb.engine.backup.shelf import Kept, Shelf, Unreadable
from kb.engine.data_folder.originals import FileStore
from kb.engine.store import Store
from kb.engine.values import JobError, written

logger = logging.getLogger(__name__)

_FIRST_LOOK, _LOOK_EVERY = 30.0, 60.0  # seconds
_AFTER_FAILURE = timedelta(minutes=30)
_MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """Where regular backups go, how often, and how many are kept. No folder: only on request."""

    folder: Path | None = None
    every_hours: int = 24
    keep: int = 14


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup. It holds the store as it was at `taken_at`."""

    folder: str
    taken_at: str
    documents: int
    originals: int
    missing_originals: int
    database_bytes: int
    original_bytes: int
    written_bytes: int
    kb_version: str


@dataclass(frozen=True, slots=True)
class UnreadableBackup:
    """A finished backup that cannot be read, and why."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class BackupRun:
    """A backup that is being made, or the last one of this run of the engine."""

    status: Literal["running", "done", "failed"]
    folder: str
    scheduled: bool
    started_at: str
    finished_at: str | None = None
    step: str = "starting"
    progress: float = 0.0
    backup: Backup | None = None
    error: JobError | None = None


@dataclass(frozen=True, slots=True)
class BackupList:
    """`backups` are those in `folder`, the newest first: where they go by themselves, or where the
    last one went. `last` is the last good one, wherever it is."""

    folder: str | None
    every_hours: int | None
    keep: int | None
    run: BackupRun | None
    last: Backup | None
    age_seconds: float | None
    backups: list[Backup]
    unreadable: list[UnreadableBackup]


@dataclass(frozen=True, slots=True)
class BackupState:
    """What a look at the engine tells of backups; `age_seconds` is null where there is none.

    The last one may be in another folder than they go into by themselves.
    """

    folder: str | None
    every_hours: int | None
    running: bool
    last_at: str | None
    last_folder: str | None
    age_seconds: float | None


class Backups:
    """What callers may ask for, and what is done by itself. `clock` is the time of day in UTC."""

    def __init__(
        self,
        data_folder: Path,
        store: Store,
        files: FileStore,
        plan: BackupPlan,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._data_folder = data_folder
        self._store = store
        self._files = files
        self._plan = plan
        self._clock = clock
        self._changing = threading.Lock()
        self._run: BackupRun | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._work: threading.Thread | None = None
        self._last = _remembered(store)
        self._seen = False  # in this run, on its disk
        self._not_before: datetime | None = None
        self._failed_by_schedule: BackupRun | None = None  # until one is made into its folder
        self._stop = threading.Event()
        self._schedule = threading.Thread(target=self._keep_time, name="backups", daemon=True)

    def start(self) -> None:
        if self._plan.folder is not None:
            self._schedule.start()

    def let_go(self) -> None:
        """Give up the running backup; the next one removes what it left."""
        self._stop.set()
        process = self._process
        if process is not None:
            process.kill()

    def stop(self, timeout: float) -> None:
        self.let_go()
        for thread in (self._work, self._schedule):
            if thread is not None and thread.is_alive():
                thread.join(timeout)

    def begin(self, folder: str | None, keep: int | None) -> BackupRun:
        """Have a backup made; in the folder of the schedule where none is named."""
        if folder is None and self._plan.folder is None:
            raise errors.BackupFolderRefused("Name a folder for the backup, or set KB_BACKUP_DIR")
        target = Path(folder) if folder is not None else self._plan.folder
        assert target is not None
        if keep is None and target == self._plan.folder:
            keep = self._plan.keep
        return self._begin(target, keep, scheduled=False)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the running backup has ended."""
        work = self._work
        if work is not None:
            work.join(timeout)

    def run_if_due(self) -> bool:
        """Begin the next backup of the schedule if it is time; whether it was."""
        if self._plan.folder is None or not self._is_due(self._plan.folder):
            return False
        try:
            self._begin(self._plan.folder, self._plan.keep, scheduled=True)
        except errors.BackupRunning:
            return False
        except errors.KbError as error:
            self._fail(error.code, error.message)
        return True

    def state(self) -> BackupState:
        run, last = self._run, self._last
        return BackupState(
            folder=str(self._plan.folder) if self._plan.folder else None,
            every_hours=self._plan.every_hours if self._plan.folder else None,
            running=run is not None and run.status == "running",
            last_at=last.taken_at if last else None,
            last_folder=str(Path(last.folder).parents[1]) if last else None,
            age_seconds=self.age_seconds(),
        )

    def age_seconds(self) -> float | None:
        if self._last is None:
            return None
        age = (self._clock() - datetime.fromisoformat(self._last.taken_at)).total_seconds()
        return max(0.0, round(age, 3))

    def failure(self) -> str | None:
        """Why the last backup was not made, and what to do, if so."""
        run = self._failed_by_schedule or self._run
        if run is None or run.status != "failed" or run.error is None:
            return None
        last = f"the last good one is of {self._last.taken_at}" if self._last else "there is none"
        return (
            f"No backup was made into {run.folder}, and {last}: {run.error.message}. Put that "
            "right, then run `kb backup`"
        )

    def listed(self) -> BackupList:
        plan, run = self._plan, self._run
        folder = plan.folder or (Path(run.folder) if run else None)
        if folder is None and self._last is not None:
            folder = Path(self._last.folder).parents[1]
        found = self._in(folder) if folder else []
        return BackupList(
            folder=str(folder) if folder else None,
            every_hours=plan.every_hours if plan.folder else None,
            keep=plan.keep if plan.folder else None,
            run=run,
            last=self._last,
            age_seconds=self.age_seconds(),
            backups=[_backup(str(each.folder), each.manifest) for each in _kept(found)],
            unreadable=[
                UnreadableBackup(str(each.folder), each.why)
                for each in found
                if isinstance(each, Unreadable)
            ],
        )

    def _in(self, folder: Path) -> list[Kept | Unreadable]:
        """The newest first."""
        try:
            return Shelf.of(folder, self._store.facts.store_id).finished()[: -_MOST_LISTED - 1 : -1]
        except OSError:  # its disk is not there, which the schedule tells
            return []

    def _is_due(self, folder: Path) -> bool:
        now = self._clock()
        if self._not_before is not None and now < self._not_before:
            return False
        # A disk that sleeps is not to be woken every minute: once seen there, the last is known. An
        # earlier run may have made one that somebody took away since.
        last = self._last
        known_there = self._seen and last and Path(last.folder).is_relative_to(folder)
        if last and known_there and self._is_fresh(last, now):
            return False
        found = self._in(folder)
        newest = [_backup(str(each.folder), each.manifest) for each in _kept(found)[:1]]
        unreadable = [str(each.folder) for each in found if isinstance(each, Unreadable)]
        if last is not None and last.folder in unreadable:
            last = self._last = None  # no good one
        if newest and (last is None or last.taken_at < newest[0].taken_at):
            self._last = newest[0]  # a restored store remembers what was before its own backup
        self._seen = any(self._is_fresh(each, now) for each in newest)
        return not self._seen

    def _is_fresh(self, backup: Backup, now: datetime) -> bool:
        """A time that is still to come was written by a clock that was wrong."""
        at = datetime.fromisoformat(backup.taken_at)
        return at <= now < at + timedelta(hours=self._plan.every_hours)

    def _keep_time(self) -> None:
        pause = _FIRST_LOOK
        while not self._stop.wait(pause):
            pause = _LOOK_EVERY
            try:
                self.run_if_due()
            except Exception:
                logger.exception("the schedule of backups failed once and goes on")

    def _begin(self, target: Path, keep: int | None, scheduled: bool) -> BackupRun:
        with self._changing:
            if self._run is not None and self._run.status == "running":
                raise errors.BackupRunning("A backup is being made: wait until it is done")
            run = BackupRun("running", str(target), scheduled, written(self._clock()))
            if scheduled:  # then a folder that cannot be used is a failure to be told, too
                self._run = run
            if self._store.health.damage is not None:
                raise self._store.health.damage.error()  # it would push better ones out
            create = target != self._plan.folder  # that one is missing where its disk is
            target = usable_target(target, self._data_folder, create)
            self._run = run
            self._work = threading.Thread(
                target=self._make, args=(target, keep), name="backup", daemon=True
            )
            self._work.start()
            return run

    def _make(self, target: Path, keep: int | None) -> None:
        try:
            with self._files.holding():
                answer = self._in_a_process(target, keep)
        except Exception as error:
            logger.exception("the backup into %s broke", target)
            answer = {"error": "backup_failed", "message": f"it broke: {error}"}
        if "answer" not in answer:
            if answer["error"] == errors.StoreDamaged.code:
                self._store.health.note_damage(
                    "a backup could not read all of it, or found it wrong"
                )
            self._fail(str(answer["error"]), str(answer["message"]))
            return
        made = answer["answer"]
        backup = _backup(made["folder"], Manifest.from_json(made))
        self._last, self._seen = backup, True
        if self._plan.folder and target == self._plan.folder.resolve():
            self._not_before = self._failed_by_schedule = None
        for name in made["missing"]:
            self._files.met_wrong(name)
        self._end(status="done", progress=1.0, backup=backup)
        logger.info("backup %s made: %s bytes written", backup.folder, backup.written_bytes)
        try:
            self._store.facts.remember_backup(
                json.dumps(with_earlier(made, self._store.facts.last_backup()))
            )
        except (errors.StorageFailed, errors.StorageFull) as error:
            logger.warning("a finished backup could not be recorded: %s", error.message)

    def _in_a_process(self, target: Path, keep: int | None) -> dict[str, Any]:
        """Its last line: the backup that was made, or what went wrong."""
        options = ["--keep", str(keep)] if keep is not None else []
        # The process needs none of our settings, and the key least of all.
        environ = {name: text for name, text in os.environ.items() if not name.startswith("KB_")}
        self._process = process = subprocess.Popen(  # noqa: S603 (our own interpreter)
            [
                *(sys.executable, "-P", "-m", "kb.engine.backup", str(target), "--held"),
                *("--data-dir", str(self._data_folder), "--must-exist", *options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
            process_group=0,
        )
        assert process.stdout is not None
        line: dict[str, Any] = {}
        with process:
            for told in process.stdout:
                line = json.loads(told)
                if "step" in line:
                    self._advance(line)
            assert process.stdin is not None
            process.stdin.close()
        self._process = None
        if self._stop.is_set():
            return {"error": "shutting_down", "message": "the engine was stopped"}
        if "answer" in line or "error" in line:
            return line
        code = process.returncode
        return {"error": "backup_failed", "message": f"its process ended with {code}"}

    def _advance(self, line: dict[str, Any]) -> None:
        run = self._run
        if run is not None:
            share = line["done"] / max(1, line["total"])
            self._run = replace(run, step=line["step"], progress=round(share, 4))

    def _fail(self, code: str, message: str) -> None:
        self._end(status="failed", error=JobError(code, message))
        if self._run is not None and self._run.scheduled:
            self._not_before = self._clock() + _AFTER_FAILURE
            self._failed_by_schedule = self._run
        logger.error("the backup failed: %s", message)

    def _end(self, **changes: Any) -> None:
        assert self._run is not None
        self._run = replace(self._run, finished_at=written(self._clock()), **changes)


def _kept(found: Sequence[Kept | Unreadable]) -> list[Kept]:
    return [each for each in found if isinstance(each, Kept)]


def _backup(folder: str, manifest: Manifest) -> Backup:
    return Backup(
        folder=folder,
        taken_at=manifest.taken_at,
        documents=manifest.documents,
        originals=manifest.originals,
        missing_originals=len(manifest.missing),
        database_bytes=manifest.database_bytes,
        original_bytes=manifest.original_bytes,
        written_bytes=manifest.written_bytes,
        kb_version=manifest.kb_version,
    )


def _remembered(store: Store) -> Backup | None:
    try:
        text = store.facts.last_backup()
    except errors.StorageFailed:  # that the database cannot be read is told elsewhere
        return None
    made = json.loads(text) if text else None
    return _backup(made["folder"], Manifest.from_json(made)) if made else None
