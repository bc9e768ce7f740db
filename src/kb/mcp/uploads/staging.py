"""Spools incoming bytes in a private folder that is deleted with its process."""

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kb.mcp.contract import ToolFailed
from kb.platform import NO_FOLLOW, is_mine, try_lock

logger = logging.getLogger(__name__)

PREFIX = "kb-mcp-"
_LOCK = "lock"
_MARGIN = 64 * 2**20  # left to everybody else on that disk


def _disk_free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class Staging:
    """A folder of our own among the temporary files.

    It is removed when the server ends. One that was killed could not do that, so each start
    removes the folders that no living process holds.
    """

    def __init__(
        self, parent: Path | None = None, free: Callable[[Path], int] = _disk_free
    ) -> None:
        self._parent = parent
        self._free = free
        self._lock = -1
        self._failure: OSError | None = None
        self.folder = Path()

    def open(self) -> None:
        """Make the folder, after clearing away what earlier servers left.

        Where that fails, everything but uploads still works, so it is told when one is started.
        """
        try:
            parent = self._parent or Path(tempfile.gettempdir())
            _remove_abandoned(parent)
            self._make(parent)
        except OSError as error:
            logger.error("no folder for uploads: %s", error)
            self._failure = error

    def _make(self, parent: Path) -> None:
        while True:
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            self._lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            # A server that starts at the same moment may have taken it for an abandoned one.
            if try_lock(self._lock) and (self.folder / _LOCK).exists():
                return
            os.close(self._lock)

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        if self._failure is None:
            os.close(self._lock)
            shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name: str) -> Path:
        return self.folder / name

    def check_room(self, size: int, promised: int) -> None:
        """Raise unless `size` more bytes fit on the disk beside those others may still send."""
        if self._failure is not None:
            raise ToolFailed(
                "storage_failed",
                f"The MCP server has no folder for uploads ({self._failure.strerror}): ask whoever"
                " runs it to set TMPDIR to one that can be written",
            )
        room = self._free(self.folder) - promised - _MARGIN
        if size > room:
            raise ToolFailed(
                "storage_full",
                f"The MCP server has room for {max(room, 0) // 2**20} MB, the file needs"
                f" {-(-size // 2**20)} MB: tell whoever runs it, or try again later",
            )


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone meanwhile
            lock = os.open(folder / _LOCK, os.O_RDWR | NO_FOLLOW)
            try:
                if is_mine(lock) and try_lock(lock):
                    shutil.rmtree(folder, ignore_errors=True)
                    logger.info("removed %s, left by a server that was killed", folder)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _naming_a_full_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ToolFailed(
            "storage_full",
            "The disk of the MCP server is full: tell whoever runs it, then send this again",
        ) from error


def write_at(path: Path, offset: int, data: bytes) -> None:
    """Put bytes into a spool; when that fails, what stood before `offset` is still there."""
    with _naming_a_full_disk():
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(file, offset)
            os.lseek(file, offset, os.SEEK_SET)
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
        finally:
            os.close(file)


def put_in_order(path: Path, spans: Iterable[tuple[int, int]]) -> None:
    """Rewrite a spool so that its (offset, size) spans follow each other as given."""
    ordered = path.with_suffix(".ordered")
    try:
        with _naming_a_full_disk(), path.open("rb") as source, ordered.open("wb") as target:
            for offset, size in spans:
                source.seek(offset)
                target.write(source.read(size))
        ordered.replace(path)
    finally:
        ordered.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
