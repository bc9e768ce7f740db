"""A document's passages in every table that has them."""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kb.engine.scoring import fingerprints
from kb.engine.store.file.database import Query, Row
from kb.engine.store.rows.search_names import called
from kb.engine.store.rows.text_hash import hash_in, hash_of
from kb.engine.store.rows.unproven_texts import strike_off
from kb.engine.store.search.chunk_index import quantise
from kb.engine.store.search.vector_sets import VectorSet, VectorSets
from kb.engine.store.search.word_index_renewal import index_to_change, renewed_up_to
from kb.engine.store.search.word_search import as_row
from kb.engine.values import Chunk, Document, Vectors

Terms = Callable[[str], list[str]]
# As the word index takes them, and as fingerprints.
EncodedTerms = tuple[str, bytes]
# For the scan, and exact.
EncodedVector = tuple[bytes, bytes]
# Of the model that is searched, or of several models by their names.
VectorsOfModels = Vectors | Mapping[str, Vectors]

FORGOTTEN_AT_ONCE = 32
LAST = 2**63 - 1
_FINGERPRINT_BYTES = 4

_LOG_OF = (
    "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
    "SELECT id, document_id, seq, :change FROM chunks WHERE document_id = :id"
)
_LOG = f"{_LOG_OF} ORDER BY id"

# What the words of a document's chunks were made from.
_WORDS = "SELECT id, :called, headings, text FROM chunks WHERE document_id = :id AND id <= :up_to"
# What the words of a chunk are to be made from; nothing if it is gone.
_WORDS_NOW = (
    "SELECT title, filename, source_path, headings, text "
    "FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id = :id"
)


def head_line(called: str, headings: Iterable[str]) -> str:
    """What the index's own column for titles holds: what a document goes by, and its headings."""
    return " | ".join([called, *headings])


@dataclass(frozen=True, slots=True)
class Prepared:
    """Chunks and what the store derives from them, made before the transaction so that it is short.
    `vectors` are by model; those under None belong to the model that is searched."""

    chunks: Sequence[Chunk]
    bodies: list[EncodedTerms]
    vectors: Mapping[str | None, list[EncodedVector]]


@dataclass(frozen=True, slots=True)
class Called:
    """What chunks were called in another store; what is None is given anew."""

    ids: Sequence[int] | None = None
    uids: Sequence[bytes | None] | None = None


