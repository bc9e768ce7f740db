"""A command in, a running server out: ask it things, and see what it takes from the machine."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

API_KEY = "benchmark-key-0123456789abcdef"
PATIENCE = 60.0

Json = dict[str, Any]

_TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that listens on `port`, and everything it has started."""

    def __init__(self, command: Sequence[str], port: int, environ: dict[str, str], log: Path):
        self.port = port
        self._log = log
        self.started = time.perf_counter()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, env={**os.environ, **environ}, stdout=output, stderr=output
            )

    def processes(self) -> list[int]:
        """This process and its descendants."""
        found = [self._process.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    found += map(int, task.read_text().split())
        return found

    def cpu_seconds(self) -> float:
        """User and system time so far, of all its processes."""
        return sum(map(_cpu_seconds, self.processes()))

    def memory_mb(self, kind: str = "Pss") -> float:
        """What its processes hold: each page counted once (Pss), or once per process (Rss)."""
        return sum(_memory_kb(pid, kind) for pid in self.processes()) / 1000 * 1.024

    def check_alive(self) -> None:
        if self._process.poll() is not None:
            last = self._log.read_text("utf-8", errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"a server ended with {self._process.returncode}: {last}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Client:
    """One connection that is kept alive, one request at a time."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Json:
        status, answer = self.ask(method, path, body, kind)
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {answer!r}")
        found: Json = json.loads(answer)
        return found

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = ""
    ) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {API_KEY}"}
        if body is not None:
            headers["Content-Type"] = kind or "application/json"
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return response.status, response.read()

    def search(self, query: str, **options: Any) -> Json:
        body = json.dumps({"query": query, **options}).encode()
        return self.call("POST", "/api/v1/search", body)

    def search_times(self, questions: Sequence[str], **options: Any) -> list[float]:
        """Milliseconds for each, one after the other."""
        times = []
        for query in questions:
            began = time.perf_counter()
            self.search(query, **options)
            times.append((time.perf_counter() - began) * 1000)
        return times

    def add_file(self, name: str, content: bytes) -> int:
        """Queue a file; the number of its job."""
        mark = "kb-benchmark-mark"
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: text/plain\r\n\r\n"
        )
        body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
        kind = f"multipart/form-data; boundary={mark}"
        return int(self.call("POST", "/api/v1/jobs", body, kind)["job_id"])

    def status(self) -> Json:
        return self.call("GET", "/api/v1/status")

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def engine(folder: Path, *, under_kb_up: bool = False) -> Iterator[Server]:
    """The engine as users run it, on a data folder; under `kb up` it is a child of that."""
    with running(start_engine(folder, under_kb_up=under_kb_up)) as server:
        wait_until_ready(server)
        yield server


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    """From when something listens until the end of it."""
    try:
        connected(server).close()
        yield server
    finally:
        server.stop()


def start_engine(folder: Path, *, under_kb_up: bool = False) -> Server:
    port = free_port()
    kb = Path(sys.executable).with_name("kb")
    command = [sys.executable, "-P", "-m", "kb.engine"]
    if under_kb_up:
        command = [str(kb), "up", "--no-mcp"]
    environ = {
        "KB_DATA_DIR": str(folder),
        "KB_PORT": str(port),
        "KB_API_KEY": API_KEY,
        "KB_LOG_LEVEL": "warning",
    }
    return Server(command, port, environ, folder.parent / f"{folder.name}.log")


def wait_until_ready(server: Server) -> None:
    """Until the model is loaded and all vectors are in memory."""
    client = connected(server)
    while client.status()["model"]["state"] != "ready":
        time.sleep(0.01)
    client.close()


def connected(server: Server) -> Client:
    """A client, as soon as something listens."""
    until = time.perf_counter() + PATIENCE
    while True:
        try:
            return Client(server.port)
        except ConnectionRefusedError:
            server.check_alive()
            if time.perf_counter() > until:
                raise
            time.sleep(0.002)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _cpu_seconds(pid: int) -> float:
    # The second field is the command's name in brackets, which may itself hold spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # Its own, and those of the children that have ended: who reads a file does so when it is done.
    return sum(map(int, fields[11:15])) / _TICKS


def _memory_kb(pid: int, kind: str) -> int:
    try:
        found = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended meanwhile
        return 0
    for line in found.splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1])
    return 0
