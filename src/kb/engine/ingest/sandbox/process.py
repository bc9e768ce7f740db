"""Asks the fork server for a reader: the engine's side of it."""

import contextlib
import logging
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from kb.engine.errors import ExtractionFailed, JobLost
from kb.engine.ingest.sandbox.crashes import Ended
from kb.engine.ingest.sandbox.request import ENDED, LENGTH, STARTED, Level, OcrChoice, Request
from kb.engine.ingest.sandbox.starting import command, environment

assert sys.platform != "win32"  # where nothing can be forked: see single.py

logger = logging.getLogger(__name__)

_Key = tuple[Level, OcrChoice | None]

_AT_ONCE = 2**18  # bytes
_LINE, _LINES = 500, 50  # of what a server prints: longer and more is not logged
_PATIENCE = 2.0  # seconds, for a server that was told to go or that is to tell how a reader ended


class ForkedChild:
    """A reader at work. Closing it kills it."""

    def __init__(self, channel: socket.socket, life: socket.socket) -> None:
        self._channel = channel
        self._life = life
        self._channel.setblocking(False)
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._poll.register(life, select.POLLIN)
        self._news = b""
        self._over = False
        self.started = False

    def read(self, seconds: float) -> bytes | None:
        """What it has sent, waiting so long for it; None for nothing yet, empty for no more."""
        with contextlib.suppress(BlockingIOError):
            return self._receive()
        if self._over:
            return b""
        ready = [descriptor for descriptor, _ in self._poll.poll(seconds * 1_000)]
        if self._life.fileno() in ready:
            self._hear()
        if self._channel.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                return self._receive()
        return None

    def ended(self) -> Ended | None:
        """How it ended; None when the server that should tell it is gone."""
        deadline = time.monotonic() + _PATIENCE
        waiting = select.poll()
        waiting.register(self._life, select.POLLIN)
        while not self._over and time.monotonic() < deadline:
            if waiting.poll(_PATIENCE * 1_000):
                self._hear()
        end = self._news.removeprefix(STARTED)
        if len(end) != ENDED.size:
            return None
        _, code, memory_kb = ENDED.unpack(end)
        return Ended(code, memory_kb)

    def close(self) -> None:
        self._channel.close()
        self._life.close()

    def _receive(self) -> bytes:
        try:
            return self._channel.recv(_AT_ONCE)
        except ConnectionError:
            return b""

    def _hear(self) -> None:
        try:
            news = self._life.recv(64)
        except ConnectionError:
            news = b""
        self._news += news
        self.started = self._news.startswith(STARTED)
        if not news or len(self._news) >= len(STARTED) + ENDED.size:
            self._over = True
            self._poll.unregister(self._life)


class ServerGone(Exception):
    """The server has left, or died; another can be started."""


class ForkServer:
    """A server process. One thread starts it, logs what it prints and waits for its end, because
    the kernel kills the server when the thread that started it is gone."""

    def __init__(
        self, reader: str, ocr: OcrChoice | None, idle_seconds: float, *, attachments: bool
    ) -> None:
        self._control, theirs = socket.socketpair()
        self._sending = threading.Lock()
        settings = {
            "control": theirs.fileno(),
            "engine": os.getpid(),
            "reader": reader,
            "ocr": ocr,
            "attachments": attachments,
            "idle_seconds": idle_seconds,
        }
        started: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._run, args=(settings, theirs, started), name="sandbox", daemon=True
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False  # by us
        self._thread.start()
        trouble = started.get()
        if trouble is not None:
            raise ServerGone from trouble

    def start(self, request: Request) -> ForkedChild:
        """A process that reads a document."""
        channel, its_channel = socket.socketpair()
        life, its_life = socket.socketpair()
        fields = request.to_json().encode()
        with its_channel, its_life:
            try:
                with self._sending:
                    descriptors = [its_channel.fileno(), its_life.fileno()]
                    socket.send_fds(self._control, [LENGTH.pack(len(fields))], descriptors)
                    self._control.sendall(fields)
            except OSError as error:
                channel.close()
                life.close()
                raise ServerGone from error
        return ForkedChild(channel, life)

    def close(self) -> None:
        """Stop it, and all its readers."""
        with self._sending:
            self._control.close()
        self._thread.join(_PATIENCE)
        if self._thread.is_alive() and self._process is not None:
            self._is_killed = True
            self._process.kill()
            self._thread.join(_PATIENCE)

    def _run(
        self,
        settings: dict[str, Any],
        theirs: socket.socket,
        started: queue.SimpleQueue[OSError | None],
    ) -> None:
        try:
            with theirs:
                process = self._process = subprocess.Popen(  # noqa: S603 (our own interpreter)
                    command(settings),
                    env=environment(),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=[theirs.fileno()],
                    # Ctrl-C in a terminal is for the engine. No session of its own: the kernel
                    # may share time out by session, and niceness would count for nothing.
                    process_group=0,
                )
        except OSError as error:
            started.put(error)
            return
        started.put(None)
        assert process.stderr is not None
        _log(process.stderr)
        code = process.wait()
        with self._sending:
            self._control.close()
        if code == -signal.SIGKILL and not self._is_killed:
            logger.warning("the sandbox was killed, which the system does for want of memory")
        elif code and not self._is_killed:
            logger.warning("the sandbox ended with %s", code)


class ForkServers:
    """A server for each level of what may have to be loaded."""

    def __init__(self, readers: Mapping[Level, str], idle_seconds: float) -> None:
        self._readers = readers
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._servers: dict[_Key, ForkServer] = {}
        self._closed = False

    def start(self, level: Level, ocr: OcrChoice | None, request: Request) -> ForkedChild:
        """Raises JobLost once it is closed, ExtractionFailed where no server starts."""
        filename = request.source.filename
        with self._lock:
            for _ in range(2):  # the one that is there may just be leaving
                if self._closed:
                    raise JobLost(f"Reading {filename} was given up: the engine is stopping")
                try:
                    return self._server((level, ocr)).start(request)
                except ServerGone:
                    self._discard((level, ocr))
        raise ExtractionFailed(f"{filename} could not be read: the sandbox does not start")

    def close(self) -> None:
        """Stop the servers, and with them whatever still reads."""
        with self._lock:
            self._closed = True
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.close()

    def _server(self, key: _Key) -> ForkServer:
        if key not in self._servers:
            level, ocr = key
            attachments = level != "light"  # whose readers open nothing that is in another file
            self._servers[key] = ForkServer(
                self._readers[level], ocr, self._idle_seconds, attachments=attachments
            )
        return self._servers[key]

    def _discard(self, key: _Key) -> None:
        server = self._servers.pop(key, None)
        if server is not None:
            server.close()


def _log(stderr: IO[bytes]) -> None:
    """The server's own complaints: readers cannot write here."""
    with stderr:
        count = 0
        while line := stderr.readline(_LINE):
            count += 1
            if count <= _LINES:
                logger.warning("sandbox: %s", line.decode("utf-8", "replace").rstrip())
