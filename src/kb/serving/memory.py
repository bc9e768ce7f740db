"""Gives free memory back to the system, which C's allocator would keep.

Each job has its own thread, each thread may get its own arena, and an arena that once held a long
document stays that large.
"""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from kb.settings import secrets

_ARENA_MAX = -8  # M_ARENA_MAX
_ARENAS = 2
_ALLOCATOR = "PYTHONMALLOC"
_LARGE = 2**17  # bytes of a message
_MOST_TAKEN = 2**26  # bytes of such messages, until it is time to look for what they left
_SOON = 1.0  # seconds after the first of them


def keep_no_small_objects(environ: Mapping[str, str]) -> None:
    """Start this program again with C's allocator in place of Python's own, where that can be.

    Python's gives back a megabyte only when the last object in it is gone, and a crowd of clients
    leaves a few in each. C's gives back every page. It takes a twentieth more time.
    """
    if _glibc() is not None and _ALLOCATOR not in environ:
        command = [sys.executable, *sys.orig_argv[1:]]  # the very same program
        secrets.become(command, {**environ, _ALLOCATOR: "malloc"})


def share_arenas() -> None:
    """Let all threads allocate from the same few arenas; before any thread is started."""
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return free memory. It takes some milliseconds, so it is for idle times."""
    gc.collect()
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


class Relief:
    """Has memory given back after messages that took much of it; on the event loop.

    What a request leaves behind is often in a circle, which Python looks for when there are many
    new objects: a few large texts it would keep for hours.
    """

    def __init__(self) -> None:
        self._taken = 0
        self._is_due = False

    def after(self, size: int) -> None:
        """A message of this many bytes has been handled, or soon will be."""
        if size < _LARGE:
            return
        self._taken += size
        if self._taken >= _MOST_TAKEN:
            self._taken = 0
            gc.collect()
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(_SOON, self._give_back)

    def _give_back(self) -> None:
        self._is_due = False
        self._taken = 0
        give_back()


@cache
def _glibc() -> Any:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None  # musl has none, and keeps less
