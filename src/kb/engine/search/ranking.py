"""Ranks passages for a question, from one look at the store."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import numpy as np

from kb.engine.errors import SearchTimedOut
from kb.engine.scoring import (
    DOCUMENT_WEIGHT,
    NEIGHBOUR_WEIGHT,
    RECENCY_WEIGHT,
    Floats,
    WordScores,
    WordStatistics,
    best_of_documents,
    relevance,
    rivals,
    with_wholes,
    word_scores,
)
from kb.engine.search.answers import Mode, Question
from kb.engine.search.literal import Literal
from kb.engine.search.query import ParsedQuery
from kb.engine.store import Look, Rows
from kb.engine.text.terms import adjacent_pairs, phrases, query_terms, written_together
from kb.engine.values import Cosines, Vector, now

CANDIDATES = 50
# Where the newest of what fits is wanted, more has to be looked at than what fits best.
_CANDIDATES_BY_TIME = 200
_MOST_CANDIDATES = 800
# So many of the best are compared at full precision; the others are right to a few thousandths.
_EXACT = 50
_DAY = 86_400

# relevance = 1 / (1 + exp(-steepness × (final − 0.5 × rivals − middle))): the chance that such a
# hit is right, as `python -m benchmarks.relevance` found it on ten public sets (for vectors on the
# six that the model can read). One curve for each mode, since each has a range of its own. A model
# whose cosines count otherwise brings its own.
_CURVES: dict[Mode, tuple[float, float]] = {
    "hybrid": (6.35, 0.78),
    "words": (10.8, 0.45),
    "vectors": (10.1, 0.51),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage and where its score comes from; `cosine` is None where there is no vector."""

    chunk_id: int
    score: float
    relevance: float
    words: float
    literal: float
    vector: float
    neighbour: float
    document: float
    recency: float
    rivals: float
    cosine: float | None
    by_term: Floats
    by_pair: Floats


@dataclass(frozen=True, slots=True)
class _Scored:
    """The candidates, and each part of their scores."""

    rows: Rows
    words: WordScores
    literal: Floats
    vector: Floats
    cosines: Floats
    neighbour: Floats
    document: Floats
    recency: Floats

    @property
    def final(self) -> Floats:
        own = (self.words.scores, self.literal, self.vector)
        total: Floats = np.sum((*own, self.neighbour, self.document, self.recency), axis=0)
        return total


class VectorLeg:
    """The search by vectors, in a thread of its own: a query is embedded, then its nearest found.

    Embedding begins at once, before it is known what to look through. If that is still not known
    when it ends, the thread does not wait: others may need it.
    """

    scan: Callable[[Vector], Rows] | None = None  # may read memory only

    def __init__(self, embed: Callable[[], Vector], start: Callable[..., Future[Any]]) -> None:
        """`start` runs a function in another thread."""
        self._embed = embed
        self._found: Future[tuple[Vector, Rows | None]] = start(self._run)

    @property
    def vector(self) -> Vector:
        return self._found.result()[0]

    @property
    def rows(self) -> Rows | None:
        """None where nobody had said what to look through."""
        return self._found.result()[1]

    def _run(self) -> tuple[Vector, Rows | None]:
        vector = self._embed()
        return vector, self.scan(vector) if self.scan else None


