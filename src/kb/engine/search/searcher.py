"""The steps of a search, from a question to its hits."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from kb.engine.embed import Embedders
from kb.engine.errors import KbError, ModelFailed, ModelLoading, SearchTimedOut
from kb.engine.search.answers import Answer, Hit, Mode, Question
from kb.engine.search.hits import Shown, adjacent, joined
from kb.engine.search.query import Condition, ParsedQuery, parse
from kb.engine.search.ranking import Ranking, VectorLeg
from kb.engine.store import Look, Store
from kb.engine.values import Cosines, Embedder, Filter

logger = logging.getLogger(__name__)

SECONDS = 10.0
_LEGS = 8
# For what is quickly done, when the time for the whole is over.
_GRACE = 1.0
# Where even the best hit is less relevant, it is only the nearest of what does not answer: so it is
# with nine in ten nonsense queries, and was with no real one (docs/search.md).
_FITS = 0.03
# To find out which of so many conditions leaves nothing, each is left out in turn.
_MOST_TRIED = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """The hits, and how they were found."""

    hits: list[Hit]
    mode: Mode
    degraded: str | None

    @property
    def best(self) -> float:
        """How relevant the best hit is; less than any where there is none."""
        return max((hit.relevance for hit in self.hits), default=-1.0)


class Searcher:
    """Answers questions from a store, by words and by vectors."""

    def __init__(
        self,
        store: Store,
        embedders: Embedders,
        clock: Callable[[], float] = time.perf_counter,
        seconds: float = SECONDS,
    ) -> None:
        """`seconds` is how long a search may take, from when it was asked."""
        self.store = store
        self._embedders = embedders
        self._seconds = seconds
        self._clock = clock
        # A query is embedded and its nearest vectors are found while its words are looked up:
        # neither needs the other.
        self._legs = ThreadPoolExecutor(_LEGS, thread_name_prefix="query")

    def due(self) -> float:
        """When a search that is asked now has to end, as `search` takes it."""
        return time.monotonic() + self._seconds

    def search(self, question: Question, due: float | None = None) -> Answer:
        """What is found; when the time is over, what was found until then, and that it was."""
        started = self._clock()
        due = self.due() if due is None else due
        asked = ParsedQuery(question.query) if question.plain else parse(question.query)
        unmet: tuple[Condition, ...] = ()
        try:
            found = self._find(question, asked, due)
            if asked.conditions and not found.hits:
                found, unmet = self._find_without(question, asked, found, due)
        except SearchTimedOut:
            logger.warning("a search gave up after %g seconds", self._seconds)
            found = self._find_near(question, asked)
        unmet += asked.unmet
        took = (self._clock() - started) * 1000
        return Answer(
            query=question.query,
            results=found.hits,
            total=len(found.hits),
            took_ms=round(took, 3),
            mode=found.mode,
            degraded=found.degraded,
            unmet=[condition.typed for condition in unmet],
            nothing_fits_well=found.best < _FITS,
        )

    def _find(self, question: Question, asked: ParsedQuery, due: float) -> _Found:
        if time.monotonic() >= due:  # it has waited for its turn until now
            raise SearchTimedOut("The search took too long")
        filter_ = _narrowed(question.filter, asked)
        hits: list[Hit] | None = None
        while hits is None:
            model, embedder = self._embedder()
            if embedder is None and question.mode == "vectors":
                raise self._no_vectors()
            mode: Mode = "words" if embedder is None else question.mode
            leg = self._start_leg(embedder, asked.text) if mode != "words" else None
            with self.store.look(filter_, due) as look:
                if look.model == model:  # else it was exchanged just now: ask the other one
                    cosines = _cosines(embedder, question.mode, asked.text)
                    ranking = Ranking(look, question, asked, mode, leg, cosines)
                    hits = _hits(look, ranking, cosines.weight, question)
        if ranking.is_cut:
            return _Found(hits, mode, SearchTimedOut.code)
        is_degraded = embedder is None and question.mode == "hybrid"
        return _Found(hits, mode, self._no_vectors().code if is_degraded else None)

    def _find_near(self, question: Question, asked: ParsedQuery) -> _Found:
        """What can still be answered: the nearest vectors, which are all in memory."""
        _, embedder = self._embedder()
        if embedder is None or question.mode == "words":
            return _Found([], "words", SearchTimedOut.code)
        near = replace(question, mode="vectors")
        try:
            found = self._find(near, asked, time.monotonic() + _GRACE)
        except (SearchTimedOut, ModelLoading, ModelFailed):
            return _Found([], "vectors", SearchTimedOut.code)
        return replace(found, degraded=SearchTimedOut.code)

    def _find_without(
        self, question: Question, asked: ParsedQuery, nothing: _Found, due: float
    ) -> tuple[_Found, tuple[Condition, ...]]:
        """What is found without the conditions that leave nothing: without one, if that is enough.

        Where that is so of several, the one goes without which the best is found.
        """
        without_all = self._find(question, ParsedQuery(asked.text), due)
        if not without_all.hits:
            return nothing, ()
        best, unmet = without_all, asked.conditions
        if 1 < len(asked.conditions) <= _MOST_TRIED:
            tried = [
                (self._find(question, asked.lacking(each), due), each) for each in asked.conditions
            ]
            found, condition = max(tried, key=lambda one: one[0].best)
            if found.hits:
                best, unmet = found, (condition,)
        return best, unmet

    def _embedder(self) -> tuple[str, Embedder | None]:
        """The model whose vectors are searched, and its embedder where both are loaded.

        A model is let go after it was exchanged, so what was there before that is whole.
        """
        while True:
            model = self.store.models.searched
            embedder = (
                self._embedders.of(model).current() if self.store.models.vectors_loaded else None
            )
            if model == self.store.models.searched:
                return model, embedder

    def _start_leg(self, embedder: Embedder | None, query: str) -> VectorLeg:
        assert embedder is not None
        return VectorLeg(partial(embedder.embed_one, query), self._legs.submit)

    def _no_vectors(self) -> KbError:
        """Why only words can be searched."""
        damage = self.store.health.damage
        if damage is not None and not self.store.models.vectors_loaded:
            return damage.error()
        failure = self._embedders.of(self.store.models.searched).failure
        if failure:
            return ModelFailed(
                f"The embedding model did not load ({failure}): search by words, "
                "or repair the installation and restart the engine"
            )
        return ModelLoading(
            "The embedding model is still loading: try again in a second, or search by words"
        )


def _cosines(embedder: Embedder | None, mode: Mode, query: str) -> Cosines:
    """What a cosine counts: less, the less of the query the model can read."""
    if embedder is None:
        return Cosines(weight=0.0)
    if mode != "hybrid":
        return embedder.cosines
    return replace(embedder.cosines, weight=embedder.cosines.weight * embedder.legibility(query))


def _narrowed(filter_: Filter | None, asked: ParsedQuery) -> Filter | None:
    """The request's own filter and the query's, together."""
    if not asked.tags and not asked.without_tags:
        return filter_
    filter_ = filter_ or Filter()
    tags = tuple(dict.fromkeys((*filter_.tags, *asked.tags)))
    return replace(filter_, tags=tags, without_tags=asked.without_tags)


def _hits(look: Look, ranking: Ranking, weight: float, question: Question) -> list[Hit]:
    """What is gone since it was ranked is left out."""
    ranked = ranking.best()
    if ranking.is_cut:
        look.end_by(time.monotonic() + _GRACE)
    chunks = look.chunks([one.chunk_id for one in ranked])
    ranked = [one for one in ranked if one.chunk_id in chunks]
    groups = adjacent(ranked, chunks) if question.merge else [[one] for one in ranked]
    wholes = ranking.wholes.values()
    shown = Shown(ranking.terms, ranking.pairs, wholes, weight, question.explain)
    hits = []
    for group in groups:
        best = max(group, key=lambda one: one.score)
        passages = [chunks[one.chunk_id] for one in group]
        passage = joined(passages, chunks[best.chunk_id])
        hits.append(shown.hit(best, passage, [one.chunk_id for one in group]))
    return hits
