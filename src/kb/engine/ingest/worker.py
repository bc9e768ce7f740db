"""Works off the queue, several jobs at a time, so that one reads while another embeds. Batches take
turns, and a small job that came alone has a place of its own. OCR takes seconds per page and half a
gigabyte, so one job at a time does it, in turns of pages, and never in the place of a job that has
text."""

import logging
import threading
import time
from collections.abc import Callable

from kb.engine.errors import JobLost, KbError, StorageFailed, StorageFull
from kb.engine.ingest.pipeline import HasPictures, Pipeline
from kb.engine.ingest.progress import Board
from kb.engine.store import Store
from kb.engine.store.queue import Which
from kb.engine.values import Job, TakenJob
from kb.serving.memory import give_back

logger = logging.getLogger(__name__)

# Enough that the cores always have something to embed. One place more is kept for small jobs that
# are alone of their batch: somebody waits for them, however long the others take.
AT_ONCE = 3
# Each so many-th job is the oldest one, whatever its turn: nothing is overtaken without end.
OLDEST_EVERY = 4
_IDLE = 5.0
_AFTER_TROUBLE = 2.0
_DAY = 86400.0
_BETWEEN_STEPS = 0.02


class Worker:
    """Takes jobs in turn. `ended` is called for each finished one; `daily` is called once a day,
    when there is time."""

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        board: Board,
        ended: Callable[[Job], None],
        daily: Callable[[], None],
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._board = board
        self._ended = ended
        self._daily = daily
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._lock = threading.Lock()
        self._in_hand: dict[str, TakenJob] = {}  # by their leases
        self._small: int | None = None  # the job in the place for small ones
        self._with_pictures: set[int] = set()
        self._taken = 0
        self._has_worked = False
        self._to_put_back: list[TakenJob] = []
        self._trouble: Exception | None = None
        self._waits_for = ""  # what is wrong with the store, while it is
        self._day_began = time.monotonic()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Something was queued."""
        self._wake.set()

    def let_go(self) -> None:
        """Stop soon: the jobs in hand are queued again, as if they had not been taken."""
        self._stop.set()
        self._wake.set()

    def stop(self, timeout: float) -> None:
        """Let go, and wait until that has happened."""
        self.let_go()
        until = time.monotonic() + timeout
        if self._thread.is_alive():
            self._thread.join(timeout)
        while self._in_hand and time.monotonic() < until:
            self._wake.clear()
            self._wake.wait(0.05)

    def finish_jobs(self) -> int:
        """Work until the queue is empty, in the caller's thread; how many jobs that were."""
        count = 0
        while taken := self._take(self._whose_turn()):
            self._work(taken)
            self._raise_trouble()
            count += 1
        return count

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                self._raise_trouble()
                # Before another is taken: what is in hand must not be taken for left behind.
                self._keep_leases()
                # Between jobs too: what is deleted must go, however much comes in. And before
                # them: on a full disk no job is taken.
                busy = any(
                    [
                        self._store.upkeep.forget_words() > 0,
                        self._hand_out(),
                        self._store.upkeep.renew_words(),
                    ]
                )
                if not busy and not self._in_hand:
                    self._rest()
            except (StorageFull, StorageFailed) as error:
                self._wait_for_room(error)
                self._stop.wait(_AFTER_TROUBLE)
                continue
            except Exception:
                logger.exception("the worker failed once and goes on")
                self._stop.wait(_AFTER_TROUBLE)
                continue
            self._waits_for = ""
            if not busy:
                self._wake.wait(_IDLE)

    def _wait_for_room(self, error: StorageFull | StorageFailed) -> None:
        """Say once why nothing is done, and do what may give some room back."""
        if error.message != self._waits_for:  # not every two seconds
            logger.error("the worker waits: %s", error.message)
        self._waits_for = error.message
        try:
            self._tidy()
        except (StorageFull, StorageFailed) as again:
            logger.debug("nothing could be tidied: %s", again.message)

    def _tidy(self) -> None:
        """What was put off, and room that deletions left: in small steps, since writers wait."""
        self._store.upkeep.tidy()
        if not self._store.upkeep.shrink():
            return
        while not self._wake.wait(_BETWEEN_STEPS) and self._store.upkeep.shrink():
            pass
        self._store.upkeep.tidy()

    def _rest(self) -> None:
        """What can wait until there is nothing to do."""
        self._tidy()
        if time.monotonic() - self._day_began > _DAY:
            self._day_began = time.monotonic()
            self._daily()
        if self._has_worked:
            self._has_worked = False
            self._store.jobs.remember_paces(self._board.pace.learned)
            give_back()

    def _hand_out(self) -> bool:
        """Start as many jobs as there are places; whether there were any."""
        started = False
        while not self._stop.is_set():
            others = len(self._with_pictures) + (self._small is not None)
            small = len(self._in_hand) - others >= AT_ONCE
            if small and self._small is not None:
                break
            taken = self._take("small" if small else self._whose_turn())
            if taken is None:
                break
            threading.Thread(target=self._work, args=[taken], name="job", daemon=True).start()
            started = True
        return started

    def _keep_leases(self) -> None:
        with self._lock:
            in_hand = list(self._in_hand.values())
        if in_hand:
            self._store.jobs.keep(in_hand)

    def _whose_turn(self) -> Which:
        return "oldest" if self._taken % OLDEST_EVERY == OLDEST_EVERY - 1 else "next"

    def _take(self, which: Which) -> TakenJob | None:
        while self._to_put_back:
            self._put_back(self._to_put_back[0])
            self._to_put_back.pop(0)
        taken = self._store.jobs.take(which)
        if taken is not None:
            with self._lock:
                self._in_hand[taken.lease] = taken
                if which == "small":
                    self._small = taken.id
                else:
                    self._taken += 1
                if taken.request.pictures:
                    self._with_pictures.add(taken.id)
            self._has_worked = True
        return taken

    def _work(self, taken: TakenJob) -> None:
        """Do one job. What keeps it from being ended is left for the worker's own thread."""
        try:
            job = self._finish(taken)
            self._board.clear(taken)
            self._ended(job)
        except (JobLost, HasPictures):
            self._give_up(taken)
        except Exception as error:
            self._trouble = error
            self._give_up(taken)
        finally:
            self._board.clear(taken)
            with self._lock:
                del self._in_hand[taken.lease]
                if self._small == taken.id:
                    self._small = None
                self._with_pictures.discard(taken.id)
            self._wake.set()

    def _finish(self, taken: TakenJob) -> Job:
        """The job as it ended, well or badly. What concerns the store alone is raised."""
        try:
            job = self._pipeline.ingest(taken, self._stop.is_set)
            logger.info("job %s %s: document %s", job.id, job.outcome, job.document_id)
        except (JobLost, HasPictures, StorageFull, StorageFailed):
            raise
        except KbError as error:
            logger.warning("job %s failed: %s", taken.id, error.code)
            job = self._store.jobs.fail(taken, error.code, error.message)
        except Exception as error:
            job = self._store.jobs.fail(
                taken, "internal_error", f"Ingesting failed: {type(error).__name__}. See the log"
            )
            logger.exception("job %s failed", taken.id)
        return job

    def _give_up(self, taken: TakenJob) -> None:
        """On a full disk even that fails; then it is put back before the next job is taken."""
        try:
            self._put_back(taken)
        except Exception as error:
            self._trouble = error
            self._to_put_back.append(taken)

    def _put_back(self, taken: TakenJob) -> None:
        """Queue a job again, unless it was cancelled and is not ours any more."""
        try:
            self._store.jobs.release(taken)
        except JobLost:
            logger.info("job %s was cancelled or lost while running", taken.id)

    def _raise_trouble(self) -> None:
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble
