"""A data folder in, a running engine out: a real process that tests may kill, stop and start."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from kb.engine.store.file.page_checksums import connect
from ports import free_port

TESTS = Path(__file__).parents[1]
RUN_ENGINE = "reliability.zygote:run_engine"
RUN_KB = "reliability.zygote:run_kb"
START_SECONDS = 120.0
PATIENCE = 120.0  # seconds: what takes long on a busy disk is not lost
_PAUSE = 0.005


class Gone(Exception):
    """No answer came: the engine may or may not have done what was asked."""


class Answer(NamedTuple):
    status: int
    body: Any


def wait_until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """Ask again and again until the answer is true; another process cannot be waited for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(_PAUSE)
    raise TimeoutError(f"{what}: not within {seconds} s")


class Zygote:
    """The process that forks engines; see zygote.py."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reliability.zygote"],
            cwd=TESTS,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def fork(
        self,
        log: Path,
        environment: Mapping[str, str],
        plants: Sequence[str] = (),
        run: str = RUN_ENGINE,
        arguments: Sequence[Any] = (),
    ) -> int:
        """Run a function in a child; its pid."""
        pid = self._ask(
            log=str(log),
            environment=dict(environment),
            plants=list(plants),
            run=run,
            arguments=list(arguments),
        )
        assert isinstance(pid, int)
        return pid

    def wait(self, pid: int, seconds: float) -> int | None:
        """Its exit code, negative for a signal; None if it still runs."""
        return self._ask(wait=pid, seconds=seconds)  # type: ignore[no-any-return]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _ask(self, **command: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._asked += 1
            self._process.stdin.write(json.dumps({**command, "number": self._asked}) + "\n")
            self._process.stdin.flush()
            while True:
                number, answer = json.loads(self._process.stdout.readline())
                if number == self._asked:
                    return answer


class EngineProcess:
    """The engine on one folder. It can be started again after it has ended, however it did."""

    def __init__(
        self,
        zygote: Zygote,
        folder: Path,
        plants: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = folder.with_name(f"{folder.name}.log")
        self._zygote = zygote
        self.patience = PATIENCE  # seconds that a command may take
        self._plants = plants
        self._environment = {
            "KB_EMBEDDER": "hash",
            "KB_DATA_DIR": str(folder),
            "KB_PORT": str(self.port),
            "KB_HOST": "127.0.0.1",
            "KB_API_KEY": "",
            "KB_RESERVE_MB": "1",  # many folders are made, and none is to take 64 MB
            "KB_SEARCH_SECONDS": "120",  # a busy machine is no reason to find less
            **(environment or {}),
        }
        self._here = threading.local()
        self._pid: int | None = None
        self.newest_at_start = ""  # when the last job came that was there then, as its row says

    def __enter__(self) -> "EngineProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        assert self._pid is not None
        return self._pid

    @property
    def is_running(self) -> bool:
        return self._pid is not None

    def start(self) -> None:
        """Start and wait until it is ready."""
        self.launch()
        try:
            wait_until(self._is_up, START_SECONDS, "the engine is ready")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; its log: {self.log_text()}") from error
        self.newest_at_start = self._newest()

    def _newest(self) -> str:
        connection = connect(self.folder / "store.db", apsw.SQLITE_OPEN_READONLY)
        try:
            return connection.execute("SELECT max(created_at) FROM jobs").get or ""
        finally:
            connection.close()

    def launch(self) -> None:
        """Start without waiting."""
        self._pid = self._zygote.fork(self.log, self._environment, self._plants)

    def kill(self) -> None:
        """kill -9, if it still runs."""
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            self.exit_code()

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def exit_code(self, seconds: float = PATIENCE) -> int | None:
        """Wait for the end; None if it does not come."""
        code = self._zygote.wait(self.pid, seconds)
        if code is not None:
            self._pid = None
        return code

    def seconds_of_work(self) -> float:
        """How long it has been at work, whoever else was meanwhile."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log_text(self) -> str:
        return self.log.read_text("utf-8", "replace")[-5000:] if self.log.exists() else ""

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def send(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        headers = {"content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        return self.request(method, path, json.dumps(body).encode(), headers)

    def upload(
        self, filename: str, content: bytes, fields: Mapping[str, Any], key: str | None = None
    ) -> Answer:
        """POST /jobs with a file."""
        texts = [
            (f'name="{name}"', value.encode())
            for name, values in fields.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        headers = {} if key is None else {"idempotency-key": key}
        file = (f'name="file"; filename="{filename}"', content)
        return self._post_form("/api/v1/jobs", [*texts, file], headers)

    def post_files(self, path: str, files: Mapping[str, bytes]) -> Answer:
        """POST files by the names of their parts."""
        parts = [(f'name="{name}"; filename="{name}"', file) for name, file in files.items()]
        return self._post_form(path, parts, {})

    def _post_form(
        self, path: str, parts: Sequence[tuple[str, bytes]], headers: dict[str, str]
    ) -> Answer:
        boundary = uuid.uuid4().hex
        headers["content-type"] = f"multipart/form-data; boundary={boundary}"
        body = b"".join(
            f"--{boundary}\r\nContent-Disposition: form-data; {about}\r\n\r\n".encode()
            + content
            + b"\r\n"
            for about, content in parts
        )
        return self.request("POST", path, body + f"--{boundary}--\r\n".encode(), headers)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on this thread's own connection. Raises Gone if no answer comes."""
        connection: http.client.HTTPConnection | None = getattr(self._here, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            self._here.connection = connection
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self._here.connection = None
            raise Gone(str(error)) from error
        is_json = response.headers.get_content_type() == "application/json"
        return Answer(response.status, json.loads(content) if is_json else content)

    def kb(self, *arguments: str) -> tuple[int, str]:
        """Run the command `kb` with this engine; its exit code and all that it said.

        Raises Gone if the engine dies meanwhile: then the command is killed as well. One that does
        not end is killed, too, and has failed.
        """
        said = Path(tempfile.gettempdir(), f"kb-{uuid.uuid4().hex}.out")  # never a full disk
        environment = {"KB_ENGINE_URL": f"http://127.0.0.1:{self.port}", "KB_API_KEY": ""}
        pid = self._zygote.fork(said, environment, run=RUN_KB, arguments=[list(arguments)])
        deadline = time.monotonic() + self.patience
        is_late = False
        while (code := self._zygote.wait(pid, _PAUSE)) is None:
            is_late = time.monotonic() > deadline
            if is_late or not self.is_running:
                os.kill(pid, signal.SIGKILL)
                code = self._zygote.wait(pid, PATIENCE)
                break
            time.sleep(_PAUSE)
        text = said.read_text("utf-8", "replace") if said.exists() else ""  # killed before a word
        said.unlink(missing_ok=True)
        if is_late:
            return 1, f"{text}\nkilled: it had not ended after {self.patience} s"
        if code is None or code < 0:
            raise Gone("kb was killed")
        if code and "no engine at" in text:  # one that stops does not listen any more
            raise Gone(text)
        return code, text

    def is_idle_within(self, seconds: float) -> bool:
        """Whether every job ends and every chunk gets its vector in this time."""
        try:
            wait_until(self._idle, seconds, "every job has ended")
        except TimeoutError:
            return False
        return True

    def _idle(self) -> bool:
        status = self.get("/api/v1/status").body
        waiting = status["queue"]["queued"] + status["queue"]["running"]
        is_changing = status["model"]["change"] is not None
        return not waiting and not is_changing and not status["counts"]["vectors_missing"]

    def damage(self) -> str:
        """What the engine says of a store that it takes for damaged; nothing of another one."""
        answer = self.get("/readyz")
        message = "" if answer.status == 200 else str(answer.body["message"])
        return message if "damaged" in message else ""

    def _is_up(self) -> bool:
        """Ready, or never to be: it waits for a repair of its store."""
        try:
            return self.get("/readyz").status == 200 or bool(self.damage())
        except Gone:
            return False
