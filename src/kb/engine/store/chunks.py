"""Chunks in, rows out: what a document's passages are in every table that knows them."""

import json
import uuid
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kb.engine.models import Chunk, Document, Vectors
from kb.engine.scoring import fingerprints
from kb.engine.store.database import Query
from kb.engine.store.vectors import quantise
from kb.engine.store.words import as_row

Terms = Callable[[str], list[str]]

_LOG = (
    "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
    "SELECT id, document_id, seq, :change FROM chunks WHERE document_id = :id ORDER BY id"
)


def head_line(title: str, headings: Iterable[str]) -> str:
    """What the index's own column for titles holds: the title and the heading path."""
    return " | ".join([title, *headings])


class ChunkRows:
    """Writes chunks, their terms and their vectors; each method runs inside a transaction."""

    def __init__(self, terms: Terms, model: str) -> None:
        self._terms = terms
        self._model = model

    def insert(
        self,
        query: Query,
        document_id: int,
        title: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
    ) -> None:
        """A document's chunks, whole: words and vectors too."""
        ids = [_insert_row(query, document_id, chunk) for chunk in chunks]
        self._index_words(query, ids, title, chunks)
        self.put_vectors(query, ids, vectors)
        _note_inserted(query, document_id, len(ids))

    def insert_as_they_were(
        self, query: Query, document_id: int, title: str, rows: Sequence[tuple[int, Chunk]]
    ) -> None:
        """Chunks that have ids already, from an older store; their vectors are made later."""
        for chunk_id, chunk in rows:
            _insert_row(query, document_id, chunk, chunk_id)
        ids, chunks = [row[0] for row in rows], [row[1] for row in rows]
        self._index_words(query, ids, title, chunks)
        _note_inserted(query, document_id, len(ids))

    def _index_words(
        self, query: Query, ids: Sequence[int], title: str, chunks: Sequence[Chunk]
    ) -> None:
        bodies = [self._terms(chunk.text) for chunk in chunks]
        heads = [self._terms(head_line(title, chunk.headings)) for chunk in chunks]
        query.many(
            "INSERT INTO words (rowid, body, head) VALUES (:id, :body, :head)",
            (
                {"id": id_, "body": as_row(body), "head": as_row(head)}
                for id_, body, head in zip(ids, bodies, heads, strict=True)
            ),
        )
        query.many(
            "INSERT INTO chunk_terms (chunk_id, body, head) VALUES (:id, :body, :head)",
            (
                {"id": id_, "body": fingerprints(body), "head": fingerprints(head)}
                for id_, body, head in zip(ids, bodies, heads, strict=True)
            ),
        )
        count(query, terms=sum(map(len, bodies)) + sum(map(len, heads)))

    def put_vectors(self, query: Query, ids: Sequence[int], vectors: Vectors) -> None:
        codes, exact = quantise(vectors), vectors.astype(np.float16)
        query.many(
            "INSERT INTO vectors (chunk_id, model, code) VALUES (:id, :model, :code)",
            (
                {"id": id_, "model": self._model, "code": code.tobytes()}
                for id_, code in zip(ids, codes, strict=True)
            ),
        )
        query.many(
            "INSERT INTO exact_vectors (chunk_id, vector) VALUES (:id, :vector)",
            (
                {"id": id_, "vector": vector.tobytes()}
                for id_, vector in zip(ids, exact, strict=True)
            ),
        )
        count(query, vectors=len(ids))

    def put_late_vectors(self, query: Query, ids: Sequence[int], vectors: Vectors) -> None:
        """Vectors for chunks that are here already, in place of older ones if there are any."""
        for chunk_id, vector in zip(ids, vectors, strict=True):
            rows = query("SELECT document_id, seq FROM chunks WHERE id = :id", id=chunk_id)
            if not rows:
                continue
            old = query("DELETE FROM vectors WHERE chunk_id = :id RETURNING 1", id=chunk_id)
            count(query, vectors=-len(old))
            self.put_vectors(query, [chunk_id], vector[None, :])
            query(
                "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
                "VALUES (:id, :document_id, :seq, 'embedded')",
                id=chunk_id,
                document_id=rows[0][0],
                seq=rows[0][1],
            )

    def rename(self, query: Query, document: Document, title: str) -> None:
        """A title is in the word index of every chunk."""
        rows = query(
            "SELECT id, text, headings FROM chunks WHERE document_id = :id ORDER BY id",
            id=document.id,
        )
        for chunk_id, text, headings in rows:
            path = json.loads(headings)
            body = self._terms(text)
            old, new = (self._terms(head_line(name, path)) for name in (document.title, title))
            _unindex(query, chunk_id, body, old)
            query(
                "INSERT INTO words (rowid, body, head) VALUES (:id, :body, :head)",
                id=chunk_id,
                body=as_row(body),
                head=as_row(new),
            )
            query(
                "UPDATE chunk_terms SET head = :head WHERE chunk_id = :id",
                id=chunk_id,
                head=fingerprints(new),
            )
            count(query, terms=len(new) - len(old))
        query(_LOG, id=document.id, change="renamed")

    def delete(self, query: Query, document: Document) -> None:
        rows = query(
            "SELECT id, text, headings FROM chunks WHERE document_id = :id", id=document.id
        )
        terms = 0
        for chunk_id, text, headings in rows:
            body = self._terms(text)
            head = self._terms(head_line(document.title, json.loads(headings)))
            _unindex(query, chunk_id, body, head)
            terms += len(body) + len(head)
        [(vectors,)] = query(
            "SELECT count(*) FROM chunks JOIN vectors ON chunk_id = id WHERE document_id = :id",
            id=document.id,
        )
        query(_LOG, id=document.id, change="removed")
        query("DELETE FROM chunks WHERE document_id = :id", id=document.id)
        count(query, chunks=-len(rows), terms=-terms, vectors=-vectors)


def _insert_row(query: Query, document_id: int, chunk: Chunk, chunk_id: int | None = None) -> int:
    query(
        "INSERT INTO chunks (id, uid, document_id, seq, text, page, location, start, headings, "
        "table_header) VALUES (:id, :uid, :document_id, :seq, :text, :page, :location, :start, "
        ":headings, :table_header)",
        id=chunk_id,
        uid=uuid.uuid4().bytes,
        document_id=document_id,
        seq=chunk.seq,
        text=chunk.text,
        page=chunk.page,
        location=chunk.location,
        start=chunk.start,
        headings=json.dumps(chunk.headings),
        table_header=chunk.table_header,
    )
    return query.inserted_id()


def _note_inserted(query: Query, document_id: int, chunks: int) -> None:
    query(_LOG, id=document_id, change="added")
    query("UPDATE documents SET chunk_count = :count WHERE id = :id", id=document_id, count=chunks)
    count(query, chunks=chunks)


def _unindex(query: Query, chunk_id: int, body: list[str], head: list[str]) -> None:
    query(
        "INSERT INTO words (words, rowid, body, head) VALUES ('delete', :id, :body, :head)",
        id=chunk_id,
        body=as_row(body),
        head=as_row(head),
    )


def count(query: Query, **changes: int) -> None:
    """Keep the running totals."""
    for name, change in changes.items():
        if change:
            query(
                "UPDATE totals SET value = value + :change WHERE name = :name",
                name=name,
                change=int(change),
            )
