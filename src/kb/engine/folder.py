"""A data folder in, the sole right to it out."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from kb.engine.errors import StartupError


class DataFolder:
    """The engine's folder, held by a lock for as long as this process lives.

    The system drops the lock when the process ends, however it ends, so none is ever stale. Every
    name of ours begins with `store`: the folder may be v2's, whose own names must stay untouched.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        os.umask(0o077)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(path / "store.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StartupError(
                f"Cannot use the data folder {path}: {error.strerror}. Set KB_DATA_DIR to a folder "
                "that can be written"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._lock, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._lock)
            raise StartupError(
                f"Another engine (process {holder}) uses the data folder {path}: stop it, or set "
                "KB_DATA_DIR to another folder"
            ) from error
        with suppress(OSError):  # a full disk: then the number is missing from a message
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, str(os.getpid()).encode(), 0)

    @property
    def database(self) -> Path:
        return self.path / "store.db"

    @property
    def files(self) -> Path:
        return self.path / "store-files"

    @property
    def pictures(self) -> Path:
        """Pages that were drawn: all of it can be made again."""
        return self.path / "store-pictures"

    @property
    def incoming(self) -> Path:
        """Where uploads are spooled; emptied at start."""
        folder = self.path / "store-incoming"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @property
    def v2_database(self) -> Path:
        return self.path / "kb.db"

    def release(self) -> None:
        os.close(self._lock)
