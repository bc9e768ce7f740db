"""Locks a process in, so that it can read one document and do nothing else.

On Linux by Landlock (which files), seccomp (which system calls) and without privileges, as far as
the kernel has them; elsewhere a process keeps its user's rights, within `limits`.
"""

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
    """What a server prepares once, so that a process can be locked in a fraction of a millisecond.

    Code can be read after locking, too: a character set is a module that Python imports when it
    meets the first text in it. `programs` are the files and folders of a program that readers run;
    `attachments` says that they read files within files.
    """

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
        """Whether what a process writes can only be in its memory, as an attachment of a mail is
        for the reader that wants a file."""
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
    """Root may do nearly everything because of its capabilities; without them it is a user.

    One stays, if it is there: a folder that root keeps for another user is closed to it otherwise.
    What may be read is the other locks' concern.
    """
    if kernel.MACHINE not in _CAPSET:
        return
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    held = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice 32 bits
    kernel.call(_CAPGET[kernel.MACHINE], header, held)
    kept = struct.unpack_from("=I", held, 4)[0] & _READ_ANY_FILE
    kernel.call(_CAPSET[kernel.MACHINE], header, struct.pack("=6I", kept, kept, 0, 0, 0, 0))
