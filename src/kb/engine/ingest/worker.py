"""Queued jobs in, ended jobs out: one thread that works while there is work."""

import logging
import threading
from collections.abc import Callable

from kb.engine.errors import JobLost, KbError, StorageFailed, StorageFull
from kb.engine.ingest.pipeline import Pipeline
from kb.engine.ingest.progress import Board
from kb.engine.models import Job, TakenJob
from kb.engine.store import Store

logger = logging.getLogger(__name__)

_IDLE = 5.0
_AFTER_TROUBLE = 2.0
_MISSING_BATCH = 32


class Worker:
    """Takes jobs in order of arrival. `ended` is told of each one that is over."""

    def __init__(self, store: Store, pipeline: Pipeline, board: Board) -> None:
        self._store = store
        self._pipeline = pipeline
        self._board = board
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._held: TakenJob | None = None
        self.ended: Callable[[Job], None] = lambda _: None

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Something was queued."""
        self._wake.set()

    def let_go(self) -> None:
        """Stop soon: the job in hand is queued again, as if it had not been taken."""
        self._stop.set()
        self._wake.set()

    def stop(self, timeout: float) -> None:
        """Let go, and wait until that has happened."""
        self.let_go()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def finish_jobs(self) -> int:
        """Work until the queue is empty, in the caller's thread; how many jobs that were."""
        count = 0
        while self._do_one():
            count += 1
        return count

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                # Between jobs too: what is deleted must go, however much comes in.
                busy = any([self._do_one(), self._store.forget_words() > 0])
                busy = busy or self._pipeline.embed_missing(_MISSING_BATCH) > 0
                if not busy:
                    self._store.tidy()
            except (StorageFull, StorageFailed) as error:
                logger.error("the worker waits: %s", error.message)
                self._stop.wait(_AFTER_TROUBLE)
                continue
            except Exception:
                logger.exception("the worker stumbled and goes on")
                self._stop.wait(_AFTER_TROUBLE)
                continue
            if not busy:
                self._wake.wait(_IDLE)

    def _do_one(self) -> bool:
        """Do the next job, if there is one."""
        self._let_go()
        taken = self._held = self._store.take_job()
        if taken is None:
            return False
        try:
            job = self._finish(taken)
            self._held = None
        except JobLost:
            self._let_go()
            return True
        except (StorageFull, StorageFailed):
            self._let_go()
            raise
        finally:
            self._board.clear(taken)
        self.ended(job)
        return True

    def _finish(self, taken: TakenJob) -> Job:
        """The job as it ended, well or badly. What concerns the store alone is raised."""
        try:
            job = self._pipeline.ingest(taken, self._stop.is_set)
            logger.info("job %s %s: document %s", job.id, job.outcome, job.document_id)
        except (JobLost, StorageFull, StorageFailed):
            raise
        except KbError as error:
            logger.warning("job %s failed: %s", taken.id, error.code)
            job = self._store.fail_job(taken, error.code, error.message)
        except Exception as error:
            job = self._store.fail_job(
                taken, "internal_error", f"Ingesting failed: {type(error).__name__}. See the log"
            )
            logger.exception("job %s failed", taken.id)
        return job

    def _let_go(self) -> None:
        """Queue the job in hand again, unless it was cancelled and is not ours any more.

        On a full disk even that fails; then it is still in hand, and put back before the next.
        """
        if self._held is None:
            return
        try:
            self._store.release_job(self._held)
        except JobLost:
            logger.info("job %s was cancelled while running", self._held.id)
        self._held = None
