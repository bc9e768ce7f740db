"""Finds documents that share a path, and joins them into one.

An absolute path or a URL names one thing, but an older kb made a document of it for each set of
tags. Copies are something else: the same content under several paths, which is fine.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from kb.engine.errors import Conflict
from kb.engine.store.file.database import Database, Query, Row
from kb.engine.store.rows import page_words
from kb.engine.store.rows.chunk_rows import count
from kb.engine.store.rows.document_rows import DocumentRows, found, retag
from kb.engine.values import Document, now
from kb.source_path import names_one_thing

# In one group: what is beyond it is a group again as soon as these are joined.
MOST_IN_GROUP = 1000

_FILES = "SELECT source_path, origin, id FROM documents WHERE doc_type <> 'note' AND source_path"
# In both of these an index answers the inner part, however much a store holds.
_DOUBLED = (
    f"{_FILES} IN (SELECT source_path FROM documents WHERE source_path IS NOT NULL "
    "GROUP BY source_path HAVING count(*) > 1) ORDER BY source_path, id"
)
_COPIED = (
    "SELECT content_hash, source_path, origin, id FROM documents WHERE content_hash IN "
    "(SELECT content_hash FROM documents GROUP BY content_hash HAVING count(*) > 1) "
    "ORDER BY content_hash, id"
)
# What comes with a document's bytes.
_CONTENT = (
    "title, filename, doc_type, format, content_hash, size_bytes, processing_method, how_read, "
    "chunk_count, stored_name, text_hash"
)


@dataclass(frozen=True, slots=True)
class Doubles:
    """Documents of one path on one machine, oldest first, and what joining them makes.

    `keep_id` stays. It gets `tags`, and the content of `content_id`: the bytes that came in last,
    at `content_at`. `updated_at` is when any of them was changed last (or added).
    """

    source_path: str
    keep_id: int
    content_id: int
    content_at: str
    tags: list[str]
    updated_at: str
    documents: list[Document]


@dataclass(frozen=True, slots=True)
class DoublesPage:
    doubles: list[Doubles]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class Joined:
    """The document that was kept, as it is now, and the ids that are gone."""

    document: Document
    removed: list[int]


@dataclass(frozen=True, slots=True)
class Copies:
    """Documents of different paths with the same content, oldest first."""

    content_hash: str
    documents: list[Document]


@dataclass(frozen=True, slots=True)
class CopiesPage:
    copies: list[Copies]
    total: int
    limit: int
    offset: int


class DoubledDocuments:
    """The part of the store for documents that are stored more than once."""

    def __init__(self, database: Database, documents: DocumentRows) -> None:
        self._database = database
        self._documents = documents

    def listing(self, limit: int, offset: int) -> DoublesPage:
        """By path."""
        with self._database.reading() as query:
            groups = list(_groups(query(_DOUBLED)))
            page = [_doubles(query, ids) for ids in groups[offset : offset + limit]]
        return DoublesPage(page, len(groups), limit, offset)

    def copies(self, limit: int, offset: int) -> CopiesPage:
        """By the oldest of each."""
        with self._database.reading() as query:
            groups = sorted(_copied(query(_COPIED)))
            found_ = [_found(query, ids) for ids in groups[offset : offset + limit]]
        page = [Copies(documents[0].content_hash, documents) for documents in found_]
        return CopiesPage(page, len(groups), limit, offset)

    def join(self, ids: Sequence[int], if_updated_at: str | None) -> tuple[Joined, list[str]]:
        """Make one document of doubles; also the names of the files that nothing needs any more.

        The ids must be those of one group, as it is listed.
        """
        with self._database.transaction() as query:
            group = _listed(query, ids, if_updated_at)
            others = {document.id: document for document in group.documents}
            kept, content = others.pop(group.keep_id), others.pop(group.content_id, None)
            title, is_given = _title(query, group)
            retag(query, kept, set(group.tags))  # first: no tag is without a document meanwhile
            _rename_in_jobs(query, kept, ids)
            unneeded = [self._documents.delete(query, document) for document in others.values()]
            if content is not None:
                unneeded.append(self._take_content(query, kept, content))
            joined = found(query, kept.id)
            if title != joined.title:
                self._documents.chunks.rename(query, joined, title)
            query(
                "UPDATE documents SET title = :title, title_given = :is_given, "
                "metadata = :metadata, origin = :origin, updated_at = :now WHERE id = :id",
                id=kept.id,
                title=title,
                is_given=is_given,
                metadata=json.dumps(_united_metadata(group)),
                origin=max(document.origin or "" for document in group.documents) or None,
                now=now(),
            )
            joined = found(query, kept.id)
        self._database.checkpoint()
        removed = [document.id for document in group.documents if document.id != kept.id]
        return Joined(joined, removed), [name for name in unneeded if name]

    def _take_content(self, query: Query, kept: Document, other: Document) -> str | None:
        """Give a document all that came with another's bytes; the other is gone.

        Passages keep their ids, words and vectors. Returns the name of the file they replace.
        """
        [(old_name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=kept.id)
        self._documents.chunks.delete(query, kept)
        self._documents.chunks.move(query, other.id, kept.id)
        page_words.move(query, other.id, kept.id)
        query(
            f"UPDATE documents SET ({_CONTENT}) = "
            f"(SELECT {_CONTENT} FROM documents WHERE id = :other) WHERE id = :id",
            id=kept.id,
            other=other.id,
        )
        query("DELETE FROM documents WHERE id = :id", id=other.id)
        count(query, documents=-1, file_bytes=-kept.size_bytes if old_name else 0)
        return old_name  # type: ignore[no-any-return]


def _groups(rows: Iterable[Row]) -> Iterator[list[int]]:
    """The ids of documents that are one thing, from rows in order of path and id.

    As for adding again, a machine that is not known may be any, as long as it is clear which.
    """
    for path, of_path in groupby(rows, key=lambda row: row[0]):
        by_origin: dict[str | None, list[int]] = {}
        for _, origin, document_id in of_path:
            by_origin.setdefault(origin, []).append(document_id)
        if len(by_origin.keys() - {None}) < 2:
            by_origin = {None: sorted(chain.from_iterable(by_origin.values()))}
        if names_one_thing(path):
            yield from (ids[:MOST_IN_GROUP] for ids in by_origin.values() if len(ids) > 1)


def _copied(rows: Iterable[Row]) -> Iterator[list[int]]:
    """The ids of documents with one content, from rows in order of that: one of each path."""
    for _, of_content in groupby(rows, key=lambda row: row[0]):
        places: dict[tuple[str | int, str | None], int] = {}
        for _, path, origin, document_id in of_content:
            places.setdefault((path or document_id, origin), document_id)
        if len(places) > 1:
            yield sorted(places.values())[:MOST_IN_GROUP]


def _found(query: Query, ids: Iterable[int]) -> list[Document]:
    return [found(query, document_id) for document_id in ids]


def _doubles(query: Query, ids: Iterable[int]) -> Doubles:
    documents = _found(query, ids)
    came = {document.id: _came(query, document) for document in documents}
    last = max(documents, key=lambda document: (came[document.id], document.id))
    oldest = documents[0]
    is_same = oldest.content_hash == last.content_hash
    as_good = is_same and oldest.processing_method == last.processing_method
    return Doubles(
        source_path=oldest.source_path or "",
        keep_id=oldest.id,
        content_id=oldest.id if as_good else last.id,
        content_at=came[last.id],
        tags=sorted({tag for document in documents for tag in document.tags}),
        updated_at=max(document.updated_at or document.created_at for document in documents),
        documents=documents,
    )


def _came(query: Query, document: Document) -> str:
    """When its bytes were sent last: a change of its title or tags says nothing about them."""
    rows = query(
        "SELECT max(created_at) FROM jobs WHERE document_id = :id AND status = 'done'",
        id=document.id,
    )
    return rows[0][0] or document.created_at


def _listed(query: Query, ids: Sequence[int], if_updated_at: str | None) -> Doubles:
    """The group with these ids, if it is still as the caller saw it."""
    rows = query(
        f"{_FILES} = (SELECT source_path FROM documents WHERE id = :id) ORDER BY id", id=min(ids)
    )
    if sorted(ids) in _groups(rows):
        group = _doubles(query, sorted(ids))
        if if_updated_at in (None, group.updated_at):
            return group
    raise Conflict(
        "These are not all the documents of one path, or one was changed meanwhile: "
        "list the doubles again, then repeat this",
        ids=sorted(ids),
    )


def _title(query: Query, group: Doubles) -> tuple[str, bool]:
    """The title that someone gave, by preference to the one that is kept, else the content's."""
    by_id = {document.id: document for document in group.documents}
    for document_id in dict.fromkeys((group.keep_id, group.content_id, *by_id)):
        [(is_given,)] = query("SELECT title_given FROM documents WHERE id = :id", id=document_id)
        if is_given:
            return by_id[document_id].title, True
    return by_id[group.content_id].title, False


def _united_metadata(group: Doubles) -> dict[str, Any]:
    """Where they differ, that of the content counts, then that of the newer document."""
    in_order = sorted(group.documents, key=lambda each: (each.id == group.content_id, each.id))
    return {name: value for each in in_order for name, value in each.metadata.items()}


def _rename_in_jobs(query: Query, kept: Document, ids: Iterable[int]) -> None:
    """Jobs name the document that has their content now; none names it as its own twin."""
    for document_id in ids:
        query(
            "UPDATE jobs SET document_id = :kept, document_uid = :uid WHERE document_id = :id",
            id=document_id,
            kept=kept.id,
            uid=kept.uid,
        )
        query(
            "UPDATE jobs SET duplicate_of = :kept WHERE duplicate_of = :id",
            id=document_id,
            kept=kept.id,
        )
    query(
        "UPDATE jobs SET duplicate_of = NULL WHERE duplicate_of = :id AND document_id = :id",
        id=kept.id,
    )
