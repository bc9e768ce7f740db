"""Reads a document, whatever happens to the processes that do it. If a page kills one or takes too
long, a second one tries that page with the sturdier reader, if the format has one, and an ordinary
one goes on after it. So such a page costs that page, not the document."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Protocol

from kb.engine.errors import ExtractionFailed, KbError
from kb.engine.ingest.extract.extraction import Source, ending
from kb.engine.ingest.extract.formats import FORMATS, endings
from kb.engine.ingest.sandbox.attempt import Attempt, Child, Finish, Item, Spent
from kb.engine.ingest.sandbox.checking import Heading
from kb.engine.ingest.sandbox.confinement.limits import Limits
from kb.engine.ingest.sandbox.crashes import Crash
from kb.engine.ingest.sandbox.request import LEVELS, Level
from kb.engine.ingest.sandbox.turns import Turns
from kb.engine.pages import Page, Remark, Unread

_SERVERS_GONE = 3  # in a row, and it is no accident

# Whose extractors are heavy, by name; a file that is called something else is found out.
_HEAVY = endings(each for each in FORMATS if each.heavy)

# Whose pictures are there to be recognised, if they are asked for at all. Of others that shows.
_PICTURES_AT_ONCE = endings(
    each for each in FORMATS if (each.pictures and each.kind != "pdf") or each.is_picture
)

StartChild = Callable[[Source, Level], Child]


class Watch(Protocol):
    """Who wants to know how a reading goes."""

    def started(self) -> None:
        """A process has begun to read: everything before was preparation."""

    def recognises(self) -> None:
        """Pictures have to be recognised from here on. What it raises prevents that."""


class _Unwatched:
    """Nobody wants to know."""

    def started(self) -> None: ...
    def recognises(self) -> None: ...


class Reading:
    """One document, and how far its reading has come. `start` starts a process that has so much
    loaded. Pictures are read in turns: after one that lasted, if another document waits, the
    process ends, as it takes half a gigabyte, and a new one goes on when the turn comes again."""

    def __init__(
        self,
        start: StartChild,
        source: Source,
        stopped: Callable[[], bool],
        limits: Limits,
        turns: Turns,
        watch: Watch | None = None,
    ) -> None:
        self._start = start
        self._watch = watch or _Unwatched()
        self._turns = turns
        self._turn_began: float | None = None
        self._was_passed_on = False
        self._source = source
        self._stopped = stopped
        self._limits = limits
        self._spent = Spent(source.filename, limits)
        self._heading: Heading | None = None
        self._done = source.start  # pages that need not be read again
        self._last = source.start  # the highest number of a page
        self._place = ""  # of the last page that has no number
        self._known: set[int] = set()  # pages, by their hash
        self._ending = ending(source.filename)
        self._level: Level = "heavy" if self._ending in _HEAVY else "light"
        self._careful_only = False
        self._gone = 0
        self._crashes = 0
        self._seconds_lost = 0.0
        self._has_text = False
        self._failure: KbError | None = None  # the first

    def items(self) -> Generator[Item, None, None]:
        """First the heading, then the pages. Raises JobLost once `stopped` says so."""
        try:
            yield from self._items()
        finally:
            self._end_turn()

    def _items(self) -> Generator[Item, None, None]:
        if self._source.wanted == "pictures" and self._ending in _PICTURES_AT_ONCE:
            self._rise("ocr")
        careful = False
        unfinished = True  # what a document holds behind its last page may still be to come
        while unfinished or not self._is_complete:
            before = self._done
            finish = yield from self._attempt(careful)
            unfinished = finish.how in ("gone", "needs")
            if unfinished:
                continue
            crash = self._crash(finish, careful)
            if crash is not None and self._is_complete:
                yield Remark(f"the end after the last page was not read: {crash.reason}")
                break
            if crash is None:
                if not careful or self._page_count is None:
                    break
                self._done = max(self._done, before + 1)  # also where nothing is on the page
                careful = self._careful_only
            elif careful and self._done == before:
                yield self._unread(crash)
                if self._page_count is None:
                    break
                careful = self._careful_only
            else:
                careful = True
            if self._is_hopeless and not self._is_complete:
                yield from self._rest()
                break
        if self._failure is not None and not self._has_text:
            raise self._failure

    def _attempt(self, careful: bool) -> Generator[Item, None, Finish]:
        known = set(self._known)
        was_passed_on, self._was_passed_on = self._was_passed_on, False
        source = replace(self._source, start=self._done, careful=careful)
        child = self._start(source, self._level)
        limits = self._limits.of(self._level)
        attempt = Attempt(child, limits, self._spent, self._stopped, self._watch.started)
        with closing(attempt.items()) as items:
            for item in items:
                if self._is_new(item, known):
                    self._note(item)
                    yield item
                elif was_passed_on and not isinstance(item, Heading | Remark):
                    self._done += 1  # a page like another one, and not one that came before
                if not careful and isinstance(item, Page) and self._is_turn_over:
                    self._was_passed_on = True
                    break
        if self._was_passed_on:
            self._end_turn()
            self._begin_turn()
            return Finish("needs")
        finish = attempt.finish
        if finish.how == "crash":
            self._crashes += 1
            self._seconds_lost += attempt.seconds
            # Who cannot open a document can none of its pages. At first that may be due to
            # the first page alone, which the reader of PDF looks at for a title.
            if source.start > self._source.start and not (careful or attempt.has_heading):
                self._careful_only = True
        self._gone = self._gone + 1 if finish.how == "gone" else 0
        if self._gone >= _SERVERS_GONE:
            raise self._error("its reader could not be started; the log says why")
        if finish.level is not None:
            self._rise(finish.level)
        return finish

    def _rise(self, level: Level) -> None:
        if LEVELS.index(level) <= LEVELS.index(self._level):
            raise self._error("its reader asked twice for the same")
        if level == "ocr":
            self._watch.recognises()
            self._begin_turn()
        self._level = level

    def _begin_turn(self) -> None:
        self._turns.take(self._stopped)
        self._turn_began = time.monotonic()

    def _end_turn(self) -> None:
        if self._turn_began is not None:
            self._turn_began = None
            self._turns.give_back()

    @property
    def _is_turn_over(self) -> bool:
        began = self._turn_began
        lasts = self._limits.turn_seconds
        return began is not None and self._turns.is_wanted and time.monotonic() - began >= lasts

    def _is_new(self, item: Item, known: set[int]) -> bool:
        """A process that goes on for another repeats the heading, and pages that it cannot skip."""
        if isinstance(item, Heading):
            return self._heading is None
        key = hash(item)
        self._known.add(key)
        return key not in known

    def _note(self, item: Item) -> None:
        if isinstance(item, Heading):
            self._heading = item
            return
        if isinstance(item, Remark):
            return
        self._done += 1
        self._last = max(self._last, self._done, item.number or 0)
        self._place = item.location or "" if isinstance(item, Page) and not item.number else ""
        if isinstance(item, Unread):
            self._fail(self._error(f"page {item.number}: {item.reason}"))
        else:
            is_text = item.method == "later" or bool(item.text and not item.text.isspace())
            self._has_text = self._has_text or is_text

    def _crash(self, finish: Finish, careful: bool) -> Crash | None:
        """What stopped the process, if anything. Raises errors about the whole document."""
        if finish.error is not None:
            of_page = careful and self._heading is not None
            if not of_page or not isinstance(finish.error, ExtractionFailed):
                raise finish.error
            self._fail(finish.error)
            return Crash(type(finish.error), finish.error.message)
        if finish.crash is not None:
            self._fail(finish.crash.as_error(self._source.filename))
        return finish.crash

    def _unread(self, crash: Crash) -> Unread:
        """The next page is given up; also all that follows, if nobody knows how much. Raises if
        there is nothing else."""
        reason = crash.reason
        if self._page_count is None:
            if not self._spent.pages:
                raise crash.as_error(self._source.filename)
            reason += "; what follows was not read either"
            if self._place:
                reason = f"after {self._place}: {reason}"
        self._done += 1
        self._last += 1
        return Unread(self._last, reason)

    def _rest(self) -> Iterator[Unread]:
        """Raises if there is nothing but the rest."""
        if self._heading is None:
            assert self._failure is not None
            raise self._failure
        reason = "it was not tried: too much before it could not be read"
        if self._spent.out_of_time:
            reason = f"reading took longer than {self._limits.document_seconds:g} seconds"
        last = min(self._page_count or self._last + 1, self._limits.pages)
        for number in range(self._last + 1, last + 1):
            yield Unread(number, reason)

    @property
    def _page_count(self) -> int | None:
        return None if self._heading is None else self._heading.page_count

    @property
    def _is_complete(self) -> bool:
        """Whether all pages are there that a document says it has. Some are left out by their
        readers, as there is nothing on them, so that the last may be there before."""
        return self._page_count is not None and self._done >= max(self._page_count, 1)

    @property
    def _is_hopeless(self) -> bool:
        return (
            self._spent.out_of_time
            or self._crashes >= self._limits.crashes
            or self._seconds_lost > self._limits.seconds_lost
        )

    def _fail(self, error: KbError) -> None:
        self._failure = self._failure or error

    def _error(self, reason: str) -> KbError:
        filename = self._source.filename
        return ExtractionFailed(f"{filename} could not be read: {reason}", filename=filename)
