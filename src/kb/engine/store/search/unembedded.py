"""Finds the chunks that have no vector in a set."""

import json
from dataclasses import dataclass
from typing import Any

from kb.engine.store.file.database import Database
from kb.engine.store.search.vector_sets import VectorSet
from kb.engine.values import Chunk


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
