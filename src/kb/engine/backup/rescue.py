"""Fetches rows and originals that the store has lost from the last good backup."""

import json
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from kb.engine.backup.blocks import Blocks
from kb.engine.backup.checking import check, database_of
from kb.engine.backup.disk import hash_of_file
from kb.engine.backup.manifest import Contents, Manifest, read_contents
from kb.engine.backup.shelf import Shelf
from kb.engine.backup.steps import tell_nobody
from kb.engine.errors import BackupDamaged
from kb.engine.store.file.database import Row
from kb.engine.store.file.snapshot import reading_pages, write_database

logger = logging.getLogger(__name__)

_TRIES = 2  # a disk may stumble once
_MOST_FOLDERS = 20


class Rescue:
    """A backup that was read and found whole. Its schema is that of the kb that made it."""

    def __init__(self, manifest: Manifest, connection: apsw.Connection) -> None:
        self._connection = connection
        self.manifest = manifest

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        """The rows of the store at that instant."""
        return self._connection.execute(sql, values).fetchall()

    def write_database(self, path: Path) -> None:
        """The whole database into a new file."""
        write_database(self._connection, path, lambda _: None)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where backups of a store may be: below the `folder` that they are made into by themselves,
    and where the last one and those before it went, as the store remembers it (`last`, in JSON).

    `passed_over`: newer ones than what `last_good` took, and what is wrong with them, in words.
    """

    store_id: str | None
    folder: Path | None = None
    last: str | None = None
    passed_over: list[str] = field(default_factory=list)

    def shelf(self) -> Shelf | None:
        """The place with the newest backup that can be reached."""
        shelves = [Shelf(path) for path in self._paths() if Shelf(path).names()]
        return max(shelves, key=lambda shelf: shelf.names()[-1].name, default=None)

    def original(self, sha256: str) -> Path | None:
        """A copy of an original in any backup, old or new: its hash was compared just now."""
        for shelf in map(Shelf, self._paths()):
            path = shelf.original(sha256)
            for _ in range(_TRIES):
                try:
                    if hash_of_file(path) == sha256:
                        return path
                    break
                except FileNotFoundError:
                    break
                except OSError as error:
                    logger.warning("the original %s in the backup: %s", sha256, error)
        return None

    def hint(self, is_lost: bool) -> str | None:
        """What to know of the backups: that the last one is not what was taken, or, where something
        `is_lost`, which of them cannot be reached, and where it was looked for."""
        if self.passed_over:
            more = f", and {len(self.passed_over) - 1} more" if len(self.passed_over) > 1 else ""
            return (
                f"{self.passed_over[0]}{more}: nothing was taken from it, and what came from a "
                "backup is from an older one"
            )
        return self._out_of_reach() or self._looked_at() if is_lost else None

    def _out_of_reach(self) -> str | None:
        lacking = [str(path.parent) for path in self._paths() if not Shelf(path).names()]
        if not lacking:
            return None
        return (
            f"backups were made into {' and '.join(lacking)} that cannot be reached now: what is "
            "lost may be in them; have that there and run `kb verify --repair` again"
        )

    def _looked_at(self) -> str | None:
        folders = [str(path.parent) for path in self._paths()]
        if not folders:
            return None
        return (
            f"it was looked for in every backup in {' and '.join(folders)}; if it may be in one "
            "elsewhere, set KB_BACKUP_DIR to that folder and run `kb verify --repair` again"
        )

    def _paths(self) -> list[Path]:
        paths = folders_in(self.last)
        if self.folder is not None and self.store_id is not None:
            paths.insert(0, Shelf.of(self.folder, self.store_id).path)
        return list(dict.fromkeys(paths))


def folders_in(last: str | None) -> list[Path]:
    """The folders of this store's backups that what is remembered of the last one names, the last
    one's first."""
    try:
        about = json.loads(last or "null")
        folders = [Path(about["folder"]).parent, *map(Path, about.get("earlier", []))]
    except (ValueError, TypeError, KeyError):
        return []
    return [folder for folder in dict.fromkeys(folders) if folder.is_absolute()]


def with_earlier(made: dict[str, Any], last: str | None) -> dict[str, Any]:
    """What is to be remembered of a backup that was made: those before it may be elsewhere."""
    folder = Path(made["folder"]).parent
    earlier = [str(each) for each in folders_in(last) if each != folder]
    return made | {"earlier": earlier[:_MOST_FOLDERS]}


@contextmanager
def last_good(where: Whereabouts) -> Iterator[Rescue | None]:
    """The newest backup of a store that is whole; None where there is none."""
    shelf = where.shelf()
    if shelf is None:
        yield None
        return
    with closing(shelf.blocks()) as blocks:
        contents = _newest_whole(shelf, blocks, where.passed_over)
        if contents is None or where.store_id not in (None, contents.manifest.store_id):
            yield None
            return
        size = contents.manifest.database_bytes
        with reading_pages(size, database_of(contents, blocks)) as connection:
            yield Rescue(contents.manifest, connection)


def _newest_whole(shelf: Shelf, blocks: Blocks, passed_over: list[str]) -> Contents | None:
    for folder in reversed(shelf.names()):
        try:
            contents = read_contents(folder)
        except BackupDamaged as error:
            passed_over.append(f"the backup {folder} cannot be read ({error.message})")
            continue
        trouble = check(contents, shelf, blocks, tell_nobody)
        if any(each.unreadable for each in trouble):  # a disk may stumble once
            trouble = check(contents, shelf, blocks, tell_nobody)
        if not trouble:
            return contents
        passed_over.append(f"the backup {folder} is damaged ({trouble[0]})")
    return None
