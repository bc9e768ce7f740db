"""Starts the servers' processes, restarts them, and stops them together.

Everything that happens (a signal, the end of a process, an answer) is an event in one queue, and
one loop handles them in turn, so there is a single place that decides. Only small modules of the
standard library are used, because this process stays resident.
"""

import contextlib
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kb.cli.failure import FAILED, MISUSED, OK
from kb.cli.terminal.say import warn
from kb.settings import secrets

_PATIENCE = 12.0  # the engine drains for up to 10 s
_CRASHES, _WITHIN, _FIRST_PAUSE = 3, 60.0, 1.0
_PROBE_EVERY, _PROBE_TIMEOUT = 0.1, 2.0

# Where waiting for an event cannot be interrupted by a signal, wake up now and then to notice it.
_WAKE_EVERY = None if os.name == "posix" else 0.5

_STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@dataclass
class Child:
    """One process to keep running; it is ready when `path` answers 200 at `host` and `port`.

    `port_from` is where a person chooses another port. If one that is not `essential` keeps
    crashing, the others go on without it.
    """

    name: str
    command: list[str]
    host: str
    port: int
    path: str
    environ: dict[str, str]
    port_from: str = "--port or KB_PORT"
    essential: bool = True
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    ready: bool = field(default=False, init=False)
    given_up: bool = field(default=False, init=False)
    crashes: list[float] = field(default_factory=list, init=False)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


def supervise(children: list[Child], when_ready: Callable[[], object]) -> int:
    """Run the children until a signal comes or one cannot go on; the exit code of it all."""
    return _Supervisor(children, when_ready).run()


class _Supervisor:
    def __init__(self, children: list[Child], when_ready: Callable[[], object]) -> None:
        self._children = children
        self._when_ready = when_ready
        # A SimpleQueue may be filled from a signal handler, a Queue may not.
        self._events: queue.SimpleQueue[Callable[[], int | None]] = queue.SimpleQueue()
        self._stopping = False
        self._greeted = False

    def run(self) -> int:
        for child in self._children:
            if _answers(child):
                warn(
                    f"port {child.port} is taken: something answers there already;"
                    f" stop it, or choose another with {child.port_from}"
                )
                return MISUSED
        before = {number: signal.signal(number, self._on_signal) for number in _STOPPING}
        try:
            for child in self._children:
                if child.essential:
                    self._start(child)
            while True:
                code = self._next_event()()
                if code is not None:
                    return code
        finally:
            self._stop_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _next_event(self) -> Callable[[], int | None]:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._events.get(timeout=_WAKE_EVERY)

    def _on_signal(self, number: int, frame: object) -> None:  # noqa: ARG002
        if self._stopping:  # asked twice: someone does not want to wait
            for child in self._children:
                if child.process is not None:
                    child.process.kill()
        self._stopping = True
        self._events.put(lambda: OK)

    def _start(self, child: Child) -> None:
        # A group of its own keeps the terminal's Ctrl-C from reaching the child beside our SIGTERM.
        with secrets.handed_over(child.environ) as (environ, descriptors):
            child.process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
                child.command,
                env=environ,
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                process_group=0 if os.name == "posix" else None,
            )
        child.ready = False
        for watch in (self._wait_for_end, self._wait_until_ready):
            threading.Thread(target=watch, args=(child, child.process), daemon=True).start()

    def _wait_for_end(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        self._events.put(lambda: self._ended(child, code))

    def _wait_until_ready(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        while process.poll() is None:
            if _answers(child):
                self._events.put(lambda: self._became_ready(child, process))
                return
            time.sleep(_PROBE_EVERY)

    def _became_ready(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        if child.process is not process:
            return
        child.ready = True
        self._start_the_rest()
        if self._greeted:
            warn(f"the {child.name} is back")
        else:
            self._greet_if_ready()

    def _start_the_rest(self) -> None:
        """Servers that the others can do without start after them. So those start faster, and if
        one of them cannot start at all, its reason is the last line that a person sees."""
        if all(each.ready for each in self._children if each.essential):
            for each in self._children:
                if each.process is None:
                    self._start(each)

    def _greet_if_ready(self) -> None:
        if not self._greeted and all(each.ready or each.given_up for each in self._children):
            self._greeted = True
            self._when_ready()

    def _ended(self, child: Child, code: int) -> int | None:
        if code == MISUSED:  # the child has said why, and would say it again
            return MISUSED
        now = time.monotonic()
        child.crashes = [at for at in child.crashes if now - at < _WITHIN] + [now]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if len(child.crashes) >= _CRASHES:
            rest = "giving up" if child.essential else "going on without it"
            warn(f"the {child.name} {how}, {_CRASHES} times within a minute; {rest}")
            return self._give_up(child)
        pause = _FIRST_PAUSE * 2 ** (len(child.crashes) - 1)
        warn(f"the {child.name} {how}; starting it again in {pause:.0f} s")
        restart = threading.Timer(pause, self._events.put, [lambda: self._start(child)])
        restart.daemon = True
        restart.start()
        return None

    def _give_up(self, child: Child) -> int | None:
        if child.essential:
            return FAILED
        child.given_up = True
        self._greet_if_ready()
        return None

    def _stop_all(self) -> None:
        """Ask every child to end, and end what does not within its patience."""
        self._stopping = True
        running = [child.process for child in self._children if child.process and child.alive]
        for process in running:
            process.terminate()
        until = time.monotonic() + _PATIENCE
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
        for child in self._children:
            if child.process is not None and child.alive:
                warn(f"the {child.name} did not stop within {_PATIENCE:.0f} s; killing it")
                child.process.kill()
                child.process.wait()


def _answers(child: Child) -> bool:
    """Whether the child's path answers 200: a request by hand, for a library costs megabytes."""
    host = f"[{child.host}]" if ":" in child.host else child.host
    request = f"GET {child.path} HTTP/1.0\r\nHost: {host}:{child.port}\r\n\r\n"
    try:
        with socket.create_connection((child.host, child.port), _PROBE_TIMEOUT) as connection:
            connection.settimeout(_PROBE_TIMEOUT)
            connection.sendall(request.encode())
            status = connection.recv(64).split(b" ", 2)
    except OSError:
        return False
    return len(status) > 1 and status[0].startswith(b"HTTP/") and status[1] == b"200"
