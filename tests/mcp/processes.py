"""Programs of kb as processes of their own."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest


def own_environment_of(**settings: str) -> dict[str, str]:
    """What a process gets: nothing of whoever runs the tests but what any program needs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    return kept | {"KB_CONFIG": os.devnull} | settings


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


class Process:
    """One program of kb, started until it listens."""

    def __init__(
        self, module: str, environment: dict[str, str], command: list[str] | None = None
    ) -> None:
        self._module = module
        self._arguments = command or [sys.executable, "-P", "-m", module]
        self._environment = environment
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._arguments, env=self._environment, stderr=subprocess.PIPE, text=True
        )
        for line in self._process.stderr:
            if "listens on" in line:
                break
        else:
            pytest.fail(f"{self._module} ended with {self._process.wait()}")
        # A log that nobody reads would one day block who writes it.
        self._reader = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """Ask it to end, if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            self._ended()

    def kill(self) -> None:
        self._process.kill()
        self._ended()

    def _ended(self) -> None:
        self._process.wait(30)
        self._reader.join()
        self._process.stderr.close()
