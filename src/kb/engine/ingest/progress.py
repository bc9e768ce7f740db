"""Steps in, progress and remaining time out: how far the job in hand has got, and how fast we are.

Kept in memory only: a crash puts the job back into the queue, and its progress to nothing.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kb.engine.models import Job, TakenJob

# Until something was measured: a passage is about this long and takes this much time.
_BYTES_PER_CHUNK = 800.0
_SECONDS_PER_CHUNK = 0.03
_FIXED_SECONDS = 0.05
_SHARE_OF_NEW = 0.2
_CHUNKS_KNOWN = 32  # what was learned from other jobs counts like so many chunks of this one


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done, how much of it is done, and how much there is."""

    name: str
    done: int
    total: int
    message: str


class Pace:
    """How fast this machine works, learned from what it did."""

    def __init__(self) -> None:
        self.at_once = 1  # jobs that share the machine now
        self._lock = threading.Lock()
        self._seconds_per_chunk = _SECONDS_PER_CHUNK
        self._bytes_per_chunk = _BYTES_PER_CHUNK

    def learn(self, chunks: int, size: int, seconds: float) -> None:
        if not chunks:
            return
        seconds /= self.at_once
        with self._lock:
            self._seconds_per_chunk += _SHARE_OF_NEW * (seconds / chunks - self._seconds_per_chunk)
            self._bytes_per_chunk += _SHARE_OF_NEW * (size / chunks - self._bytes_per_chunk)

    def estimate(self, size: int) -> float:
        """Seconds for so many bytes."""
        return self.for_chunks(max(1, round(size / max(self._bytes_per_chunk, 1.0))))

    def for_chunks(self, chunks: int, done: int = 0, seconds: float = 0.0) -> float:
        """Seconds for so many chunks of a job that took `seconds` for the `done` ones before.

        A long job is its own best measure: its passages may be longer than those of other jobs,
        and the machine busier than it was.
        """
        known = _CHUNKS_KNOWN * self._seconds_per_chunk * (self.at_once if done else 1)
        return _FIXED_SECONDS + chunks * (known + seconds) / (_CHUNKS_KNOWN + done)


class Board:
    """What the worker is at, for whoever asks; `told` is called at every step."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        self.pace = pace
        self.told: Callable[[int], None] = lambda _: None
        self._clock = clock
        self._lock = threading.Lock()
        self._steps: dict[int, tuple[Step, float, float]] = {}

    def show(self, taken: TakenJob, step: Step, remaining_seconds: float) -> None:
        with self._lock:
            self._steps[taken.id] = (step, self._clock(), remaining_seconds)
            self.pace.at_once = len(self._steps)
        self.told(taken.id)

    def clear(self, taken: TakenJob) -> None:
        with self._lock:
            self._steps.pop(taken.id, None)
            self.pace.at_once = max(1, len(self._steps))

    def completed(self, job: Job, waiting_bytes: int = 0) -> Job:
        """A job from the store, with what only memory knows."""
        with self._lock:
            shown = self._steps.get(job.id)
        if job.status not in ("queued", "running"):
            return job
        if job.status == "queued" or shown is None:
            return replace(job, remaining_seconds=round(self.pace.estimate(waiting_bytes), 3))
        step, since, remaining = shown
        return replace(
            job,
            progress=round(step.done / step.total, 4),
            step=step.name,
            steps_done=step.done,
            steps_total=step.total,
            message=step.message,
            remaining_seconds=round(max(0.0, remaining - (self._clock() - since)), 3),
        )
