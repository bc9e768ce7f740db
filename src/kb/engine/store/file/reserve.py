"""Holds room on the disk, so that deleting works when it is full."""

import errno
import logging
import os
import shutil
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from kb.engine.errors import KbError, StorageFailed, StorageFull
from kb.platform import NO_FOLLOW, allocate, has_holes

logger = logging.getLogger(__name__)

_MEGABYTE = 2**20
# What stays of it while the engine runs: enough for SQLite to open the database at a start.
_FOR_A_START = 2**19
_STEP = 2**16
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}

StoreT = TypeVar("StoreT", bound=Any)
P = ParamSpec("P")
T = TypeVar("T")


def may_use_reserve(
    method: Callable[Concatenate[StoreT, P], T],
) -> Callable[Concatenate[StoreT, P], T]:
    """A method of the store that frees room: what a full disk keeps it from is tried again, each
    time with more of the place of the reserve."""

    @wraps(method)
    def run(self: StoreT, /, *args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            try:
                return method(self, *args, **kwargs)
            except StorageFull as error:
                if self._database.make_room():
                    continue
                raise StorageFull(
                    "The disk is full, and this needs more room than the reserve had: nothing was "
                    "changed. Delete something smaller first, or free some space on the disk"
                ) from error

    return run


class Reserve:
    """The file `store-reserve` beside the database, and whether it is there as it should be.

    Deletions write, too: to the log, and what is deleted is overwritten. On a full disk they take
    the place of this file. While it is lacking nothing else is written, so that a full disk is
    never so full that nothing could be deleted any more. A size of 0 means that there is none.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self._lock = threading.Lock()
        self._trouble: OSError | None = None
        self.bytes = self._found()
        self._given = 0  # bytes, which are taken again as soon as deletions do not need them

    @property
    def lacking(self) -> bool:
        return self.bytes < self._size

    @property
    def is_used_up(self) -> bool:
        """Whether deletions have nothing of it left to use."""
        return self.bytes <= _FOR_A_START

    @property
    def _wanted(self) -> int:
        """How many bytes must be free to make it: some more, or it would soon be given up again."""
        return self._size - self.bytes + max(_MEGABYTE, self._size // 4)

    def refusal(self) -> KbError | None:
        """Why nothing may be added now; None where the reserve is there, or could be made."""
        return None if not self.lacking or self.make() else self.why_lacking()

    def why_lacking(self) -> KbError:
        if self._trouble is not None:
            return StorageFailed(
                f"The reserve {self._path.name} cannot be made: {self._trouble.strerror}. Check "
                "the disk and the rights to the data folder (KB_DATA_DIR); no restart is needed"
            )
        if self.is_used_up:
            return StorageFull(
                f"The disk is full and the reserve that deletions need (KB_RESERVE_MB) is used up, "
                f"so even they may fail now: free {self._wanted // _MEGABYTE + 1} MB by deleting "
                "other files of this disk; no restart is needed"
            )
        return StorageFull(
            f"The disk is full: there is no room for the reserve of {self._size // _MEGABYTE} MB "
            f"that deletions need (KB_RESERVE_MB), so nothing is added until "
            f"{self._wanted // _MEGABYTE + 1} MB are free. Delete documents or other files of this "
            "disk; no restart is needed"
        )

    def make(self) -> bool:
        """Take the place, if there is enough of it; whether the reserve is there now.

        Of what deletions got, as much as there is: but whole it is only with some room to spare.
        """
        with self._lock:
            if not self.lacking:
                return True
            try:
                free = self._free()
                if free >= self._wanted:
                    self._allocate(self._size)
                    self._given = 0
                elif min(free, self._given) >= _STEP:
                    taken = min(free, self._given) // _STEP * _STEP
                    size = min(self.bytes + taken, self._size - _STEP)
                    if size > self.bytes:
                        self._given -= size - self.bytes
                        self._allocate(size)
                self._trouble = None
            except OSError as error:
                self._note(error)
            return not self.lacking

    def give_up(self, at_least: int = 0) -> bool:
        """Let deletions have some of the place, more each time; whether there was any left.

        A little stays for the next start, which takes it all.
        """
        with self._lock:
            given = min(max(at_least, self._given, _MEGABYTE), self.bytes - _FOR_A_START)
            if given <= 0:
                return False
            try:
                os.truncate(self._path, self.bytes - given)
            except OSError as error:
                self._note(error)
                return False
            self.bytes -= given
            self._given += given
            logger.warning("the disk is full: %s bytes of the reserve go to deletions", given)
            return True

    def give_up_everything(self) -> None:
        with self._lock:
            try:
                self._path.unlink(missing_ok=True)
                self.bytes = 0
            except OSError as error:
                self._note(error)

    def has_room(self, size: int) -> bool:
        """Whether so much can be written; the reserve is given up where that is needed for it."""
        with self._lock:
            free = self._free()
            spare = max(0, self.bytes - _FOR_A_START)
        if free < size <= free + spare:
            self.give_up(size - free)
        return size <= free + spare

    def _free(self) -> int:
        return shutil.disk_usage(self._path.parent).free

    def _allocate(self, size: int) -> None:
        """Blocks of the disk for so much of it, as far as its file system promises such a thing."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
        try:
            allocate(file, size)
            os.fsync(file)
            self.bytes = size
        finally:
            os.close(file)

    def _note(self, error: OSError) -> None:
        """A full disk is nothing to explain; other trouble is, once."""
        trouble = None if error.errno in _NO_SPACE else error
        if trouble is not None and self._trouble is None:
            logger.warning("the reserve cannot be made: %s", error)
        self._trouble = trouble

    def _found(self) -> int:
        """What an earlier run left of it, cut to today's size; nothing where it has holes."""
        try:
            if self._size == 0:
                self._path.unlink(missing_ok=True)
                return 0
            about = os.lstat(self._path)
            if about.st_size > self._size:
                os.truncate(self._path, self._size)
            elif has_holes(about):
                return 0
            return min(about.st_size, self._size)
        except OSError:
            return 0
