"""The arithmetic of ranking: scores from term counts and cosines.

One absolute score, so that it means the same for every query:

    words    = bm25 / ideal, where ideal is the bm25 of a chunk that matches everything perfectly
    score    = words + weight × cosine
    final    = score + 0.3 × the better of the chunk before and the chunk after
                     + 0.2 × the mean of the three best chunks of its document
    relevance = a logistic curve of final − 0.5 × rivals

bm25 counts the query's terms and, three tenths as much, its adjacent pairs as phrases. `rivals` is
the mean of the ten best finals of the query: if many passages match, each of them says less.
"""

import math
import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Found together with the weight of the cosine, on public sets of questions (decision 0005). FTS5,
# which chooses candidates, has 1.2 and 0.75 and cannot be told otherwise.
K1 = 0.6
B = 0.5
PAIR_WEIGHT = 0.3
NEIGHBOUR_WEIGHT = 0.3
DOCUMENT_WEIGHT = 0.2
RIVAL_WEIGHT = 0.5
_RIVALS = 10
# What an old passage loses of its score where recency is asked for.
RECENCY_WEIGHT = 0.5
# A match in the title or heading path counts this much of one in the body.
HEAD_WEIGHT = 0.7


_BEST = 3


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """How many chunks there are, how long they are, and how many hold each term and pair."""

    chunks: int
    mean_length: float
    term_counts: list[int]
    pair_counts: list[int]


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Per chunk (row) and term or pair (column) how often it occurs, and each chunk's length."""

    terms: Floats
    pairs: Floats
    lengths: Floats


def fingerprint(term: str) -> int:
    """A term as a number. Two terms share one once in four thousand million."""
    return zlib.crc32(term.encode())


def fingerprints(terms: Sequence[str]) -> bytes:
    """Terms as numbers, in order."""
    return array("I", map(fingerprint, terms)).tobytes()


def count_terms(
    sequences: Sequence[tuple[bytes, bytes]],
    terms: Sequence[int],
    pairs: Sequence[tuple[int, int]],
) -> TermCounts:
    """Count in the fingerprints of bodies and heads, all chunks in one pass per term."""
    bodies = len(sequences)
    column = _Column([body for body, _ in sequences] + [head for _, head in sequences])
    of_terms, of_pairs = column.counts(terms), column.pair_counts(pairs)
    return TermCounts(
        terms=of_terms[:bodies] + HEAD_WEIGHT * of_terms[bodies:],
        pairs=of_pairs[:bodies] + HEAD_WEIGHT * of_pairs[bodies:],
        lengths=(column.lengths[:bodies] + column.lengths[bodies:]).astype(np.float64),
    )


def with_wholes(
    counts: TermCounts,
    terms: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    wholes: Iterable[tuple[str, str]],
) -> TermCounts:
    """What is written as one word, counted for both terms of its pair and for the pair.

    Behind the columns of the terms stand those of the `wholes`, each named by its pair.
    """
    of_terms, of_pairs = counts.terms[:, : len(terms)].copy(), counts.pairs.copy()
    for pair, found in zip(wholes, counts.terms.T[len(terms) :], strict=True):
        for term in set(pair):
            of_terms[:, terms.index(term)] += found
        of_pairs[:, pairs.index(pair)] += found
    return TermCounts(of_terms, of_pairs, counts.lengths)


def holds_any(
    sequences: Sequence[tuple[bytes, bytes]], phrases: Sequence[Sequence[int]]
) -> NDArray[np.bool_]:
    """Which chunks have any of the phrases in body or head."""
    held = np.zeros(len(sequences), np.bool_)
    for column in (_Column([body for body, _ in sequences]), _Column([h for _, h in sequences])):
        for phrase in phrases:
            held |= column.holds(phrase)
    return held


