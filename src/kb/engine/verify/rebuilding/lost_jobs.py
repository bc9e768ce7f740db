"""The best available row for a job whose own row cannot be trusted.

An index has the status of every job. If the last backup has the same one, its row is right. A
waiting job that cannot be recovered is reported: what came with it is lost.
"""

import hashlib
from dataclasses import dataclass

from kb.engine.errors import StoreDamaged
from kb.engine.store.file.database import Query
from kb.engine.values import now
from kb.engine.verify.rebuilding.backup_rows import BackupRows, Values
from kb.engine.verify.rebuilding.salvage import Salvage

_WAITING = ("queued", "running")
_ENDED = ("done", "cancelled")
# What a job holds only until it ends.
_HELD = ("stored_name", "title", "source_path", "tags", "metadata", "origin", "arrival", "lease")


@dataclass(frozen=True, slots=True)
class RemadeJob:
    """No row: there was no such job, or it is lost, as `doubt` says."""

    row: Values | None = None
    doubt: str | None = None
    from_backup: bool = False


class LostJobs:
    """`unread` are the ids of jobs whose rows cannot be trusted, or are not there."""

    def __init__(self, salvage: Salvage, backup: BackupRows, unread: set[int]) -> None:
        self._backup = backup
        self._statuses: dict[int, str] | None = None
        rows = salvage.by_index("jobs", "jobs_by_status", "id, status", unread) if unread else []
        if rows is not None:
            self._statuses = dict(rows)
        index, where = "jobs_by_document", "document_id IS NOT NULL"
        about = salvage.by_index("jobs", index, "id, document_id", unread, where) if unread else []
        self._documents: dict[int, int] = dict(about or [])

    def remade(self, query: Query, job_id: int, found: Values | None) -> RemadeJob:
        """`found` is the row on a page with wrong bytes, if it can be a job at all."""
        status = None if self._statuses is None else self._statuses.get(job_id)
        if status is None and (self._statuses is not None or found is None):
            return self._unknown(job_id)
        saved = self._backup.row("jobs", job_id)
        if found is not None and saved is not None and {**found, **saved} == found:
            return RemadeJob(found)
        if saved is not None and status is not None and _as_far(saved["status"], status):
            return RemadeJob(_without_deleted(query, saved), from_backup=True)
        if found is not None and status in (None, found["status"]):
            return RemadeJob(found, f"job {job_id}: what it was to do, or has done")
        if found is not None and status in _ENDED:
            row = _ended(query, found, status, self._documents.get(job_id))
            return RemadeJob(row, f"job {job_id}: what it has done")
        name = f" ({saved['filename'] or saved['title'] or 'a note'})" if saved else ""
        return RemadeJob(doubt=f"job {job_id}{name}, which was {status}")

    def _unknown(self, job_id: int) -> RemadeJob:
        """Nothing tells whether there was such a job, or it is sure that there was none."""
        saved = self._backup.row("jobs", job_id) if self._statuses is None else None
        if saved is None or saved["status"] not in _WAITING:
            return RemadeJob()
        name = saved["filename"] or saved["title"] or "a note"
        since = self._backup.taken_at
        return RemadeJob(doubt=f"job {job_id} ({name}), if it still waited as at {since}")


def end_done(query: Query) -> list[str]:
    """End the jobs whose files are the originals of documents: those have been stored; which."""
    ended = []
    for job_id, status, document_id, created_at in query(_STORED):
        row = _ended(query, {"created_at": created_at}, "done", document_id)
        query(
            f"UPDATE jobs SET {', '.join(f'{name} = :{name}' for name in row)} WHERE id = :id",
            id=job_id,
            **row,
        )
        ended.append(f"job {job_id}: it was found {status}, and has been done")
    return ended


_STORED = (
    "SELECT jobs.id, status, documents.id, jobs.created_at FROM jobs "
    "JOIN documents USING (stored_name) GROUP BY jobs.id"
)


def settle_texts(
    query: Query, backup: BackupRows, unproven: set[int]
) -> tuple[list[str], list[str]]:
    """Have each job of a note hold the text that was sent; which may be another, and which is lost.

    A text that is lost comes from the backup, if it is the right one. Else its job has failed.
    """
    lost, doubted = [], []
    for job_id, sha256, text in query(_TEXTS):
        if text is not None and job_id not in unproven:
            continue
        if text is not None and _hash(text) == sha256:
            continue
        saved = _saved_text(backup, job_id)
        if saved is not None and _hash(saved) == sha256:
            query("INSERT OR REPLACE INTO job_texts VALUES (:id, :text)", id=job_id, text=saved)
        elif text is not None:
            doubted.append(f"job {job_id}: the text that was sent with it")
        else:
            query(
                "UPDATE jobs SET has_text = 0, status = 'failed', lease = NULL, "
                "error_code = :code, error_message = :message, finished_at = :now WHERE id = :id",
                id=job_id,
                code=StoreDamaged.code,
                message="The text that was sent was lost when the database was damaged",
                now=now(),
            )
            lost.append(f"job {job_id}: the text that was sent with it")
    return doubted, lost


_TEXTS = (
    "SELECT jobs.id, content_hash, job_texts.text FROM jobs "
    "LEFT JOIN job_texts ON job_id = jobs.id WHERE has_text ORDER BY jobs.id"
)


def _saved_text(backup: BackupRows, job_id: int) -> str | None:
    rows = backup.rows("job_texts", "job_id", job_id) or backup.rows("jobs", "id", job_id)
    text = rows[0].get("text") if rows else None
    return text if isinstance(text, str) else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _ended(query: Query, found: Values, status: str, document_id: int | None) -> Values:
    """A job that has ended, of which only an older version is left."""
    row = {**found, **dict.fromkeys(_HELD), "has_text": 0, "status": status}
    row |= {"error_code": None, "error_message": None}
    row["finished_at"] = found.get("finished_at") or found["created_at"]
    if status == "done":
        row["outcome"] = "added"
        there = query(_DOCUMENT, id=document_id)
        if there:
            names = ("document_id", "document_uid", "chunk_count", "processing_method")
            row |= dict(zip(names, there[0], strict=True))
        else:  # deleted since: a job does not say what it was
            row |= {"document_id": document_id, "filename": None, "content_hash": None}
    return row


_DOCUMENT = "SELECT id, uid, chunk_count, processing_method FROM documents WHERE id = :id"


def _as_far(then: str, now: str) -> bool:
    return then == now or (then in _WAITING and now in _WAITING)


def _without_deleted(query: Query, row: Values) -> Values:
    """A job does not say what a document was that has been deleted since."""
    there = query("SELECT 1 FROM documents WHERE id = :id", id=row["document_id"])
    if row["document_id"] is not None and not there:
        row = {**row, "filename": None, "content_hash": None}
    if row["status"] == "running":
        row = {**row, "status": "queued", "lease": None}
    has_text = row.get("has_text", row.get("text") is not None)
    return {**row, "has_text": has_text}
