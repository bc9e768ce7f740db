"""A retrieval set in, rankings out: all over HTTP, each text a note, as a user would do it."""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from benchmarks.running import API_KEY, engine
from benchmarks.search.sets import Passage, RetrievalSet

_CLIENTS = 4
_MOST = 100


def rank_over_http(data: RetrievalSet) -> tuple[dict[str, list[str]], float]:
    """The ranking of passages for every query, and the milliseconds a query took."""
    with (
        tempfile.TemporaryDirectory() as folder,
        engine(Path(folder) / "data") as server,
        httpx.Client(
            base_url=f"http://127.0.0.1:{server.port}/api/v1",
            headers={"authorization": f"Bearer {API_KEY}"},
            timeout=120,
        ) as client,
    ):
        # A set may hold passages without a word; a note cannot.
        jobs = _add_notes(client, [p for p in data.passages if p.text.strip()])
        _wait(client)
        passages = {_document(client, job): passage for job, passage in jobs.items()}
        began = time.perf_counter()
        rankings = {q["_id"]: _ask(client, q, passages) for q in data.queries}
        took = (time.perf_counter() - began) * 1000 / max(1, len(data.queries))
    return rankings, took


def _add_notes(client: httpx.Client, passages: list[Passage]) -> dict[int, str]:
    def add(passage: Passage) -> int:
        note = {"text": passage.text, "source_path": passage.id}
        if passage.title:
            note["title"] = passage.title[:500]
        answer = client.post(
            "/jobs", json=note | {"tags": [passage.scope] if passage.scope else []}
        )
        return int(answer.raise_for_status().json()["job_id"])

    with ThreadPoolExecutor(_CLIENTS) as pool:
        return dict(zip(pool.map(add, passages), (passage.id for passage in passages), strict=True))


def _wait(client: httpx.Client) -> None:
    while True:
        queue = client.get("/status").raise_for_status().json()["queue"]
        if not queue["queued"] and not queue["running"]:
            return
        time.sleep(0.2)


def _document(client: httpx.Client, job_id: int) -> int:
    return int(client.get(f"/jobs/{job_id}").raise_for_status().json()["document_id"])


def _ask(client: httpx.Client, query: dict[str, str], passages: dict[int, str]) -> list[str]:
    """Passages in order of their best chunk."""
    question = {"query": query["text"], "top": _MOST, "per_document": 1}
    if "scope" in query:
        question["tags"] = [query["scope"]]
    answer = client.post("/search", json=question).raise_for_status().json()
    return [passages[hit["document_id"]] for hit in answer["results"]]
