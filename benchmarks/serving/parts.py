"""A filled data folder in, how long searches take out: whole, and beside them their parts alone.

The questions are asked in all ways in turn (over HTTP, in this process, part by part), some at a
time, each time beginning with another way, so that what else the machine does falls on all of them
alike. One at a time would not do: a server that rests while the other ways are busy wakes up with
caches and a processor that have gone cold, and they do not.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numkong
import numpy as np

from benchmarks.filling.questions import TAG, asked
from benchmarks.running import Client, engine
from kb.engine.embed import Embedders, MiniLM
from kb.engine.search.answers import Mode, Question
from kb.engine.search.ranking import CANDIDATES
from kb.engine.search.searcher import Searcher
from kb.engine.store import Store
from kb.engine.store.search.chunk_index import Codes, quantise
from kb.engine.text.terms import TERMS_VERSION, query_terms, terms
from kb.engine.values import Filter

WARM_UP = 30
TURN = 10  # questions


@dataclass(frozen=True)
class Way:
    """One kind of search: as the API is asked for it, and as a question in process."""

    name: str
    options: dict[str, Any]
    mode: Mode
    filter: Filter | None = None
    parts: tuple[str, ...] = ()


WAYS = (
    Way("words", {"fts_only": True}, "words", parts=("words",)),
    Way("vectors", {"vec_only": True}, "vectors", parts=("embed", "scan")),
    Way("hybrid", {}, "hybrid", parts=("embed", "scan", "words")),
    Way("hybrid, 1 % tag", {"tags": [TAG]}, "hybrid", Filter(tags=(TAG,))),
)


class Span(NamedTuple):
    """How long something took, on the wall and of processor time in all threads of this process."""

    wall: float
    cpu: float


@dataclass
class Times:
    """Milliseconds, one for each question, in the order of asking.

    `process` and `parts` also as processor time, which other programs cannot stretch as they can
    the time on the wall.
    """

    http: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    process: list[Span] = field(default_factory=list)
    parts: dict[str, list[Span]] = field(default_factory=dict)

    def parts_sum(self) -> list[Span]:
        each = zip(*self.parts.values(), strict=True)
        return [Span(sum(s.wall for s in spans), sum(s.cpu for s in spans)) for spans in each]


class Parts:
    """What a hybrid search cannot do without, and nothing else."""

    def __init__(self, model: MiniLM, database: Path, codes: Codes) -> None:
        self._model = model
        self._codes = codes
        self._connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        self._connection.execute("PRAGMA cache_size = -4000").fetchall()

    def scan(self, query: str) -> Callable[[], Any]:
        """Quantising the question is part of it, embedding is not."""
        vector = self._model.embed_one(query).reshape(1, -1)

        def run() -> Any:
            scores = numkong.cdist(quantise(vector), self._codes, metric="dot", out_dtype="float32")
            return np.argpartition(np.asarray(scores)[0], -CANDIDATES)[-CANDIDATES:]

        return run

    def words(self, query: str) -> Callable[[], Any]:
        match = " OR ".join(f'"{term}"' for term in query_terms(query))

        def run() -> Any:
            return self._connection.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 10",
                (match,),
            ).fetchall()

        return run

    def timed(self, name: str, query: str) -> Span:
        if name == "embed":
            return clocked(lambda: self._model.embed_one(query))
        return clocked(self.scan(query) if name == "scan" else self.words(query))


def measure(folder: Path, count: int) -> dict[str, Times]:
    """The times of each way of searching, by its name."""
    model = MiniLM()
    with engine(folder) as server:
        store = Store(folder / "store.db", terms, TERMS_VERSION, model.name)
        store.models.load_vectors()
        with store.look() as look:
            parts = Parts(model, folder / "store.db", look.view.codes)
        bench = _Bench(Client(server.port), Searcher(store, Embedders.ready(model)), parts)
        found: dict[str, Times] = {}
        for number, way in enumerate(WAYS):
            bench.run(way, asked(folder, WARM_UP, skip=number * (count + WARM_UP)))
            questions = asked(folder, count, skip=number * (count + WARM_UP) + WARM_UP)
            found[way.name] = bench.run(way, questions)
        store.close()
    return found


class _Bench:
    def __init__(self, client: Client, searcher: Searcher, parts: Parts) -> None:
        self._client = client
        self._searcher = searcher
        self._parts = parts

    def run(self, way: Way, questions: list[str]) -> Times:
        times = Times(parts={name: [] for name in way.parts})
        turns = [self._over_http, self._in_process, *([self._in_parts] if way.parts else [])]
        for number, first in enumerate(range(0, len(questions), TURN)):
            for offset in range(len(turns)):
                for query in questions[first : first + TURN]:
                    turns[(number + offset) % len(turns)](way, query, times)
        return times

    def _over_http(self, way: Way, query: str, times: Times) -> None:
        began = time.perf_counter()
        answer = self._client.search(query, **way.options)
        times.http.append((time.perf_counter() - began) * 1000)
        times.server.append(answer["took_ms"])
        if answer["mode"] != way.mode:
            raise RuntimeError(f"asked for {way.mode}, got {answer['mode']}")

    def _in_process(self, way: Way, query: str, times: Times) -> None:
        question = Question(query, mode=way.mode, filter=way.filter)
        times.process.append(clocked(lambda: self._searcher.search(question)))

    def _in_parts(self, way: Way, query: str, times: Times) -> None:
        for name in way.parts:
            times.parts[name].append(self._parts.timed(name, query))


def clocked(run: Callable[[], Any]) -> Span:
    """Milliseconds on the wall and of processor time.

    Of the whole process, since a search embeds in a thread of its own.
    """
    began, busy = time.perf_counter(), time.process_time()
    run()
    return Span((time.perf_counter() - began) * 1000, (time.process_time() - busy) * 1000)