class ChunkRows:
    """Writes chunks, their terms and their vectors; each method runs inside a transaction."""

    def __init__(self, terms: Terms, sets: VectorSets) -> None:
        self._terms = terms
        self._sets = sets

    def prepare(self, chunks: Sequence[Chunk], vectors: VectorsOfModels) -> Prepared:
        """The slow part of `insert`; needs no transaction."""
        bodies = [encoded(self._terms(chunk.text)) for chunk in chunks]
        by_model: dict[str | None, list[EncodedVector]] = (
            {model: _encoded_vectors(each) for model, each in vectors.items()}
            if isinstance(vectors, Mapping)
            else {None: _encoded_vectors(vectors)}
        )
        return Prepared(chunks, bodies, by_model)

    def insert(
        self, query: Query, document_id: int, prepared: Prepared, had: Called | None = None
    ) -> None:
        """A document's chunks, whole: words and vectors too; under the names they had, if any.

        Where the models have changed since the vectors were made, those that are not kept any
        more are left out, and those that are lacking are made later.
        """
        ids = [
            _insert_row(query, document_id, chunk, *names)
            for chunk, names in zip(prepared.chunks, _names(prepared, had), strict=True)
        ]
        self._index_words(query, document_id, ids, prepared.chunks, prepared.bodies)
        for kept in self._sets.written():
            vectors = prepared.vectors.get(kept.model)
            if vectors is None and kept == self._sets.active:
                vectors = prepared.vectors.get(None)
            if vectors is not None:
                _put_vectors(query, kept, ids, vectors)
        _note_inserted(query, document_id, prepared.chunks)
        strike_off(query, document_id)

    def append(self, query: Query, document: Document, prepared: Prepared) -> None:
        """More chunks behind those that a document has."""
        first = document.chunk_count
        chunks = [replace(chunk, seq=first + at) for at, chunk in enumerate(prepared.chunks)]
        ids = [_insert_row(query, document.id, chunk) for chunk in chunks]
        self._index_words(query, document.id, ids, chunks, prepared.bodies)
        for kept in self._sets.written():
            vectors = prepared.vectors.get(kept.model)
            if vectors is not None:
                _put_vectors(query, kept, ids, vectors)
        query(
            f"{_LOG_OF} AND seq >= :first ORDER BY id", id=document.id, change="added", first=first
        )
        query(
            "UPDATE documents SET chunk_count = chunk_count + :count, text_hash = :hash "
            "WHERE id = :id",
            id=document.id,
            count=len(chunks),
            hash=hash_in(query, document.id),
        )
        count(query, chunks=len(chunks))

    def call_as_before(self, query: Query, document: Document, had: Called) -> None:
        """Give a document's chunks the names that they had."""
        rows = query(
            "SELECT id, text, seq, page, location, start, headings, table_header "
            "FROM chunks WHERE document_id = :id ORDER BY seq",
            id=document.id,
        )
        chunks = [
            Chunk(text, seq, page, location, start, tuple(json.loads(headings)), table_header)
            for _, text, seq, page, location, start, headings, table_header in rows
        ]
        ids = [row[0] for row in rows]
        bodies = [encoded(self._terms(chunk.text)) for chunk in chunks]
        vectors: dict[str | None, list[EncodedVector]] = {}
        for kept in self._sets.written():
            stored = _stored_vectors(query, kept, ids)
            if len(stored) == len(ids):  # else they are all made later
                vectors[kept.model] = stored
        self.delete(query, document)
        self.insert(query, document.id, Prepared(chunks, bodies, vectors), had)

    def insert_as_they_were(
        self, query: Query, document_id: int, rows: Sequence[tuple[int, Chunk]]
    ) -> None:
        """Chunks that have ids already, from an older store; their vectors are made later."""
        for chunk_id, chunk in rows:
            _insert_row(query, document_id, chunk, chunk_id)
        ids, chunks = [row[0] for row in rows], [row[1] for row in rows]
        bodies = [encoded(self._terms(chunk.text)) for chunk in chunks]
        self._index_words(query, document_id, ids, chunks, bodies)
        _note_inserted(query, document_id, chunks)

    def _index_words(
        self,
        query: Query,
        document_id: int,
        ids: Sequence[int],
        chunks: Sequence[Chunk],
        bodies: Sequence[EncodedTerms],
    ) -> None:
        [names] = query(
            "SELECT title, filename, source_path FROM documents WHERE id = :id", id=document_id
        )
        line = called(*names)
        heads = [encoded(self._terms(head_line(line, chunk.headings))) for chunk in chunks]
        rows = list(zip(ids, bodies, heads, strict=True))
        query.many(
            "INSERT INTO words (rowid, body, head) VALUES (:id, :body, :head)",
            ({"id": id_, "body": body[0], "head": head[0]} for id_, body, head in rows),
        )
        query.many(
            "INSERT INTO chunk_terms (chunk_id, body, head) VALUES (:id, :body, :head)",
            ({"id": id_, "body": body[1], "head": head[1]} for id_, body, head in rows),
        )
        count(query, terms=sum(length(body) + length(head) for _, body, head in rows))

    def put_late_vectors(
        self, query: Query, ids: Sequence[int], vectors: Vectors, model: str
    ) -> None:
        """Vectors for chunks that are here already, in place of older ones if there are any."""
        kept = next((each for each in self._sets.written() if each.model == model), None)
        if kept is None:  # another model was chosen meanwhile
            return
        for chunk_id, vector in zip(ids, vectors, strict=True):
            rows = query("SELECT document_id, seq FROM chunks WHERE id = :id", id=chunk_id)
            if not rows:
                continue
            old = query(f"DELETE FROM {kept.codes} WHERE chunk_id = :id RETURNING 1", id=chunk_id)
            count(query, **{kept.total: -len(old)})
            _put_vectors(query, kept, [chunk_id], _encoded_vectors(vector[None, :]))
            if kept != self._sets.active:  # the index knows nothing of it
                continue
            query(
                "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
                "VALUES (:id, :document_id, :seq, 'embedded')",
                id=chunk_id,
                document_id=rows[0][0],
                seq=rows[0][1],
            )

    def rename(self, query: Query, document: Document, title: str) -> None:
        """A title is in the word index of every chunk; the scoring data changes at once."""
        before = _called(document)
        after = called(title, document.filename, document.source_path)
        rows = query("SELECT id, headings FROM chunks WHERE document_id = :id", id=document.id)
        paths = [json.loads(headings) for _, headings in rows]
        old = [self._terms(head_line(before, path)) for path in paths]
        new = [self._terms(head_line(after, path)) for path in paths]
        query.many(
            "UPDATE chunk_terms SET head = :head WHERE chunk_id = :id",
            (
                {"id": id_, "head": fingerprints(head)}
                for (id_, _), head in zip(rows, new, strict=True)
            ),
        )
        count(query, terms=sum(map(len, new)) - sum(map(len, old)))
        old_words = self._take_words_out(query, document)
        for chunk_id, _, headings, text in old_words:
            self._index_again(query, chunk_id, after, headings, text)
        query(_LOG, id=document.id, change="renamed")

    def delete(self, query: Query, document: Document) -> None:
        """A document's chunks, with all that belongs to them."""
        [(chunks, terms, vectors, other_vectors)] = query(
            "SELECT count(*), COALESCE(sum(length(body) + length(head)) / 4, 0), "
            "count(vectors.chunk_id), count(other_vectors.chunk_id) "
            "FROM chunks JOIN chunk_terms ON chunk_terms.chunk_id = chunks.id "
            "LEFT JOIN vectors ON vectors.chunk_id = chunks.id "
            "LEFT JOIN other_vectors ON other_vectors.chunk_id = chunks.id "
            "WHERE document_id = :id",
            id=document.id,
        )
        self._take_words_out(query, document)
        query(_LOG, id=document.id, change="removed")
        query("DELETE FROM chunks WHERE document_id = :id", id=document.id)
        count(query, chunks=-chunks, terms=-terms, vectors=-vectors, other_vectors=-other_vectors)

    def move(self, query: Query, document_id: int, to: int) -> None:
        """A document's chunks to another that has none; their words and vectors go by their ids."""
        query("UPDATE chunks SET document_id = :to WHERE document_id = :id", id=document_id, to=to)
        query(_LOG, id=to, change="moved")

    def forget_words(self, query: Query) -> int:
        """Some of what was put off when a long document was deleted or renamed; how many chunks."""
        rows = query("SELECT * FROM words_to_forget LIMIT :limit", limit=FORGOTTEN_AT_ONCE)
        self._forget(query, rows)
        for chunk_id, *_ in rows:
            query("DELETE FROM words_to_forget WHERE chunk_id = :id", id=chunk_id)
            for *names, headings, text in query(_WORDS_NOW, id=chunk_id):
                self._index_again(query, chunk_id, called(*names), headings, text)
        return len(rows)

    def _take_words_out(self, query: Query, document: Document) -> list[Row]:
        """Take a document's words out of their index; what they were made of, if that is done.

        To leave no trace there costs milliseconds a chunk. Those of a long document are put off,
        since every other writer would wait for them. A chunk that waits already stays as it is: it
        is in the index under the names that are noted.
        """
        up_to = renewed_up_to(query)
        which = {
            "id": document.id,
            "called": _called(document),
            "up_to": LAST if up_to is None else up_to,
        }
        if document.chunk_count > FORGOTTEN_AT_ONCE:
            query(f"INSERT OR IGNORE INTO words_to_forget {_WORDS}", **which)
            return []
        rows = query(_WORDS, **which)
        self._forget(query, rows)
        return rows

    def _forget(self, query: Query, rows: Iterable[Row]) -> None:
        words = index_to_change(query)
        for chunk_id, names, headings, text in rows:
            query(
                f"INSERT INTO {words} ({words}, rowid, body, head) "
                "VALUES ('delete', :id, :body, :head)",
                id=chunk_id,
                body=as_row(self._terms(text)),
                head=as_row(self._terms(head_line(names, json.loads(headings)))),
            )

    def _index_again(
        self, query: Query, chunk_id: int, names: str, headings: str, text: str
    ) -> None:
        query(
            f"INSERT INTO {index_to_change(query)} (rowid, body, head) VALUES (:id, :body, :head)",
            id=chunk_id,
            body=as_row(self._terms(text)),
            head=as_row(self._terms(head_line(names, json.loads(headings)))),
        )


