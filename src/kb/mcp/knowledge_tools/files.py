"""Opens exactly the file that a client names, if it lies below an allowed folder.

The path is untrusted, and so is the folder: someone may put a link in it, or swap one in while we
look. So nothing is looked up twice. From the root on, each part of the path is opened relative to
the folder before it and never through a link. `..` goes back to the folder opened before, whatever
is above it by now. Later checks are made on the open file. This needs only old system calls, so it
works everywhere; `openat2` would do it in one call, but not every kernel and container allows it.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from kb.mcp.contract import ToolFailed

MEGABYTE = 2**20

_MOST_PARTS = 64  # of a path with `..`: each folder on its way is kept open

_Identity = tuple[int, int]  # of a folder: its device and number

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# A pipe without a writer would block whoever opens it; a terminal would become ours.
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Place:
    """A file below a root: the way to it, and the whole path as it will be remembered.

    The way may hold `..`, as long as it never leaves the root.
    """

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.root.joinpath(*(_without_dots(self.parts) or ()))


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A regular file that may be read. Its holder closes the descriptor."""

    descriptor: int
    path: Path
    size: int


class FileRoots:
    """The folders whose files may be read."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self._roots = tuple(roots)

    def places(self, file_path: str) -> list[Place]:
        """Where the path points to, by its text alone; a relative one may mean each root.

        Nothing outside of the roots is touched, so nobody learns what is there.
        """
        if not self._roots:
            raise _refused(
                file_path,
                "this server reads no files. Whoever runs it names the folders it may read in"
                " KB_MCP_FILE_ROOTS, such as KB_MCP_FILE_ROOTS=/home/anna/documents, and restarts"
                " it",
            )
        path = PurePath(file_path)
        if "\0" in file_path:
            raise _refused(file_path, "it holds a NUL, which no path does")
        if ".." in path.parts and len(path.parts) > _MOST_PARTS:
            raise _refused(file_path, f"with `..` a path may have {_MOST_PARTS} parts")
        places = [place for place in self._meant(path) if _without_dots(place.parts) is not None]
        if not places:
            allowed = ", ".join(map(str, self._roots))
            leaves = ", or leaves it by `..`" if ".." in path.parts else ""
            raise _refused(
                file_path, f"it is not below a folder in KB_MCP_FILE_ROOTS ({allowed}){leaves}"
            )
        if path.name in ("", ".."):
            raise _refused(file_path, "it is a folder; name a file in it")
        return places

    def _meant(self, path: PurePath) -> list[Place]:
        """A relative path below each root, an absolute one below those that it begins with."""
        if not path.is_absolute():
            return [Place(root, path.parts) for root in self._roots]
        return [
            Place(root, path.relative_to(spelling).parts)
            for root in self._roots
            for spelling in dict.fromkeys((root, Path(os.path.realpath(root))))
            if path != spelling and path.is_relative_to(spelling)
        ]

    def open(self, places: list[Place], store: str, files: str) -> OpenFile:
        """The first of the places that is there. May block: run it in a thread.

        `store` and `files` are the engine's database and its folder of files. Nothing in their
        folders is read, where the engine is on this machine.
        """
        if os.open not in os.supports_dir_fd:
            raise _refused(places[0].path, "files cannot be opened safely on this system")
        kept_out = _own_folders(store, files)
        for place in places:
            found = _open(place, kept_out)
            if found is not None:
                return found
        path = places[0].path
        raise ToolFailed("file_not_found", f"File not found: {path}", file_path=str(path))


def _open(place: Place, kept_out: set[_Identity]) -> OpenFile | None:
    """None if there is no such file."""
    try:
        way = [os.open(place.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))]
    except OSError:
        return None
    goes_back = ".." in place.parts
    try:
        if kept_out & {_identity(above) for above in Path(os.path.realpath(place.root)).parents}:
            raise _own(place)
        for part in place.parts[:-1]:
            _check_folder(place, way[-1], kept_out)
            if part == "..":
                os.close(way.pop())
                continue
            way.append(os.open(part, _FOLDER, dir_fd=way[-1]))
            if not goes_back:
                os.close(way.pop(0))
        _check_folder(place, way[-1], kept_out)
        return _open_file(place, way[-1])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(place, error) from error
    finally:
        for folder in way:
            os.close(folder)


def _without_dots(parts: Iterable[str]) -> tuple[str, ...] | None:
    """What is left when each `..` has taken back the part before it; None if there was none."""
    left: list[str] = []
    for part in parts:
        if part != "..":
            left.append(part)
        elif left:
            left.pop()
        else:
            return None
    return tuple(left)


def _open_file(place: Place, folder: int) -> OpenFile:
    name = place.parts[-1]
    # Opening a device may do something; so it is looked at first, and once more when it is open.
    _check_regular(place, os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        _check_regular(place, status)
        return OpenFile(descriptor, place.path, status.st_size)
    except BaseException:
        os.close(descriptor)
        raise


def _check_regular(place: Place, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _linked(place)
    if stat.S_ISDIR(status.st_mode):
        raise _refused(place.path, "it is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise _refused(place.path, "it is not a regular file")


def _check_folder(place: Place, folder: int, kept_out: set[_Identity]) -> None:
    """By what the folder is, not by its name: it may be mounted under another."""
    status = os.fstat(folder)
    if (status.st_dev, status.st_ino) in kept_out:
        raise _own(place)


def _own_folders(store: str, files: str) -> set[_Identity]:
    """Empty where the database is not here: the engine is elsewhere, and its paths mean nothing."""
    try:
        os.stat(store)
        return {_identity(os.path.dirname(store)), _identity(files)}
    except (OSError, ValueError):
        return set()


def _identity(folder: str | Path) -> _Identity:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _unreadable(place: Place, error: OSError) -> ToolFailed:
    if isinstance(error, PermissionError):
        return _refused(place.path, "the server may not read it: give it the right to")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return _linked(place)
    return _refused(place.path, f"it cannot be opened: {error.strerror}")


def _own(place: Place) -> ToolFailed:
    return _refused(place.path, "it is in the knowledge base's own folder")


def _linked(place: Place) -> ToolFailed:
    return _refused(place.path, "a part of the path is a link or no folder: name the file itself")


def _refused(path: str | Path, why: str) -> ToolFailed:
    return ToolFailed("path_not_allowed", f"{path} cannot be added: {why}", file_path=str(path))


def check_size(size: int, max_megabytes: int) -> None:
    """Raises file_too_large. A file that is over by a byte is shown as over, too."""
    if size <= max_megabytes * MEGABYTE:
        return
    tenths = -(-size * 10 // MEGABYTE)
    shown = f"{tenths / 10:.1f}".removesuffix(".0")
    raise ToolFailed(
        "file_too_large",
        f"File size ({shown} MB) exceeds maximum allowed size ({max_megabytes} MB)",
        max_size_mb=max_megabytes,
    )
