"""Many clients at once: no error, no lock, nothing lost, and nobody waits for another's file."""

import random
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kb.engine.store.upkeep import Upkeep

from .clients import documents_with
from .engine_process import PATIENCE, Answer, EngineProcess, Zygote, wait_until
from .oracle import Oracle
from .store_check import check_store, copied

VOCABULARY = [
    f"{first}{second}" for first in "bdfgklmnprst" for second in ("ara", "olo", "imi", "unt")
]
# Seconds of the engine's own work: how busy the machine is with other things does not count. On a
# slow one half of what the long file takes does, for whoever waited for that would wait for most
# of it. What was measured is printed.
ACKNOWLEDGED_WITHIN = 3.0


@dataclass(slots=True)
class Load:
    """What some clients asked for, and how it went."""

    engine: EngineProcess
    adding: list[float] = field(default_factory=list)
    searching: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    longest_wait: float = 0.0  # seconds of the engine's work, as is the next
    longest_file: float = 0.0

    def run(self, clients: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._client, args=(number, deadline))
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def timed(self, times: list[float], wanted: int, ask: Callable[[], Answer]) -> Answer:
        began, worked = time.monotonic(), self.engine.seconds_of_work()
        answer = ask()
        times.append(time.monotonic() - began)
        self.longest_wait = max(self.longest_wait, self.engine.seconds_of_work() - worked)
        if answer.status != wanted:
            self.refused.append(f"{answer.status} {answer.body}")
        return answer

    def add(self, word: str, path: str) -> None:
        note = {"text": f"A note with the word {word} in it", "source_path": path}
        answer = self.timed(
            self.adding, 202, lambda: self.engine.send("POST", "/api/v1/jobs", note)
        )
        if answer.status == 202:
            self.words[word] = path

    def search(self, query: str) -> None:
        question = {"query": query}
        self.timed(
            self.searching, 200, lambda: self.engine.send("POST", "/api/v1/search", question)
        )

    def _client(self, number: int, deadline: float) -> None:
        name = "".join("bcdfghjk"[(number >> shift) & 7] for shift in (0, 3))
        oracle = Oracle(name, "load")
        said = 0
        while said < 2 or time.monotonic() < deadline:  # on a busy machine, too, more than one each
            said += 1
            state = oracle.new_state()
            self.add(state.word, f"{name}/{state.word}")
            self.search(f"{oracle.random.choice(VOCABULARY)} note with a word {state.word}")

    def __str__(self) -> str:
        return (
            f"{len(self.adding)} added, {_times(self.adding)}; "
            f"{len(self.searching)} searches, {_times(self.searching)}"
        )


def _times(seconds: list[float]) -> str:
    cuts = statistics.quantiles(seconds, n=100)
    return f"p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms"


def test_clients_that_add_and_search_at_once_get_no_error(zygote: Zygote, folder: Path) -> None:
    crowd(zygote, folder, clients=12, seconds=1.5)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_fifty_clients_that_add_and_search_get_no_error(zygote: Zygote, folder: Path) -> None:
    crowd(zygote, folder, clients=50, seconds=15)


def crowd(zygote: Zygote, folder: Path, clients: int, seconds: float) -> None:
    with EngineProcess(zygote, folder) as engine:
        load = Load(engine)
        load.run(clients, seconds)
        assert engine.is_idle_within(120)
        print(load)
        assert load.refused == []
        assert len(load.words) > clients
        missing = [word for word in load.words if len(documents_with(engine, word)) != 1]
        assert missing == []
        found = check_store(folder)
        assert found.violations == []
        assert set(found.documents) == set(load.words.values())
        log = engine.log.read_text("utf-8")
    for trouble in ("locked", "ERROR", "CRITICAL", "Traceback"):
        assert trouble not in log


def test_a_note_is_taken_and_found_while_a_long_file_is_read(zygote: Zygote, folder: Path) -> None:
    long_file(zygote, folder, words=60_000)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_note_is_taken_while_thousands_of_passages_are_read(zygote: Zygote, folder: Path) -> None:
    long_file(zygote, folder, words=500_000)


