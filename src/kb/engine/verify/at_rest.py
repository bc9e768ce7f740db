"""A data folder that no engine uses in, what is wrong with it out, put right if asked."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kb.engine.durable import sync
from kb.engine.errors import NothingToVerify, StartupError, StoreDamaged
from kb.engine.exchange import RESTORING
from kb.engine.files import FileStore
from kb.engine.folder import DataFolder
from kb.engine.store.belonging import marks_of_a_pair, refuse_to_start_empty
from kb.engine.store.chunks import Terms
from kb.engine.store.damage import forget, noted
from kb.engine.store.database import Database
from kb.engine.store.migrate import migrate
from kb.engine.store.renewal import clear_away
from kb.engine.store.renewing import renew_some
from kb.engine.store.stamp import Stamp
from kb.engine.store.vector_sets import put_fact
from kb.engine.verify.background import FACT, fact_of
from kb.engine.verify.mending import mend
from kb.engine.verify.online import last_backup
from kb.engine.verify.originals import wrong
from kb.engine.verify.putting_back import put_back
from kb.engine.verify.rebuild import Rebuild, Rebuilt
from kb.engine.verify.replacing import PLAN, finish, new_database, put_in_place
from kb.engine.verify.report import Finding, Report
from kb.engine.verify.salvage import Salvage
from kb.engine.verify.stamps import NAMED_FILES, accept, behind, is_ours
from kb.engine.verify.subject import Subject
from kb.engine.verify.verification import Run, check_all

logger = logging.getLogger(__name__)

# What a repair or a restore that was killed leaves: whoever holds the folder puts it in place.
_BEGUN = (PLAN, RESTORING)

Tell = Callable[[Run], None]


@dataclass(slots=True)
class Verified:
    """What was found, what was done about it, and what is lost. `after`: checked once more."""

    report: Report
    repaired: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    damaged_database: str | None = None
    after: Report | None = None

    @property
    def is_whole(self) -> bool:
        return (self.after or self.report).is_whole and not self.lost and not self.unproven


class AtRest:
    """Checks and repairs the store in a folder whose lock the caller holds."""

    def __init__(
        self,
        folder: DataFolder,
        terms: Terms,
        terms_version: int,
        tell: Tell,
        backups: Path | None = None,
    ) -> None:
        self._backups = backups
        self._folder = folder
        self._terms = terms
        self._terms_version = terms_version
        self._tell = tell

    def verify(self, repair: bool) -> Verified:
        finish(self._folder.path)  # a repair that was killed
        _refuse_without_database(self._folder.path)
        verified = Verified(self._check())
        if repair and not verified.report.is_whole:
            self._repair(verified)
            self._put_back(verified)
            verified.after = self._check()
            if not verified.after.of_kind("database"):
                self._remember(verified.after)
        return verified

    def _check(self) -> Report:
        current = Run(repair=False)
        try:
            database = Database(self._folder.database)
        except StartupError as error:
            current.report.add("integrity", 1, [_unusable(error.message)])
            return current.report
        try:
            marks_of_a_pair(database, self._folder.files)
            migrate(database)
            current.report.add("stamp", 1, list(behind(database, Stamp(self._folder.files))))
            check_all(self._subject(database), current, tell=self._tell)
        except StoreDamaged as error:
            current.report.add("integrity", 1, [_unusable(error.message)])
        finally:
            database.close()
        known = noted(self._folder.database)
        if known is not None and not current.report.of_kind("database"):
            current.report.add("integrity", 0, [_noted(f"{known.why}, at {known.since}")])
        return current.report

    def _repair(self, verified: Verified) -> None:
        kinds = verified.report.of_kind("database")
        if any(finding.remedy == "stamp" for finding in kinds):
            verified.lost += [finding.what for finding in kinds if finding.remedy == "stamp"]
            verified.lost += self._unnamed()
        if any(finding.remedy not in ("note", "stamp") for finding in kinds):
            self._rebuild(verified)
            return
        forget(self._folder.database)
        database = Database(self._folder.database)
        try:
            accept(database, Stamp(self._folder.files))
            with database.transaction() as query:
                findings = verified.report.of_kind("index")
                verified.repaired += mend(query, findings, self._terms_version)
            self._finish_words(database)
            database.checkpoint()
        finally:
            database.close()
        if any(finding.remedy == "stamp" for finding in kinds):
            verified.repaired.append("the store goes on without the changes that are missing")
        elif kinds:
            verified.repaired.append("nothing is wrong any more: the note of damage is gone")

    def _finish_words(self, database: Database) -> None:
        for step in (partial(renew_some, terms=self._terms), clear_away):
            going_on = True
            while going_on:
                with database.transaction() as query:
                    going_on = step(query)

    def _rebuild(self, verified: Verified) -> None:
        folder, files = self._folder.path, FileStore(self._folder.files, 1 << 62)
        scratch = folder / "store-salvage.db"
        salvage = Salvage(self._folder.database, scratch)
        mark = Stamp(self._folder.files).read()
        store_id, commits = (mark.store_id, mark.commits) if mark else (None, 0)
        try:
            with last_backup(self._backups, store_id) as backup:
                rebuild = Rebuild(
                    salvage,
                    new_database(folder),
                    self._terms,
                    self._terms_version,
                    lambda name, sha256: _adopted(files, name, sha256),
                    backup,
                )
                rebuilt = rebuild.run(store_id, commits)
        finally:
            salvage.close()
            for path in folder.glob("store-salvage.db*"):
                path.unlink()
        time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        damaged = put_in_place(folder, time)
        verified.damaged_database = str(damaged)
        verified.repaired += _in_words(rebuilt)
        verified.lost += rebuilt.lost
        verified.unproven += rebuilt.unproven

    def _put_back(self, verified: Verified) -> None:
        originals = verified.report.of_kind("original")
        if not originals:
            return
        mark = Stamp(self._folder.files).read()
        database = Database(self._folder.database)
        try:
            with last_backup(self._backups, mark.store_id if mark else None) as backup:
                back, lost = put_back(database, self._folder.files, originals, backup)
        finally:
            database.close()
        verified.repaired += back
        verified.lost += lost

    def _remember(self, after: Report) -> None:
        """The next start says what is left, before it has checked anything itself."""
        database = Database(self._folder.database)
        try:
            with database.transaction() as query:
                put_fact(query, FACT, fact_of(after))
            database.checkpoint()
        finally:
            database.close()

    def _unnamed(self) -> list[str]:
        """The originals that came with what is missing."""
        database = Database(self._folder.database)
        try:
            named = {name for (name,) in database.read(NAMED_FILES)}
        except StoreDamaged:
            return []
        finally:
            database.close()
        there = sorted(path.name for path in self._folder.files.iterdir() if is_ours(path.name))
        return [f"what the file {name} is" for name in there if name not in named]

    def _subject(self, database: Database) -> Subject:
        return Subject(database, self._folder.files, self._terms)


def _adopted(files: FileStore, name: str, sha256: str) -> str | None:
    """Another name for an original that is what it was."""
    path = files.path(name)
    try:
        size = path.stat().st_size
        if wrong(files.folder, (0, "", name, size, sha256)) is not None:
            return None
        adopted = files.adopt(path)
        sync(files.folder)
    except OSError:
        return None
    return adopted


def _in_words(rebuilt: Rebuilt) -> list[str]:
    counts = ", ".join(f"{rebuilt.copied.get(name, 0)} {name}" for name in ("documents", "chunks"))
    done = [f"the database was rebuilt: {counts}; its indexes were made anew"]
    if rebuilt.from_backup:
        ids = ", ".join(map(str, rebuilt.from_backup))
        done.append(f"the text of documents {ids} is that of the last backup")
    if rebuilt.read_again:
        ids = ", ".join(map(str, rebuilt.read_again))
        done.append(f"the originals of documents {ids} are read again when the engine starts")
    return done


def _unusable(message: str) -> Finding:
    return Finding(
        "integrity", "database", message, "rebuild", made_from="what else is there of it"
    )


def _noted(why: str) -> Finding:
    return Finding(
        "integrity",
        "database",
        f"It was found to be damaged ({why}), and nothing is wrong with it now",
        "note",
    )


def folder_of(path: Path) -> DataFolder:
    """The folder, locked. Raises StartupError where an engine uses it, naming its process."""
    if not path.is_dir():
        raise NothingToVerify(path)
    if not any((path / name).exists() for name in _BEGUN):
        _refuse_without_database(path)  # before even a lock is put there
    return DataFolder(path)


def _refuse_without_database(folder: Path) -> None:
    """Nothing is checked, made or written where the database is missing or empty."""
    database = folder / "store.db"
    refuse_to_start_empty(database, folder / "store-files")
    if not database.exists() or not database.stat().st_size:
        raise NothingToVerify(folder)
