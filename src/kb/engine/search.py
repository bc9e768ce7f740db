"""Question in, hits out."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from kb.engine.answers import Answer, Hit, Mode, Question
from kb.engine.embed import Embedders
from kb.engine.errors import KbError, ModelFailed, ModelLoading
from kb.engine.hits import Shown, adjacent, joined
from kb.engine.models import Cosines, Embedder, Filter
from kb.engine.query import ParsedQuery, parse
from kb.engine.ranking import Ranking, VectorLeg
from kb.engine.store import Look, Store

_LEGS = 8


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
        # A query is embedded and its nearest vectors are found while its words are looked up:
        # neither needs the other.
        self._legs = ThreadPoolExecutor(_LEGS, thread_name_prefix="query")

    def search(self, question: Question) -> Answer:
        started = self._clock()
        asked = ParsedQuery(question.query) if question.plain else parse(question.query)
        filter_ = _narrowed(question.filter, asked)
        hits: list[Hit] | None = None
        while hits is None:
            model, embedder = self._embedder()
            if embedder is None and question.mode == "vectors":
                raise self._no_vectors()
            mode: Mode = "words" if embedder is None else question.mode
            leg = self._start_leg(embedder, asked.text) if mode != "words" else None
            with self.store.look(filter_) as look:
                if look.model == model:  # else it was exchanged just now: ask the other one
                    cosines = _cosines(embedder, question.mode, asked.text)
                    ranking = Ranking(look, question, asked, mode, leg, cosines)
                    hits = _hits(look, ranking, cosines.weight, question)
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

    def _start_leg(self, embedder: Embedder | None, query: str) -> VectorLeg:
        assert embedder is not None
        return VectorLeg(partial(embedder.embed_one, query), self._legs.submit)

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
    chunks = look.chunks([one.chunk_id for one in ranked])
    ranked = [one for one in ranked if one.chunk_id in chunks]
    groups = adjacent(ranked, chunks) if question.merge else [[one] for one in ranked]
    shown = Shown(ranking.terms, ranking.pairs, weight, question.explain)
    hits = []
    for group in groups:
        best = max(group, key=lambda one: one.score)
        passages = [chunks[one.chunk_id] for one in group]
        passage = joined(passages, chunks[best.chunk_id])
        hits.append(shown.hit(best, passage, [one.chunk_id for one in group]))
    return hits