class _Column:
    """The fingerprints of many chunks, end to end, and where each begins."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._all = np.frombuffer(b"".join(parts), np.uint32)
        self.lengths = np.array([len(part) // 4 for part in parts], np.int64)
        self._ends = np.cumsum(self.lengths)

    def counts(self, terms: Sequence[int]) -> Floats:
        return self._table([np.flatnonzero(self._all == term) for term in terms])

    def pair_counts(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """A pair is counted where its second term follows its first in the same chunk."""
        return self._table([self._places(pair) for pair in pairs])

    def holds(self, phrase: Sequence[int]) -> NDArray[np.bool_]:
        """Which chunks have these terms side by side."""
        held = np.zeros(len(self._ends), np.bool_)
        held[self._owner(self._places(phrase))] = True
        return held

    def _places(self, phrase: Sequence[int]) -> NDArray[np.intp]:
        """Where the phrase begins."""
        places: NDArray[np.intp] = np.flatnonzero(self._all == phrase[0])
        for step, term in enumerate(phrase[1:], start=1):
            places = places[places + step < len(self._all)]
            places = places[self._all[places + step] == term]
        same_chunk = self._owner(places) == self._owner(places + len(phrase) - 1)
        found: NDArray[np.intp] = places[same_chunk]
        return found

    def _owner(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        owner: NDArray[np.intp] = np.searchsorted(self._ends, places, side="right")
        return owner

    def _table(self, places: list[NDArray[np.intp]]) -> Floats:
        table = np.zeros((len(self._ends), len(places)))
        for column, found in enumerate(places):
            table[:, column] = np.bincount(self._owner(found), minlength=len(self._ends))
        return table


@dataclass(frozen=True, slots=True)
class WordScores:
    """The word part of each chunk's score, 0 to 1, and what each term and pair gave to it."""

    scores: Floats
    by_term: Floats
    by_pair: Floats


def word_scores(counts: TermCounts, statistics: WordStatistics) -> WordScores:
    """bm25 over its ideal. A term that the index does not know counts on neither side."""
    term_weights = idf(statistics.term_counts, statistics.chunks)
    pair_weights = PAIR_WEIGHT * idf(statistics.pair_counts, statistics.chunks)
    ideal = (K1 + 1) * (term_weights.sum() + pair_weights.sum()) or 1.0
    damping = K1 * (1 - B + B * counts.lengths / max(statistics.mean_length, 1e-9))[:, None]
    by_term = term_weights * counts.terms * (K1 + 1) / (counts.terms + damping) / ideal
    by_pair = pair_weights * counts.pairs * (K1 + 1) / (counts.pairs + damping) / ideal
    return WordScores(by_term.sum(1) + by_pair.sum(1), by_term, by_pair)


def best_of_documents(scores: Floats, documents: NDArray[np.int64]) -> Floats:
    """For each chunk the mean of the three best scores in its document."""
    order = np.lexsort((-scores, documents))
    ordered = documents[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    places = np.arange(len(ordered)) - np.repeat(starts, lengths)
    best = np.where(places < _BEST, scores[order], 0.0)
    means = np.add.reduceat(best, starts) / np.minimum(lengths, _BEST)
    found = np.empty(len(scores))
    found[order] = np.repeat(means, lengths)
    return found


def rivals(finals: Floats) -> float:
    """The mean of the ten best; where there are fewer, the missing ones count as nothing."""
    return float(np.sort(finals)[-_RIVALS:].sum()) / _RIVALS


def relevance(final: float, among: float, curve: tuple[float, float]) -> float:
    """A score among its rivals as a number from 0 to 1 that means the same for every query.

    Rounded here, so that what a hit shows is what a floor is compared with.
    """
    steepness, middle = curve
    return round(1 / (1 + math.exp(-steepness * (final - RIVAL_WEIGHT * among - middle))), 6)


def idf(counts: Sequence[int], chunks: int) -> Floats:
    """As FTS5 computes it; zero for terms that are not in the index."""
    known = np.array(counts, np.float64)
    weights = np.log(np.maximum((chunks - known + 0.5) / (known + 0.5), 1e-300))
    return np.where(known > 0, np.maximum(weights, 1e-6), 0.0)
