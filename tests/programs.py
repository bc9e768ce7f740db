"""Settings in, the real programs of kb out, each in a process of its own."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from ports import free_port

WAIT = 60.0  # seconds: a busy machine takes its time to start an engine
KB = (sys.executable, "-c", "from kb.cli.main import main; main()")


def ended(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that ends by itself, and what it wrote."""
    given = {"capture_output": True, "text": True, "timeout": WAIT} | options
    return subprocess.run(list(map(str, command)), **given)


def own_environment_of(**settings: str) -> dict[str, str]:
    """What a process gets: nothing of whoever runs the tests but what any program needs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    return kept | {"KB_CONFIG": os.devnull} | settings


class Program:
    """One of our programs on a port of its own, which it keeps when it is started again."""

    def __init__(self, module: str, command: list[str] | None = None, **settings: str) -> None:
        port, path = {
            "kb.engine": ("KB_PORT", "/readyz"),
            "kb.mcp": ("KB_MCP_PORT", "/healthz"),
        }[module]
        self._command = command or [sys.executable, "-P", "-m", module]
        self.environ = own_environment_of(**{port: str(free_port())} | settings)
        self.url = f"http://127.0.0.1:{self.environ[port]}"
        self._health = self.url + path
        self.log: list[str] = []

    def start(self) -> "Program":
        """Itself, once it works."""
        self.begin()
        assert self._listens_or_ended.wait(WAIT), self.log
        while True:
            assert self._process.poll() is None, self.log
            if httpx.get(self._health, timeout=WAIT).status_code == 200:
                return self
            time.sleep(0.01)

    def begin(self) -> "Program":
        """Itself, whatever becomes of it."""
        self._process = subprocess.Popen(
            self._command, env=self.environ, stderr=subprocess.PIPE, text=True
        )
        self._listens_or_ended = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def _read(self) -> None:
        """A log that nobody reads would one day block who writes it."""
        with self._process.stderr:
            for line in self._process.stderr:
                self.log.append(line)
                if "listens on" in line:
                    self._listens_or_ended.set()
        self._listens_or_ended.set()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def stop(self) -> int:
        """Ask it to end; the exit code."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.wait()

    def wait(self) -> int:
        """The exit code, once it has ended by itself; then its log is whole."""
        code = self._process.wait(WAIT)
        self._reader.join(WAIT)
        return code


def engine(folder: Path, **settings: str) -> Program:
    values = {"KB_DATA_DIR": str(folder), "KB_RESERVE_MB": "1", "KB_EMBEDDER": "hash", **settings}
    return Program("kb.engine", **values)


def mcp_server(engine_url: str, **settings: str) -> Program:
    return Program("kb.mcp", KB_ENGINE_URL=engine_url, **settings)


def megabytes(pid: int) -> float:
    """What a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def settled(pid: int, most: float, within: float = 60.0) -> float:
    """What it has once it has given back what it can; not more than `most`, if that comes true."""
    until = time.monotonic() + within
    while (found := megabytes(pid)) > most and time.monotonic() < until:
        time.sleep(0.2)
    return found
