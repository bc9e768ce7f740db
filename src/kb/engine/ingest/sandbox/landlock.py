"""Paths in, a process that can open nothing else out: Landlock, from Linux 5.13 on.

A ruleset names the kinds of access that are denied from now on, and rules take places out of that:
here reading below a few folders, and reading one file. What a kernel does not know yet must not be
named, so each version of its interface (ABI) adds to what is denied.
"""

import ctypes
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from kb.engine.ingest.sandbox import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_ASK_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
# By version of the interface: all of 1 is execute, write, read and every change to folders.
_FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # 2 move, 3 truncate, 5 devices
_NETWORK = {4: 0b11}  # TCP: bind, connect
_SCOPES = {6: 0b11}  # abstract sockets and signals, to processes outside


def version() -> int:
    """Of the kernel's interface; 0 where there is none, or where it was turned off."""
    if not kernel.MACHINE:
        return 0
    try:
        return kernel.call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def folder(path: Path) -> int:
    """A descriptor by which `restrict` may be told of a folder again and again."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def restrict(abi: int, file: Path, folders: Sequence[int], programs: Sequence[int] = ()) -> None:
    """Deny this process, for good, every file but `file` and what is below `folders`.

    Below `programs`, programs may be started, too. Needs PR_SET_NO_NEW_PRIVS.
    """
    files, network, scopes = (_known(kinds, abi) for kinds in (_FILES, _NETWORK, _SCOPES))
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    attributes = struct.pack("=QQQ", files, network, scopes)[:size]
    ruleset = kernel.call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for descriptor in folders:
            _allow(ruleset, _READ_FILE | _READ_DIR, descriptor)
        for descriptor in programs:
            _allow(ruleset, _READ_FILE | _READ_DIR | _EXECUTE, descriptor)
        descriptor = os.open(file, os.O_PATH | os.O_CLOEXEC)
        try:
            _allow(ruleset, _READ_FILE, descriptor)
        finally:
            os.close(descriptor)
        kernel.call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _known(kinds: dict[int, int], abi: int) -> int:
    return sum(bits for since, bits in kinds.items() if since <= abi)


def _allow(ruleset: int, access: int, descriptor: int) -> None:
    rule = struct.pack("=Qi", access, descriptor)
    kernel.call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
