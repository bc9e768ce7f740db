"""/jobs and /queue: requests to ingest, and their progress."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Header, Query

from kb.engine import errors
from kb.engine.api.bodies.submission import OPENAPI_BODY, FileCheck, Submission
from kb.engine.api.context import LARGEST_ID, EngineDep, JobKey, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.values import Foreseen, Job, JobPage, JobQueue, JobStatus

router = APIRouter(tags=["jobs"], route_class=StrictRoute)

IdempotencyKey = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)
]
BatchId = Annotated[str | None, Header(alias="Batch-Id", min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The job is on disk. `estimated_seconds` counts what comes before it."""

    job_id: int
    uid: str
    status: JobStatus
    estimated_seconds: float


@router.post(
    "/jobs",
    status_code=202,
    openapi_extra=OPENAPI_BODY,
    responses=responses(errors.FileTooLarge, errors.FilesInaccessible, errors.IdempotencyConflict),
)
def submit(
    submission: Submission,
    engine: EngineDep,
    idempotency_key: IdempotencyKey = None,
    batch_id: BatchId = None,
) -> Accepted:
    """Take in a note (JSON) or a file (multipart).

    The same request under the same Idempotency-Key gives the same job; another one is a conflict.
    Jobs with the same Batch-Id are one import: it takes turns with what others send.
    """
    engine.inbox.check()
    new = submission.new_job(engine.files, idempotency_key)
    job = engine.inbox.take(replace(new, batch=batch_id))
    return Accepted(job.id, job.uid, job.status, engine.inbox.estimate(job))


@router.post("/jobs/check")
def foresee(check: FileCheck, engine: EngineDep) -> Foreseen:
    """Whether a file has to be sent, judged by its hash and name; nothing is changed."""
    return engine.inbox.foresee(check.new_job())


@router.get("/jobs")
def list_jobs(
    engine: EngineDep,
    status: JobStatus | None = None,
    document_id: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> JobPage:
    """Newest first; those of one document, if asked."""
    return engine.jobs.listing(status, limit, offset, document_id)


@router.get("/jobs/{job_id}", responses=responses(errors.JobNotFound))
def get_job(key: JobKey, engine: EngineDep) -> Job:
    return engine.jobs.get(key)


@router.delete("/jobs/{job_id}", responses=responses(errors.JobNotFound, errors.JobEnded))
def cancel_job(key: JobKey, engine: EngineDep) -> Job:
    """Cancel a queued or running job; delete the content that a failed job keeps for a retry."""
    return engine.inbox.cancel(key)


@router.post(
    "/jobs/{job_id}/retry", responses=responses(errors.JobNotFound, errors.JobNotRetryable)
)
def retry_job(key: JobKey, engine: EngineDep) -> Job:
    """Queue a failed job again."""
    return engine.inbox.retry(key)


@router.get("/queue")
def look_at_queue(engine: EngineDep, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> JobQueue:
    """Running jobs, the next ones and the last ended ones; at most `limit` of each."""
    return engine.jobs.queue(limit)
