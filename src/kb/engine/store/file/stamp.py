"""Marks a folder of originals with the database it belongs to.

The database and the folder have the same random id. The folder also records the number of the
latest commit. It is written after the commit and not synced, so after a kill or a power loss it may
lag behind the database's own number, but never be ahead. If it is ahead, the database is older than
its folder: an older copy, or one whose log was cut.
"""

import logging
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from kb.engine.errors import StartupError
from kb.platform import NO_FOLLOW, sync, write_at

logger = logging.getLogger(__name__)

NAME = "store-stamp"  # in the folder; no original is ever called so
# The number has a sector of its own, which a disk writes as a whole: the id is never at risk.
_SECTOR = 512
_ID = re.compile(rb"kb store ([0-9a-f]{32})\n")
_COMMITS = re.compile(rb"commits (\d{20}) ([0-9a-f]{8})\n")


@dataclass(frozen=True, slots=True)
class Mark:
    """Which store it is, and how many of its commits are known of."""

    store_id: str
    commits: int


def missing_in_words(known: Mark, mark: Mark) -> str:
    """`1 change is`, `3 changes are`: what a database lacks that its folder has heard of."""
    missing = mark.commits - known.commits
    return "1 change is" if missing == 1 else f"{missing} changes are"


class Stamp:
    """The mark on a folder of originals. `count` is called by one thread at a time.

    `follows`: whether it is to hear of each commit. Not before the folder is known to be the
    database's own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.follows = False
        self._path = folder / NAME
        self._descriptor: int | None = None
        self._failed = False

    def is_there(self) -> bool:
        return self._path.exists()

    def read(self) -> Mark | None:
        """None where the folder has no mark. A number that cannot be read counts as none."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | NO_FOLLOW)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:
            content = file.read(2 * _SECTOR)
        found = _ID.match(content)
        if found is None:
            raise StartupError(
                f"{self._path} does not say which store it belongs to: put it back from a backup, "
                "or remove this one file"
            )
        counted = _COMMITS.match(content, _SECTOR)
        known = counted is not None and zlib.crc32(counted[1]) == int(counted[2], 16)
        return Mark(found[1].decode(), int(counted[1]) if counted and known else 0)

    def write(self, mark: Mark) -> None:
        """Mark the folder, durably."""
        temporary = self._path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(f"kb store {mark.store_id}\n".encode().ljust(_SECTOR))
            file.write(_counted(mark.commits))
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, self._path)
        sync(self.folder)

    def follow(self) -> None:
        """Be told of every commit from now on."""
        self.follows = True

    def count(self, commits: int) -> None:
        """Say which commit was the latest. Where that cannot be, nothing fails."""
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_WRONLY | NO_FOLLOW)
            write_at(self._descriptor, _counted(commits), _SECTOR)
        except OSError as error:
            if not self._failed:  # once is enough
                logger.warning("%s could not be brought up to date: %s", self._path, error)
            self._failed = True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _counted(commits: int) -> bytes:
    digits = b"%020d" % commits
    return b"commits %s %08x\n" % (digits, zlib.crc32(digits))
