"""Phrases in, how many chunks hold them out: counting walks the index, so it is remembered."""

import threading
from collections.abc import Sequence

import numpy as np

from kb.engine.store.database import Query
from kb.engine.store.words import Ids, frequency, frequency_within

# A count stays in use while less than this share of it can have changed: its logarithm, which is
# all that ranking uses, moves by a few thousandths. So a rare term, which is counted in no time, is
# always counted anew, and one that was not there is found as soon as it is. A pair is dear to count
# and weighs little: there the share is of all chunks.
_STALE = 0.005
_MOST = 50_000
# What is more common than this is estimated from some stretches of the index, evenly spread: a
# word that stands in half a million chunks would take 40 ms to count, and a query may have 32.
COUNTED = 10_000
_STRETCHES = 16
_STRETCH = 2000

Phrase = tuple[str, ...]


class Frequencies:
    """A bounded memory of counts, taken anew when the store has moved on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Phrase, tuple[int, int]] = {}

    def of(self, query: Query, phrases: Sequence[Phrase], ids: Ids) -> list[int]:
        """The counts of terms, and of pairs of terms that stand before them; `ids` are those of
        all chunks."""
        [(changes,)] = query(
            "SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'change_log'"
        )
        found: dict[Phrase, int] = {}
        for phrase in phrases:
            known = self._remembered(phrase, changes, len(ids))
            if known is None:
                # A pair is as dear to count as the rarer of its terms.
                dear = all(found.get((term,), 0) > COUNTED for term in phrase)
                known = self._count(query, phrase, ids, dear)
                self._remember(phrase, known, changes)
            found[phrase] = known
        return [found[phrase] for phrase in phrases]

    def _remembered(self, phrase: Phrase, changes: int, chunks: int) -> int | None:
        known = self._known.get(phrase)
        if known is None:
            return None
        count, then = known
        base = count if len(phrase) == 1 else chunks
        return count if changes - then <= base * _STALE else None

    def _remember(self, phrase: Phrase, count: int, changes: int) -> None:
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[phrase] = (count, changes)

    def _count(self, query: Query, phrase: Phrase, ids: Ids, dear: bool) -> int:
        if not dear:
            count = frequency(query, *phrase, most=COUNTED + 1)
            if count <= COUNTED:
                return count
        return _estimate(query, phrase, ids)


def _estimate(query: Query, phrase: Phrase, ids: Ids) -> int:
    """From some thousands of all chunks. None in them does not mean that there is none."""
    places = np.linspace(0, max(0, len(ids) - _STRETCH), _STRETCHES).astype(np.intp)
    first, last = ids[places], ids[np.minimum(places + _STRETCH, len(ids)) - 1]
    counted = min(_STRETCH * _STRETCHES, len(ids))
    found = frequency_within(query, phrase, first, last)
    return max(1, round(max(found, 0.5) * len(ids) / counted))