class Ranking:
    """One question on its way through one look at the store."""

    def __init__(
        self,
        look: Look,
        question: Question,
        asked: ParsedQuery,
        mode: Mode,
        leg: VectorLeg | None,
        cosines: Cosines,
    ) -> None:
        self._look = look
        self.is_cut = False
        self._leg = leg
        self._question = question
        self._mode = mode
        self._first_limit = max(
            _CANDIDATES_BY_TIME if question.recency else CANDIDATES, question.top
        )
        self._counts = cosines
        self._curve = cosines.curves.get(mode, _CURVES[mode])
        self._without = [terms for text in asked.without for terms in phrases(text)]
        for required in asked.phrases:
            if ways := phrases(required):
                look.require(ways)
        self._few = look.all_if_few()
        if leg is not None and self._few is None:
            leg.scan = partial(look.by_vector, limit=self._first_limit)
        self.terms = query_terms(asked.text) if mode != "vectors" else []
        self.pairs = adjacent_pairs(asked.text) if mode != "vectors" else []
        together = written_together(asked.text) if mode != "vectors" else {}
        sought = [*self.terms, *together.values()]
        self._counts_of = dict(zip(sought, look.statistics(sought, []).term_counts, strict=True))
        # Two words of the query that some passage has as one.
        self.wholes = {pair: term for pair, term in together.items() if self._counts_of[term]}
        self._sought = [*self.terms, *self.wholes.values()]
        self._literal = Literal(look, asked.text if mode != "vectors" else "", self._counts_of)

    def best(self) -> list[Ranked]:
        """Where some candidates may not be shown, look further for others.

        When the time is over meanwhile, those that were found before are the best (`is_cut`).
        """
        question, limit = self._question, self._first_limit
        kept: list[Ranked] = []
        while True:
            try:
                candidates = self._candidates(limit)
                rows = self._permitted(candidates)
                kept = self._first(self._score(rows)) if len(rows) else []
            except SearchTimedOut:
                if not kept:
                    raise
                self.is_cut = True
                return kept
            may_be_more = limit <= len(candidates) and limit < _MOST_CANDIDATES
            picks = question.per_document or self._without
            if len(kept) == question.top or not picks or not may_be_more or self._few is not None:
                return kept
            limit *= 4

    @cached_property
    def _vector(self) -> Vector | None:
        return self._leg.vector if self._leg else None

    @cached_property
    def _statistics(self) -> WordStatistics:
        return self._look.statistics(self.terms, self.pairs)

    def _candidates(self, limit: int) -> Rows:
        """The best of each leg; all, where a filter leaves few. Rows come in rising order."""
        if self._few is not None:
            return self._few
        counts = [self._counts_of[term] for term in self._sought]
        by_words = self._look.by_words(self._sought, counts, limit)
        if holders := self._literal.holders():
            by_words = _merged(by_words, *holders)
        if self._leg is None:
            return np.unique(by_words)
        self._prepare_scoring(by_words)  # rather than wait for the other leg
        near = self._leg.rows if limit == self._first_limit else None
        return _merged(
            by_words, self._look.by_vector(self._leg.vector, limit) if near is None else near
        )

    def _prepare_scoring(self, rows: Rows) -> None:
        """Read what will be needed of these, and count pairs, which choose no candidates."""
        self._look.read_ahead(_merged(rows, *self._look.view.neighbours(rows)))
        _ = self._statistics

    def _permitted(self, rows: Rows) -> Rows:
        """Without those that hold what must not be there."""
        if not self._without or not len(rows):
            return rows
        kept: Rows = rows[~self._look.rows_with(rows, self._without)]
        return kept

    def _score(self, rows: Rows) -> _Scored:
        """By both legs, whichever found them, and by what stands around them."""
        before, after = self._look.view.neighbours(rows)
        everyone = _merged(rows, before, after)
        own = np.searchsorted(everyone, rows)
        counts = self._look.term_counts(everyone, self._sought, self.pairs)
        if self.wholes:
            counts = with_wholes(counts, self.terms, self.pairs, self.wholes)
        words = word_scores(counts, self._statistics)
        cosines = self._cosines(everyone)
        vector = self._vector_part(cosines)
        scores = words.scores + vector
        beside = np.zeros(len(rows))
        for others in (before, after):
            other = scores[np.searchsorted(everyone, others)]
            beside = np.maximum(beside, np.where(others == rows, 0.0, other))
        whole = best_of_documents(scores, self._look.view.documents[everyone])
        literal = self._literal.scores(rows)
        matched = (words.scores if self._mode == "words" else scores)[own] + literal > 0
        own = own[matched]
        found = _Scored(
            rows=rows[matched],
            words=WordScores(words.scores[own], words.by_term[own], words.by_pair[own]),
            literal=literal[matched],
            vector=vector[own],
            cosines=cosines[own],
            neighbour=NEIGHBOUR_WEIGHT * beside[matched],
            document=DOCUMENT_WEIGHT * whole[own],
            recency=np.zeros(len(own)),
        )
        self._make_exact(found)
        if self._question.recency and len(own):
            found.recency[:] = self._ageing(found, self._question.recency)
        return found

    def _ageing(self, scored: _Scored, half_life: float) -> Floats:
        """How much age takes away: nothing from new documents, in time nearly half of the score."""
        times = self._look.changed_at(self._look.view.documents[scored.rows])
        today = datetime.fromisoformat(now())
        ages = np.array(
            [max(0.0, (today - datetime.fromisoformat(at)).total_seconds()) / _DAY for at in times]
        )
        with np.errstate(over="ignore"):  # by a half-life of nearly nothing: all of it is lost
            lost: Floats = RECENCY_WEIGHT * (1 - 0.5 ** (ages / half_life))
        return -scored.final * lost

    def _cosines(self, rows: Rows) -> Floats:
        """Near enough for choosing; 0 without a vector."""
        if self._vector is None:
            return np.zeros(len(rows))
        return self._look.view.cosines(self._vector, rows)

    def _make_exact(self, scored: _Scored) -> None:
        """The cosines of those that may be shown, at full precision."""
        if self._vector is None or not len(scored.rows):
            return
        most = max(_EXACT, 2 * self._question.top)
        best = np.sort(np.argsort(-scored.final)[:most])
        vectors, known = self._look.exact_vectors(scored.rows[best])
        scored.cosines[best] = np.where(known, vectors @ self._vector, 0.0)
        scored.vector[best] = self._vector_part(scored.cosines[best])

    def _vector_part(self, cosines: Floats) -> Floats:
        shift = self._counts.shift
        part: Floats = self._counts.weight * np.maximum((cosines - shift) / (1 - shift), 0.0)
        return part

    def _first(self, scored: _Scored) -> list[Ranked]:
        """Those to show, in order of relevance, no more than asked for."""
        question, final = self._question, scored.final
        among, finals = rivals(final), final.tolist()
        documents = self._look.view.documents[scored.rows].tolist()
        kept: list[Ranked] = []
        per_document: Counter[int] = Counter()
        for number in np.argsort(-final, kind="stable").tolist():  # rows are in order of their ids
            score = finals[number]
            shown = relevance(score, among, self._curve)
            if len(kept) == question.top or shown < question.min_relevance:
                break
            if question.per_document and per_document[documents[number]] >= question.per_document:
                continue
            per_document[documents[number]] += 1
            kept.append(self._ranked(scored, number, score, shown, among))
        return kept

    def _ranked(
        self, scored: _Scored, number: int, score: float, shown: float, among: float
    ) -> Ranked:
        row = scored.rows[number]
        has_vector = self._vector is not None and self._look.view.embedded[row]
        return Ranked(
            chunk_id=int(self._look.view.ids[row]),
            score=score,
            relevance=shown,
            words=float(scored.words.scores[number]),
            literal=float(scored.literal[number]),
            vector=float(scored.vector[number]),
            neighbour=float(scored.neighbour[number]),
            document=float(scored.document[number]),
            recency=float(scored.recency[number]),
            rivals=among,
            cosine=float(scored.cosines[number]) if has_vector else None,
            by_term=scored.words.by_term[number],
            by_pair=scored.words.by_pair[number],
        )


def _merged(*rows: Rows) -> Rows:
    """Each once, in rising order."""
    merged: Rows = np.unique(np.concatenate(rows))
    return merged
