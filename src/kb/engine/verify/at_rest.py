"""Checks a data folder that no engine uses, and repairs it if asked."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kb.engine.backup.disk import hash_of_file
from kb.engine.backup.rescue import Whereabouts, last_good
from kb.engine.data_folder.at_rest import held, is_writable, only_read
from kb.engine.data_folder.folder import DataFolder, refuse_linked
from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.data_folder.originals import FileStore
from kb.engine.data_folder.store_exchange import RESTORING
from kb.engine.errors import NothingToVerify, StartupError, StoreDamaged
from kb.engine.store.facts import put_fact
from kb.engine.store.file.belonging import marks_of_a_pair, refuse_to_start_empty
from kb.engine.store.file.damage import forget, noted
from kb.engine.store.file.database import Database
from kb.engine.store.file.stamp import Stamp
from kb.engine.store.rows.chunk_rows import Terms
from kb.engine.store.search.renewal_steps import renew_some
from kb.engine.store.search.word_index_renewal import clear_away
from kb.engine.store.upgrade.migrate import migrate
from kb.engine.values import written
from kb.engine.verify.background import FACT, fact_of
from kb.engine.verify.mending import mend
from kb.engine.verify.putting_back import Sources, put_back
from kb.engine.verify.rebuilding.rebuild import Rebuild, Rebuilt
from kb.engine.verify.rebuilding.salvage import Salvage
from kb.engine.verify.replacing import PLAN, finish, new_database, put_in_place
from kb.engine.verify.report import Finding, Report, documents, unreadable
from kb.engine.verify.run import Place, run
from kb.engine.verify.stamps import NAMED_FILES, accept, behind, is_ours, known_mark
from kb.engine.verify.subject import Subject
from kb.engine.verify.verification import Run, check_all

logger = logging.getLogger(__name__)

# What a repair or a restore that was killed leaves: whoever holds the folder puts it in place.
_BEGUN = (PLAN, RESTORING)

Tell = Callable[[Run], None]


@dataclass(slots=True)
class Verified:
    """The findings, the repairs, and the losses. `after`: the findings of another check after it.
    `hint` says where lost things may be."""

    report: Report
    repaired: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    damaged_database: str | None = None
    hint: str | None = None
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
        self._files = FileStore(folder.files, 1 << 62)
        self._lost = LostFiles(folder.lost, self._files, days=0)

    def verify(self, repair: bool) -> Verified:
        finish(self._folder.path)  # a repair that was killed
        _refuse_without_database(self._folder.path)
        verified = Verified(self._check())
        if repair and not verified.report.is_whole:
            self._repair(verified)
            self._put_back(verified)
            if verified.lost and any(each.remedy == "stamp" for each in verified.report.findings):
                self._put_unnamed_away(verified)
            verified.after = self._check()
            if not verified.after.of_kind("database"):
                self._remember(verified.after)
        return verified

    def _check(self) -> Report:
        current = Run(repair=False)
        try:
            database = Database(self._folder.database)
        except StartupError as error:
            if not error.details.get("damaged"):  # the disk or a right is in the way
                raise
            current.report.add("integrity", 0, [_unusable(error.details["damaged"])])
            return current.report
        try:
            marks_of_a_pair(database, self._folder.files)
            migrate(database)
            current.report.add("stamp", 1, list(behind(database, Stamp(self._folder.files))))
            check_all(self._subject(database), current, tell=self._tell)
        except StoreDamaged as error:
            current.report.add("integrity", 0, [_unusable(error.why)])
        finally:
            database.close()
        known = noted(self._folder.database)
        if known is not None and not current.report.of_kind("database"):
            current.report.add("integrity", 0, [_noted(f"{known.why}, at {known.since}")])
        return current.report

    def _repair(self, verified: Verified) -> None:
        kinds = verified.report.of_kind("database")
        is_behind = any(finding.remedy == "stamp" for finding in kinds)
        if any(finding.remedy not in ("note", "stamp") for finding in kinds):
            if is_behind:
                self._name_missing(verified)
            self._rebuild(verified)
            return
        forget(self._folder.database)
        if is_behind:
            self._take_newer_backup(verified)
            self._name_missing(verified)
        with closing(Database(self._folder.database)) as database:
            accept(database, Stamp(self._folder.files))
            with database.transaction() as query:
                findings = verified.report.of_kind("index")
                verified.repaired += mend(query, findings, self._terms_version)
            self._finish_words(database)
            database.checkpoint()
        if is_behind:
            verified.repaired.append("the store goes on without the changes that are missing")
        elif kinds:
            verified.repaired.append("nothing is wrong any more: the record of damage is removed")

    def _name_missing(self, verified: Verified) -> None:
        """Changes that the folder has heard of and the database lacks."""
        with closing(Database(self._folder.database)) as database:
            verified.lost += [each.what for each in behind(database, Stamp(self._folder.files))]

    def _put_unnamed_away(self, verified: Verified) -> None:
        """Files that came with changes that are missing: no row says whose those are. A later start
        would take them for files that a kill has left, and move them without a word."""
        with closing(Database(self._folder.database)) as database:
            named = {name for (name,) in database.read(NAMED_FILES)}
        unnamed = [name for name in sorted(self._files.names() - named) if is_ours(name)]
        for name in unnamed:
            about = self._files.path(name).stat()
            at = written(datetime.fromtimestamp(about.st_mtime, UTC))
            verified.lost.append(
                f"what the file {name} is, of {about.st_size} bytes, that came in at {at}: it is "
                f"in {self._folder.lost.name} now, until KB_LOST_DAYS are over; look at it there, "
                "and add it again under a name of its own"
            )
        self._lost.put_away(unnamed, "its change is missing from the database")

    def _take_newer_backup(self, verified: Verified) -> None:
        """A backup that has seen more changes than the database has all that the database has."""
        with closing(Database(self._folder.database)) as database:
            where = self._where(last_backup_in(database))
            known = known_mark(database)
            [(newest,)] = database.read(_NEWEST)
        mark = Stamp(self._folder.files).read()
        with last_good(where) as backup:
            if backup is None or known is None or mark is None:
                return
            made = backup.manifest
            if not (known.commits < made.commits <= mark.commits and made.taken_at >= newest):
                return
            backup.write_database(new_database(self._folder.path))
        verified.damaged_database = str(put_in_place(self._folder.path, _time()))
        verified.repaired.append(
            f"the changes up to the backup of {made.taken_at} are back: the database is that one"
        )

    def _finish_words(self, database: Database) -> None:
        for step in (partial(renew_some, terms=self._terms), clear_away):
            going_on = True
            while going_on:
                with database.transaction() as query:
                    going_on = step(query)

    def _rebuild(self, verified: Verified) -> None:
        folder = self._folder.path
        scratch = folder / "store-salvage.db"
        salvage = Salvage(self._folder.database, scratch)
        mark = Stamp(self._folder.files).read()
        store_id, commits = (mark.store_id, mark.commits) if mark else (None, 0)
        where = self._where(last_backup_in(salvage))
        try:
            with last_good(where) as backup:
                rebuild = Rebuild(
                    salvage,
                    new_database(folder),
                    self._terms,
                    self._terms_version,
                    partial(self._adopted, Sources(self._files, self._lost, where)),
                    self._measured,
                    backup,
                )
                rebuilt = rebuild.run(store_id, commits)
        finally:
            salvage.close()
            for path in folder.glob("store-salvage.db*"):
                path.unlink()
        verified.damaged_database = str(put_in_place(folder, _time()))
        taken_at = backup.manifest.taken_at if backup is not None else ""
        verified.repaired += _in_words(rebuilt, taken_at)
        verified.lost += rebuilt.lost + rebuilt.texts.lost
        verified.unproven += rebuilt.unproven + rebuilt.texts.unproven
        verified.hint = where.hint(bool(verified.lost or verified.unproven))

    def _where(self, last: str | None) -> Whereabouts:
        mark = Stamp(self._folder.files).read()
        return Whereabouts(mark.store_id if mark else None, self._backups, last)

    def _adopted(self, sources: Sources, name: str, sha256: str) -> str | None:
        """Another name for an original that is what it was, wherever it is."""
        path = self._files.path(name)
        try:
            if not path.is_file() or hash_of_file(path) != sha256:
                found = sources.find(name, sha256, sorted(self._files.names()))
                if found is None:
                    return None
                path = found
            return self._files.adopt(path)
        except OSError:
            return None

    def _measured(self, name: str) -> tuple[int, str] | None:
        path = self._files.path(name)
        try:
            return (path.stat().st_size, hash_of_file(path)) if path.is_file() else None
        except OSError:
            return None

    def _put_back(self, verified: Verified) -> None:
        """For the rebuilt database: wrong originals are checked once more."""
        if not verified.report.of_kind("original", "text") and verified.damaged_database is None:
            return
        with closing(Database(self._folder.database)) as database:
            originals = [
                finding
                for _, progress in run(self._subject(database), Place("originals"))
                for finding in progress.findings
                if finding.kind == "original"
            ]
            where = self._where(last_backup_in(database))
            done = put_back(database, Sources(self._files, self._lost, where), originals)
            database.checkpoint()
        verified.repaired += done.back
        verified.lost += done.lost
        verified.hint = verified.hint or where.hint(bool(done.lost))

    def _remember(self, after: Report) -> None:
        """The next start reports what is left, before it has checked anything itself."""
        with closing(Database(self._folder.database)) as database:
            with database.transaction() as query:
                put_fact(query, FACT, fact_of(after))
            database.checkpoint()

    def _subject(self, database: Database) -> Subject:
        return Subject(database, self._folder.files, self._terms)


_NEWEST = "SELECT max(COALESCE(updated_at, created_at, '')) FROM documents"


def last_backup_in(store: Database | Salvage) -> str | None:
    """What the store remembers of its last backup, as far as that can be read."""
    sql = "SELECT value FROM facts WHERE name = 'last_backup'"
    rows = store.trusted(sql) if isinstance(store, Salvage) else store.read_if_whole(sql)
    return str(rows[0][0]) if rows else None


def _time() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _in_words(rebuilt: Rebuilt, taken_at: str) -> list[str]:
    """`taken_at`: of the backup that was at hand."""
    counts = ", ".join(
        f"{rebuilt.counts[table]} {noun}{'' if rebuilt.counts[table] == 1 else 's'}"
        for table, noun in (("documents", "document"), ("chunks", "passage"))
    )
    done = [f"the database was rebuilt: {counts}; its indexes were made anew"]
    if rebuilt.rows_from_backup:
        names = ", ".join(rebuilt.rows_from_backup)
        done.append(f"what is known of {names} is from the backup of {taken_at}")
    if rebuilt.texts.from_backup:
        done.append(
            f"the text of {documents(rebuilt.texts.from_backup)} is that of the backup of "
            f"{taken_at}"
        )
    if rebuilt.texts.read_again:
        again = documents(rebuilt.texts.read_again)
        done.append(f"{again}: read again from what was added when the engine starts")
    return done


def _unusable(why: str) -> Finding:
    what = f"The database cannot be used: {why}"
    return unreadable("integrity", what)


def _noted(why: str) -> Finding:
    what = f"It was found to be damaged ({why}), and nothing is wrong with it now"
    return Finding("integrity", "database", what, "note")


@contextmanager
def folder_of(path: Path, repair: bool) -> Iterator[DataFolder]:
    """The folder, locked. Raises StartupError where an engine uses it, naming its process."""
    if not path.is_dir():
        raise NothingToVerify(path)
    refuse_linked(path / "store.db")
    is_begun = any((path / name).exists() for name in _BEGUN)
    if not is_begun:
        _refuse_without_database(path)  # before even a lock is put there
    if (is_begun or repair) and not is_writable(path):
        raise only_read(path)
    with held(path) as folder:
        yield folder


def _refuse_without_database(folder: Path) -> None:
    """Nothing is checked, made or written where the database is missing or empty."""
    database = folder / "store.db"
    refuse_to_start_empty(database, folder / "store-files")
    if not database.exists() or not database.stat().st_size:
        raise NothingToVerify(folder)
