"""Phrases in, how many chunks hold them out: counting walks the index, so it is remembered."""

import threading
from collections.abc import Sequence

from kb.engine.store.database import Query
from kb.engine.store.words import frequency

# A count stays in use while the store has changed by less than this share since it was taken:
# its logarithm, which is all that ranking uses, moves by a few thousandths.
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
        return [self._count(query, phrase, changes, chunks * _STALE) for phrase in phrases]

    def _count(self, query: Query, phrase: Phrase, changes: int, tolerated: float) -> int:
        known = self._known.get(phrase)
        if known is not None and changes - known[1] <= tolerated:
            return known[0]
        count = frequency(query, *phrase)
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[phrase] = (count, changes)
        return count
