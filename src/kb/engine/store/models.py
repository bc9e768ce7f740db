"""Embedding models: whose vectors are searched, and how another model takes over."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kb.engine.store.file.database import Database
from kb.engine.store.rows.chunk_rows import ChunkRows
from kb.engine.store.search.index_in_memory import IndexInMemory
from kb.engine.store.search.vector_sets import Task, VectorSet, VectorSets
from kb.engine.store.totals import RunningTotals
from kb.engine.values import Chunk, Vectors


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A chunk that has no vector of a model yet, and its document's title."""

    chunk_id: int
    title: str
    chunk: Chunk


def unembedded(database: Database, kept: VectorSet, after: int, limit: int) -> list[Unembedded]:
    """Some of them, in order of their ids, which are greater than `after`."""
    rows = database.read(
        "SELECT chunks.id, title, headings, text, seq, page, location, start, table_header "
        "FROM chunks JOIN documents ON documents.id = document_id "
        f"WHERE chunks.id > :after AND NOT EXISTS (SELECT 1 FROM {kept.codes} "
        "WHERE chunk_id = chunks.id AND model = :model) ORDER BY chunks.id LIMIT :limit",
        after=after,
        model=kept.model,
        limit=limit,
    )
    return [_unembedded(*row) for row in rows]


def _unembedded(chunk_id: int, title: str, headings: str, *values: Any) -> Unembedded:
    text, seq, page, location, start, table_header = values
    path = tuple(json.loads(headings))
    chunk = Chunk(text, seq, page, location, start, path, table_header)
    return Unembedded(chunk_id, title, chunk)


class Models:
    """The part of the store that is about models and their vectors."""

    def __init__(
        self,
        database: Database,
        sets: VectorSets,
        chunks: ChunkRows,
        index: IndexInMemory,
        totals: RunningTotals,
    ) -> None:
        self._database = database
        self._sets = sets
        self._chunks = chunks
        self._index = index
        self._totals = totals
        self._embedded_up_to = 0

    @property
    def searched(self) -> str:
        """Whose vectors are searched."""
        return self._index.searched.vectors.model

    @property
    def wanted(self) -> str:
        """Whose vectors are to be searched as soon as they are all there."""
        return self._sets.wanted

    @property
    def chosen(self) -> str | None:
        """What somebody chose, in this run or an earlier one."""
        return self._sets.chosen

    @property
    def folder(self) -> str | None:
        """Where the last model was that came from a folder: its vectors may be those in use."""
        return self._sets.folder

    def remember_folder(self, folder: str) -> None:
        self._sets.remember_folder(folder)

    def want(self, model: str) -> None:
        """Change over to another model: at once if there are no vectors yet, else step by step."""
        self._sets.want(model)
        self._index.follow()

    def choose(self, model: str) -> None:
        """The same, and the choice is there after a restart."""
        self._sets.choose(model)
        self._index.follow()

    def task(self) -> Task | None:
        """What is left to do for the change to another model."""
        return self._sets.task()

    def begin(self) -> None:
        """Make room for the wanted model's vectors beside those that are searched."""
        self._sets.begin()
        self._embedded_up_to = 0

    def clear(self) -> int:
        """Take away some vectors of a model that is neither searched nor wanted; how many."""
        cleared = self._sets.clear()
        self._embedded_up_to = 0
        return cleared

    def switch(self) -> bool:
        """Search the wanted model's vectors from now on; False if some are still lacking."""
        vectors, totals = self._sets.other, self._totals.read()
        if vectors is None or totals.chunks != totals.next_vectors:
            return False
        return self._index.exchange(vectors)

    @property
    def vectors_loaded(self) -> bool:
        """Whether the vectors are in memory; until then searches go by words."""
        return self._index.vectors_loaded

    def load_vectors(self) -> None:
        self._index.load_vectors()

    def unembedded(self, limit: int) -> list[Unembedded]:
        """The next chunks that still need a vector of the wanted model."""
        kept, totals = self._sets.filled(), self._totals.current()
        if kept is None:
            return []
        is_searched = kept == self._index.searched.vectors
        if totals.chunks == (totals.vectors if is_searched else totals.next_vectors):
            return []
        found = unembedded(self._database, kept, self._embedded_up_to, limit)
        if not found and self._embedded_up_to:  # one came in that had been made for another model
            self._embedded_up_to = 0
            found = unembedded(self._database, kept, 0, limit)
        return found

    def put_vectors(
        self, chunk_ids: Sequence[int], vectors: Vectors, model: str | None = None
    ) -> None:
        """Give chunks their vectors, by the model that is searched where no other is named.

        Those that are gone meanwhile are passed over.
        """
        with self._database.transaction() as query:
            self._chunks.put_late_vectors(query, chunk_ids, vectors, model or self.searched)
        self._embedded_up_to = max(self._embedded_up_to, *chunk_ids)
