"""Requests in, jobs out: what callers may do with jobs, and what they see of them."""

from dataclasses import asdict, replace

from kb.engine.events import Events
from kb.engine.files import FileStore
from kb.engine.ingest.progress import Board
from kb.engine.ingest.worker import Worker
from kb.engine.models import Job, JobPage, JobQueue, NewJob
from kb.engine.store import Store


class Inbox:
    """A job is acknowledged only when it and its bytes are on disk."""

    def __init__(
        self, store: Store, files: FileStore, board: Board, worker: Worker, events: Events
    ) -> None:
        self._store = store
        self._files = files
        self._board = board
        self._worker = worker
        self._events = events

    def take(self, new: NewJob) -> Job:
        """Queue a job; the same idempotency key gives the same job again."""
        try:
            job, is_new = self._store.add_job(new)
        except BaseException:
            self._files.delete([new.stored_name])
            raise
        if is_new:
            self._tell(job)  # first, or listeners might hear of its end before its beginning
            self._worker.wake()
        else:
            self._files.delete([new.stored_name])
        return job

    def estimate(self, job: Job) -> float:
        """Seconds until the job will be done, and all that was queued before it."""
        waiting = self._store.waiting_bytes([job.id])
        return round(self._board.pace.estimate(waiting.get(job.id, 0)), 3)

    def job(self, key: int | str) -> Job:
        return self._completed([self._store.job(key)])[0]

    def jobs(
        self, status: str | None, limit: int, offset: int, document_id: int | None = None
    ) -> JobPage:
        page = self._store.jobs(status, limit, offset, document_id)
        return replace(page, jobs=self._completed(page.jobs))

    def queue(self, limit: int) -> JobQueue:
        """One look at the work; the last one that waits tells when nothing will be left."""
        queue = self._store.queue(limit)
        running, queued = self._completed(queue.running), self._completed(queue.queued)
        last = self.jobs("queued", 1, 0).jobs
        left = max(
            (job.remaining_seconds or 0.0 for job in [*running, *queued, *last]), default=0.0
        )
        return replace(queue, running=running, queued=queued, remaining_seconds=left)

    def cancel(self, key: int | str) -> Job:
        finished = self._store.cancel_job(key)
        self._files.delete([finished.unneeded_file])
        self._tell(finished.job)
        return finished.job

    def retry(self, key: int | str) -> Job:
        [job] = self._completed([self._store.retry_job(key)])
        self._tell(job)
        self._worker.wake()
        return job

    def _completed(self, jobs: list[Job]) -> list[Job]:
        """Jobs from the store, with what only memory knows of them."""
        going = [job.id for job in jobs if job.status in ("queued", "running")]
        waiting = self._store.waiting_bytes(going)
        return [self._board.completed(job, waiting.get(job.id, 0)) for job in jobs]

    def _tell(self, job: Job) -> None:
        self._events.publish("job", asdict(job))
