"""Programs of kb as processes of their own."""

import os
import socket
import subprocess
import sys
import threading

import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def own_environment_of(**settings: str) -> dict[str, str]:
    """What a process gets: nothing of whoever runs the tests but what any program needs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    return kept | {"KB_CONFIG": os.devnull} | settings


class Process:
    """One program of kb, started until it listens."""

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        self._arguments = [sys.executable, "-P", "-m", module]
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
            pytest.fail(f"{self._arguments[-1]} ended with {self._process.wait()}")
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
