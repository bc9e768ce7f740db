"""A filled data folder in, how fast, how exact and how large searching it is out."""

import itertools
import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filling.questions import asked
from benchmarks.filling.scale_store import ODD
from benchmarks.running import connected, engine
from benchmarks.serving.ingest import feeding, shuffled
from kb.engine.embed import MiniLM
from kb.engine.scoring import HEAD_WEIGHT, WordStatistics, word_scores
from kb.engine.search.ranking import CANDIDATES
from kb.engine.store import Look, Rows, Store
from kb.engine.store.search.word_search import any_of
from kb.engine.text.terms import TERMS_VERSION, query_terms, terms
from kb.engine.values import Vectors

MODES: dict[str, dict[str, Any]] = {
    "hybrid": {},
    "words": {"fts_only": True},
    "vectors": {"vec_only": True},
}
FILTERS: dict[str, dict[str, Any]] = {
    "": {},
    ", 50 % filter": {"tags": ["half"]},
    ", 1 % filter": {"tags": ["shelf"]},
    ", 0.01 % filter": {"tags": ["drawer"]},
}
WARM_UP = 200  # questions, after which the common words are known as in an engine that runs
TOP = 10

Times = dict[str, list[float]]


@dataclass
class Speeds:
    """Milliseconds as a client sees them, by the kind of search."""

    quiet: Times = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)  # in all threads, on average
    busy: Times = field(default_factory=dict)
    odd: list[tuple[float, str]] = field(default_factory=list)
    rate: float = 0.0


def quiet(folder: Path, count: int, odd: int) -> Speeds:
    """One question after the other, each asked for the first time; then the odd ones."""
    found = Speeds()
    with engine(folder) as server:
        client = connected(server)
        client.search_times(asked(folder, WARM_UP))
        for number, (filter_, mode) in enumerate(itertools.product(FILTERS, MODES)):
            questions, name = asked(folder, count, skip=WARM_UP + number * count), mode + filter_
            busy_before = server.cpu_seconds()
            found.quiet[name] = client.search_times(questions, **MODES[mode], **FILTERS[filter_])
            found.processor[name] = (server.cpu_seconds() - busy_before) * 1000 / count
        questions = json.loads((folder / ODD).read_text("utf-8"))[:odd]
        found.odd = sorted(zip(client.search_times(questions), questions, strict=True))
    return found


def busy(folder: Path, count: int, texts: Path | None) -> Speeds:
    """While documents come in without a break: into a copy, which is deleted then."""
    copy = folder.parent / f"{folder.name}-busy"
    shutil.copytree(folder, copy)
    found, documents = Speeds(), shuffled(texts)
    try:
        with engine(copy) as server, feeding(server, documents) as feeder:
            client = connected(server)
            client.search_times(asked(folder, WARM_UP))
            before, began = client.status()["counts"]["chunks"], time.perf_counter()
            for number, mode in enumerate(MODES):
                questions = asked(folder, count, skip=WARM_UP + number * count)
                found.busy[mode] = client.search_times(questions, **MODES[mode])
            added = client.status()["counts"]["chunks"] - before
            found.rate = added / (time.perf_counter() - began)
            if not feeder.is_alive():
                raise RuntimeError("the documents ran out")
    finally:
        shutil.rmtree(copy)
    return found


def exactness(folder: Path, vectors: int, words: int) -> tuple[float, float]:
    exactness = _Exactness(folder, vectors)
    found = exactness.vectors(), exactness.words(words)
    exactness.close()
    return found


class _Exactness:
    """How much of what an exact search finds is found."""

    def __init__(self, folder: Path, count: int) -> None:
        self._model = MiniLM()
        self._store = Store(folder / "store.db", terms, TERMS_VERSION, self._model.name)
        self._store.models.load_vectors()
        self._questions = asked(folder, count)

    def vectors(self) -> float:
        """Recall@10 of the vector leg against the full vectors of all chunks."""
        asked_for = np.array([self._model.embed_one(query) for query in self._questions])
        exact = self._nearest(asked_for)
        found = 0
        for vector, ids in zip(asked_for, exact, strict=True):
            with self._store.look() as look:
                rows = np.sort(look.by_vector(vector, CANDIDATES))
                full, _ = look.exact_vectors(rows)
                best = rows[np.argsort(-(full @ vector))[:TOP]]
                found += len(np.intersect1d(look.view.ids[best], ids))
        return found / (TOP * len(exact))

    def words(self, count: int) -> float:
        """The scores of the ten best by words, beside those of bm25 over every match."""
        found = best = 0.0
        for query in self._questions[:count]:
            asked_for = query_terms(query)
            with self._store.look() as look:
                statistics = look.statistics(asked_for, [])
                rows = look._query(
                    "SELECT rowid FROM words WHERE words MATCH :match "
                    "ORDER BY bm25(words, 1, :weight) LIMIT :top",
                    match=any_of(asked_for),
                    weight=HEAD_WEIGHT,
                    top=TOP,
                )
                all_, _ = look.view.rows_of(np.array([row[0] for row in rows], np.int64))
                own = look.by_words(asked_for, statistics.term_counts, TOP)
                found += _scores(look, own, asked_for, statistics)
                best += _scores(look, all_, asked_for, statistics)
        return found / best

    def close(self) -> None:
        self._store.close()

    def _nearest(self, asked_for: Vectors) -> Any:
        """The ids of the ten nearest for each, by reading every vector there is."""
        best = np.full((len(asked_for), TOP), -1.0, np.float32)
        best_ids = np.zeros((len(asked_for), TOP), np.int64)
        last = 0
        with self._store.look() as look:
            while rows := look._query(
                "SELECT chunk_id, vector FROM exact_vectors WHERE chunk_id > :last "
                "ORDER BY chunk_id LIMIT 20000",
                last=last,
            ):
                last = rows[-1][0]
                ids = np.array([row[0] for row in rows], np.int64)
                full = np.frombuffer(b"".join(row[1] for row in rows), np.float16)
                scores = asked_for @ full.reshape(len(rows), -1).astype(np.float32).T
                scores = np.hstack([best, scores])
                all_ids = np.hstack([best_ids, np.broadcast_to(ids, (len(best), len(ids)))])
                order = np.argpartition(scores, -TOP, axis=1)[:, -TOP:]
                best = np.take_along_axis(scores, order, axis=1)
                best_ids = np.take_along_axis(all_ids, order, axis=1)
        return best_ids


def _scores(look: Look, rows: Rows, asked_for: list[str], statistics: WordStatistics) -> float:
    counts = look.term_counts(np.sort(rows), asked_for, [])
    return float(word_scores(counts, statistics).scores.sum())
