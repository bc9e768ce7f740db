"""The exclusive right to read a data folder, even if its disk cannot be written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.engine.data_folder.folder import DataFolder
from kb.engine.errors import StartupError
from kb.platform import NO_FOLLOW, try_lock

# SQLite needs to write beside a database even to read it; its log is part of it.
_COPIED = ("store.db", "store.db-wal", "store-damage.json")


def is_writable(path: Path) -> bool:
    """Whether a folder may be written; one that is not there yet counts as such."""
    return not path.is_dir() or os.access(path, os.W_OK)


@contextmanager
def held(path: Path, room: Path | None = None) -> Iterator[DataFolder]:
    """The folder, locked. Raises StartupError where an engine uses it, naming its process.

    Of one that can only be read, it is a temporary folder with a copy of the database and a link to
    the originals, made in `room`: just when a disk fails its store has to be looked at and saved.
    """
    if is_writable(path):
        folder = DataFolder(path)
        try:
            yield folder
        finally:
            folder.release()
        return
    with _unused(path), tempfile.TemporaryDirectory(prefix=".kb-", dir=room) as copy:
        _copy_database(path, Path(copy))
        if (path / "store-files").is_dir():
            (Path(copy) / "store-files").symlink_to(path.resolve() / "store-files")
        folder = DataFolder(Path(copy))
        try:
            yield folder
        finally:
            folder.release()


def only_read(path: Path) -> StartupError:
    """For what has to write there."""
    return StartupError(
        f"The data folder {path} can only be read: copy all of it to a disk that can be written, "
        "then run this there with --data-dir"
    )


@contextmanager
def _unused(path: Path) -> Iterator[None]:
    try:
        lock = os.open(path / "store.lock", os.O_RDONLY | NO_FOLLOW)
    except FileNotFoundError:
        yield
        return
    try:
        if not try_lock(lock, shared=True):
            raise StartupError(f"Another engine uses the data folder {path}: stop it")
        yield
    finally:
        os.close(lock)


def _copy_database(path: Path, copy: Path) -> None:
    there = [path / name for name in _COPIED if (path / name).exists()]
    needed = sum(each.stat().st_size for each in there)
    if shutil.disk_usage(copy).free < needed:
        raise StartupError(
            f"The data folder {path} can only be read, and {copy.parent} has no room for a copy of "
            f"its database ({needed >> 20} MB): copy all of the folder to a disk that can be "
            "written, then run this there with --data-dir"
        )
    for each in there:
        shutil.copy2(each, copy / each.name)
