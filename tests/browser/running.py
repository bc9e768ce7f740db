"""A data folder in, a real engine on a free port out: started, filled, stopped, started again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from ports import free_port


class Running:
    """An engine in a process of its own, as people run it."""

    def __init__(
        self, folder: Path, key: str = "", embedder: str = "minilm", **settings: str
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environ = {name: value for name, value in os.environ.items() if name[:3] != "KB_"}
        self._environ |= {
            "KB_DATA_DIR": str(folder),
            "KB_PORT": str(self.port),
            "KB_API_KEY": key,
            "KB_EMBEDDER": embedder,
            **settings,
        }
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.client = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=30)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Running":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.client.close()

    def start(self) -> None:
        command = [sys.executable, "-P", "-m", "kb.engine"]
        self._process = subprocess.Popen(command, env=self._environ, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while True:
            try:
                if self.client.get("/status").json()["model"]["state"] == "ready":
                    return
            except httpx.TransportError:
                assert self._process.poll() is None, "the engine did not start"
            assert time.monotonic() < deadline, "the engine is not ready"
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(120)
            self._process = None

    def note(self, text: str, tags: list[str] | None = None, **fields: object) -> int:
        return self._accepted(
            self.client.post("/jobs", json={"text": text, "tags": tags or [], **fields})
        )

    def file(
        self, name: str, content: bytes, tags: list[str] | None = None, **fields: object
    ) -> int:
        data = {"tags": tags or [], **fields}
        return self._accepted(self.client.post("/jobs", files={"file": (name, content)}, data=data))

    def settle(self) -> None:
        """Until no job is left."""
        deadline = time.monotonic() + 120
        while True:
            queue = self.client.get("/status").json()["queue"]
            if not queue["queued"] + queue["running"]:
                return
            assert time.monotonic() < deadline, queue
            time.sleep(0.05)

    def document_of(self, job_id: int) -> int:
        self.settle()
        job = self.client.get(f"/jobs/{job_id}").json()
        assert job["status"] == "done", job
        return int(job["document_id"])

    def search(self, query: str, **fields: object) -> dict[str, object]:
        """The best hit."""
        found = self.client.post("/search", json={"query": query, **fields}).json()["results"]
        assert found, query
        return dict(found[0])

    def _accepted(self, answer: httpx.Response) -> int:
        assert answer.status_code == 202, answer.text
        return int(answer.json()["job_id"])
