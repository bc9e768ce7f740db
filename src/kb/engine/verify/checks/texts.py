"""Finds documents whose passages are not what was stored."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from kb.engine.store.file.database import Query, Row
from kb.engine.store.rows.text_hash import COLUMNS, hash_of
from kb.engine.verify.report import Finding, Progress, Remedy, unreadable
from kb.engine.verify.subject import Subject, in_ranges

NAME = "documents"
_AT_ONCE = 16
_DOCUMENTS = (
    "SELECT id, title, doc_type, content_hash, size_bytes, chunk_count, text_hash, metadata, "
    "stored_name FROM documents WHERE id BETWEEN :first AND :last"
)


def check(subject: Subject, after: int) -> Iterator[Progress]:
    def check_range(first: int, last: int) -> tuple[int, list[Finding]]:
        with subject.database.reading() as query:
            documents = query(_DOCUMENTS, first=first, last=last)
            return len(documents), [
                finding for document in documents for finding in _wrong(query, *document)
            ]

    yield from in_ranges(after, subject.last("documents"), _AT_ONCE, check_range, _unreadable)


def _wrong(
    query: Query,
    document_id: int,
    title: str,
    doc_type: str,
    content_hash: str,
    size: int,
    chunk_count: int,
    text_hash: str | None,
    metadata: str,
    stored_name: str | None,
) -> Iterator[Finding]:
    rows = query(
        f"SELECT seq, {COLUMNS} FROM chunks WHERE document_id = :id ORDER BY seq", id=document_id
    )

    def finding(what: str, remedy: Remedy = "text", made_from: str | None = None) -> Finding:
        origin = made_from or ("its original" if stored_name else None)
        return Finding(NAME, "database", what, remedy, document_id, title, made_from=origin)

    if len(rows) != chunk_count:
        yield finding(f"It has {len(rows)} instead of {chunk_count} passages")
    elif [row[0] for row in rows] != list(range(len(rows))):
        yield finding("Its passages are not numbered one after another")
    elif text_hash is not None and hash_of(row[1:] for row in rows) != text_hash:
        yield finding("Its passages are not those that were stored")
    elif doc_type == "note" and not _is_text(rows, content_hash, size):
        yield finding("Its text is not the one that was stored")
    if not _is_json(metadata):
        yield finding("Its metadata cannot be read", "rebuild")


def _is_text(rows: list[Row], content_hash: str, size: int) -> bool:
    text = "".join(row[1] for row in rows).encode()
    return len(text) == size and hashlib.sha256(text).hexdigest() == content_hash


def _is_json(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, TypeError):
        return False


def _unreadable(document_id: int) -> Finding:
    return unreadable(NAME, "What is stored of it cannot be read", document_id=document_id)
