"""The fork server: one loop that forks readers, watches and kills them.

It loads the readers once, so that each document gets its own process in a millisecond or two. It
never looks at a document itself, so a document can harm only its reader.

A request comes with two sockets. The reader sends its messages on the first. The second stands for
the reader's life: the server reports on it that the reader has started and how it ended, and when
the other side closes it, the reader is killed with its whole group. As only this process waits for
its children, their process ids cannot have been reused by then.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass

from kb.engine.ingest.sandbox.child import Extractor, become_reader
from kb.engine.ingest.sandbox.confinement.locks import Locks
from kb.engine.ingest.sandbox.request import ENDED, LENGTH, STARTED

assert sys.platform != "win32"


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    life: socket.socket


class Server:
    def __init__(self, control: socket.socket, extract: Extractor, locks: Locks) -> None:
        self._control = control
        self._extract = extract
        self._locks = locks
        self._children: dict[int, _Child] = {}  # by the descriptor of their life
        self._ends, ends = socket.socketpair()
        for side in (self._ends, ends):
            side.setblocking(False)
        self._signalled = ends  # kept open: the signal handler writes to it
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ends.fileno(), warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._ends, select.POLLIN)

    def serve(self, idle_seconds: float) -> None:
        """Until the other side goes away, or nothing was asked for so long."""
        self._locks.close_server()
        gc.freeze()  # what is loaded stays; a child that looks through it would copy its memory
        try:
            while self._serve_once(idle_seconds):
                pass
        finally:
            signal.set_wakeup_fd(-1)  # its socket goes before the last signals come
            for child in self._children.values():
                _kill(child.pid)

    def _serve_once(self, idle_seconds: float) -> bool:
        ready = self._poll.poll(None if self._children else idle_seconds * 1_000)
        if not ready and not self._children:
            return False
        for descriptor, _ in ready:
            if descriptor == self._control.fileno():
                if not self._take():
                    return False
            elif descriptor == self._ends.fileno():
                with contextlib.suppress(BlockingIOError):
                    self._ends.recv(4_096)
                self._bury()
            elif descriptor in self._children:  # the other side wants no more of it
                _kill(self._children[descriptor].pid)
                self._poll.unregister(descriptor)
        return True

    def _take(self) -> bool:
        """One request; False when there will be no more."""
        length, descriptors, _, _ = socket.recv_fds(self._control, LENGTH.size, 2)
        if len(length) < LENGTH.size or len(descriptors) != 2:
            return False
        request = _exactly(self._control, LENGTH.unpack(length)[0])
        channel, life = descriptors
        self._start(request, channel, socket.socket(fileno=life))
        return True

    def _start(self, request: bytes, channel: int, life: socket.socket) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:  # no memory or no process left: whoever asked sees the life end
            print(f"no process for a reader: {error.strerror}", file=sys.stderr)
            os.close(channel)
            life.close()
            return
        if pid == 0:
            try:
                become_reader(request, channel, server, self._locks, self._extract)
            finally:
                os._exit(1)  # never back into this loop, which would kill its own siblings
        os.close(channel)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # in both processes, so that it is so before anyone relies on it
        _tell(life, STARTED)
        self._children[life.fileno()] = _Child(pid, life)
        self._poll.register(life, select.POLLIN)

    def _bury(self) -> None:
        for descriptor, child in list(self._children.items()):
            end = _end_of(child.pid)
            if end is None:
                continue
            _tell(child.life, end)
            with contextlib.suppress(KeyError):
                self._poll.unregister(descriptor)
            del self._children[descriptor]
            child.life.close()


def _end_of(pid: int) -> bytes | None:
    """How a child ended; None while it has not. What it may have started is killed first: as long
    as nobody has waited for a process, its id, which is its group's, is not given to another."""
    if hasattr(os, "waitid"):  # not on macOS before Python 3.13
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        _kill(pid)
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    if not ended:
        return None
    memory = usage.ru_maxrss // (1_024 if sys.platform == "darwin" else 1)
    return ENDED.pack(b"e", os.waitstatus_to_exitcode(status), memory)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _tell(life: socket.socket, news: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        life.sendall(news)


def _exactly(control: socket.socket, length: int) -> bytes:
    """A signal may cut a single call short."""
    data = b""
    while len(data) < length:
        more = control.recv(length - len(data))
        if not more:
            raise EOFError("half a request")
        data += more
    return data
