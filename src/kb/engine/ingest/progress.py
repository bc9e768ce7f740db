"""The progress of the running jobs, and how long they will still take; only in memory."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kb.engine.ingest.pace import Forecast, Pace
from kb.engine.pages import Page, Unread
from kb.engine.store.queue import Place
from kb.engine.values import Chunk, Job, TakenJob


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done, how much of it is done, and how much there is. `share` is how much of the
    job's time is over, 0 to 1; `left` and `left_after` are the seconds until it is done from the
    beginning and the end of this step. `pictures`: the job is one of those with pictures."""

    name: str
    done: int
    total: int
    message: str
    share: float
    left: float
    left_after: float = 0.0
    pictures: bool = False


Shown = Mapping[int, tuple[Step, float]]


class Board:
    """The current work of the worker, for everyone who asks."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        self.pace = pace
        self.clock = clock
        self._lock = threading.Lock()
        self._shown: dict[int, tuple[Step, float]] = {}

    def show(self, taken: TakenJob, step: Step) -> None:
        with self._lock:
            self._shown[taken.id] = (step, self.clock())
            self.pace.at_once = len(self._shown)

    def clear(self, taken: TakenJob) -> None:
        with self._lock:
            self._shown.pop(taken.id, None)
            self.pace.at_once = max(1, len(self._shown))

    def is_busy(self) -> bool:
        return bool(self._shown)

    def shown(self) -> Shown:
        """The steps in hand, by their jobs, and since when."""
        with self._lock:
            return dict(self._shown)

    def completed(self, job: Job, place: Place | None, steps: Shown) -> Job:
        """A job from the store, with what only memory knows; `place` is None once it has ended."""
        if place is None or job.status not in ("queued", "running"):
            return job
        shown = steps.get(job.id)
        if job.status == "queued" or shown is None:
            return replace(
                job,
                ahead=place.ahead,
                message=_in_words(place),
                remaining_seconds=round(self._until_done(job.id, place), 3),
            )
        step, since = shown
        return replace(
            job,
            progress=round(step.share, 4),
            step=step.name,
            steps_done=step.done,
            steps_total=step.total,
            message=step.message,
            remaining_seconds=round(self._left(step, since), 3),
        )

    def _left(self, step: Step, since: float) -> float:
        return max(step.left_after, step.left - (self.clock() - since))

    def _until_done(self, job_id: int, place: Place) -> float:
        """Seconds until a queued job is done: running jobs in its queue, those before it, and its
        own."""
        with self._lock:
            at_work = [
                self._left(step, since)
                for other_id, (step, since) in self._shown.items()
                if step.pictures == place.pictures and other_id != job_id
            ]
            beside = max(1, len(self._shown))
        if place.pictures:
            return sum(at_work) + self.pace.recognising(place.expected)
        return sum(at_work) / beside + self.pace.reading(place.queued + 1, place.expected)


def _in_words(place: Place) -> str:
    if not place.ahead:
        return ""
    jobs = "1 job" if place.ahead == 1 else f"{place.ahead:,} jobs"
    return f"{jobs}{' with pictures' if place.pictures else ''} before this one"


class Course:
    """One job on its way, measured step by step and shown on the board; `told` is called at each.
    `before_pictures` is told how many may be recognised, and may raise to prevent it."""

    def __init__(
        self,
        board: Board,
        taken: TakenJob,
        told: Callable[[int], None],
        before_pictures: Callable[[int], None],
    ) -> None:
        self._board = board
        self._told = told
        self._before_pictures = before_pictures
        self._pace = board.pace
        self._taken = taken
        request = taken.request
        self._forecast = Forecast(self._pace, 1 if request.pictures else request.expected)
        self._recognises = False
        self._before = 0  # pages of an earlier pass
        self._characters = 0
        self._embed_seconds = 0.0
        self._began = self._since = board.clock()
        if request.pictures:
            self._forecast.pages = request.expected
            self._forecast.recognise()
        self._show("Reading", "Reading")

    def counted(self, pages: int | None) -> None:
        """So many pages are to be read from here on, as far as the document says."""
        self._before = self._forecast.pages_read
        if pages:
            self._forecast.pages = self._before + pages
            self._show_page()

    def started(self) -> None:
        """A process reads from here on: what it took to start it says nothing about the pages."""
        self._since = self._board.clock()

    def recognises(self) -> None:
        """Pictures have to be recognised from here on."""
        self._before_pictures(max(1, self._forecast.pages - self._forecast.pages_read))
        self._recognises = True
        if not self._taken.request.pictures:
            self._forecast.recognise()
        self._show_page()

    def read(self, page: Page | Unread) -> None:
        """Another page is there, or one that is left for later."""
        seconds = self._lap()
        if isinstance(page, Page) and page.method == "later":
            return
        self._forecast.read(seconds, len(page.text) if isinstance(page, Page) else 0)
        if isinstance(page, Page) and page.method == "text":
            self._pace.learn("page", seconds)
        elif isinstance(page, Page) and self._recognises:
            self._pace.learn("picture", seconds)
        if self._forecast.pages > self._forecast.pages_read:
            self._show_page()

    def cut(self, passages: Sequence[Chunk]) -> None:
        """All is read and cut."""
        self._forecast.cut(len(passages))
        self._characters = sum(len(passage.text) for passage in passages)
        self._lap()

    def embeds(self) -> None:
        """Some passages are embedded next."""
        forecast = self._forecast
        message = f"Embedding passage {forecast.embedded + 1} of {forecast.passages}"
        self._show("Generating embeddings", message)

    def embedded(self, passages: int) -> None:
        """So many more are."""
        seconds = self._lap()
        self._embed_seconds += seconds
        self._forecast.embed(passages, seconds)

    def stores(self) -> None:
        self._show("Storing", "Storing")

    def ends(self, ending: str, size: int) -> None:
        """It is stored: what it took is learned."""
        pace, passages = self._pace, self._forecast.passages
        at_once = pace.at_once
        pace.learn("stored", self._lap() / passages / at_once)
        pace.learn_embedding(self._embed_seconds / at_once, self._characters, passages)
        if self._recognises:
            pace.learn("picture passages", passages / max(1, self._forecast.pages_read))
        else:
            pace.learn_length(ending, size, self._characters, passages)
            pace.learn_job((self._since - self._began) / at_once, passages)

    def _lap(self) -> float:
        now = self._board.clock()
        seconds, self._since = now - self._since, now
        return seconds

    def _show_page(self) -> None:
        number = self._forecast.pages_read + 1 - self._before
        pages = self._forecast.pages - self._before
        known = f" of {pages}" if pages >= number else ""  # more may turn up than were expected
        self._show("Reading", f"Reading page {number}{known}")

    def _show(self, name: str, message: str) -> None:
        forecast = self._forecast
        done = forecast.pages_read + forecast.embedded
        total = max(forecast.pages, forecast.pages_read) + forecast.passages + 1
        left = forecast.left
        step = Step(
            name,
            done,
            max(done + 1, total),
            message,
            forecast.share,
            left,
            left - forecast.in_hand,
            self._recognises or self._taken.request.pictures,
        )
        self._board.show(self._taken, step)
        self._told(self._taken.id)
