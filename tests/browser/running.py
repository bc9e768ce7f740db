"""A data folder in, a real engine on a free port out: started, filled, stopped, started again."""

import time
from pathlib import Path

import httpx

from programs import Program


class Running:
    """An engine in a process of its own, as people run it."""

    def __init__(
        self, folder: Path, key: str = "", embedder: str = "minilm", **settings: str
    ) -> None:
        usual = {"KB_DATA_DIR": str(folder), "KB_API_KEY": key, "KB_EMBEDDER": embedder}
        self._program = Program("kb.engine", **usual | settings)
        self.port, self.url = self._program.port, self._program.url
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.client = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=30)

    def __enter__(self) -> "Running":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.client.close()

    def start(self) -> None:
        self._program.start()
        deadline = time.monotonic() + 120
        while self.client.get("/status").json()["model"]["state"] != "ready":
            assert time.monotonic() < deadline, "the engine is not ready"
            time.sleep(0.05)

    def stop(self) -> None:
        self._program.stop()

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
