"""What differs between systems, behind one name each, and what is lost where a system lacks it.

kb is built and tested on Linux, and its types are checked for macOS and Windows, too. Readers of
documents are locked in on Linux alone (`engine/ingest/sandbox`, which has its own part for
Windows); elsewhere the status says what is missing.
"""

import errno
import os
import signal
import sys
from pathlib import Path

# Opens no symbolic link. Windows has no such flag; making a link there takes rights of its own.
NO_FOLLOW = 0

# What a program is sent when its terminal changes its size. On Windows it finds out by looking.
RESIZED: tuple[signal.Signals, ...] = ()

# The disk, or what stands for it, cannot do what it was asked: nobody refused it.
DISK_ERRORS = {errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE}

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

    NO_FOLLOW = os.O_NOFOLLOW
    RESIZED = (signal.SIGWINCH,)
if sys.platform == "linux":
    DISK_ERRORS |= {errno.EREMOTEIO, errno.EUCLEAN}

# A lock on a whole file and the locks that SQLite takes on parts of it leave each other alone.
# Elsewhere they keep each other out, so a database that two paths lead to is not noticed.
LOCKS_LEAVE_SQLITE_ALONE = sys.platform == "linux"

_BEHIND_ALL = 1 << 30  # where Windows locks a byte, since nobody could read a locked one


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed, however this process ends; whether nobody else has.

    Windows knows no shared locks of this kind: there two that only read keep each other out.
    """
    try:
        if sys.platform == "win32":
            os.lseek(file, _BEHIND_ALL, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_at(file: int, data: bytes, place: int) -> None:
    """In one call, where there is one for it: then no other writer can come in between."""
    if sys.platform == "win32":
        os.lseek(file, place, os.SEEK_SET)
        os.write(file, data)
    else:
        os.pwrite(file, data, place)


def sync(path: Path) -> None:
    """Make a file's bytes, or the names in a folder, durable. Windows opens no folders, and makes
    only durable what was opened to be written."""
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def go_behind_others(niceness: int) -> None:
    """Let other processes go first. Windows keeps all alike."""
    if sys.platform != "win32":
        os.nice(niceness)


def allocate(file: int, size: int) -> None:
    """Blocks of the disk for an open file of this size, from its start.

    macOS and Windows promise none: there the file has its size, and a full disk may still refuse
    what is written to it.
    """
    if sys.platform == "linux":
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)


def has_holes(about: os.stat_result) -> bool:
    """Whether a file has fewer blocks of the disk than bytes. Windows does not tell."""
    if sys.platform == "win32":
        return False
    return about.st_blocks * 512 < about.st_size


def forget_cached(file: int) -> None:
    """Give back the memory in which the system keeps what was read; elsewhere it decides alone."""
    if sys.platform == "linux":
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def is_mine(file: int) -> bool:
    """Whether an open file is this user's; on Windows whatever can be opened."""
    return sys.platform == "win32" or os.fstat(file).st_uid == os.getuid()