def long_file(zygote: Zygote, folder: Path, words: int) -> None:
    """Notes and searches go on while the file is read, stored, replaced and deleted."""
    with EngineProcess(zygote, folder) as engine:
        load = Load(engine)
        path = "/a/long/file.txt"
        _store_while_asking(load, path, _long_text(words, 1))
        job = _store_while_asking(load, path, _long_text(words, 2))
        assert (job["status"], job["outcome"]) == ("done", "updated")
        assert job["chunk_count"] > words / 250
        began = time.monotonic()
        assert engine.request("DELETE", f"/api/v1/documents/{job['document_id']}").status == 200
        print(f"deleted in {time.monotonic() - began:.2f} s")
        _ask_until(load, "forgetting", lambda: len(load.adding) % 20 == 0)
        print(f"{job['chunk_count']} passages: {load}; longest wait {load.longest_wait:.2f} s")
        assert load.refused == []
        assert load.longest_wait < max(ACKNOWLEDGED_WITHIN, load.longest_file / 2)


def _store_while_asking(load: Load, path: str, content: bytes) -> Any:
    """Add a file, and notes and questions until it is in; its job."""
    engine, began = load.engine, load.engine.seconds_of_work()
    job_id = engine.upload("file.txt", content, {"source_path": path}).body["job_id"]
    _ask_until(load, f"beside job {job_id}", lambda: _has_ended(engine, job_id))
    load.longest_file = max(load.longest_file, engine.seconds_of_work() - began)
    return engine.get(f"/api/v1/jobs/{job_id}").body


def _ask_until(load: Load, name: str, over: Callable[[], bool]) -> None:
    while True:
        number = len(load.adding)
        load.add(f"zq{number}", f"{name}/{number}")
        load.search(f"note with the word zq{number}")
        if over():
            return


def _has_ended(engine: EngineProcess, job_id: int) -> bool:
    return engine.get(f"/api/v1/jobs/{job_id}").body["status"] not in ("queued", "running")


def _long_text(words: int, seed: int) -> bytes:
    chosen = random.Random(seed).choices(VOCABULARY, k=words)
    lines = (" ".join(chosen[start : start + 12]) for start in range(0, words, 12))
    return ".\n".join(lines).encode()


def test_what_is_left_of_a_deleted_long_file_goes_in_the_end(zygote: Zygote, folder: Path) -> None:
    """Even if the engine is killed in between; and until then nobody finds it."""
    word = "zqlongforgotten"
    plants = ["reliability.test_load:words_are_forgotten_once"]
    with EngineProcess(zygote, folder, plants) as engine:
        content = b" ".join([_long_text(12_000, 3), word.encode()])
        engine.upload("file.txt", content, {})
        assert engine.is_idle_within(PATIENCE)  # or the note, being short, might be document 1
        engine.send("POST", "/api/v1/jobs", {"text": f"A note about {word}, too"})
        assert engine.is_idle_within(PATIENCE)
        assert documents_with(engine, word) == {1, 2}
        assert engine.request("DELETE", "/api/v1/documents/1").status == 200
        assert documents_with(engine, word) == {2}
    assert _words_to_forget(folder) > 0
    with EngineProcess(zygote, folder) as engine:
        assert documents_with(engine, word) == {2}
        assert engine.is_idle_within(PATIENCE)
        wait_until(lambda: _words_to_forget(folder) == 0, PATIENCE, "all words are forgotten")
        assert documents_with(engine, word) == {2}
        assert check_store(folder).violations == []


def words_are_forgotten_once() -> None:
    """Planted in the engine that is killed, which might otherwise be done before."""
    forget_words = Upkeep.forget_words
    rounds: list[int] = []

    def forget_once(upkeep: Upkeep) -> int:
        if any(rounds):
            return 0
        rounds.append(forget_words(upkeep))
        return rounds[-1]

    setattr(Upkeep, "forget_words", forget_once)  # noqa: B010


def _words_to_forget(folder: Path) -> int:
    copy = copied(folder / "store.db")
    waiting = copy.execute("SELECT chunk_id FROM words_to_forget").fetchall()
    copy.close()
    return len(waiting)
