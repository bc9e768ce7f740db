"""What searches keep in memory: the index of chunks, and what is remembered of common words."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kb.engine.store.file.database import Database
from kb.engine.store.search.change_log import LogOfChanges
from kb.engine.store.search.chunk_index import ChunkIndex
from kb.engine.store.search.frequencies import Frequencies
from kb.engine.store.search.look import Look
from kb.engine.store.search.postings import Postings
from kb.engine.store.search.vector_sets import VectorSet, VectorSets
from kb.engine.values import Filter


@dataclass(frozen=True, slots=True)
class Searched:
    """The vectors that are searched, and the index of them in memory: exchanged as one."""

    vectors: VectorSet
    index: ChunkIndex


class IndexInMemory:
    """Made from the tables and brought up to date from the change log at each look."""

    def __init__(self, database: Database, sets: VectorSets) -> None:
        self._database = database
        self._sets = sets
        self._frequencies = Frequencies()
        self._postings = Postings()
        self._next: ChunkIndex | None = None
        self._is_loaded = False
        self.searched = Searched(sets.active, ChunkIndex())
        self.vectors_loaded = False

    def load(self) -> None:
        """Read the index again. Its progress is recorded when the engine is idle, since a start
        must not have to write."""
        searched = self.searched
        with self._database.reading() as query:
            searched.index.load(LogOfChanges(query, searched.vectors))
        self._is_loaded = True

    def load_vectors(self) -> None:
        searched = self.searched
        with self._database.reading() as query:
            searched.index.load_vectors(LogOfChanges(query, searched.vectors))
        self.vectors_loaded = True

    @contextmanager
    def look(self, filter_: Filter | None, end_by: float | None) -> Iterator[Look]:
        damage = self._database.damage
        if not self._is_loaded and damage is not None:
            raise damage.error()
        while True:
            with self._database.searching() as query:
                searched = self.searched
                view = searched.index.view(LogOfChanges(query, searched.vectors))
                # Old vectors are taken away only after the exchange: if it has not come by now,
                # this look still has them all.
                if searched is self.searched:
                    if end_by is not None:  # not before: the index is everybody's
                        query.end_by(end_by)
                    yield Look(
                        query, view, searched.vectors, self._frequencies, self._postings, filter_
                    )
                    return

    def place(self) -> int:
        """Up to which entry the change log is not needed here any more."""
        with self.look(None, None):
            indexes = [self.searched.index, self._next]
            return min(index.place for index in indexes if index is not None)

    def count_words_anew(self) -> None:
        """The word index has been replaced."""
        self._frequencies = Frequencies()

    def follow(self) -> None:
        """Where nothing was embedded yet, the wanted model is searched already."""
        with self._sets.changing:
            if self._sets.active != self.searched.vectors:
                self.searched = Searched(self._sets.active, self.searched.index)

    def exchange(self, vectors: VectorSet) -> bool:
        """Search these vectors from now on; False if others were wanted meanwhile.

        The new index is loaded beside the old one, which answers until then.
        """
        self._next = index = ChunkIndex()
        try:
            with self._database.reading() as query:
                index.load(LogOfChanges(query, vectors))
            with self._database.reading() as query:
                index.load_vectors(LogOfChanges(query, vectors))
            with self._sets.changing:
                if vectors != self._sets.other or not self._sets.switch():
                    return False
                # The lists of words hold for a state of the index, and this is another one.
                self._postings = Postings()
                self.searched = Searched(vectors, index)
                self.vectors_loaded = True
        finally:
            self._next = None
        return True
