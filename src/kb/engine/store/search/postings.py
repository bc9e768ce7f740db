"""The chunks that contain common terms, read from the word index once and remembered.

Ranking a match takes the word index a microsecond, which is too long if a query has half a million
of them. The chunks that contain a common term are a list of numbers, and adding something up for
each takes nanoseconds. So such lists stay in memory, as many as there is room for.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kb.engine.store.file.database import Query
from kb.engine.store.search.word_search import chunks_with

# Room for so many numbers for each chunk of the store, four bytes each.
_PER_CHUNK = 32
# A query waits for no more than this many to be read.
_READ_AT_ONCE = 150_000

Held = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Moment:
    """The last chunk there is, how many there are, and what else the lists depend on."""

    last: int
    chunks: int
    depends_on: Hashable


class Postings:
    """Lists of chunk ids by term; the one that was not asked for the longest goes first.

    Chunks that are gone stay in a list, as their ids never come again. New ones are read into it
    when it is asked for. A title that changes takes terms from old ones, or gives them some: then
    all is read anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: OrderedDict[str, tuple[Held, int]] = OrderedDict()
        self._size = 0
        self._depend_on: Hashable = None

    def of(self, query: Query, terms: Iterable[tuple[int, str]], now: Moment) -> dict[str, Held]:
        """The chunks of each of these terms (given with their counts, rarest first).

        Of those that would have to be read, only as many as can be waited for; if that is none, the
        newest of the rarest.
        """
        found: dict[str, Held] = {}
        to_be_read = 0
        for count, term in terms:
            held, last = self._held(term, now)
            if last == 0:
                to_be_read += count
                if to_be_read > _READ_AT_ONCE:
                    if not found:
                        found[term] = _newest(query, term, count, now)
                    continue
            if last < now.last:
                new = chunks_with(query, term, after=last).astype(np.uint32)
                held = np.concatenate([held, new])
                self._hold(term, held, now)
            found[term] = held
        return found

    def _held(self, term: str, now: Moment) -> tuple[Held, int]:
        """What is known of a term, and up to which chunk."""
        with self._lock:
            if self._depend_on != now.depends_on:
                self._lists.clear()
                self._size, self._depend_on = 0, now.depends_on
            if term not in self._lists:
                return np.empty(0, np.uint32), 0
            self._lists.move_to_end(term)
            return self._lists[term]

    def _hold(self, term: str, held: Held, now: Moment) -> None:
        with self._lock:
            old, last = self._lists.pop(term, (held[:0], 0))
            if last > now.last or self._depend_on != now.depends_on:  # another thread knows more
                return
            self._lists[term] = (held, now.last)
            self._size += len(held) - len(old)
            while self._size > _PER_CHUNK * now.chunks:
                _, (dropped, _) = self._lists.popitem(last=False)
                self._size -= len(dropped)


def _newest(query: Query, term: str, count: int, now: Moment) -> Held:
    """About as many of a term's chunks as can be read at once."""
    after = int(now.last * (1 - _READ_AT_ONCE / count))
    return chunks_with(query, term, after).astype(np.uint32)
