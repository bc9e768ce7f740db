"""A number in, the call on the disk with that number failed: SQLite's calls and the engine's own.

SQLite's go through a VFS of Python's below the one that writes checksums, so this has to be set up
before the engine opens its first database. The engine's own go through the functions of `os` and
`open`. What does not lie below the folder in question does not count.
"""

import builtins
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import apsw

Error = Literal["ENOSPC", "EIO"]

_NUMBERS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO}
# What a disk without room refuses. To read, to sync and to delete it can.
_TAKES_ROOM = {"write", "create", "truncate", "fallocate", "link", "mkdir", "rename"}
_CODES = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "unlink": apsw.SQLITE_IOERR_DELETE,
    "create": apsw.SQLITE_CANTOPEN,
    "size": apsw.SQLITE_IOERR_FSTAT,
}


class Calls:
    """Counts the calls below a folder that could fail with `error`, and fails one of them."""

    def __init__(self, folder: Path) -> None:
        self._below = f"{folder}/"
        self._failing = 0
        self._counting = False
        self._error: Error = "EIO"
        self.seen = 0
        self.failed: str | None = None  # which one did
        self._vfs = _Vfs(self)  # which is there only for as long as somebody holds it
        self._patch()

    def count(self, error: Error, failing: int = 0) -> None:
        """From now on; `failing` is the number of the one that fails, 0 for none."""
        self._counting, self._error, self._failing = True, error, failing
        self.seen, self.failed = 0, None

    def stop(self) -> int:
        """Be well again; how many there were."""
        self._counting = False
        return self.seen

    def meet(self, kind: str, path: str) -> bool:
        """Whether this call has to fail."""
        if not self._counting or not path.startswith(self._below):
            return False
        if self._error == "ENOSPC" and kind not in _TAKES_ROOM:
            return False
        self.seen += 1
        if self.seen != self._failing:
            return False
        self.failed = f"{kind} {path.removeprefix(self._below)}"
        return True

    def meet_in_sqlite(self, kind: str, path: str) -> None:
        if self.meet(kind, path):
            full = self._error == "ENOSPC" and kind != "create"
            raise apsw.exception_for(apsw.SQLITE_FULL if full else _CODES[kind])

    def meet_in_python(self, kind: str, path: Any) -> None:
        if isinstance(path, int):
            try:
                path = os.readlink(f"/proc/self/fd/{path}")
            except OSError:
                return
        if self.meet(kind, os.fspath(path)):
            number = _NUMBERS[self._error]
            raise OSError(number, os.strerror(number), path)

    def _patch(self) -> None:
        """Our own modules ask `os` by name, so its functions can be exchanged."""
        for name, kind, place in (
            ("fsync", "sync", 0),
            ("ftruncate", "truncate", 0),
            ("truncate", "truncate", 0),
            ("posix_fallocate", "fallocate", 0),
            ("pwrite", "write", 0),
            ("sendfile", "write", 0),
            ("unlink", "unlink", 0),
            ("rename", "rename", 1),
            ("replace", "rename", 1),
            ("link", "link", 1),
            ("mkdir", "mkdir", 0),
        ):
            setattr(os, name, self._meeting(getattr(os, name), kind, place))
        os.open = self._opening(os.open)  # type: ignore[assignment]
        opening = self._opening_file(io.open)
        io.open = builtins.open = opening  # type: ignore[assignment]
        os.fdopen = self._opening_file(os.fdopen)  # type: ignore[assignment]

    def _meeting(self, function: Callable[..., Any], kind: str, place: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("dir_fd") is None:
                self.meet_in_python(kind, args[place])
            return function(*args, **kwargs)

        return call

    def _opening(self, function: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if kwargs.get("dir_fd") is None:
                self.meet_in_python("create" if flags & os.O_CREAT else "open", path)
            return function(path, flags, *args, **kwargs)

        return call

    def _opening_file(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            writes = any(sign in mode for sign in "wax+")
            if not isinstance(path, int):
                self.meet_in_python("create" if writes else "open", path)
            file = function(path, mode, *args, **kwargs)
            return _File(self, file) if self._counting and file.fileno() > 2 else file

        return call


class _File:
    """A file each of whose reads and writes may fail, binary or of text."""

    def __init__(self, calls: Calls, file: Any) -> None:
        self._calls = calls
        self._file = file

    def write(self, content: Any) -> Any:
        self._calls.meet_in_python("write", self._file.fileno())
        return self._file.write(content)

    def read(self, *size: int) -> Any:
        self._calls.meet_in_python("read", self._file.fileno())
        return self._file.read(*size)

    def readinto(self, buffer: Any) -> Any:
        self._calls.meet_in_python("read", self._file.fileno())
        return self._file.readinto(buffer)

    def readline(self, *size: int) -> Any:
        self._calls.meet_in_python("read", self._file.fileno())
        return self._file.readline(*size)

    def __iter__(self) -> Any:
        while line := self.readline():
            yield line

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Vfs(apsw.VFS):
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        super().__init__("failing", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._calls.meet_in_sqlite("create", path)
        return _VfsFile(self._calls, name, path, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._calls.meet_in_sqlite("unlink", filename)
        super().xDelete(filename, syncdir)


class _VfsFile(apsw.VFSFile):
    def __init__(self, calls: Calls, name: Any, path: str, flags: list[int]) -> None:
        self._calls = calls
        self._path = path
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._calls.meet_in_sqlite("read", self._path)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._calls.meet_in_sqlite("write", self._path)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._calls.meet_in_sqlite("sync", self._path)
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        self._calls.meet_in_sqlite("truncate", self._path)
        super().xTruncate(newsize)

    def xFileSize(self) -> int:
        self._calls.meet_in_sqlite("size", self._path)
        return super().xFileSize()
