"""One attempt of a process to read a document, or the rest of it."""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from kb.engine.errors import ContentTooLarge, JobLost, KbError, TextTooLong, TookTooLong
from kb.engine.ingest.sandbox import checking, crashes
from kb.engine.ingest.sandbox.confinement.limits import Limits, PageLimits
from kb.engine.ingest.sandbox.crashes import Crash, Ended
from kb.engine.ingest.sandbox.messages import Garbled, Inlet, Message
from kb.engine.ingest.sandbox.request import Level
from kb.engine.pages import Page, Remark, Unread

_ASK_EVERY = 0.05  # seconds: how soon a reading ends that nobody wants any more

_MOST_REMARKS = 1_000

Item = checking.Heading | Page | Unread | Remark


class Child(Protocol):
    """A process that reads. Closing it kills it."""

    started: bool

    def read(self, seconds: float) -> bytes | None:
        """What it has sent, waiting so long for it; None for nothing yet, empty for no more."""

    def ended(self) -> Ended | None:
        """How it ended; None when nobody can tell."""

    def close(self) -> None: ...


@dataclass
class Spent:
    """What a document has cost so far, over all attempts at it."""

    filename: str
    limits: Limits
    seconds: float = 0.0  # until its pages were there
    characters: int = 0
    pages: int = 0
    remarks: int = 0
    pictures: int = 0  # pages that were read from one
    words: int = 0  # characters of those that came with their places
    heads: int = 0  # bytes of what was said about pages
    work: float = 0.0  # seconds of the engine's own processor time, to make sense of all that

    def count(self, page: Page | Unread) -> None:
        """Raises TextTooLong and ContentTooLarge."""
        self.pages += 1
        if self.pages > self.limits.pages:
            raise ContentTooLarge(
                f"{self.filename} has more than {self.limits.pages:,} pages", filename=self.filename
            )
        if isinstance(page, Page):
            self.pictures += page.method == "ocr"
            self.characters += len(page.text)
            self.check_length(0)

    def with_room(self, page: Page | Unread) -> Page | Unread:
        """The page, without the places of its words once the document has told too many."""
        if not isinstance(page, Page) or not page.words:
            return page
        self.words += sum(len(word.text) + 8 for word in page.words)
        return page if self.words <= self.limits.characters else replace(page, words=())

    def check_length(self, more: int) -> None:
        limit = self.limits.characters
        if self.characters + more > limit:
            raise TextTooLong(
                f"{self.filename} has more than {limit // 2**20} MB of text;"
                " split it and add the parts",
                filename=self.filename,
                limit_mb=limit // 2**20,
            )

    def count_head(self, length: int) -> None:
        """Raises ContentTooLarge."""
        self.heads += length
        limit = self.limits.heads_mb
        if self.heads > limit * 2**20:
            raise ContentTooLarge(
                f"{self.filename} has more than {limit} MB to say about its pages",
                filename=self.filename,
            )

    def count_work(self, seconds: float) -> None:
        """Raises TookTooLong."""
        self.work += seconds
        limit = self.limits.work_seconds
        if self.work > limit:
            raise TookTooLong(
                f"{self.filename} could not be read: to make sense of what its reader says took"
                f" longer than {limit:g} seconds",
                filename=self.filename,
            )

    @property
    def out_of_time(self) -> bool:
        limits = self.limits
        return self.seconds > limits.document_seconds + self.pictures * limits.page_ocr_seconds


@dataclass(frozen=True, slots=True)
class Finish:
    """How an attempt came to its end: with all pages, in need of a server that has more loaded,
    with an error that the reader raised, with a crash, or with its server gone."""

    how: Literal["done", "needs", "error", "crash", "gone"]
    level: Level | None = None
    error: KbError | None = None
    crash: Crash | None = None


class _NotStarted(Exception):
    """The server did not start a process in all that time."""


