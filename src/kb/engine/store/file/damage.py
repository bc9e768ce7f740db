"""Records that SQLite called the file damaged, so that it is known after a restart.

Writing into a damaged database may damage it further, and a new process would not know. So the
finding is kept in a file beside the database until it has been repaired.
"""

import json
import logging
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import apsw

from kb.engine.errors import StoreDamaged
from kb.engine.values import now

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with the database, and since when that is known."""

    why: str
    since: str

    @classmethod
    def of_now(cls, why: str) -> Self:
        return cls(why, now())

    def error(self) -> StoreDamaged:
        return StoreDamaged(self.why)


def is_damage(error: apsw.Error) -> bool:
    """Whether the bytes are wrong, rather than the disk or another process."""
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return True
    # What a page whose checksum does not fit its bytes is read as.
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA


def in_words(error: apsw.Error) -> str:
    """What is wrong, without SQLite's `disk I/O error`, which sends people to look at the disk."""
    if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA:
        return "a page of it has other bytes than were written"
    return f"SQLite says `{error}`"


def note_path(database: Path) -> Path:
    """`store.db` has its note in `store-damage.json`."""
    return database.with_name(f"{database.stem}-damage.json")


def noted(database: Path) -> Damage | None:
    """What was found earlier. A note that cannot be read is a note all the same.

    One about a file that is not there any more, since the right one was put back, is forgotten.
    """
    path = note_path(database)
    try:
        values = json.loads(_read(path))
        if values.get("file", _written(database)) != _written(database):
            logger.warning("%s was about another database: it is forgotten", path.name)
            path.unlink()
            return None
        return Damage(str(values["why"]), str(values["since"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Damage.of_now(f"{path.name} says so, and cannot be read")


def _read(path: Path) -> bytes:
    """A disk may stumble once, where there is no note at all."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError:
        return path.read_bytes()


def note(database: Path, damage: Damage) -> None:
    """Remember it over restarts. On a full disk it is known to this process alone."""
    path = note_path(database)
    temporary = path.with_suffix(".new")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({**asdict(damage), "file": _written(database)}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        logger.error("the damage could not be recorded in %s: %s", path.name, error)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def renew(database: Path, damage: Damage) -> None:
    """Say of which file a note is, as that is now: its log may have been on its way into it."""
    if note_path(database).exists():
        note(database, damage)


def _written(database: Path) -> list[int]:
    """What tells a file from another that was put in its place: a damaged one is not written."""
    about = os.stat(database)
    return [about.st_size, about.st_mtime_ns]


def forget(database: Path) -> None:
    """The damage has been repaired."""
    note_path(database).unlink(missing_ok=True)
