"""Estimates how common a phrase is, from a sample of all chunks.

Counting a word that occurs in half a million chunks takes 40 ms, and a query may have 32 words and
as many pairs of them. Ranking needs only the logarithm, and four thousand chunks are enough to
estimate it.
"""

import threading

import apsw
import numpy as np
from numpy.typing import NDArray

from kb.engine.scoring import fingerprint
from kb.engine.store.file.database import Query
from kb.engine.store.search.sign_bits import Ids

# In stretches of neighbours, since those are read together.
STRETCHES = 256
STRETCH = 16
# The sample is taken anew when the store has grown or shrunk by this share.
_STALE = 0.2
_BETWEEN = b"\0\0\0\0"  # stands between two texts, so that no pair spans them


class Sample:
    """The terms of the sampled chunks, end to end, and to which chunk each belongs."""

    def __init__(self, query: Query, ids: Ids) -> None:
        self.chunks = len(ids)
        places = np.linspace(0, max(0, len(ids) - STRETCH), STRETCHES).astype(np.intp)
        rows = np.unique(places[:, None] + np.arange(STRETCH))
        texts = query(
            "SELECT body, head FROM chunk_terms WHERE chunk_id IN carray(:ids)",
            ids=apsw.carray(ids[rows[rows < len(ids)]]),
        )
        joined = [body + _BETWEEN + head + _BETWEEN for body, head in texts]
        self._size = max(1, len(texts))
        self._terms = np.frombuffer(b"".join(joined), np.uint32)
        self._owners = np.repeat(
            np.arange(len(joined)), [len(text) // len(_BETWEEN) for text in joined]
        )

    def share(self, phrase: tuple[str, ...]) -> float:
        """In which share of all chunks these terms stand side by side.

        Where none is seen it is taken to be half of one.
        """
        places: NDArray[np.intp] = np.flatnonzero(self._terms == fingerprint(phrase[0]))
        for offset, term in enumerate(phrase[1:], 1):
            places = places[places + offset < len(self._terms)]
            places = places[self._terms[places + offset] == fingerprint(term)]
        held = len(np.unique(self._owners[places]))
        return max(held, 0.5) / self._size


class Sampler:
    """Keeps a sample of the store as it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sample: Sample | None = None

    def sample(self, query: Query, ids: Ids) -> Sample:
        with self._lock:
            known = self._sample
            if known is None or abs(known.chunks - len(ids)) > _STALE * known.chunks:
                self._sample = known = Sample(query, ids)
            return known