def _called(document: Document) -> str:
    return called(document.title, document.filename, document.source_path)


def encoded(terms: list[str]) -> EncodedTerms:
    return as_row(terms), fingerprints(terms)


def length(terms: EncodedTerms) -> int:
    return len(terms[1]) // _FINGERPRINT_BYTES


def _encoded_vectors(vectors: Vectors) -> list[EncodedVector]:
    codes, exact = quantise(vectors), vectors.astype(np.float16)
    return [(code.tobytes(), row.tobytes()) for code, row in zip(codes, exact, strict=True)]


def _stored_vectors(query: Query, kept: VectorSet, ids: Sequence[int]) -> list[EncodedVector]:
    """Of those that have one of this model."""
    one = (
        f"SELECT code, vector FROM {kept.codes} JOIN {kept.exact} USING (chunk_id) "
        "WHERE chunk_id = :id AND model = :model"
    )
    return [row for id_ in ids for row in query(one, id=id_, model=kept.model)]


def _put_vectors(
    query: Query, kept: VectorSet, ids: Sequence[int], vectors: Sequence[EncodedVector]
) -> None:
    rows = list(zip(ids, vectors, strict=True))
    query.many(
        f"INSERT INTO {kept.codes} (chunk_id, model, code) VALUES (:id, :model, :code)",
        ({"id": id_, "model": kept.model, "code": code} for id_, (code, _) in rows),
    )
    query.many(
        f"INSERT INTO {kept.exact} (chunk_id, vector) VALUES (:id, :vector)",
        ({"id": id_, "vector": exact} for id_, (_, exact) in rows),
    )
    count(query, **{kept.total: len(ids)})


