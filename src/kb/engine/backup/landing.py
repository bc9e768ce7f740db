"""Holds the folder that a restore writes to, and leaves nothing in it if the restore fails."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from kb.engine.backup.manifest import Manifest
from kb.engine.data_folder.folder import DataFolder
from kb.engine.data_folder.store_exchange import is_begun, unstage
from kb.engine.errors import BackupFailed

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_BLOCK = 4096  # bytes: what a file takes on a disk is a multiple of it
_BESIDE = 1 << 20  # for the names of files and SQLite's journal
_MB = 1 << 20


@contextmanager
def landing(data: Path, manifest: Manifest) -> Iterator[DataFolder]:
    """The folder, locked. Everything made in it is removed again unless the exchange of the stores
    begins; whoever opens the folder next finishes that."""
    made = [path for path in (data, *data.parents) if not path.exists()]
    if made:
        refuse_without_room(made[-1].parent, manifest)
    had_lock = os.path.lexists(data / "store.lock")
    try:
        folder = DataFolder(data)
    except BaseException:
        _remove(made)
        raise
    try:
        yield folder
    except BaseException:
        if not is_begun(data):
            unstage(data)
            if not had_lock:
                (data / "store.lock").unlink(missing_ok=True)
            _remove(made)
        raise
    finally:
        folder.release()


def refuse_without_room(folder: Path, manifest: Manifest) -> None:
    """Raise BackupFailed where a store of that size does not fit. All of it is copied: a link would
    change the backup with the store."""
    free = shutil.disk_usage(folder).free
    if free < _needed(manifest):
        raise BackupFailed(_no_room(folder, manifest, f", and {free // _MB} MB are free"))


def in_words(error: Exception, folder: Path, manifest: Manifest) -> str:
    """The disk's error while the store was written."""
    no_space = isinstance(error, OSError) and error.errno in _NO_SPACE
    if no_space or isinstance(error, apsw.FullError):
        return _no_room(folder, manifest)
    if isinstance(error, apsw.IOError):  # its text is mostly `not an error`
        return "The database could not be written or read: check both disks, then try again"
    return f"The backup could not be restored into {folder}: {error}"


def _needed(manifest: Manifest) -> int:
    originals = manifest.original_bytes + manifest.originals * _BLOCK
    return manifest.database_bytes + originals + _BESIDE


def _no_room(folder: Path, manifest: Manifest, free: str = "") -> str:
    return (
        f"There is no room for the backup on the disk of {folder}: it takes "
        f"{-(-_needed(manifest) // _MB)} MB{free}. Make room there, or name a folder on another "
        "disk with --data-dir"
    )


def _remove(made: list[Path]) -> None:
    """Folders, the innermost first. One that somebody else has put something into stays."""
    with suppress(OSError):
        for path in made:
            path.rmdir()
