"""Whether a database and a folder of originals belong together."""

import logging
import os
import re
from pathlib import Path

from kb.engine.errors import StartupError
from kb.engine.store.file.database import Database
from kb.engine.store.file.stamp import Mark, Stamp, missing_in_words
from kb.engine.store.originals import ALL_FILES
from kb.engine.values import Issue
from kb.platform import sync

logger = logging.getLogger(__name__)

_ORIGINAL = re.compile(r"[0-9a-f]{32}")


class Belonging:
    """What is known of a store's database and its folder of originals as a pair.

    `check` comes before anything is written: a database that is not the folder's stays as it is.
    `settle` comes when the database is up to date: where neither knew the other, both do then.
    """

    def __init__(self, database: Database, stamp: Stamp) -> None:
        self._database = database
        self._folder = stamp.folder
        self._stamp = stamp
        self._missing: tuple[int, int] | None = None
        self.is_sure = False  # that they were a pair before this start

    def check(self) -> None:
        """Raise StartupError for a foreign pair; one that is older than its folder is only read."""
        marks = marks_of_a_pair(self._database, self._folder)
        if marks is None:
            return
        known, mark = marks
        if known.commits < mark.commits:
            self._database.distrust(
                f"it is older than {self._folder.name}, {missing_in_words(known, mark)} missing "
                "from it: an older copy was put in its place, or its log was cut. Put "
                "back the store.db and store.db-wal that were there before, if you have them"
            )
        else:
            self.is_sure = True

    def settle(self) -> None:
        """Mark a folder that has no mark yet, and have it told of every commit from now on.

        One that lacks most of what the database names is probably not its folder: that is left
        unmarked, and said.
        """
        known = _mark(self._database)
        if known is None or self._database.damage is not None:
            return
        if not self._stamp.is_there():
            needed = {name for (name,) in self._database.read(ALL_FILES)}
            missing = len(needed - set(os.listdir(self._folder)))
            if missing * 2 > len(needed):
                self._missing = missing, len(needed)
                return
            try:
                sync(self._folder.parent)  # else a power loss might leave a mark and no database
                self._stamp.write(known)
            except OSError as error:
                logger.warning("%s gets its mark at another start: %s", self._folder, error)
                return
        self._stamp.follow()

    def issues(self) -> list[Issue]:
        """What people should know about the pair."""
        if self._missing is None or self._stamp.is_there():
            return []
        missing, needed = self._missing
        message = (
            f"{missing} of {needed} originals were not in {self._folder} when the engine started: "
            "put the folder that belongs to this store back and restart the engine, or get it from "
            "a backup (`kb restore`)"
        )
        return [Issue("originals_missing", message)]

    def close(self) -> None:
        self._stamp.close()


def marks_of_a_pair(database: Database, folder: Path) -> tuple[Mark, Mark] | None:
    """What the database and its folder say, where both do. Raises StartupError for a foreign pair.

    Damage may keep a database from saying anything: that is none.
    """
    mark, known = Stamp(folder).read(), _mark(database)
    if mark is None or (known is None and database.damage is not None):
        return None
    refuse_another(folder, known.store_id if known else None, mark)
    return (known, mark) if known else None


def refuse_another(folder: Path, store_id: str | None, mark: Mark) -> None:
    """Raise StartupError where a database, by its id, is not that of the folder with this mark."""
    if store_id is None:
        raise _not_its_own(folder, "is older than that folder or of another store")
    if store_id != mark.store_id:
        raise _not_its_own(folder, "is of another store")


def _mark(database: Database) -> Mark | None:
    """What the database says. Nothing where it is new or of before there were marks."""
    if not database.read_if_whole("SELECT 1 FROM sqlite_schema WHERE name = 'facts'"):
        return None
    rows = database.read_if_whole(
        "SELECT facts.value, totals.value FROM facts, totals "
        "WHERE facts.name = 'store_id' AND totals.name = 'commits'"
    )
    return Mark(*rows[0]) if rows else None


def refuse_to_start_empty(database: Path, folder: Path) -> None:
    """If there are originals, a missing or empty database must not be created."""
    if database.exists() and database.stat().st_size:
        return
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    if Stamp(folder).is_there() or any(_ORIGINAL.fullmatch(name) for name in names):
        raise StartupError(
            f"{database} is {'empty' if database.exists() else 'missing'}, and {folder.name} "
            f"beside it holds the files of a store: put {database.name} back, restore a backup "
            "with `kb restore`, or name another folder (--data-dir, KB_DATA_DIR)"
        )


def _not_its_own(folder: Path, what: str) -> StartupError:
    return StartupError(
        f"store.db in the data folder {folder.parent} {what}: the files in {folder.name} were "
        "stored with another database. Put that one back, restore a backup with `kb restore`, or "
        "name another folder (--data-dir, KB_DATA_DIR)"
    )
