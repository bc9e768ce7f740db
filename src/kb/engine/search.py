"""Question in, hits out."""

import math
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kb.engine.answers import Answer, Explanation, Hit, Mode, Question
from kb.engine.embed import Embedders
from kb.engine.errors import KbError, ModelFailed, ModelLoading
from kb.engine.models import Cosines, Embedder, Vector
from kb.engine.scoring import (
    NEIGHBOUR_WEIGHT,
    Floats,
    WordScores,
    word_scores,
)
from kb.engine.store import FoundChunk, Look, Rows, Store
from kb.engine.terms import Places, adjacent_pairs, query_terms

CANDIDATES = 50
_MOST_CANDIDATES = 800
_LEGS = 8

# relevance = 1 / (1 + exp(-steepness × (final − middle))): the chance that a hit of this score is
# right, as `python -m benchmarks.relevance` found it on ten public sets (for vectors on the six
# that the model can read). One curve for each mode, since each has a range of its own. A model
# whose cosines count otherwise brings its own.
_CURVES: dict[Mode, tuple[float, float]] = {
    "hybrid": (4.0, 1.02),
    "words": (10.1, 0.48),
    "vectors": (5.5, 0.74),
}


class Searcher:
    """Answers questions from a store, by words and by vectors."""

    def __init__(
        self,
        store: Store,
        embedders: Embedders,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.store = store
        self._embedders = embedders
        self._clock = clock
        # A query is embedded while its words are looked up: neither needs the other.
        self._legs = ThreadPoolExecutor(_LEGS, thread_name_prefix="query")

    def search(self, question: Question) -> Answer:
        started = self._clock()
        hits: list[Hit] | None = None
        while hits is None:
            model, embedder = self._embedder()
            if embedder is None and question.mode == "vectors":
                raise self._no_vectors()
            mode: Mode = "words" if embedder is None else question.mode
            embed = self._start_embedding(embedder, question.query) if mode != "words" else None
            with self.store.look(question.filter) as look:
                if look.model == model:  # else it was exchanged just now: ask the other one
                    cosines = _cosines(embedder, question)
                    hits = _Search(look, question, mode, embed, cosines).hits()
        took = (self._clock() - started) * 1000
        is_degraded = embedder is None and question.mode == "hybrid"
        degraded = self._no_vectors().code if is_degraded else None
        return Answer(question.query, hits, len(hits), round(took, 3), mode, degraded)

    def _embedder(self) -> tuple[str, Embedder | None]:
        """The model whose vectors are searched, and its embedder where both are loaded.

        A model is let go after it was exchanged, so what was there before that is whole.
        """
        while True:
            model = self.store.model
            embedder = self._embedders.of(model).current() if self.store.vectors_loaded else None
            if model == self.store.model:
                return model, embedder

    def _start_embedding(self, embedder: Embedder | None, query: str) -> Callable[[], Vector]:
        assert embedder is not None
        return self._legs.submit(embedder.embed_one, query).result

    def _no_vectors(self) -> KbError:
        """Why only words can be searched."""
        failure = self._embedders.of(self.store.model).failure
        if failure:
            return ModelFailed(
                f"The embedding model did not load ({failure}): search by words, "
                "or mend the installation and restart the engine"
            )
        return ModelLoading(
            "The embedding model is still loading: try again in a second, or search by words"
        )


def _cosines(embedder: Embedder | None, question: Question) -> Cosines:
    """What a cosine counts: less, the less of the query the model can read."""
    if embedder is None:
        return Cosines(weight=0.0)
    if question.mode != "hybrid":
        return embedder.cosines
    weight = embedder.cosines.weight * embedder.legibility(question.query)
    return replace(embedder.cosines, weight=weight)


@dataclass(frozen=True, slots=True)
class _Scored:
    """The candidates and their scores; `cosines` is None where there is no vector."""

    chunk_ids: list[int]
    document_ids: list[int]
    final: Floats
    words: WordScores
    vector: Floats
    cosines: list[float | None]


class _Search:
    """One question on its way through one look at the store."""

    def __init__(
        self,
        look: Look,
        question: Question,
        mode: Mode,
        embed: Callable[[], Vector] | None,
        cosines: Cosines,
    ) -> None:
        self._look = look
        self._question = question
        self._mode = mode
        self._embed = embed
        self._counts = cosines
        self._curve = cosines.curves.get(mode, _CURVES[mode])
        by_words = mode != "vectors"
        self._terms = query_terms(question.query) if by_words else []
        self._pairs = adjacent_pairs(question.query) if by_words else []
        self._statistics = look.statistics(self._terms, self._pairs)
        self._few = look.all_if_few()

    def hits(self) -> list[Hit]:
        """Where the passages of one document would keep the others out, look further."""
        question, limit = self._question, max(CANDIDATES, self._question.top)
        while True:
            rows = self._candidates(limit)
            scored = self._score(rows) if len(rows) else None
            kept = self._best(scored) if scored else []
            may_be_more = limit <= len(rows) and limit < _MOST_CANDIDATES and self._few is None
            if len(kept) == question.top or not question.per_document or not may_be_more:
                return self._shown(scored, kept) if scored else []
            limit *= 4

    @cached_property
    def _vector(self) -> Vector | None:
        return self._embed() if self._embed else None

    def _candidates(self, limit: int) -> Rows:
        """The best of each leg; all, where a filter leaves few. Rows come in rising order."""
        if self._few is not None:
            return self._few
        by_words = self._look.by_words(self._terms, self._statistics.term_counts, limit)
        if self._vector is None:
            return np.unique(by_words)
        return np.union1d(by_words, self._look.by_vector(self._vector, limit))

    def _score(self, rows: Rows) -> _Scored:
        """By both legs, whichever found them, and by the better of their neighbours."""
        before, after = self._look.view.neighbours(rows)
        everyone = np.union1d(rows, np.union1d(before, after))
        own = np.searchsorted(everyone, rows)
        counts = self._look.term_counts(everyone, self._terms, self._pairs)
        words = word_scores(counts, self._statistics)
        cosines, shown = self._cosines(everyone, own)
        shift = self._counts.shift
        vector = self._counts.weight * np.maximum((cosines - shift) / (1 - shift), 0.0)
        scores = words.scores + vector
        beside = np.zeros(len(rows))
        for others in (before, after):
            other = scores[np.searchsorted(everyone, others)]
            beside = np.maximum(beside, np.where(others == rows, 0.0, other))
        matched = (words.scores if self._mode == "words" else scores)[own] > 0
        own = own[matched]
        return _Scored(
            chunk_ids=self._look.view.ids[rows[matched]].tolist(),
            document_ids=self._look.view.documents[rows[matched]].tolist(),
            final=scores[own] + NEIGHBOUR_WEIGHT * beside[matched],
            words=WordScores(words.scores[own], words.by_term[own], words.by_pair[own]),
            vector=vector[own],
            cosines=[cosine for cosine, kept in zip(shown, matched, strict=True) if kept],
        )

    def _cosines(self, everyone: Rows, own: Rows) -> tuple[Floats, list[float | None]]:
        """Exact for the candidates, near enough for their neighbours."""
        if self._vector is None:
            return np.zeros(len(everyone)), [None] * len(own)
        cosines = self._look.view.cosines(self._vector, everyone)
        vectors, known = self._look.exact_vectors(everyone[own])
        cosines[own] = np.where(known, vectors @ self._vector, 0.0)
        exact = cosines[own].tolist()
        return cosines, [c if k else None for c, k in zip(exact, known, strict=True)]

    def _best(self, scored: _Scored) -> list[int]:
        """Which to show, in order of relevance, no more than asked for."""
        question = self._question
        order = sorted(
            range(len(scored.chunk_ids)), key=lambda n: (-scored.final[n], scored.chunk_ids[n])
        )
        kept: list[int] = []
        per_document: Counter[int] = Counter()
        for number in order:
            shown = relevance(scored.final[number], self._curve)
            if len(kept) == question.top or shown < question.min_relevance:
                break
            document_id = scored.document_ids[number]
            if question.per_document and per_document[document_id] >= question.per_document:
                continue
            per_document[document_id] += 1
            kept.append(number)
        return kept

    def _shown(self, scored: _Scored, kept: list[int]) -> list[Hit]:
        chunks = self._look.chunks([scored.chunk_ids[number] for number in kept])
        wanted = Places(self._terms)
        return [
            self._hit(chunks[scored.chunk_ids[number]], scored, number, wanted)
            for number in kept
            if scored.chunk_ids[number] in chunks
        ]

    def _hit(self, chunk: FoundChunk, scored: _Scored, number: int, wanted: Places) -> Hit:
        text = chunk.text.strip()
        final = float(scored.final[number])
        return Hit(
            chunk_id=chunk.chunk_id,
            chunk_uid=chunk.chunk_uid,
            document_id=chunk.document_id,
            document_uid=chunk.document_uid,
            score=round(final, 6),
            relevance=relevance(final, self._curve),
            text=text,
            highlights=highlights(text, wanted),
            page=chunk.page,
            location=chunk.location,
            headings=chunk.headings,
            title=chunk.title,
            filename=chunk.filename,
            doc_type=chunk.doc_type,
            format=chunk.format,
            source_path=chunk.source_path,
            tags=chunk.tags,
            created_at=chunk.created_at,
            updated_at=chunk.updated_at,
            explain=self._explain(scored, number) if self._question.explain else None,
        )

    def _explain(self, scored: _Scored, number: int) -> Explanation:
        words, vector = float(scored.words.scores[number]), float(scored.vector[number])
        cosine = scored.cosines[number]
        by_term = zip(self._terms, scored.words.by_term[number], strict=True)
        by_pair = zip(self._pairs, scored.words.by_pair[number], strict=True)
        return Explanation(
            words=round(words, 6),
            vector=round(vector, 6),
            neighbour=round(max(0.0, float(scored.final[number]) - words - vector), 6),
            cosine=None if cosine is None else round(cosine, 6),
            vector_weight=round(self._counts.weight, 6),
            terms={term: round(float(part), 6) for term, part in by_term if part},
            pairs={" ".join(pair): round(float(part), 6) for pair, part in by_pair if part},
        )


def relevance(final: float, curve: tuple[float, float]) -> float:
    """A score as a number from 0 to 1 that means the same for every query.

    Rounded here, so that what a hit shows is what a floor is compared with.
    """
    steepness, middle = curve
    return round(1 / (1 + math.exp(-steepness * (final - middle))), 6)


def highlights(text: str, wanted: Places) -> list[tuple[int, int]]:
    """Where the query's words stand in the text; what touches or overlaps is one span."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(set(wanted.within(text))):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans
