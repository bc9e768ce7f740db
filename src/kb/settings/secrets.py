"""Takes keys out of the environment, so that nothing is left for others to read.

Any process of the same user can look at another one: at the environment it was started with, which
the kernel keeps showing (`/proc/PID/environ`) whatever happens to `os.environ`, and at all of its
memory. So a process of ours with a key first closes itself, then wipes the key out of its
environment. It passes keys on to our other processes by a socket, never by an environment.
"""

import ctypes
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NoReturn

from kb.settings.table import SETTINGS

_NAMES = frozenset(setting.name for setting in SETTINGS if setting.secret)
_HANDED = "_KB_KEYS_FROM"  # a descriptor: the end of a socket that keys can be read from
_MOST = 2**16  # bytes of keys
_SET_DUMPABLE = 4  # prctl(2)
_ENVIRONMENT_FROM, _ENVIRONMENT_TO = 47, 48  # fields of /proc/self/stat behind the name


def take() -> dict[str, str]:
    """The environment of this process with its keys, which it has no more when this is done.

    From here on no process of the same user can read this one's environment or memory, or trace
    it. Children are started without the keys, unless by `handed_over` or `become`.
    """
    close_to_others()
    environ = {**os.environ, **_received()}
    _wipe_environment()
    for name in _NAMES & os.environ.keys():
        del os.environ[name]
    return environ


def close_to_others() -> None:
    """Let no process of the same user look into this one: only root's privileges still can.

    The children of a fork inherit that; what a process becomes by exec has to ask for it again.
    """
    if sys.platform.startswith("linux"):
        nothing = ctypes.c_ulong(0)
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, nothing, nothing, nothing, nothing)


@contextmanager
def handed_over(environ: Mapping[str, str]) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """An environment for a process of ours, and the descriptors that it has to be given.

    A socket, not a pipe: others could open a pipe by its name below /proc until the new process
    has closed itself to them.
    """
    keys = {name: environ[name] for name in _NAMES if environ.get(name)}
    rest = {name: text for name, text in environ.items() if name not in _NAMES}
    if not keys:
        yield rest, ()
    elif os.name == "nt":  # has no such socket, and shows nobody an environment
        yield dict(environ), ()
    else:
        theirs = _filled(keys)
        with theirs:
            yield rest | {_HANDED: str(theirs.fileno())}, (theirs.fileno(),)


def become(command: list[str], environ: Mapping[str, str]) -> NoReturn:
    """Let another program of ours take the place of this process, with the keys."""
    with handed_over(environ) as (rest, descriptors):
        for descriptor in descriptors:
            os.set_inheritable(descriptor, True)
        os.execve(command[0], command, rest)  # noqa: S606 (no shell is wanted)


def _filled(keys: dict[str, str]) -> socket.socket:
    theirs, ours = socket.socketpair()
    with ours:
        ours.sendall(json.dumps(keys).encode())
    return theirs


def _received() -> dict[str, str]:
    """The keys that the parent process has handed over, if any."""
    descriptor = os.environ.pop(_HANDED, "")
    if not descriptor.isdecimal():
        return {}
    data = b""
    # Somebody else's variable would name what is no socket, or hold what is no JSON.
    with suppress(OSError, ValueError), socket.socket(fileno=int(descriptor)) as theirs:
        theirs.settimeout(1.0)
        while more := theirs.recv(_MOST):
            data += more
        keys = json.loads(data)
        return {name: str(keys[name]) for name in _NAMES & keys.keys()}
    return {}


def _wipe_environment() -> None:
    """Overwrite the keys where the kernel put them when this process was started."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # then nobody can read of other processes there either
        return
    start, end = (int(fields[number]) for number in (_ENVIRONMENT_FROM, _ENVIRONMENT_TO))
    place = start
    for entry in ctypes.string_at(start, end - start).split(b"\0") if start else ():
        name, _, value = entry.partition(b"=")
        if os.fsdecode(name) in _NAMES:
            ctypes.memset(place + len(name) + 1, 0, len(value))
        place += len(entry) + 1
