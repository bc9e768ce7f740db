"""What callers may do with jobs."""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, replace

from kb.engine.data_folder.originals import FileStore
from kb.engine.errors import may_be_done
from kb.engine.events import Events
from kb.engine.ingest.expected import with_expectation
from kb.engine.ingest.pace import Pace
from kb.engine.ingest.seen_jobs import SeenJobs
from kb.engine.ingest.worker import Worker
from kb.engine.store import Store
from kb.engine.values import Foreseen, Job, NewJob

_PAUSE = 2.0  # seconds
_LEAST = 0.001  # seconds, of what is promised


class Bursts:
    """Batches for jobs whose sender names none: what follows one another without a pause is one,
    notes and files apart."""

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
        jobs: SeenJobs,
        pace: Pace,
        worker: Worker,
        events: Events,
        *,
        ocr: bool,
    ) -> None:
        self._store = store
        self._files = files
        self._jobs = jobs
        self._pace = pace
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
            new = with_expectation(new, path, self._pace, self._ocr)
            job, is_new = self._store.jobs.add(
                replace(new, batch=new.batch or self._bursts.batch(new.kind))
            )
        except BaseException as error:
            if not may_be_done(error):
                self._files.delete([new.stored_name])
            raise
        if is_new:
            if self._events.heard():  # first, or they might hear of its end before its beginning
                self._tell(self._jobs.acknowledged(job))
            self._worker.wake()
        else:
            self._files.delete([new.stored_name])
        return job

    def estimate(self, job: Job) -> float:
        """Seconds until the job will be done, and all that comes before it."""
        seen = self._jobs.acknowledged(job)
        return seen.remaining_seconds or _LEAST

    def foresee(self, new: NewJob) -> Foreseen:
        return self._store.jobs.foresee(new)

    def cancel(self, key: int | str) -> Job:
        """End a job; of one that has failed, delete what it holds."""
        finished = self._store.jobs.cancel(key)
        self._files.delete([finished.unneeded_file])
        self._tell(finished.job)
        return finished.job

    def retry(self, key: int | str) -> Job:
        job = self._jobs.acknowledged(self._store.jobs.retry(key))
        self._tell(job)
        self._worker.wake()
        return job

    def _tell(self, job: Job) -> None:
        self._events.publish("job", asdict(job))
