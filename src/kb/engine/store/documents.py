"""Documents, chunks and tags: drafts in, documents out."""

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw
import numpy as np

from kb.engine.errors import Conflict, DocumentNotFound, FileNotStored
from kb.engine.models import (
    SAME_TAGS,
    Chunk,
    Cleared,
    Deleted,
    Document,
    DocumentPage,
    Draft,
    Filter,
    PlacedWord,
    Statistics,
    StoredChunk,
    TagChange,
    TagCount,
    TagList,
    WholeDocument,
    now,
)
from kb.engine.store import pictures_inside, placed
from kb.engine.store.chunks import (
    Called,
    ChunkRows,
    Prepared,
    VectorsOfModels,
    count,
    hash_of_chunks,
)
from kb.engine.store.database import Database, Query, Row
from kb.engine.store.filters import where
from kb.engine.store.how_read import how_read, written
from kb.engine.store.renewal import clear as clear_words
from kb.engine.store.renewal import renewed_up_to
from kb.engine.store.reserve import may_use_reserve
from kb.engine.store.statistics import statistics
from kb.engine.store.words import Ids

SORT_COLUMNS = {
    "created": "created_at",
    "updated": "COALESCE(updated_at, created_at)",
    "title": "title COLLATE NOCASE",
    "filename": "COALESCE(filename, title) COLLATE NOCASE",  # a note is called by its title
    "size": "size_bytes",
}
ORDERS = {"asc": "ASC", "desc": "DESC"}
_COLUMNS = (
    "id, uid, title, filename, doc_type, format, source_path, origin, metadata, content_hash, "
    "size_bytes, chunk_count, processing_method, how_read, created_at, updated_at"
)


