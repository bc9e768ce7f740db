"""The jobs that read pictures inside documents, and their results.

A document's text is stored first and can be found. A separate job in the queue for pictures reads
its pictures and adds passages to the document. That job has no file of its own: it uses the
document's original and ends with it.
"""

import json
import uuid
from dataclasses import replace
from typing import Any

from kb.engine.store.file.database import Query
from kb.engine.store.queue import next_turn
from kb.engine.store.rows.how_read import written
from kb.engine.values import Document, HowRead, PicturesRead, now

_MOST_WARNINGS = 20


def queue(
    query: Query, document: Document, batch: str | None, count: int, had: dict[str, Any]
) -> None:
    """Queue a job for a document's pictures, about this many. If it is read again, `had` has the
    previous ids of its passages."""
    drop(query, document.id)
    query(
        "INSERT INTO jobs (uid, status, kind, filename, metadata, content_hash, size_bytes, batch, "
        "turn, pictures, expected, document_id, document_uid, created_at) VALUES (:uid, 'queued', "
        "'pictures', :filename, :had, :hash, :size, :batch, :turn, 1, :count, :id, "
        ":document_uid, :now)",
        uid=str(uuid.uuid4()),
        filename=document.filename,
        had=json.dumps(had),
        hash=document.content_hash,
        size=document.size_bytes,
        batch=batch,
        turn=next_turn(query, batch, pictures=True),
        count=count,
        id=document.id,
        document_uid=document.uid,
        now=now(),
    )


def drop(query: Query, document_id: int) -> None:
    """End jobs for pictures that are not to be read any more: of older bytes, or deleted."""
    query(
        "UPDATE jobs SET status = 'cancelled', lease = NULL, finished_at = :now "
        "WHERE document_id = :id AND kind = 'pictures' AND status IN ('queued', 'running')",
        id=document_id,
        now=now(),
    )


def note(query: Query, document: Document, read: PicturesRead, words: int = 0) -> None:
    """Have a document say what became of its pictures, and how many words that were."""
    before = document.how_read or HowRead()
    told = list(dict.fromkeys([*before.warnings, *read.warnings]))[:_MOST_WARNINGS]
    # Without a warning, nobody knew it just because of what was left for later.
    share = 1.0 if before.share is None and not before.warnings else before.share
    after = replace(
        before,
        pages_by_ocr=before.pages_by_ocr + read.pages,
        pages_missing=before.pages_missing + read.missing,
        pictures_read=before.pictures_read + read.pictures,
        pictures_waiting=0,
        words=before.words + words,
        share=None if read.warnings else share,
        warnings=tuple(told),
    )
    method = "mixed" if read.pictures or read.pages else document.processing_method
    query(
        "UPDATE documents SET how_read = :how_read, processing_method = :method WHERE id = :id",
        id=document.id,
        how_read=written(after),
        method=method,
    )
