"""One consistent look at the store: candidates for a query and the evidence about them."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain

import apsw
import numpy as np
from numpy.typing import NDArray

from kb.engine.scoring import (
    TermCounts,
    WordStatistics,
    count_terms,
    fingerprint,
    holds_any,
    word_scores,
)
from kb.engine.store.file.database import TimedQuery
from kb.engine.store.rows.document_rows import tags_of
from kb.engine.store.rows.filters import matching_documents
from kb.engine.store.search.borders import MOST_AT_BORDERS, over_borders
from kb.engine.store.search.chunk_index import DIMENSIONS, View
from kb.engine.store.search.frequencies import Frequencies
from kb.engine.store.search.postings import Moment, Postings
from kb.engine.store.search.sign_bits import Ids, Mask, Rows
from kb.engine.store.search.vector_sets import VectorSet
from kb.engine.store.search.word_search import (
    Allowed,
    best_matches,
    holding,
    holding_text,
    rules,
    words_linger,
)
from kb.engine.values import Filter, Vector, Vectors

# So many matches the word index may rank for one query. Where there are more, candidates are the
# chunks with the most and rarest of the terms, and those are ranked here.
MOST_MATCHES = 20_000
# To pass over a match that a filter leaves out costs this much of ranking it.
_PASSED_OVER = 0.25
# So many chunks are ranked here, at most.
MOST_RANKED = 500
_LEAST_WEIGHT = 1e-3
# A filter that lets no more chunks through than this makes all of them candidates.
FEW_CHUNKS = 200
# Where fewer hold a phrase than this, those are looked for, too, where it goes on in the next one.
_FEW_HOLDERS = 10
_NO_TERMS = (b"", b"")


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk with what a hit shows of its document."""

    chunk_id: int
    chunk_uid: str
    document_id: int
    document_uid: str
    seq: int
    text: str
    start: int
    page: int | None
    location: str | None
    headings: list[str]
    table_header: str
    title: str
    filename: str | None
    doc_type: str
    format: str
    source_path: str | None
    tags: list[str]
    created_at: str
    updated_at: str | None


_FOUND = [field.name for field in fields(FoundChunk) if field.name != "tags"]


