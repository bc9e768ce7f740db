"""Writes files that are safely on the disk: counted, private, at a pace others can bear."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from kb.platform import forget_cached

_PIECE = 1 << 20
_SYNC_EVERY = 4 << 20
# A share of the time that it worked, so that whoever waits for the same disk has its turn.
_REST = 0.25

_sync_data = getattr(os, "fdatasync", os.fsync)  # not every system has it


class UnreadableOriginal(Exception):
    """A file that is to be copied is gone or cannot be read: not a fault of where it goes."""


class Disk:
    """Writes files. What is written goes to the disk a little at a time: a large heap of it at the
    end would have everybody else wait."""

    def __init__(self, rest: Callable[[float], None] = time.sleep) -> None:
        self.written = 0
        self._rest = rest
        self._unsynced = 0
        self._began = time.monotonic()

    def create(self, path: Path) -> BinaryIO:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def write(self, file: BinaryIO, data: bytes) -> None:
        file.write(data)
        self.written += len(data)
        self._unsynced += len(data)
        if self._unsynced >= _SYNC_EVERY:
            file.flush()
            _sync_data(file.fileno())
            self._unsynced = 0
            self.rest()

    def finish(self, file: BinaryIO) -> None:
        """Sync the file and drop it from the cache: the next reader sees what is on the disk."""
        file.flush()
        os.fsync(file.fileno())
        forget_cached(file.fileno())
        file.close()
        self._unsynced = 0

    def save(self, path: Path, data: bytes) -> None:
        file = self.create(path)
        self.write(file, data)
        self.finish(file)

    def copy(self, source: Path, target: Path) -> tuple[str, int]:
        """Copy a file; the hash and the size of what was copied. The caller syncs it."""
        digest, size = hashlib.sha256(), 0
        with self.create(target) as copy:
            for piece in _pieces(source):
                digest.update(piece)
                size += len(piece)
                self.write(copy, piece)
        return digest.hexdigest(), size

    def rest(self) -> None:
        """Let others work for a share of the time since the last rest."""
        worked = time.monotonic() - self._began
        self._rest(min(1.0, worked * _REST))
        self._began = time.monotonic()


def _pieces(source: Path) -> Iterator[bytes]:
    try:
        with source.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise UnreadableOriginal(str(error)) from error


def hash_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
