"""Documents with their passages and tags: read, listed, added, changed and deleted."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from kb.engine.errors import FileNotStored
from kb.engine.pages import PlacedWord
from kb.engine.store.file.database import Database
from kb.engine.store.file.reserve import may_use_reserve
from kb.engine.store.rows import page_words
from kb.engine.store.rows.chunk_rows import (
    VectorsOfModels,
)
from kb.engine.store.rows.document_rows import (
    COLUMNS,
    DocumentRows,
    check_unchanged,
    found,
    retag,
    whole,
    with_tags,
)
from kb.engine.store.rows.filters import where
from kb.engine.store.rows.statistics import statistics
from kb.engine.values import (
    SAME_TAGS,
    Chunk,
    Deleted,
    Document,
    DocumentPage,
    Draft,
    Filter,
    Statistics,
    TagChange,
    TagCount,
    TagList,
    WholeDocument,
    now,
)

SORT_COLUMNS = {
    "created": "created_at",
    "updated": "COALESCE(updated_at, created_at)",
    "title": "title COLLATE NOCASE",
    "filename": "COALESCE(filename, title) COLLATE NOCASE",  # a note is called by its title
    "size": "size_bytes",
}
ORDERS = {"asc": "ASC", "desc": "DESC"}


class Documents:
    """The part of the store that is about documents. `rows` is for who writes many at once."""

    def __init__(self, database: Database, rows: DocumentRows) -> None:
        self._database = database
        self.rows = rows

    def get(self, key: int | str, chunks: bool = True) -> WholeDocument:
        """One document with its passages, by id or uid; or only what is known about it."""
        with self._database.reading() as query:
            return whole(query, key, chunks)

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
            return page_words.placed_words(query, document_id, page)

    def id_of(self, uid: str) -> int:
        with self._database.reading() as query:
            return found(query, uid).id

    def listing(
        self, filter_: Filter, sort: str, order: str, limit: int, offset: int
    ) -> DocumentPage:
        condition, values = where(filter_)
        direction = ORDERS[order]
        with self._database.reading() as query:
            [(total,)] = query(f"SELECT count(*) FROM documents WHERE {condition}", **values)
            rows = query(
                f"SELECT {COLUMNS} FROM documents WHERE {condition} "
                f"ORDER BY {SORT_COLUMNS[sort]} {direction}, id {direction} "
                "LIMIT :limit OFFSET :offset",
                limit=limit,
                offset=offset,
                **values,
            )
            documents = with_tags(query, rows)
        return DocumentPage(documents, total, limit, offset)

    def add(self, draft: Draft, chunks: Sequence[Chunk], vectors: VectorsOfModels) -> Document:
        """Store a document whole: chunks, terms, vectors and tags."""
        prepared = self.rows.chunks.prepare(chunks, vectors)
        with self._database.transaction() as query:
            document_id = self.rows.insert(query, draft, prepared)
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
        prepared = self.rows.chunks.prepare(chunks, vectors)
        with self._database.transaction() as query:
            before = found(query, document_id)
            check_unchanged(before, if_updated_at)
            self.rows.chunks.delete(query, before)
            query(
                "UPDATE documents SET content_hash = :hash, size_bytes = :size, "
                "title = COALESCE(:title, title), updated_at = :now WHERE id = :id",
                id=document_id,
                hash=content_hash,
                size=len(text.encode()),
                title=title,
                now=now(),
            )
            self.rows.chunks.insert(query, document_id, prepared)
            retag(query, before, tags.of(before.tags))
            # Now, not after the commit: where it cannot be read, nothing has changed.
            after = whole(query, document_id)
        self._database.empty_log_soon()
        return after

    def update(
        self,
        document_id: int,
        title: str | None,
        metadata: dict[str, Any] | None,
        if_updated_at: str | None = None,
        tags: TagChange = SAME_TAGS,
    ) -> Document:
        """Change what is given; tags that are already as wanted are no change."""
        with self._database.transaction() as query:
            before = found(query, document_id)
            check_unchanged(before, if_updated_at)
            if title is not None and title != before.title:
                self.rows.chunks.rename(query, before, title)
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
    def delete(self, document_id: int) -> tuple[Deleted, str | None]:
        """Remove a document; also the name of its file, which is the caller's to unlink."""
        with self._database.transaction(adds=False) as query:
            document = found(query, document_id)
            stored_name = self.rows.delete(query, document)
        self._database.checkpoint()
        deleted = Deleted("deleted", document.id, document.title, document.chunk_count)
        return deleted, stored_name

    def stored_file(self, key: int | str) -> tuple[Document, str]:
        """A document and the name of its original."""
        with self._database.reading() as query:
            document = found(query, key)
            [(name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=document.id)
        if name is None:
            raise FileNotStored(document.id)
        return document, name

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