class Look:
    """What a search sees. Rows are places in the index in memory; `allowed` None means all."""

    def __init__(
        self,
        query: TimedQuery,
        view: View,
        vectors: VectorSet,
        frequencies: Frequencies,
        postings: Postings,
        filter_: Filter | None,
    ) -> None:
        self._query = query
        self._vectors = vectors
        self._frequencies = frequencies
        self._postings = postings
        self.view = view
        self._terms_of: dict[int, tuple[bytes, bytes]] = {}
        self._allowed = (
            None if filter_ is None else view.rows_in(matching_documents(query, filter_))
        )

    def end_by(self, moment: float) -> None:
        """Give what still is to be asked another time to end by."""
        self._query.end_by(moment)

    @property
    def model(self) -> str:
        """Whose vectors are seen."""
        return self._vectors.model

    def all_if_few(self) -> Rows | None:
        """Every allowed row, where a filter leaves so few that all can be scored."""
        if self._allowed is not None and len(self._allowed) <= FEW_CHUNKS:
            return self._allowed
        return None

    def statistics(self, terms: Sequence[str], pairs: Sequence[tuple[str, str]]) -> WordStatistics:
        """How common each term and pair is: what bm25 weighs them by."""
        phrases = [*((term,) for term in terms), *pairs]
        counts = self._frequencies.of(self._query, phrases, self.view.ids)
        chunks, mean_length = self._lengths
        return WordStatistics(chunks, mean_length, counts[: len(terms)], counts[len(terms) :])

    def require(self, phrases: Sequence[Sequence[str]]) -> None:
        """Look only at rows where the terms of any of these stand side by side."""
        found = holding(self._query, phrases)
        if len(found) < _FEW_HOLDERS:
            found = [*found, *chain.from_iterable(map(self._over_borders, phrases))]
        rows = np.unique(self._rows(found))
        self._allowed = (
            np.sort(rows) if self._allowed is None else np.intersect1d(self._allowed, rows)
        )

    def _over_borders(self, phrase: Sequence[str]) -> list[int]:
        """The chunks at whose end the phrase begins that goes on in the next one."""
        if len(phrase) < 2:
            return []
        counts = self._frequencies.of(self._query, [(term,) for term in phrase], self.view.ids)
        rarest = min(zip(counts, phrase, strict=True))
        if not 0 < rarest[0] <= MOST_AT_BORDERS:
            return []
        return over_borders(self._query, phrase, rarest[1])

    def by_words(self, terms: Sequence[str], counts: Sequence[int], limit: int) -> Rows:
        """The rows that match the terms best by bm25, in a bounded time however common they are."""
        known = sorted((count, term) for count, term in zip(counts, terms, strict=True) if count)
        if not known or not len(self.view.ids):
            return np.empty(0, np.intp)
        most = max(MOST_RANKED, limit)
        if self._allowed is not None and len(self._allowed) <= most:
            return self._ranked(self._allowed, known, limit)
        if sum(count for count, _ in known) * self._cost() <= MOST_MATCHES:
            chosen = [term for _, term in known]
            return self._rows(best_matches(self._query, chosen, limit, self._mask))
        return self._ranked(np.sort(self._rows(self._likely(known, most))), known, limit)

    def holding_text(self, phrase: Sequence[str], text: str, part: str, limit: int) -> Rows:
        """Some rows with these terms side by side and this part of a text as it is."""
        rows = np.sort(self._rows(holding_text(self._query, phrase, text, part, limit)))
        return rows if self._allowed is None else np.intersect1d(rows, self._allowed)

    def texts(self, rows: Rows) -> list[str]:
        """The text of each row; empty where it is gone."""
        if not len(rows):  # an empty array cannot be bound
            return []
        ids = self.view.ids[rows]
        found: dict[int, str] = dict(
            self._query(
                "SELECT id, text FROM chunks WHERE id IN carray(:ids)", ids=apsw.carray(ids)
            )
        )
        return [found.get(chunk_id, "") for chunk_id in ids.tolist()]

    def by_vector(self, vector: Vector, limit: int) -> Rows:
        return self.view.nearest(vector, limit, self._allowed)

    def term_counts(
        self, rows: Rows, terms: Sequence[str], pairs: Sequence[tuple[str, str]]
    ) -> TermCounts:
        if not terms:  # nothing to count, so nothing to read
            none = np.zeros((len(rows), 0))
            return TermCounts(none, none, np.zeros(len(rows)))
        return count_terms(
            self._sequences(rows),
            [fingerprint(term) for term in terms],
            [(fingerprint(first), fingerprint(second)) for first, second in pairs],
        )

    def read_ahead(self, rows: Rows) -> None:
        """Read the terms of these rows, unless they are known, for later callers."""
        unknown = {
            int(chunk_id): row
            for chunk_id, row in zip(self.view.ids[rows], rows.tolist(), strict=True)
            if row not in self._terms_of
        }
        if not unknown:  # an empty array cannot be bound
            return
        self._terms_of.update(dict.fromkeys(unknown.values(), _NO_TERMS))
        for chunk_id, body, head in self._query(
            "SELECT chunk_id, body, head FROM chunk_terms WHERE chunk_id IN carray(:ids)",
            ids=apsw.carray(np.fromiter(unknown, np.int64, len(unknown))),
        ):
            self._terms_of[unknown[chunk_id]] = (body, head)

    def rows_with(self, rows: Rows, phrases: Sequence[Sequence[str]]) -> Mask:
        wanted = [[fingerprint(term) for term in phrase] for phrase in phrases]
        return holds_any(self._sequences(rows), wanted)

    def changed_at(self, documents: Ids) -> list[str]:
        """When each of these documents was added or last changed."""
        found: dict[int, str] = dict(
            self._query(
                "SELECT id, COALESCE(updated_at, created_at) FROM documents "
                "WHERE id IN carray(:ids)",
                ids=apsw.carray(np.unique(documents)),
            )
        )
        return [found.get(int(document), "") for document in documents]

    def exact_vectors(self, rows: Rows) -> tuple[Vectors, Mask]:
        """The vectors at full precision, and which rows have one. Rows come in rising order."""
        ids = self.view.ids[rows]
        found = self._query(
            f"SELECT chunk_id, vector FROM {self._vectors.exact} WHERE chunk_id IN carray(:ids)",
            ids=apsw.carray(ids),
        )
        vectors = np.zeros((len(rows), DIMENSIONS), np.float32)
        known = np.zeros(len(rows), np.bool_)
        if found:
            # All at once: a conversion for each row would take longer than reading it.
            places = np.searchsorted(ids, [chunk_id for chunk_id, _ in found])
            stored = np.frombuffer(b"".join(vector for _, vector in found), np.float16)
            vectors[places] = stored.reshape(-1, DIMENSIONS)
            known[places] = self.view.embedded[rows[places]]
        return vectors, known

    def chunks(self, chunk_ids: Sequence[int]) -> dict[int, FoundChunk]:
        """Chunks with their documents, for showing. What is gone meanwhile is left out."""
        if not chunk_ids:  # an empty array cannot be bound
            return {}
        rows = self._query(
            "SELECT chunks.id, chunks.uid, documents.id, documents.uid, seq, text, start, page, "
            "location, headings, table_header, title, filename, doc_type, format, source_path, "
            "created_at, updated_at FROM chunks JOIN documents ON documents.id = document_id "
            "WHERE chunks.id IN carray(:ids)",
            ids=apsw.carray(np.array(chunk_ids, np.int64)),
        )
        tags = tags_of(self._query, np.unique(np.array([row[2] for row in rows], np.int64)))
        found = {}
        for row in rows:
            values = dict(zip(_FOUND, row, strict=True))
            values["chunk_uid"] = str(uuid.UUID(bytes=values["chunk_uid"]))
            values["headings"] = json.loads(values["headings"])
            found[row[0]] = FoundChunk(**values, tags=tags.get(row[2], []))
        return found

    def _sequences(self, rows: Rows) -> list[tuple[bytes, bytes]]:
        """The terms of each row, body and head, as fingerprints."""
        self.read_ahead(rows)
        return [self._terms_of[row] for row in rows.tolist()]

    @cached_property
    def _lengths(self) -> tuple[int, float]:
        """How many chunks there are, and how many terms one has on average."""
        [(chunks,), (words,)] = self._query(
            "SELECT value FROM totals WHERE name IN ('chunks', 'terms') ORDER BY name"
        )
        return chunks, words / chunks if chunks else 1.0

    def _cost(self) -> float:
        """What a match costs, beside one without a filter."""
        share = 1.0 if self._allowed is None else len(self._allowed) / len(self.view.ids)
        return max(share, _PASSED_OVER)

    def _likely(self, known: Sequence[tuple[int, str]], most: int) -> Ids:
        """The chunks with the most and rarest of the terms."""
        chunks, last = len(self.view.ids), int(self.view.ids[-1])
        now = Moment(last, chunks, (rules(self._query), self.view.changed_before))
        lists = self._postings.of(self._query, known, now)
        weights = _weights([count for count, term in known if term in lists], chunks)
        sums = np.zeros(last + 1, np.float32)
        for weight, held in zip(weights, lists.values(), strict=True):
            sums[held[: np.searchsorted(held, last, "right")]] += weight
        if self._mask is not None:
            sums *= self._mask
        # To sort few: most chunks have none of the terms, or one that is common.
        least = weights.sum()
        while least > _LEAST_WEIGHT / 2 and np.count_nonzero(sums > least) < most:
            least *= 0.75
        found = np.flatnonzero(sums > least)
        # Of those that are alike the newest, which come last and stay so.
        return found[np.argsort(sums[found], kind="stable")[-most:]]

    def _ranked(self, rows: Rows, known: Sequence[tuple[int, str]], limit: int) -> Rows:
        """Of these rows those that match best, each scored."""
        counts = self.term_counts(rows, [term for _, term in known], [])
        chunks, mean_length = self._lengths
        statistics = WordStatistics(chunks, mean_length, [count for count, _ in known], [])
        scores = word_scores(counts, statistics).scores
        order = np.argsort(-scores, kind="stable")[:limit]
        best: Rows = rows[order[scores[order] > 0]]
        return best

    @cached_property
    def _mask(self) -> Allowed | None:
        """What the word index may find; None where that is everything."""
        rows = self._allowed
        if rows is None:
            if not words_linger(self._query):
                return None
            rows = np.flatnonzero(self.view.alive)
        mask = np.zeros(int(self.view.ids[-1]) + 1, np.uint8)
        mask[self.view.ids[rows]] = 1
        return mask

    def _rows(self, chunk_ids: Sequence[int] | Ids) -> Rows:
        ids: Ids = np.asarray(chunk_ids, np.int64)
        rows, known = self.view.rows_of(ids)
        return rows[known]


def _weights(counts: Sequence[int], chunks: int) -> NDArray[np.float32]:
    """What having a term says, as bm25 weighs it; never nothing."""
    others = np.maximum(chunks / np.array(counts), 2.0) - 1
    weights: NDArray[np.float32] = np.maximum(np.log(others), _LEAST_WEIGHT).astype(np.float32)
    return weights
