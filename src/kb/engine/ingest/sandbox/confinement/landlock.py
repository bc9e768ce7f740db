"""Lets a process open the given paths and nothing else: Landlock, from Linux 5.13 on. A ruleset
names the kinds of access that are denied, and rules make exceptions. A kind that the kernel does
not know must not be named: each version of its interface (ABI) adds some."""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kb.engine.ingest.sandbox.confinement import kernel

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


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be done at a place. It is opened once, for many processes."""

    place: int
    access: int


def readable(path: Path) -> Rule:
    return _rule(path, 0)


def runnable(path: Path) -> Rule:
    """A program that may be started, or a folder of those."""
    return _rule(path, _EXECUTE)


def _rule(path: Path, access: int) -> Rule:
    if sys.platform != "linux":
        raise NotImplementedError("Landlock needs Linux")
    access |= _READ_FILE | (_READ_DIR if path.is_dir() else 0)
    return Rule(os.open(path, os.O_PATH | os.O_CLOEXEC), access)


def restrict(abi: int, rules: Iterable[Rule]) -> None:
    """Deny this process, for good, every file that no rule names. Needs PR_SET_NO_NEW_PRIVS."""
    files, network, scopes = (_known(kinds, abi) for kinds in (_FILES, _NETWORK, _SCOPES))
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    attributes = struct.pack("=QQQ", files, network, scopes)[:size]
    ruleset = kernel.call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for rule in rules:
            beneath = struct.pack("=Qi", rule.access, rule.place)
            kernel.call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(beneath), 0)
        kernel.call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _known(kinds: dict[int, int], abi: int) -> int:
    return sum(bits for since, bits in kinds.items() if since <= abi)
