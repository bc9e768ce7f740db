"""Starts a reader where processes cannot be forked: on Windows, from scratch and with its user's
rights. Its time and the size of its messages are limited, its memory is not."""

import contextlib
import os
import queue
import subprocess
import threading
from collections.abc import Mapping

from kb.engine.ingest.sandbox.crashes import Ended
from kb.engine.ingest.sandbox.request import Level, OcrChoice, Request
from kb.engine.ingest.sandbox.starting import command, environment

_AT_ONCE = 2**16
_WAITING = 64  # pieces that nobody has taken yet


class SingleProcess:
    """A reader at work. Closing it kills it."""

    def __init__(self, reader: str, ocr: OcrChoice | None, request: Request) -> None:
        settings = {"reader": reader, "ocr": ocr, "request": request.to_json()}
        self._process = subprocess.Popen(  # noqa: S603 (our own interpreter)
            command(settings),
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._pieces: queue.Queue[bytes] = queue.Queue(_WAITING)
        self._closed = False
        self._over = False
        self.started = True
        threading.Thread(target=self._fetch, name="sandbox", daemon=True).start()

    def read(self, seconds: float) -> bytes | None:
        if self._over:
            return b""
        try:
            piece = self._pieces.get(timeout=seconds)
        except queue.Empty:
            return None
        self._over = not piece
        return piece

    def ended(self) -> Ended | None:
        return Ended(self._process.wait(), 0)

    def close(self) -> None:
        self._closed = True
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(queue.Empty):  # so that nobody waits for room in it
            while True:
                self._pieces.get_nowait()

    def _fetch(self) -> None:
        """A pipe of Windows cannot be waited for with a limit; a queue can."""
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            while not self._closed:
                piece = os.read(pipe.fileno(), _AT_ONCE)
                self._pieces.put(piece)
                if not piece:
                    break


class SingleProcesses:
    """Starts them, as `ForkServers` does where it can."""

    def __init__(self, readers: Mapping[Level, str], _idle_seconds: float) -> None:
        self._readers = readers

    def start(self, level: Level, ocr: OcrChoice | None, request: Request) -> SingleProcess:
        return SingleProcess(self._readers[level], ocr, request)

    def close(self) -> None:
        """None of them outlives what it reads."""
