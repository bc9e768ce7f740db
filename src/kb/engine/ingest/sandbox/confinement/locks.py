"""Locks a process in to read one document: on Linux by Landlock (files), seccomp (system calls) and
without privileges; elsewhere it keeps its user's rights, within `limits`."""

import contextlib
import ctypes
import os
import signal
import struct
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import kb
from kb.engine.ingest.sandbox.confinement import kernel, landlock, seccomp
from kb.settings import secrets

_CAPGET, _CAPSET = {"x86_64": 125, "aarch64": 90}, {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_VERSION = 0x20080522
_READ_ANY_FILE = 1 << 2  # CAP_DAC_READ_SEARCH


class Locks:
    """What a server prepares once, so that locking takes a fraction of a millisecond. Code stays
    readable, as Python imports a character set when it meets one. `programs` are files and folders
    of a program that readers run; `attachments`: they read files within files."""

    def __init__(self, programs: Sequence[Path] = (), *, attachments: bool = False) -> None:
        self.processes = bool(programs)
        self.attachments = attachments
        self._abi = landlock.version()
        self._rules: list[landlock.Rule] = []
        if self._abi:
            self._rules += map(landlock.readable, code_folders())
            self._rules += map(landlock.runnable, programs)
        self._filters = seccomp.Filters(processes=self.processes) if seccomp.available() else None

    @property
    def keep_folders_closed(self) -> bool:
        """Whether what a process writes, as the attachment of a mail, can only be in its memory."""
        return bool(self._abi) or self._filters is not None

    def close_server(self) -> None:
        """Lock this process in as far as it goes for one that forks. Its children inherit it."""
        if sys.platform != "linux":
            return
        _go_first_when_memory_runs_out()
        secrets.close_to_others()  # not before: what is below /proc/self belongs to root from here
        kernel.prctl(kernel.SET_NO_NEW_PRIVILEGES, 1)
        _drop_privileges()
        if self._filters is not None:
            self._filters.lock_server()

    def close_reader(self, document: Path) -> None:
        """Lock this process in with a document, for good. What fails here is raised."""
        if self._abi:
            landlock.restrict(self._abi, [*self._rules, landlock.readable(document)])
        if self._filters is not None:
            self._filters.lock_reader()


def code_folders() -> list[Path]:
    """Where Python's own code is, what was installed beside it, and kb."""
    named = sysconfig.get_paths()
    folders = {Path(named[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.add(Path(kb.__file__).parent)
    return sorted(path for path in folders if path.is_dir())


def die_with(parent: int) -> None:
    """Be killed when the parent process ends, also if it has ended already."""
    if sys.platform == "linux":
        kernel.prctl(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _go_first_when_memory_runs_out() -> None:
    """The kernel then kills a reader rather than the engine."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _drop_privileges() -> None:
    """Without its capabilities root is an ordinary user. One stays, if it is there: to open what
    root keeps in another user's folder. What may be read is the other locks' concern."""
    if kernel.MACHINE not in _CAPSET:
        return
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    held = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice 32 bits
    kernel.call(_CAPGET[kernel.MACHINE], header, held)
    kept = struct.unpack_from("=I", held, 4)[0] & _READ_ANY_FILE
    kernel.call(_CAPSET[kernel.MACHINE], header, struct.pack("=6I", kept, kept, 0, 0, 0, 0))