class Documents:
    """The part of the store that is about documents."""

    _database: Database
    _chunks: ChunkRows

    def document(self, key: int | str, chunks: bool = True) -> WholeDocument:
        """One document with its passages, by id or uid; or what is known about it alone."""
        with self._database.reading() as query:
            return _whole(query, key, chunks)

    def passage(self, document_id: int, chunk_id: int) -> str:
        """The text of one passage; empty where the document has no such one."""
        with self._database.reading() as query:
            rows = query(
                "SELECT text FROM chunks WHERE id = :chunk AND document_id = :id",
                chunk=chunk_id,
                id=document_id,
            )
        return str(rows[0][0]) if rows else ""

    def placed_words(self, document_id: int, page: int) -> list[PlacedWord]:
        """The words of a page that was recognised in a picture; none for any other."""
        with self._database.reading() as query:
            return placed.placed_words(query, document_id, page)

    def document_id(self, uid: str) -> int:
        with self._database.reading() as query:
            return found(query, uid).id

    def documents(
        self, filter_: Filter, sort: str, order: str, limit: int, offset: int
    ) -> DocumentPage:
        condition, values = where(filter_)
        direction = ORDERS[order]
        with self._database.reading() as query:
            [(total,)] = query(f"SELECT count(*) FROM documents WHERE {condition}", **values)
            rows = query(
                f"SELECT {_COLUMNS} FROM documents WHERE {condition} "
                f"ORDER BY {SORT_COLUMNS[sort]} {direction}, id {direction} "
                "LIMIT :limit OFFSET :offset",
                limit=limit,
                offset=offset,
                **values,
            )
            documents = _with_tags(query, rows)
        return DocumentPage(documents, total, limit, offset)

    def add_document(
        self, draft: Draft, chunks: Sequence[Chunk], vectors: VectorsOfModels
    ) -> Document:
        """Store a document whole: chunks, terms, vectors and tags."""
        prepared = self._chunks.prepare(chunks, vectors)
        with self._database.transaction() as query:
            document_id = self._insert_document(query, draft, prepared)
            return found(query, document_id)

    def replace_text(
        self,
        document_id: int,
        text: str,
        content_hash: str,
        chunks: Sequence[Chunk],
        vectors: VectorsOfModels,
        title: str | None = None,
        if_updated_at: str | None = None,
        tags: TagChange = SAME_TAGS,
    ) -> WholeDocument:
        """Swap a note's passages for new ones; its id and creation time stay."""
        prepared = self._chunks.prepare(chunks, vectors)
        with self._database.transaction() as query:
            before = found(query, document_id)
            _check_unchanged(before, if_updated_at)
            self._chunks.delete(query, before)
            query(
                "UPDATE documents SET content_hash = :hash, size_bytes = :size, "
                "title = COALESCE(:title, title), updated_at = :now WHERE id = :id",
                id=document_id,
                hash=content_hash,
                size=len(text.encode()),
                title=title,
                now=now(),
            )
            self._chunks.insert(query, document_id, prepared)
            retag(query, before, tags.of(before.tags))
            # Now, not after the commit: where it cannot be read, nothing has changed.
            after = _whole(query, document_id)
        self._database.empty_log_soon()
        return after

    def update_document(
        self,
        document_id: int,
        title: str | None,
        metadata: dict[str, Any] | None,
        if_updated_at: str | None = None,
        tags: TagChange = SAME_TAGS,
    ) -> Document:
        """Change what is given; tags that are as wanted already are no change."""
        with self._database.transaction() as query:
            before = found(query, document_id)
            _check_unchanged(before, if_updated_at)
            if title is not None and title != before.title:
                self._chunks.rename(query, before, title)
            if title is not None or metadata is not None:
                query(
                    "UPDATE documents SET title = COALESCE(:title, title), "
                    "title_given = title_given OR :title IS NOT NULL, "
                    "metadata = COALESCE(:metadata, metadata), updated_at = :now WHERE id = :id",
                    id=document_id,
                    title=title,
                    metadata=None if metadata is None else json.dumps(metadata),
                    now=now(),
                )
            retag(query, before, tags.of(before.tags))
            return found(query, document_id)

    @may_use_reserve
    def delete_document(self, document_id: int) -> tuple[Deleted, str | None]:
        """Remove a document; also the name of its file, which is the caller's to unlink."""
        with self._database.transaction(adds=False) as query:
            document = found(query, document_id)
            stored_name = self._delete_document(query, document)
        self._database.checkpoint()
        deleted = Deleted("deleted", document.id, document.title, document.chunk_count)
        return deleted, stored_name

    @may_use_reserve
    def clear(self) -> tuple[Cleared, list[str]]:
        """Remove everything; also the names of all files, which are the caller's to unlink."""
        with self._database.transaction(adds=False) as query:
            names = [name for (name,) in query(ALL_FILES)]
            [(documents,)] = query("SELECT count(*) FROM documents")
            [(chunks,)] = query("SELECT count(*) FROM chunks")
            [(jobs,)] = query("SELECT count(*) FROM jobs")
            [(size,)] = query("SELECT COALESCE(sum(size_bytes), 0) FROM documents")
            query(
                "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
                "SELECT id, document_id, seq, 'removed' FROM chunks"
            )
            clear_words(query)
            for table in ("exact_vectors", "vectors", "other_exact_vectors", "other_vectors"):
                query(f"DELETE FROM {table}")
            for table in ("chunk_terms", "chunks", "document_tags", "words_to_forget"):
                query(f"DELETE FROM {table}")
            for table in ("page_words", "tags", "documents", "job_texts", "jobs"):
                query(f"DELETE FROM {table}")
            query("UPDATE totals SET value = 0 WHERE name <> 'commits'")
        self._database.checkpoint()
        return Cleared("cleared", documents, chunks, jobs, size), names

    def stored_file(self, key: int | str) -> tuple[Document, str]:
        """A document and the name of its original."""
        with self._database.reading() as query:
            document = found(query, key)
            [(name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=document.id)
        if name is None:
            raise FileNotStored(document.id)
        return document, name

    def newest_change(self) -> str | None:
        """When the latest row was written, as far as rows say that; None where there is none."""
        with self._database.reading() as query:
            [(newest,)] = query(_NEWEST)
        return newest  # type: ignore[no-any-return]

    def stored_names(self) -> set[str]:
        """Every file that something still needs."""
        with self._database.reading() as query:
            return {name for (name,) in query(ALL_FILES)}

    def needed_files(self, names: Iterable[str]) -> set[str]:
        """Those of these files that something still needs."""
        with self._database.reading() as query:
            return {name for name in names if query(_IS_NEEDED, name=name)}

    def set_tags(self, document_id: int, tags: Sequence[str]) -> Document:
        return self._change_tags(document_id, lambda _: set(tags))

    def add_tags(self, document_id: int, tags: Sequence[str]) -> Document:
        return self._change_tags(document_id, lambda before: before | set(tags))

    @may_use_reserve
    def remove_tags(self, document_id: int, tags: Sequence[str]) -> Document:
        return self._change_tags(document_id, lambda before: before - set(tags), adds=False)

    def tags(self) -> TagList:
        with self._database.reading() as query:
            rows = query(
                "SELECT name, count(*) FROM tags JOIN document_tags ON tag_id = tags.id "
                "GROUP BY name ORDER BY name"
            )
        return TagList([TagCount(*row) for row in rows], len(rows))

    def statistics(self, filter_: Filter) -> Statistics:
        with self._database.reading() as query:
            return statistics(query, filter_)

    def _change_tags(
        self, document_id: int, change: Callable[[set[str]], set[str]], *, adds: bool = True
    ) -> Document:
        with self._database.transaction(adds=adds) as query:
            before = found(query, document_id)
            retag(query, before, change(set(before.tags)))
            return found(query, document_id)

    def _insert_document(
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
        _put_tags(query, document_id, set(draft.tags or ()))
        self._chunks.insert(query, document_id, prepared, had)
        placed.put(query, document_id, draft.words)
        count(
            query,
            documents=1,
            notes=draft.doc_type == "note",
            file_bytes=draft.size_bytes if draft.stored_name else 0,
        )
        return document_id

    def _update_in_place(
        self, query: Query, document: Document, draft: Draft, prepared: Prepared
    ) -> str | None:
        """Give a file document new bytes; its id and creation time stay, tags are added to it.

        Returns the name of the file that is no longer needed.
        """
        [(old_name, title_given)] = query(
            "SELECT stored_name, title_given FROM documents WHERE id = :id", id=document.id
        )
        title = document.title if title_given and not draft.title_given else draft.title
        pictures_inside.drop(query, document.id)
        self._chunks.delete(query, document)
        query(
            "UPDATE documents SET title = :title, title_given = :title_given, "
            "filename = :filename, doc_type = :doc_type, format = :format, content_hash = :hash, "
            "size_bytes = :size, metadata = :metadata, processing_method = :method, "
            "how_read = :how_read, stored_name = :stored_name, "
            "origin = COALESCE(:origin, origin), updated_at = :now WHERE id = :id",
            id=document.id,
            title=title,
            title_given=title_given or draft.title_given,
            filename=draft.filename,
            doc_type=draft.doc_type,
            format=draft.format,
            hash=draft.content_hash,
            size=draft.size_bytes,
            metadata=json.dumps({**document.metadata, **draft.metadata}),
            method=draft.processing_method,
            how_read=written(draft.how_read),
            stored_name=draft.stored_name,
            origin=draft.origin,
            now=now(),
        )
        _put_tags(query, document.id, {*document.tags, *(draft.tags or ())})
        self._chunks.insert(query, document.id, prepared)
        placed.put(query, document.id, draft.words)
        count(query, file_bytes=draft.size_bytes - (document.size_bytes if old_name else 0))
        return old_name  # type: ignore[no-any-return]

    def _replace_document(
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
            self._chunks.delete(query, document)
        elif draft.title != document.title:
            self._chunks.rename(query, document, draft.title)
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
        _put_tags(query, document.id, tags)
        _forget_unused(query, set(document.tags) - tags)
        if prepared is not None:
            self._chunks.insert(query, document.id, prepared, had)
        placed.put(query, document.id, draft.words)
        count(
            query,
            notes=(draft.doc_type == "note") - (document.doc_type == "note"),
            file_bytes=(draft.size_bytes if draft.stored_name else 0)
            - (document.size_bytes if old_name else 0),
        )
        return old_name  # type: ignore[no-any-return]

    def _read_again(
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
        keep their names: somebody may have cited them.
        """
        document = found(query, document_id)
        pictures_inside.drop(query, document_id)
        self._chunks.delete(query, document)
        query(
            "UPDATE documents SET processing_method = :method, how_read = :how_read, "
            "doc_type = :doc_type, format = :format WHERE id = :id",
            id=document_id,
            method=draft.processing_method,
            how_read=written(draft.how_read),
            doc_type=draft.doc_type,
            format=draft.format,
        )
        self._chunks.insert(query, document_id, prepared, _called_before(query, prepared, had))
        placed.put(query, document_id, draft.words)
        return found(query, document_id)

    def _delete_document(self, query: Query, document: Document) -> str | None:
        [(name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=document.id)
        pictures_inside.drop(query, document.id)
        self._chunks.delete(query, document)
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


_NEWEST = (
    "SELECT max(written) FROM ("
    "SELECT max(COALESCE(updated_at, created_at)) AS written FROM documents UNION ALL "
    "SELECT max(created_at) FROM jobs UNION ALL "
    "SELECT value FROM facts WHERE name = 'v2_taken_over')"
)


def _called_before(query: Query, prepared: Prepared, had: dict[str, Any]) -> Called | None:
    if not had or had["text_hash"] != hash_of_chunks(prepared.chunks):
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


# A failed job's bytes stay for a retry; a job that ended otherwise needs none.
ALL_FILES = (
    "SELECT stored_name FROM documents WHERE stored_name IS NOT NULL UNION "
    "SELECT stored_name FROM jobs WHERE stored_name IS NOT NULL"
)
_IS_NEEDED = (
    "SELECT 1 FROM documents WHERE stored_name = :name UNION ALL "
    "SELECT 1 FROM jobs WHERE stored_name = :name"
)


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
    """The tags that whoever imported a document gave to it, as far as it has them still."""
    [(given,)] = query("SELECT import_tags FROM documents WHERE id = :id", id=document.id)
    return set(json.loads(given or "[]")) & set(document.tags)


def found(query: Query, key: int | str) -> Document:
    column = "id" if isinstance(key, int) else "uid"
    rows = query(f"SELECT {_COLUMNS} FROM documents WHERE {column} = :key", key=key)
    if not rows:
        raise DocumentNotFound(key)
    [document] = _with_tags(query, rows)
    return document


def _whole(query: Query, key: int | str, chunks: bool = True) -> WholeDocument:
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


def _with_tags(query: Query, rows: list[Row]) -> list[Document]:
    tags = tags_of(query, np.array([row[0] for row in rows], np.int64))
    return [_document(row, tags.get(row[0], [])) for row in rows]


def _document(row: Row, tags: list[str]) -> Document:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    values["metadata"] = json.loads(values["metadata"])
    values["how_read"] = how_read(values["how_read"])
    return Document(**values, tags=tags, processing_status="completed")


def tags_of(query: Query, document_ids: Ids) -> dict[int, list[str]]:
    """The tags of several documents at once."""
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


def _check_unchanged(document: Document, if_updated_at: str | None) -> None:
    last = document.updated_at or document.created_at
    if if_updated_at is not None and if_updated_at != last:
        raise Conflict(
            f"Document {document.id} was changed at {last}: read it again, then repeat the change",
            document_id=document.id,
            updated_at=last,
        )


def retag(query: Query, before: Document, after: set[str]) -> None:
    if after != set(before.tags):
        _put_tags(query, before.id, after)
        _forget_unused(query, set(before.tags) - after)
        query("UPDATE documents SET updated_at = :now WHERE id = :id", id=before.id, now=now())


def _put_tags(query: Query, document_id: int, tags: set[str]) -> None:
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
