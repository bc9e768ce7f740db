"""The data folder, and the engine's exclusive right to it."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kb.engine.data_folder.store_exchange import finish_exchange
from kb.engine.errors import StartupError
from kb.engine.values import Issue
from kb.platform import LOCKS_LEAVE_SQLITE_ALONE, NO_FOLLOW, try_lock, write_at

_BEYOND_THE_OWNER = 0o077
_OPEN = os.O_RDWR | NO_FOLLOW


class DataFolder:
    """The engine's folder, held by a lock for as long as this process lives.

    The system drops the lock when the process ends, however it ends, so none is ever stale. Every
    name of ours begins with `store`: the folder may be v2's, whose own names must stay untouched.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: int | None = None
        os.umask(0o077)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(path / "store.lock", _OPEN | os.O_CREAT, 0o600)
        except OSError as error:
            if error.errno == errno.ELOOP and (path / "store.lock").is_symlink():
                raise StartupError(
                    f"{path / 'store.lock'} is a symbolic link, which kb never makes and does not "
                    "follow: delete it, then start again"
                ) from error
            advice = "Name a folder that can be written (--data-dir, KB_DATA_DIR)"
            if (path / "store.db").exists():
                advice = (
                    "Have it written, or copy all of it and name the copy (--data-dir, KB_DATA_DIR)"
                )
            raise StartupError(
                f"Cannot use the data folder {path}: {error.strerror}. {advice}"
            ) from error
        if not try_lock(self._lock):
            os.lseek(self._lock, 0, os.SEEK_SET)
            holder = os.read(self._lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._lock)
            raise StartupError(
                f"Another engine (process {holder}) uses the data folder {path}: stop it, or name "
                "another folder (--data-dir, KB_DATA_DIR)"
            )
        with suppress(OSError):  # a full disk: then the number is missing from a message
            os.ftruncate(self._lock, 0)
            write_at(self._lock, str(os.getpid()).encode(), 0)
        try:
            finish_exchange(path)
        except (OSError, ValueError) as error:
            os.close(self._lock)
            raise StartupError(
                f"A restore into {path} was interrupted and cannot be finished: {error}. Look at "
                "that folder and its disk, then start again"
            ) from error

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
    def lost(self) -> Path:
        """Files that no row names."""
        return self.path / "store-lost"

    @property
    def incoming(self) -> Path:
        """The folder for uploads in progress; emptied at start."""
        folder = self.path / "store-incoming"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @property
    def v2_database(self) -> Path:
        return self.path / "kb.db"

    def hold_database(self) -> None:
        """Lock the database itself, before SQLite opens it: another name may lead to it as well.

        The descriptor stays open until SQLite has closed the file. To close any descriptor of a
        file drops all the locks that SQLite has on it, and another process could take its log away.
        """
        try:
            self._database = os.open(self.database, _OPEN | os.O_CREAT, 0o600)
        except OSError as error:
            refuse_linked(self.database)
            raise StartupError(
                f"The database {self.database} cannot be opened: {error.strerror}. Give the engine "
                "the right to read and write it, then start again"
            ) from error
        if LOCKS_LEAVE_SQLITE_ALONE and not try_lock(self._database):
            self._close_database()
            raise StartupError(
                f"Another engine uses the database {self.database}, by another path: stop it, or "
                "name another folder (--data-dir, KB_DATA_DIR)"
            )

    def release(self) -> None:
        """After SQLite has closed the database."""
        self._close_database()
        os.close(self._lock)

    def _close_database(self) -> None:
        if self._database is not None:
            os.close(self._database)
            self._database = None


def refuse_linked(database: Path) -> None:
    """Raise StartupError where there is a symbolic link in the database's place."""
    if database.is_symlink():
        raise StartupError(
            f"{database} is a symbolic link, and its log would be looked for beside it: name "
            "the folder in which the database itself is (--data-dir, KB_DATA_DIR)"
        )


def open_to_others(path: Path) -> Iterator[Issue]:
    """Parts of a data folder that others on this machine have rights to, and the command to fix it.
    If the folder is closed to them, they cannot reach the files in it, whatever the rights to those
    are."""
    for what, name, mode in (("data folder", path, "700"), ("database", path / "store.db", "600")):
        try:
            found = stat.S_IMODE(name.stat().st_mode)
        except OSError:  # what is gone is told elsewhere
            return
        if found & _BEYOND_THE_OWNER:
            yield Issue(
                "open_to_others",
                f"Others on this machine have rights to the {what} {name} (mode {found:o}): "
                f"take them away with `chmod {mode} {name}`",
            )
        elif name == path:
            return
