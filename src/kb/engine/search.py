"""Question in, hits out."""

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kb.engine.embed import BackgroundEmbedder
from kb.engine.errors import KbError, ModelFailed, ModelLoading
from kb.engine.models import Embedder, Filter, Vector
from kb.engine.scoring import (
    NEIGHBOUR_WEIGHT,
    VECTOR_WEIGHT,
    Floats,
    WordScores,
    word_scores,
)
from kb.engine.store import FoundChunk, Look, Store
from kb.engine.terms import adjacent_pairs, places_of, query_terms

CANDIDATES = 50
_MOST_CANDIDATES = 800

Mode = Literal["hybrid", "words", "vectors"]

# relevance = 1 / (1 + exp(-steepness × (final − middle))): the chance that a hit of this score is
# right, as `python -m benchmarks.relevance` found it on ten public sets (for vectors on the six
# that the model can read). One curve for each mode, since each has a range of its own.
_CURVES: dict[Mode, tuple[float, float]] = {
    "hybrid": (4.0, 1.02),
    "words": (10.1, 0.48),
    "vectors": (5.5, 0.74),
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what may answer."""

    query: str
    top: int = 10
    filter: Filter | None = None
    mode: Mode = "hybrid"
    min_relevance: float = 0.0
    per_document: int | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a hit's score comes from: `score` is the sum of `words`, `vector`, `neighbour`.

    `terms` and `pairs` say what each found word and phrase gave to `words`.
    """

    words: float
    vector: float
    neighbour: float
    cosine: float | None
    vector_weight: float
    terms: dict[str, float]
    pairs: dict[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query, with its score and its document.

    `highlights` are [start, end) offsets into `text`, in characters.
    """

    chunk_id: int
    chunk_uid: str
    document_id: int
    document_uid: str
    score: float
    relevance: float
    text: str
    highlights: list[tuple[int, int]]
    page: int | None
    location: str | None
    headings: list[str]
    title: str
    filename: str | None
    doc_type: str
    format: str
    source_path: str | None
    tags: list[str]
    created_at: str
    updated_at: str | None
    explain: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first. `degraded` names what was missing, when something was."""

    query: str
    results: list[Hit]
    total: int
    took_ms: float
    mode: Mode
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class _Scored:
    """Every row that was looked at: candidates first, then their neighbours."""

    chunk_ids: list[int]
    document_ids: list[int]
    final: Floats
    words: Floats
    vector: Floats
    cosines: list[float | None]
    parts: WordScores
    terms: list[str]
    pairs: list[tuple[str, str]]
    weight: float


@dataclass(slots=True)
class Searcher:
    """Answers questions from a store, by words and by vectors."""

    store: Store
    embedder: BackgroundEmbedder
    clock: Any = field(default=time.perf_counter)

    def search(self, question: Question) -> Answer:
        started = self.clock()
        embedder = self._usable_embedder()
        if embedder is None and question.mode == "vectors":
            raise self._no_vectors()
        mode: Mode = "words" if embedder is None else question.mode
        vector = embedder.embed_one(question.query) if embedder and mode != "words" else None
        weight = VECTOR_WEIGHT
        if embedder and mode == "hybrid":
            weight *= embedder.legibility(question.query)
        with self.store.look(question.filter) as look:
            hits = _answers(look, question, mode, vector, weight)
        took = (self.clock() - started) * 1000
        is_degraded = embedder is None and question.mode == "hybrid"
        degraded = self._no_vectors().code if is_degraded else None
        return Answer(question.query, hits, len(hits), round(took, 3), mode, degraded)

    def _no_vectors(self) -> KbError:
        """Why only words can be searched."""
        if self.embedder.failure:
            return ModelFailed(
                f"The embedding model did not load ({self.embedder.failure}): search by words, or "
                "mend the installation and restart the engine"
            )
        return ModelLoading(
            "The embedding model is still loading: try again in a second, or search by words"
        )

    def _usable_embedder(self) -> Embedder | None:
        return self.embedder.current() if self.store.vectors_loaded else None


def _answers(
    look: Look, question: Question, mode: Mode, vector: Vector | None, weight: float
) -> list[Hit]:
    """Where the passages of one document would keep the others out, look further."""
    limit = max(CANDIDATES, question.top)
    while True:
        scored = _score(look, question, mode, vector, weight, limit)
        kept = _best(scored, question, mode) if scored else []
        found_all = limit >= min(_MOST_CANDIDATES, len(look.view.ids))
        if len(kept) == question.top or not question.per_document or found_all:
            return _hits(look, scored, kept, question, mode) if scored else []
        limit *= 4


def _score(
    look: Look,
    question: Question,
    mode: Mode,
    vector: Vector | None,
    weight: float,
    limit: int,
) -> _Scored | None:
    """Choose candidates by each leg, then score them and their neighbours by both."""
    terms = query_terms(question.query) if mode != "vectors" else []
    pairs = adjacent_pairs(question.query) if mode != "vectors" else []
    statistics = look.statistics(terms, pairs)
    rows = look.all_if_few()
    if rows is None:
        by_words = look.by_words(terms, statistics.term_counts, limit)
        by_vector = by_words[:0] if vector is None else look.by_vector(vector, limit)
        rows = np.union1d(by_words, by_vector)
    if not len(rows):
        return None
    before, after = look.view.neighbours(rows)
    everyone = np.union1d(rows, np.union1d(before, after))
    counts = look.term_counts(everyone, terms, pairs)
    parts = word_scores(counts, statistics)
    cosines, vector_part = _vector_part(look, everyone, vector, weight)
    scores = parts.scores + vector_part
    own = np.searchsorted(everyone, rows)
    beside = np.zeros(len(rows))
    for others in (before, after):
        other = scores[np.searchsorted(everyone, others)]
        beside = np.maximum(beside, np.where(others == rows, 0.0, other))
    matched = (parts.scores if mode == "words" else scores)[own] > 0
    rows, own, beside = rows[matched], own[matched], beside[matched]
    return _Scored(
        chunk_ids=look.view.ids[rows].tolist(),
        document_ids=look.view.documents[rows].tolist(),
        final=scores[own] + NEIGHBOUR_WEIGHT * beside,
        words=parts.scores[own],
        vector=vector_part[own],
        cosines=[cosines[number] for number in own],
        parts=WordScores(parts.scores[own], parts.by_term[own], parts.by_pair[own]),
        terms=terms,
        pairs=pairs,
        weight=weight,
    )


def _vector_part(
    look: Look, rows: Any, vector: Vector | None, weight: float
) -> tuple[list[float | None], Floats]:
    if vector is None:
        return [None] * len(rows), np.zeros(len(rows))
    vectors, known = look.exact_vectors(rows)
    cosines = (vectors @ vector).astype(np.float64)
    shown = [float(c) if k else None for c, k in zip(cosines, known, strict=True)]
    return shown, np.where(known, np.maximum(cosines, 0.0) * weight, 0.0)


def _best(scored: _Scored, question: Question, mode: Mode) -> list[int]:
    """Which to show, in order of relevance, no more than asked for."""
    order = sorted(
        range(len(scored.chunk_ids)), key=lambda n: (-scored.final[n], scored.chunk_ids[n])
    )
    kept: list[int] = []
    per_document: Counter[int] = Counter()
    for number in order:
        shown = relevance(scored.final[number], mode)
        if len(kept) == question.top or shown < question.min_relevance:
            break
        document_id = scored.document_ids[number]
        if question.per_document and per_document[document_id] >= question.per_document:
            continue
        per_document[document_id] += 1
        kept.append(number)
    return kept


def _hits(
    look: Look, scored: _Scored, kept: list[int], question: Question, mode: Mode
) -> list[Hit]:
    chunks = look.chunks([scored.chunk_ids[number] for number in kept])
    wanted = frozenset(scored.terms)
    return [
        _hit(chunks[scored.chunk_ids[number]], scored, number, wanted, question, mode)
        for number in kept
        if scored.chunk_ids[number] in chunks
    ]


def _hit(
    chunk: FoundChunk,
    scored: _Scored,
    number: int,
    wanted: frozenset[str],
    question: Question,
    mode: Mode,
) -> Hit:
    text = chunk.text.strip()
    final = float(scored.final[number])
    return Hit(
        chunk_id=chunk.chunk_id,
        chunk_uid=chunk.chunk_uid,
        document_id=chunk.document_id,
        document_uid=chunk.document_uid,
        score=round(final, 6),
        relevance=relevance(final, mode),
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
        explain=_explain(scored, number) if question.explain else None,
    )


def _explain(scored: _Scored, number: int) -> Explanation:
    words, vector = float(scored.words[number]), float(scored.vector[number])
    cosine = scored.cosines[number]
    by_term = zip(scored.terms, scored.parts.by_term[number], strict=True)
    by_pair = zip(scored.pairs, scored.parts.by_pair[number], strict=True)
    return Explanation(
        words=round(words, 6),
        vector=round(vector, 6),
        neighbour=round(max(0.0, float(scored.final[number]) - words - vector), 6),
        cosine=None if cosine is None else round(cosine, 6),
        vector_weight=round(scored.weight, 6),
        terms={term: round(float(part), 6) for term, part in by_term if part},
        pairs={" ".join(pair): round(float(part), 6) for pair, part in by_pair if part},
    )


def relevance(final: float, mode: Mode) -> float:
    """A score as a number from 0 to 1 that means the same for every query.

    Rounded here, so that what a hit shows is what a floor is compared with.
    """
    steepness, middle = _CURVES[mode]
    return round(1 / (1 + math.exp(-steepness * (final - middle))), 6)


def highlights(text: str, terms: frozenset[str]) -> list[tuple[int, int]]:
    """Where the query's words stand in the text; what touches or overlaps is one span."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(set(places_of(text, terms))):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans
