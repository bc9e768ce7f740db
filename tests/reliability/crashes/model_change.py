"""A number of kills in, what went wrong out: models are changed under load."""

import itertools
import random
import threading
from collections.abc import Callable
from pathlib import Path

from kb.engine.embed import HashEmbedder, OtherHashEmbedder

from ..engine_process import PATIENCE, EngineProcess, Gone, Zygote, wait_until
from ..store_check import copied

OLD, NEW = HashEmbedder.name, OtherHashEmbedder.name
NOTES = 150
SEARCHERS = 2
SEARCHES = 25  # in each change, however busy the machine is
_WINDOW = 0.5  # seconds of work before a kill, at most


class ModelChange:
    """One data folder. Searchers and a writer are at work all the time the engine is up.

    A note is asked for by its own text: where text and query were made by one model their cosine
    is 1, and where they were made by two it is near 0.
    """

    def __init__(self, zygote: Zygote, folder: Path, seed: int) -> None:
        plants = ["reliability.plants:every_passage_takes_its_time"]
        self.engine = EngineProcess(zygote, folder, plants)
        self.random = random.Random(seed)
        self.wrong: list[str] = []
        self.searches = 0
        self.interrupted = 0  # kills that hit a change before its end
        self.notes = 0

    def run(self, changes: int, kills: int, interrupted: int) -> None:
        """Change the model so many times, with so many kills in the middle of each.

        On a busy machine, where a change may be over before it is killed, more of them are made
        until so many were interrupted.
        """
        self.engine.start()
        try:
            for _ in range(NOTES):
                self._add()
            assert self.engine.is_idle_within(PATIENCE)
            for number in itertools.count(1):
                model = (OLD, NEW)[number % 2]
                self._change(model, kills)
                if number >= changes and self.interrupted >= interrupted:
                    break
            self._check_store(model)
        finally:
            self.engine.kill()

    def _change(self, model: str, kills: int) -> None:
        self._ready()
        answer = self.engine.send("PUT", "/api/v1/model", {"name": model})
        assert (answer.status, answer.body["wanted"]) == (200, model)
        for _ in range(kills):
            self._under_load(self._killed)
            facts = self._facts()
            self.interrupted += facts["model"] != facts["chosen_model"]
            self.engine.start()
            self._ready()
        self._under_load(lambda: self._changed_to(model))

    def _under_load(self, until: Callable[[], object]) -> None:
        over = threading.Event()
        work = [self._search_on] * SEARCHERS + [self._write_on]
        threads = [
            threading.Thread(target=each, args=[over, number]) for number, each in enumerate(work)
        ]
        for thread in threads:
            thread.start()
        try:
            until()
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def _killed(self) -> None:
        threading.Event().wait(self.random.uniform(0, _WINDOW))
        self.engine.kill()

    def _changed_to(self, model: str) -> None:
        enough = self.searches + SEARCHES

        def is_over() -> bool:
            status = self.engine.get("/api/v1/status").body["model"]
            is_changed = status["name"] == model and status["change"] is None
            return is_changed and self.searches > enough

        wait_until(is_over, PATIENCE, f"{model} is in use")

    def _ready(self) -> None:
        """Until the model is loaded after a start, words answer; that is not what is tested."""
        wait_until(
            lambda: self.engine.get("/api/v1/status").body["model"]["state"] == "ready",
            PATIENCE,
            "the model is loaded",
        )

    def _search_on(self, over: threading.Event, number: int) -> None:
        chance = random.Random(number)
        try:
            while not over.is_set():
                self._search(_text(chance.randrange(NOTES)), chance.random() < 0.5)
        except Gone:
            return

    def _search(self, text: str, vec_only: bool) -> None:
        question = {"query": text, "vec_only": vec_only, "explain": True, "top": 3}
        answer = self.engine.send("POST", "/api/v1/search", question)
        self.searches += 1
        if answer.status != 200 or answer.body["degraded"]:
            self.wrong.append(f"{text}: {answer.status} {answer.body.get('degraded')}")
            return
        best = answer.body["results"][0]
        cosine = best["explain"]["cosine"]
        if best["text"] != text or cosine is None or cosine < 0.99:
            self.wrong.append(f"{text}: found {best['text']!r}, cosine {cosine}")

    def _write_on(self, over: threading.Event, number: int) -> None:
        try:
            while not over.wait(0.05):
                self._add()
        except Gone:
            return

    def _add(self) -> None:
        answer = self.engine.send("POST", "/api/v1/jobs", {"text": _text(self.notes)})
        assert answer.status == 202
        self.notes += 1

    def _check_store(self, model: str) -> None:
        """Every chunk has one vector, of the right model and in its place; nothing else is left."""
        assert self.engine.is_idle_within(PATIENCE)
        wait_until(self._is_cleared, PATIENCE, "the old vectors are gone")
        facts = self._facts()
        copy = copied(self.engine.folder / "store.db")
        names = ("vectors", "other_vectors")
        kept = names[int(facts["vectors_place"])]
        [(chunks,)] = copy.execute("SELECT count(*) FROM chunks")
        assert chunks >= NOTES
        assert copy.execute(f"SELECT model, count(*) FROM {kept} GROUP BY model").fetchall() == [
            (model, chunks)
        ]
        totals = dict(copy.execute("SELECT name, value FROM totals"))
        assert [totals[name] for name in names] == [chunks if name == kept else 0 for name in names]
        assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
        copy.close()

    def _is_cleared(self) -> bool:
        return "other_model" not in self._facts()

    def _facts(self) -> dict[str, str]:
        copy = copied(self.engine.folder / "store.db")
        facts = dict(copy.execute("SELECT name, value FROM facts"))
        copy.close()
        return facts


def _text(number: int) -> str:
    return f"otter{number} swims past heron{number} and vole{number}"