class _TooSlow(Exception):
    """The page, or the document, took longer than allowed: this many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Attempt:
    """One process. `started` is told when it begins to read, `finish` is there when its items are
    through. `has_heading` says that it came that far, `seconds` how long its last page took."""

    def __init__(
        self,
        child: Child,
        page: PageLimits,
        spent: Spent,
        stopped: Callable[[], bool],
        started: Callable[[], None],
    ) -> None:
        self._child = child
        self._page = page
        self._spent = spent
        self._limits = spent.limits
        self._stopped = stopped
        self._tell_start = started
        self._has_started = False
        self._ask_at = 0.0
        self._starting = 0.0
        self._since = (0.0, 0.0)  # when time was counted last: by the clock, and of this thread
        self._pieces: list[str] = []
        self.has_heading = False
        self.seconds = 0.0
        self.finish = Finish("gone")

    def items(self) -> Generator[Item, None, None]:
        """The heading, then pages. Raises JobLost, TextTooLong, ContentTooLarge, and TookTooLong
        for the engine's own work."""
        try:
            self.finish = yield from self._items()
        except Garbled as what:
            self.finish = Finish("crash", crash=crashes.nonsense(what))
        except _TooSlow as slow:
            self.finish = Finish("crash", crash=crashes.too_slow(slow.seconds))
        except _NotStarted:
            self.finish = Finish("gone")
        finally:
            self._child.close()

    def _items(self) -> Generator[Item, None, Finish]:
        self._since = _clocks()
        inlet = Inlet()
        while data := self._wait():
            inlet.feed(data)
            for message in inlet.messages():
                self._spent.count_head(message.head_length)
                item = self._item(message)
                self._count_time(started=True)
                if isinstance(item, Finish):
                    return item
                if item is not None:
                    yield item
                    # While its pages are being used, the process waits, and no time counts.
                    self._since = _clocks()
            self._check_time()
        return self._died()

    def _item(self, message: Message) -> Item | Finish | None:
        """What a message is worth. There is one heading, and pieces are as long as can be, so that
        the limits on pages and on text bound the number of messages, too."""
        match message.kind:
            case "document":
                if self.has_heading:
                    raise Garbled("a document with two headings")
                self.has_heading = True
                return checking.heading(message)
            case "piece":
                self._keep(checking.piece(message))
                return None
            case "page":
                page = checking.page(message, "".join(self._pieces))
                self._pieces.clear()
                return self._counted(page)
            case "unread":
                return self._counted(checking.unread(message))
            case "remark":
                self._spent.remarks += 1
                if self._spent.remarks > _MOST_REMARKS or not self.has_heading:
                    raise Garbled("more remarks than anybody reads")
                return checking.remark(message)
        return self._finish(message)

    def _finish(self, message: Message) -> Finish:
        match message.kind:
            case "end":
                return Finish("done")
            case "needs":
                return Finish("needs", level=checking.level(message))
            case "error":
                return Finish("error", error=checking.error(message))
            case "failure":
                kind, what = checking.failure(message)
                return Finish("crash", crash=crashes.from_failure(kind, what, self._page.memory_mb))
        raise Garbled("a message of an unknown kind")

    def _died(self) -> Finish:
        ended = self._child.ended()
        if ended is None:
            return Finish("gone")
        crash = crashes.from_end(ended, self._page.cpu_seconds, self._page.memory_mb)
        return Finish("crash", crash=crash)

    def _counted(self, page: Page | Unread) -> Page | Unread:
        if not self.has_heading:
            raise Garbled("a page without its document")
        if isinstance(page, Page) and page.method == "ocr" and not self._page.ocr:
            raise Garbled("a page read from a picture, without the means")
        self._spent.count(page)
        self.seconds = 0.0
        return self._spent.with_room(page)

    def _keep(self, piece: str) -> None:
        self._pieces.append(piece)
        self._spent.check_length(sum(map(len, self._pieces)))

    def _wait(self) -> bytes:
        """What comes next, empty for nothing more."""
        while True:
            self._ask()
            started = self._child.started
            data = self._child.read(_ASK_EVERY)
            self._count_time(started)
            if not self._has_started and (self._child.started or data):
                self._has_started = True
                self._tell_start()
            if data is not None:
                return data
            self._check_time()

    def _ask(self) -> None:
        """Whether anybody still wants this; now and then, as the answer may cost something."""
        now = time.monotonic()
        if now >= self._ask_at:
            if self._stopped():
                raise JobLost(f"Reading {self._spent.filename} was given up")
            self._since = _clocks()  # what the answer cost is not the document's
            self._ask_at = self._since[0] + _ASK_EVERY

    def _count_time(self, started: bool) -> None:
        """Whether it went by in waiting or in work. Raises TookTooLong for too much work."""
        now = _clocks()
        passed, worked = (this - last for this, last in zip(now, self._since, strict=True))
        self._since = now
        self._spent.count_work(worked)
        if started:
            self.seconds += passed
            self._spent.seconds += passed
        else:  # its server may still be loading
            self._starting += passed

    def _check_time(self) -> None:
        """Not before what came was looked at: a page that is there is not too late."""
        limits = self._limits
        if self._starting > limits.start_seconds:
            raise _NotStarted
        if self._spent.out_of_time:
            raise _TooSlow(limits.document_seconds)
        if self.seconds > self._page.page_seconds:
            raise _TooSlow(self._page.page_seconds)


def _clocks() -> tuple[float, float]:
    """The time, and the processor time of this thread."""
    return time.monotonic(), time.thread_time()
