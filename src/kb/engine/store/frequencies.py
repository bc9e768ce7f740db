"""Phrases in, how many chunks hold them out: counting walks the index, so it is remembered."""

import threading
from collections.abc import Sequence

from kb.engine.store.database import Query
from kb.engine.store.words import frequency

# A count stays in use while less than this share of it can have changed: its logarithm, which is
# all that ranking uses, moves by a few thousandths. So a rare term, which is counted in no time, is
# always counted anew, and one that was not there is found as soon as it is. A pair is dear to count
# and weighs little: there the share is of all chunks.
_STALE = 0.005
_MOST = 50_000

Phrase = tuple[str, ...]


class Frequencies:
    """A bounded memory of counts, taken anew when the store has moved on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Phrase, tuple[int, int]] = {}

    def of(self, query: Query, phrases: Sequence[Phrase]) -> list[int]:
        [(changes,)] = query(
            "SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'change_log'"
        )
        [(chunks,)] = query("SELECT value FROM totals WHERE name = 'chunks'")
        return [self._count(query, phrase, changes, chunks) for phrase in phrases]

    def _count(self, query: Query, phrase: Phrase, changes: int, chunks: int) -> int:
        known = self._known.get(phrase)
        if known is not None:
            base = known[0] if len(phrase) == 1 else chunks
            if changes - known[1] <= base * _STALE:
                return known[0]
        count = frequency(query, *phrase)
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[phrase] = (count, changes)
        return count
