"""How many chunks hold a phrase: counting walks the index, so the answer is remembered."""

import threading
from collections.abc import Sequence

from kb.engine.store.file.database import Query
from kb.engine.store.search.sign_bits import Ids
from kb.engine.store.search.word_sample import Sampler
from kb.engine.store.search.word_search import frequency

# A count stays in use while less than this share of it can have changed: its logarithm, which is
# all that ranking uses, moves by a few thousandths. So a rare term, which is counted in no time, is
# always counted anew, and one that was not there is found as soon as it is. A pair is dear to count
# and weighs little: there the share is of all chunks.
_STALE = 0.005
_MOST = 50_000
# What is more common than this is not counted but estimated; pairs, where both terms are more
# common than that.
COUNTED = 10_000
_COUNTED_PAIRS = 2000

Phrase = tuple[str, ...]


class Frequencies:
    """A bounded cache of counts, emptied when the store has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Phrase, tuple[int, int]] = {}
        self._sampler = Sampler()

    def of(self, query: Query, phrases: Sequence[Phrase], ids: Ids) -> list[int]:
        """The counts of terms, then of pairs of them; `ids` are those of all chunks."""
        [(changes,)] = query(
            "SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'change_log'"
        )
        found: dict[Phrase, int] = {}
        for phrase in phrases:
            known = self._remembered(phrase, changes, len(ids))
            if known is None:
                # A pair is as dear to count as the rarer of its terms.
                rarer = min(found.get((term,), 0) for term in phrase)
                known = self._count(query, phrase, ids, dear=rarer > _COUNTED_PAIRS)
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
        if len(ids) <= COUNTED:
            return frequency(query, *phrase, most=len(ids))
        estimate = round(self._sampler.sample(query, ids).share(phrase) * len(ids))
        # Where it is surely common, not even a part is counted.
        if dear or estimate > 2 * COUNTED:
            return max(1, estimate)
        count = frequency(query, *phrase, most=COUNTED + 1)
        return count if count <= COUNTED else max(count, estimate)
