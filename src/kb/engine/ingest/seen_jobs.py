"""Jobs as callers see them: as stored, with what is known only in memory."""

from dataclasses import replace

from kb.engine.errors import JobNotFound, StorageFailed
from kb.engine.ingest.progress import Board
from kb.engine.store import Store
from kb.engine.values import Job, JobPage, JobQueue

_UNDER_WAY = ("queued", "running")


class SeenJobs:
    """Jobs as callers see them: their progress, and how many are before them."""

    def __init__(self, store: Store, board: Board) -> None:
        self._store = store
        self._board = board

    def get(self, key: int | str) -> Job:
        return self._completed([self._store.jobs.get(key)])[0]

    def listing(
        self, status: str | None, limit: int, offset: int, document_id: int | None = None
    ) -> JobPage:
        page = self._store.jobs.listing(status, limit, offset, document_id)
        return replace(page, jobs=self._completed(page.jobs))

    def queue(self, limit: int) -> JobQueue:
        """One look at the work; the last ones that wait tell when nothing will be left."""
        queue = self._store.jobs.queue(limit)
        running, queued = self._completed(queue.running), self._completed(queue.queued)
        last = self._completed(self._store.jobs.last_in_line())
        left = max(
            (job.remaining_seconds or 0.0 for job in [*running, *queued, *last]), default=0.0
        )
        return replace(queue, running=running, queued=queued, remaining_seconds=left)

    def acknowledged(self, job: Job) -> Job:
        """A job that is on disk, with its place in the queue if that can be read: its sender must
        not be told that it failed."""
        try:
            return self._completed([job])[0]
        except StorageFailed:
            return job

    def _completed(self, jobs: list[Job]) -> list[Job]:
        """Jobs that memory no longer shows have ended, and are read again."""
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