def _names(prepared: Prepared, had: Called | None) -> Iterable[tuple[int | None, bytes | None]]:
    nothing = [None] * len(prepared.chunks)
    had = had or Called()
    return zip(had.ids or nothing, had.uids or nothing, strict=True)


def _insert_row(
    query: Query,
    document_id: int,
    chunk: Chunk,
    chunk_id: int | None = None,
    uid: bytes | None = None,
) -> int:
    query(
        "INSERT INTO chunks (id, uid, document_id, seq, text, page, location, start, headings, "
        "table_header) VALUES (:id, :uid, :document_id, :seq, :text, :page, :location, :start, "
        ":headings, :table_header)",
        id=chunk_id,
        uid=uid or uuid.uuid4().bytes,
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


def _note_inserted(query: Query, document_id: int, chunks: Sequence[Chunk]) -> None:
    query(_LOG, id=document_id, change="added")
    query(
        "UPDATE documents SET chunk_count = :count, text_hash = :hash WHERE id = :id",
        id=document_id,
        count=len(chunks),
        hash=hash_of_chunks(chunks),
    )
    count(query, chunks=len(chunks))


def hash_of_chunks(chunks: Iterable[Chunk]) -> str:
    """As `text_hash` has it of their rows."""
    return hash_of(map(_hashed, chunks))


def _hashed(chunk: Chunk) -> Row:
    """As the row of the chunk has it."""
    path = json.dumps(chunk.headings)
    return (chunk.text, chunk.page, chunk.location, chunk.start, path, chunk.table_header)


def count(query: Query, **changes: int) -> None:
    """Keep the running totals."""
    for name, change in changes.items():
        if change:
            query(
                "UPDATE totals SET value = value + :change WHERE name = :name",
                name=name,
                change=int(change),
            )
