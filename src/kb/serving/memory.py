"""Memory that is free in, given back to the system out: C's allocator keeps it otherwise.

Each job has a thread of its own, each thread may get an arena of its own, and an arena that once
held a long document stays as large as that.
"""

import ctypes
import gc
import os
import sys
from functools import cache
from typing import Any

_ARENA_MAX = -8  # M_ARENA_MAX
_ARENAS = 2
_ALLOCATOR = "PYTHONMALLOC"


def keep_no_small_objects() -> None:
    """Start this program again with C's allocator in place of Python's own, where that can be.

    Python's gives back a megabyte only when the last object in it is gone, and a crowd of clients
    leaves a few in each. C's gives back every page. It takes a twentieth more time.
    """
    if _glibc() is not None and _ALLOCATOR not in os.environ:
        os.environ[_ALLOCATOR] = "malloc"
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - the very same program


def share_arenas() -> None:
    """Let all threads allocate from the same few arenas; before any thread is started."""
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return what is free. Takes some milliseconds, so it is for when there is nothing to do."""
    gc.collect()
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> Any:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None  # musl has none, and keeps less
