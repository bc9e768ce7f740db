"""Reads everything that the store has about a document."""

import json
import uuid
from collections.abc import Iterator, Sequence

from kb.engine.records import Passage, PastJob, Record, WordsOnPage
from kb.engine.store.file.database import Query, Row
from kb.engine.store.rows import page_words
from kb.engine.store.rows.how_read import how_read
from kb.engine.store.transfer.numbering import keeps
from kb.engine.values import Document, Imported, Numbered

_ENDED = "('done', 'failed', 'cancelled')"
_DOCUMENT = (
    "SELECT id, uid, title, title_given, filename, doc_type, format, source_path, origin, "
    "metadata, content_hash, size_bytes, stored_name, processing_method, how_read, created_at, "
    "updated_at, import_source, import_key, import_digest, import_left, import_tags "
    "FROM documents WHERE id = :id"
)
_TAGS = (
    "SELECT name FROM document_tags JOIN tags ON tags.id = tag_id WHERE document_id = :id "
    "ORDER BY name"
)
_PASSAGES = (
    "SELECT id, uid, seq, page, location, start, headings, table_header, text FROM chunks "
    "WHERE document_id = :id ORDER BY seq"
)
_WORDS = "SELECT page, words FROM page_words WHERE document_id = :id ORDER BY page"
_JOBS = (
    "SELECT id, uid, status, kind, filename, content_hash, size_bytes, force_ocr, attempts, "
    "outcome, changed, chunk_count, duplicate_of, "
    "(SELECT uid FROM documents WHERE id = duplicate_of), processing_method, error_code, "
    "error_message, created_at, started_at, finished_at FROM jobs WHERE document_id = :id "
    f"AND status IN {_ENDED} ORDER BY id"
)


def record_of(query: Query, document_id: int) -> Record:
    [row] = query(_DOCUMENT, id=document_id)
    *about, source, key, digest, left, given = row
    (id_, uid, title, title_given, filename, doc_type, format_, source_path, origin) = about[:9]
    (metadata, content_hash, size_bytes, stored_name, method, how, created_at, updated_at) = about[
        9:
    ]
    return Record(
        id=id_,
        uid=uid,
        title=title,
        title_given=bool(title_given),
        filename=filename,
        doc_type=doc_type,
        format=format_,
        source_path=source_path,
        origin=origin,
        tags=[tag for (tag,) in query(_TAGS, id=document_id)],
        metadata=json.loads(metadata),
        content_hash=content_hash,
        size_bytes=size_bytes,
        has_file=stored_name is not None,
        processing_method=method,
        how_read=how_read(how),
        created_at=created_at,
        updated_at=updated_at,
        imported=_imported(source, key, digest, left, given),
        jobs=[_job(row) for row in query(_JOBS, id=document_id)],
        passages=[_passage(row) for row in query(_PASSAGES, id=document_id)],
        words=[
            WordsOnPage(page, page_words.in_steps(w)) for page, w in query(_WORDS, id=document_id)
        ],
    )


def _imported(
    source: str | None, key: str, digest: str, left: str, given: str | None
) -> Imported | None:
    if source is None:
        return None
    return Imported(source, key, digest, left, tuple(json.loads(given or "[]")))


def ids_after(query: Query, after: int) -> Iterator[int]:
    """Documents in order of their ids, a few at a time."""
    while True:
        rows = query(
            "SELECT id FROM documents WHERE id > :after ORDER BY id LIMIT 100", after=after
        )
        yield from (id_ for (id_,) in rows)
        if not rows:
            return
        after = rows[-1][0]


def put_jobs(
    query: Query, document: Document, numbered: Numbered | None, jobs: Sequence[PastJob]
) -> None:
    """The jobs that made a document elsewhere. Those that are here already stay as they are, but
    where the document was deleted meanwhile they know again what it was."""
    for job in jobs:
        query(
            "UPDATE jobs SET document_id = :id, filename = COALESCE(filename, :filename), "
            "content_hash = COALESCE(content_hash, :hash) "
            "WHERE uid = :job_uid AND document_uid = :uid",
            id=document.id,
            filename=job.filename,
            hash=job.content_hash,
            job_uid=job.uid,
            uid=document.uid,
        )
    jobs = [job for job in jobs if not query("SELECT 1 FROM jobs WHERE uid = :uid", uid=job.uid)]
    keeping_ids = keeps(query, numbered, "jobs", [job.id for job in jobs])
    for job in jobs:
        query(
            "INSERT INTO jobs (id, uid, status, kind, filename, content_hash, size_bytes, "
            "force_ocr, attempts, outcome, changed, document_id, document_uid, chunk_count, "
            "duplicate_of, processing_method, error_code, error_message, created_at, started_at, "
            "finished_at) VALUES (:id, :job_uid, :status, :kind, :filename, :hash, :size, "
            ":force_ocr, :attempts, :outcome, :changed, :document_id, :uid, :chunks, "
            ":twin, :method, :code, :message, :created_at, :started_at, :finished_at)",
            id=job.id if keeping_ids else None,
            job_uid=job.uid,
            status=job.status,
            kind=job.kind,
            filename=job.filename,
            hash=job.content_hash,
            size=job.size_bytes,
            force_ocr=job.force_ocr,
            attempts=job.attempts,
            outcome=job.outcome,
            changed=None if job.changed is None else json.dumps(job.changed),
            document_id=document.id,
            uid=document.uid,
            chunks=job.chunk_count,
            twin=job.duplicate_of if keeping_ids else _twin(query, job.duplicate_of_uid),
            method=job.processing_method,
            code=job.error_code,
            message=job.message,
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
        )


def _twin(query: Query, uid: str | None) -> int | None:
    rows = query("SELECT id FROM documents WHERE uid = :uid", uid=uid) if uid else []
    return rows[0][0] if rows else None


def _job(row: Row) -> PastJob:
    values = dict(zip(PastJob.__slots__, row, strict=True))
    values["force_ocr"] = bool(values["force_ocr"])
    values["changed"] = json.loads(values["changed"]) if values["changed"] else None
    return PastJob(**values)


def _passage(row: Row) -> Passage:
    id_, uid, seq, page, location, start, headings, table_header, text = row
    return Passage(
        id=id_,
        uid=str(uuid.UUID(bytes=uid)),
        seq=seq,
        page=page,
        location=location,
        start=start,
        headings=json.loads(headings),
        table_header=table_header,
        text=text,
    )
