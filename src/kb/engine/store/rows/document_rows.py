"""The rows of a document: written whole, replaced, deleted and read, inside a transaction."""

import json
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import apsw
import numpy as np

from kb.engine.errors import Conflict, DocumentNotFound
from kb.engine.store.file.database import Query, Row
from kb.engine.store.rows import page_words, pictures_inside
from kb.engine.store.rows.chunk_rows import (
    Called,
    ChunkRows,
    Prepared,
    count,
    hash_of_chunks,
)
from kb.engine.store.rows.how_read import how_read, written
from kb.engine.store.rows.text_hash import hash_in
from kb.engine.store.search.sign_bits import Ids
from kb.engine.store.search.word_index_renewal import renewed_up_to
from kb.engine.values import (
    Document,
    Draft,
    StoredChunk,
    WholeDocument,
    now,
)

COLUMNS = (
    "id, uid, title, filename, doc_type, format, source_path, origin, metadata, content_hash, "
    "size_bytes, chunk_count, processing_method, how_read, created_at, updated_at"
)


class DocumentRows:
    """Writes documents with all that belongs to them; each method runs inside a transaction."""

    def __init__(self, chunks: ChunkRows) -> None:
        self.chunks = chunks

    def insert(
        self,
        query: Query,
        draft: Draft,
        prepared: Prepared,
        document_id: int | None = None,
        had: Called | None = None,
    ) -> int:
        """`document_id` and `had` are for a document that was in another store."""
        arrival = draft.arrival
        query(
            "INSERT INTO documents (id, uid, title, title_given, filename, doc_type, format, "
            "source_path, origin, content_hash, size_bytes, metadata, processing_method, how_read, "
            "stored_name, chunk_count, created_at, updated_at) VALUES (:id, :uid, :title, "
            ":title_given, :filename, :doc_type, :format, :source_path, :origin, :content_hash, "
            ":size, :metadata, :method, :how_read, :stored_name, 0, :created_at, :updated_at)",
            id=document_id,
            uid=(arrival and arrival.uid) or str(uuid.uuid4()),
            **_values(draft),
            created_at=(arrival and (arrival.created_at or arrival.updated_at)) or now(),
            updated_at=arrival and arrival.updated_at,
        )
        document_id = query.inserted_id()
        _note_source(query, document_id, draft, set())
        put_tags(query, document_id, set(draft.tags or ()))
        self.chunks.insert(query, document_id, prepared, had)
        page_words.put(query, document_id, draft.words)
        count(
            query,
            documents=1,
            notes=draft.doc_type == "note",
            file_bytes=draft.size_bytes if draft.stored_name else 0,
        )
        return document_id

    def update_in_place(
        self, query: Query, document: Document, draft: Draft, prepared: Prepared
    ) -> str | None:
        """Give a file document new bytes; its id and creation time stay, tags are added to it.

        Returns the name of the file that is no longer needed.
        """
        [(old_name, title_given)] = query(
            "SELECT stored_name, title_given FROM documents WHERE id = :id", id=document.id
        )
        united = replace(
            draft,
            title=document.title if title_given and not draft.title_given else draft.title,
            title_given=title_given or draft.title_given,
            metadata={**document.metadata, **draft.metadata},
        )
        pictures_inside.drop(query, document.id)
        self.chunks.delete(query, document)
        query(
            "UPDATE documents SET title = :title, title_given = :title_given, "
            "filename = :filename, doc_type = :doc_type, format = :format, "
            "content_hash = :content_hash, size_bytes = :size, metadata = :metadata, "
            "processing_method = :method, how_read = :how_read, stored_name = :stored_name, "
            "origin = COALESCE(:origin, origin), updated_at = :now WHERE id = :id",
            id=document.id,
            **_values(united),
            now=now(),
        )
        put_tags(query, document.id, {*document.tags, *(draft.tags or ())})
        self.chunks.insert(query, document.id, prepared)
        page_words.put(query, document.id, draft.words)
        count(query, file_bytes=draft.size_bytes - (document.size_bytes if old_name else 0))
        return old_name  # type: ignore[no-any-return]

    def replace(
        self,
        query: Query,
        document: Document,
        draft: Draft,
        prepared: Prepared | None,
        had: Called | None = None,
    ) -> str | None:
        """Put what a source says of an imported document in place of what is here; its id stays.

        Without `prepared` its passages stay, too. One with `had`, of another kb, has the times that
        it had there, if it was to be put in place of what is newer here.

        Returns the name of the file that is no longer needed.
        """
        [(old_name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=document.id)
        arrival = draft.arrival
        # What came with the document from another kb is given or taken away there.
        kept_tags = given_tags(query, document) - set(_tags_of_import(draft))
        tags = {*(draft.tags or ()), *kept_tags}
        if prepared is not None:
            pictures_inside.drop(query, document.id)
            self.chunks.delete(query, document)
        elif draft.title != document.title:
            self.chunks.rename(query, document, draft.title)
        query(
            "UPDATE documents SET title = :title, title_given = :title_given, "
            "filename = :filename, doc_type = :doc_type, format = :format, "
            "source_path = :source_path, origin = :origin, content_hash = :content_hash, "
            "size_bytes = :size, metadata = :metadata, processing_method = :method, "
            "how_read = :how_read, stored_name = :stored_name, "
            "created_at = COALESCE(:created_at, created_at), "
            "updated_at = :updated_at WHERE id = :id",
            id=document.id,
            **_values(draft),
            created_at=arrival and arrival.created_at,
            updated_at=arrival.updated_at
            if arrival and arrival.force and had is not None
            else _later(arrival.updated_at if arrival else None, document),
        )
        _note_source(query, document.id, draft, kept_tags)
        put_tags(query, document.id, tags)
        _forget_unused(query, set(document.tags) - tags)
        if prepared is not None:
            self.chunks.insert(query, document.id, prepared, had)
        page_words.put(query, document.id, draft.words)
        count(
            query,
            notes=(draft.doc_type == "note") - (document.doc_type == "note"),
            file_bytes=(draft.size_bytes if draft.stored_name else 0)
            - (document.size_bytes if old_name else 0),
        )
        return old_name  # type: ignore[no-any-return]

    def read_again(
        self,
        query: Query,
        document_id: int,
        draft: Draft,
        prepared: Prepared,
        had: dict[str, Any],
    ) -> Document:
        """Give a document the passages of its own original once more; nothing else changes but
        what kind it is, which may have been lost with the text.

        `had` is what they were called and the hash of their text. If it is that text again, they
        keep their names: somebody may have cited them. Of a document whose pictures are read later
        that shows when those are there, too.
        """
        document = found(query, document_id)
        pictures_inside.drop(query, document_id)
        self.chunks.delete(query, document)
        query(
            "UPDATE documents SET processing_method = :method, how_read = :how_read, "
            "doc_type = :doc_type, format = :format WHERE id = :id",
            id=document_id,
            method=draft.processing_method,
            how_read=written(draft.how_read),
            doc_type=draft.doc_type,
            format=draft.format,
        )
        called = _called_before(query, hash_of_chunks(prepared.chunks), had)
        self.chunks.insert(query, document_id, prepared, called)
        page_words.put(query, document_id, draft.words)
        return found(query, document_id)

    def call_as_before(self, query: Query, document: Document, had: dict[str, Any]) -> None:
        """Give passages that were read again, pictures and all, the names that they had."""
        if called := _called_before(query, hash_in(query, document.id), had):
            self.chunks.call_as_before(query, document, called)

    def delete(self, query: Query, document: Document) -> str | None:
        [(name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=document.id)
        pictures_inside.drop(query, document.id)
        self.chunks.delete(query, document)
        query("DELETE FROM documents WHERE id = :id", id=document.id)
        query(
            "UPDATE jobs SET filename = NULL, content_hash = NULL WHERE document_id = :id",
            id=document.id,
        )
        _forget_unused(query, document.tags)
        count(
            query,
            documents=-1,
            notes=-(document.doc_type == "note"),
            file_bytes=-document.size_bytes if name else 0,
        )
        return name  # type: ignore[no-any-return]


def _called_before(query: Query, text_hash: str, had: dict[str, Any]) -> Called | None:
    if not had or had["text_hash"] != text_hash:
        return None
    if renewed_up_to(query) is not None:  # the word index goes through them by their ids
        return None
    return Called(had["ids"], [uid and bytes.fromhex(uid) for uid in had["uids"]])


def _values(draft: Draft) -> dict[str, Any]:
    """What a draft says of its document, as its row has it."""
    return {
        "title": draft.title,
        "title_given": draft.title_given,
        "filename": draft.filename,
        "doc_type": draft.doc_type,
        "format": draft.format,
        "source_path": draft.source_path,
        "origin": draft.origin,
        "content_hash": draft.content_hash,
        "size": draft.size_bytes,
        "metadata": json.dumps(draft.metadata),
        "method": draft.processing_method,
        "how_read": written(draft.how_read),
        "stored_name": draft.stored_name,
    }


def _later(updated_at: str | None, document: Document) -> str:
    """When a document changed that is replaced: as its source says, unless it says nothing new."""
    is_later = updated_at is not None and updated_at > (document.updated_at or document.created_at)
    return updated_at if updated_at is not None and is_later else now()


def _tags_of_import(draft: Draft) -> tuple[str, ...]:
    imported = draft.arrival.imported if draft.arrival else None
    return imported.tags if imported else ()


def _note_source(query: Query, document_id: int, draft: Draft, kept_tags: set[str]) -> None:
    """What an imported document is called in its source; what it was left as is known by now."""
    imported = draft.arrival.imported if draft.arrival else None
    given = {
        *kept_tags,
        *(draft.arrival.given_tags if draft.arrival else ()),
        *_tags_of_import(draft),
    }
    if given:
        query(
            "UPDATE documents SET import_tags = :tags WHERE id = :id",
            id=document_id,
            tags=json.dumps(sorted(given)),
        )
    if imported is not None:
        query(
            "UPDATE documents SET import_source = :source, import_key = :key, "
            "import_digest = :digest, "
            "import_left = COALESCE(:left, updated_at, created_at) WHERE id = :id",
            id=document_id,
            source=imported.source,
            key=imported.key,
            digest=imported.digest,
            left=imported.left,
        )


def given_tags(query: Query, document: Document) -> set[str]:
    """The tags that the importing user gave to a document, as far as it still has them."""
    [(given,)] = query("SELECT import_tags FROM documents WHERE id = :id", id=document.id)
    return set(json.loads(given or "[]")) & set(document.tags)


def found(query: Query, key: int | str) -> Document:
    column = "id" if isinstance(key, int) else "uid"
    rows = query(f"SELECT {COLUMNS} FROM documents WHERE {column} = :key", key=key)
    if not rows:
        raise DocumentNotFound(key)
    [document] = with_tags(query, rows)
    return document


def whole(query: Query, key: int | str, chunks: bool = True) -> WholeDocument:
    document = found(query, key)
    values = {name: getattr(document, name) for name in Document.__slots__}
    if not chunks:
        return WholeDocument(**values)
    rows = query(
        "SELECT id, uid, seq, text, page, location, start, headings, table_header "
        "FROM chunks WHERE document_id = :id ORDER BY seq",
        id=document.id,
    )
    passages = [
        StoredChunk(
            id_, str(uuid.UUID(bytes=uid)), seq, text, page, location, start, json.loads(path), head
        )
        for id_, uid, seq, text, page, location, start, path, head in rows
    ]
    text = "".join(chunk.text for chunk in passages) if document.doc_type == "note" else None
    return WholeDocument(**values, text=text, chunks=passages)


def with_tags(query: Query, rows: list[Row]) -> list[Document]:
    tags = tags_of(query, np.array([row[0] for row in rows], np.int64))
    return [_document(row, tags.get(row[0], [])) for row in rows]


def _document(row: Row, tags: list[str]) -> Document:
    values = dict(zip(COLUMNS.split(", "), row, strict=True))
    values["metadata"] = json.loads(values["metadata"])
    values["how_read"] = how_read(values["how_read"])
    return Document(**values, tags=tags, processing_status="completed")


def tags_of(query: Query, document_ids: Ids) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    if not len(document_ids):  # an empty array cannot be bound
        return found
    rows = query(
        "SELECT document_id, name FROM document_tags JOIN tags ON tags.id = tag_id "
        "WHERE document_id IN carray(:ids) ORDER BY name",
        ids=apsw.carray(document_ids),
    )
    for document_id, name in rows:
        found.setdefault(document_id, []).append(name)
    return found


def check_unchanged(document: Document, if_updated_at: str | None) -> None:
    last = document.updated_at or document.created_at
    if if_updated_at is not None and if_updated_at != last:
        raise Conflict(
            f"Document {document.id} was changed at {last}: read it again, then repeat the change",
            document_id=document.id,
            updated_at=last,
        )


def retag(query: Query, before: Document, after: set[str]) -> None:
    if after != set(before.tags):
        put_tags(query, before.id, after)
        _forget_unused(query, set(before.tags) - after)
        query("UPDATE documents SET updated_at = :now WHERE id = :id", id=before.id, now=now())


def put_tags(query: Query, document_id: int, tags: set[str]) -> None:
    query("DELETE FROM document_tags WHERE document_id = :id", id=document_id)
    for tag in sorted(tags):
        query("INSERT INTO tags (name) VALUES (:tag) ON CONFLICT DO NOTHING", tag=tag)
        query(
            "INSERT INTO document_tags SELECT :id, id FROM tags WHERE name = :tag",
            id=document_id,
            tag=tag,
        )


def _forget_unused(query: Query, tags: Iterable[str]) -> None:
    for tag in tags:
        query(
            "DELETE FROM tags WHERE name = :tag AND NOT EXISTS "
            "(SELECT 1 FROM document_tags WHERE tag_id = tags.id)",
            tag=tag,
        )
