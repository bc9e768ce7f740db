"""Memory that is free in, given back to the system out: C's allocator keeps it otherwise.

Each job has a thread of its own, each thread may get an arena of its own, and an arena that once
held a long document stays as large as that.
"""

import ctypes
import gc
import sys
from functools import cache
from typing import Any

_ARENA_MAX = -8  # M_ARENA_MAX
_ARENAS = 2


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
