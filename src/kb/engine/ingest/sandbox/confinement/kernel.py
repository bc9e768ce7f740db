"""System calls that Python has no function for, by way of the C library. Linux only."""

import ctypes
import os
import platform
import sys

# prctl(2)
SET_PARENT_DEATH_SIGNAL = 1
SET_NO_NEW_PRIVILEGES = 38

_LINUX = sys.platform.startswith("linux")
_MACHINE = platform.machine()
# Only where a pointer is 64 bits wide: a 32-bit Python on such a machine has other numbers.
MACHINE = _MACHINE if _LINUX and sys.maxsize > 2**32 else ""

_libc = ctypes.CDLL(None, use_errno=True) if _LINUX else None


def call(number: int, *arguments: object) -> int:
    """A system call by its number; what goes wrong is an OSError, as everywhere in Python."""
    assert _libc is not None
    wide = (
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    )
    return _checked(_libc.syscall(ctypes.c_long(number), *wide))


def prctl(option: int, argument: int) -> None:
    assert _libc is not None
    nothing = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(argument), nothing, nothing, nothing))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
