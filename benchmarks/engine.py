"""A folder in, a real engine process out: started, waited for, stopped."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx


@dataclass(frozen=True)
class RunningEngine:
    url: str
    process: subprocess.Popen[bytes]


@contextlib.contextmanager
def running_engine(folder: Path, **settings: str) -> Iterator[RunningEngine]:
    """`python -m kb.engine` on a free port, ready to answer."""
    port = free_port()
    environment = os.environ | {
        "KB_DATA_DIR": str(folder),
        "KB_PORT": str(port),
        "KB_LOG_LEVEL": "warning",
        **settings,
    }
    process = subprocess.Popen([sys.executable, "-m", "kb.engine"], env=environment)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", process)
        yield RunningEngine(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait(15)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(url: str, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/readyz").status_code == httpx.codes.OK:
                return
        time.sleep(0.02)
    raise RuntimeError(f"the engine at {url} did not get ready")
