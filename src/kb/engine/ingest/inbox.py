"""Requests in, jobs out: what callers may do with jobs, and what they see of them."""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, replace

from kb.engine.data_folder.originals import FileStore
from kb.engine.errors import JobNotFound, StorageFailed, may_be_done
from kb.engine.events import Events
from kb.engine.ingest.expected import with_expectation
from kb.engine.ingest.progress import Board
from kb.engine.ingest.worker import Worker
from kb.engine.store import Store
from kb.engine.values import Job, JobPage, JobQueue, NewJob, RefusedFiles

_PAUSE = 2.0  # seconds
_UNDER_WAY = ("queued", "running")
_LEAST = 0.001  # seconds, of what is promised


class Bursts:
    """Batches for jobs whose sender names none: what follows one another without a pause is one.

    Notes and files apart: who writes a note does not belong to whoever sends a folder.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, tuple[str, float]] = {}

    def batch(self, kind: str) -> str:
        with self._lock:
            now = self._clock()
            batch, since = self._last.get(kind, ("", 0.0))
            if not batch or now - since > _PAUSE:
                batch = str(uuid.uuid4())
            self._last[kind] = batch, now
        return batch


class Inbox:
    """A job is acknowledged only when it and its bytes are on disk."""

    def __init__(
        self,
        store: Store,
        files: FileStore,
        board: Board,
        worker: Worker,
        events: Events,
        *,
        ocr: bool,
    ) -> None:
        self._store = store
        self._files = files
        self._board = board
        self._worker = worker
        self._events = events
        self._ocr = ocr
        self._bursts = Bursts()

    def check(self) -> None:
        """Raise StorageFull where no job would be taken: before its bytes fill the disk further."""
        refusal = self._store.health.reserve.refusal()
        if refusal is not None:
            raise refusal

    def take(self, new: NewJob) -> Job:
        """Queue a job; the same idempotency key gives the same job again."""
        try:
            path = self._files.path(new.stored_name) if new.stored_name else None
            new = with_expectation(new, path, self._board.pace, self._ocr)
            job, is_new = self._store.jobs.add(
                replace(new, batch=new.batch or self._bursts.batch(new.kind))
            )
        except BaseException as error:
            if not may_be_done(error):
                self._files.delete([new.stored_name])
            raise
        if is_new:
            if self._events.heard():  # first, or they might hear of its end before its beginning
                self._tell(self._acknowledged(job))
            self._worker.wake()
        else:
            self._files.delete([new.stored_name])
        return job

    def estimate(self, job: Job) -> float:
        """Seconds until the job will be done, and all that comes before it."""
        seen = self._acknowledged(job)
        return seen.remaining_seconds or _LEAST

    def job(self, key: int | str) -> Job:
        return self._completed([self._store.jobs.get(key)])[0]

    def jobs(
        self, status: str | None, limit: int, offset: int, document_id: int | None = None
    ) -> JobPage:
        page = self._store.jobs.listing(status, limit, offset, document_id)
        return replace(page, jobs=self._completed(page.jobs))

    def refused(self, limit: int) -> RefusedFiles:
        return self._store.jobs.refused(limit)

    def queue(self, limit: int) -> JobQueue:
        """One look at the work; the last ones that wait tell when nothing will be left."""
        queue = self._store.jobs.queue(limit)
        running, queued = self._completed(queue.running), self._completed(queue.queued)
        last = self._completed(self._store.jobs.last_in_line())
        left = max(
            (job.remaining_seconds or 0.0 for job in [*running, *queued, *last]), default=0.0
        )
        return replace(queue, running=running, queued=queued, remaining_seconds=left)

    def cancel(self, key: int | str) -> Job:
        """End a job; of one that has failed, delete what it holds."""
        finished = self._store.jobs.cancel(key)
        self._files.delete([finished.unneeded_file])
        self._tell(finished.job)
        return finished.job

    def retry(self, key: int | str) -> Job:
        job = self._acknowledged(self._store.jobs.retry(key))
        self._tell(job)
        self._worker.wake()
        return job

    def _acknowledged(self, job: Job) -> Job:
        """A job that is on disk, with its place in the queue if that can be read: whoever sent it
        must not be told that it failed."""
        try:
            return self._completed([job])[0]
        except StorageFailed:
            return job

    def _completed(self, jobs: list[Job]) -> list[Job]:
        """Jobs from the store, with what only memory knows of them.

        Memory comes first: what is no longer shown there has ended in the store, and is read again,
        or its progress would fall to nothing before it is done.
        """
        steps = self._board.shown()
        places = self._store.jobs.places([job.id for job in jobs if job.status in _UNDER_WAY])
        return [
            self._as_it_ended(job)
            if job.status in _UNDER_WAY and job.id not in places
            else self._board.completed(job, places.get(job.id), steps)
            for job in jobs
        ]

    def _as_it_ended(self, job: Job) -> Job:
        """As it was, where it has gone with all that was stored."""
        try:
            return self._store.jobs.get(job.id)
        except JobNotFound:
            return job

    def _tell(self, job: Job) -> None:
        self._events.publish("job", asdict(job))
