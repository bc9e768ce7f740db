"""A store in use in, what is wrong with it out: checked bit by bit, so slowly that nobody feels it.

Each piece is a short look of its own, followed by a rest that is many times as long. How far it is
stands in the store, so that the next start goes on there.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kb.engine.errors import StorageFailed, StorageFull
from kb.engine.models import now, seconds_since
from kb.engine.store import Store
from kb.engine.verify import integrity, totals
from kb.engine.verify.report import Finding, Report, named
from kb.engine.verify.run import CHECKS, FIRST, Place, run
from kb.engine.verify.subject import Subject

logger = logging.getLogger(__name__)

FACT = "check"
_SHARE = 0.03  # of one core
_BEGIN_AFTER = 30.0  # seconds: a start has enough to do
_LOOK_EVERY = 60.0
_SAVE_EVERY = 300.0
_LONGEST_REST = 60.0
_WHILE_BUSY = 1.0
_TEXTS_AT_ONCE = 16
# What SQLite and the totals are asked in one go takes too long in a larger store than this.
_MOST_PAGES = 25_000
_MOST_NAMED = 20


@dataclass(slots=True)
class Result:
    """What the last check found. `finished_at` is None until one has come to its end."""

    started_at: str | None = None
    finished_at: str | None = None
    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    index: int = 0
    database: int = 0

    @property
    def findings(self) -> int:
        return len(self.missing) + len(self.changed) + self.index + self.database

    def add(self, findings: list[Finding]) -> None:
        for finding in findings:
            if finding.kind == "original":
                name = finding.title or f"document {finding.document_id}"
                (self.missing if "missing" in finding.what else self.changed).append(name)
            elif finding.kind == "index":
                self.index += 1
            else:
                self.database += 1


class BackgroundCheck:
    """Checks everything about once in `every` hours; never, if that is 0.

    `busy` says whether somebody waits for something just now.
    """

    def __init__(
        self, subject: Subject, store: Store, every: float, busy: Callable[[], bool]
    ) -> None:
        self._subject = subject
        self._store = store
        self._every = every
        self._busy = busy
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)
        self._result, self._current, self._place = self._remembered()
        self.is_running = False
        self._saved = time.monotonic()

    @property
    def result(self) -> Result:
        """Of the last check that came to its end; of the first one, as far as it is."""
        return self._result if self._result.finished_at or not self._current else self._current

    def start(self) -> None:
        if self._every and not self._stop.is_set():
            self._thread.start()

    def let_go(self) -> None:
        self._stop.set()

    def stop(self, timeout: float) -> None:
        self.let_go()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def finish(self) -> None:
        """Check everything at once, in the caller's thread."""
        self._check(rest=lambda _: None)

    def take_in(self, report: Report) -> None:
        """What somebody else's check of everything found."""
        self._result = Result(report.started_at, report.finished_at or now())
        self._take_in(self._result, report.findings)
        self._current, self._place = None, FIRST
        self._save()

    def _run(self) -> None:
        self._stop.wait(_BEGIN_AFTER)
        while not self._stop.is_set():
            try:
                if self._is_due():
                    self._check(self._rest)
            except (StorageFull, StorageFailed) as error:
                logger.warning("the check of the store waits: %s", error.message)
            except Exception:
                logger.exception("the check of the store stumbled and begins again")
                self._current, self._place = None, FIRST
            self._stop.wait(_LOOK_EVERY)

    def _is_due(self) -> bool:
        if self._store.damage is not None:  # it is known; `kb verify` tells the rest
            return False
        last = self._result.finished_at
        if self._current is not None or last is None:
            return True
        return seconds_since(last) >= self._every * 3600

    def _check(self, rest: Callable[[float], None]) -> None:
        self.is_running = True
        try:
            self._hash_texts(rest)
            current = self._current = self._current or Result(now())
            began = time.process_time()
            for place, progress in run(self._subject, self._place, self._leave_out()):
                self._place = place
                self._take_in(current, progress.findings)
                rest(time.process_time() - began)
                if self._stop.is_set():
                    self._save()
                    return
                self._save_sometimes()
                began = time.process_time()
            current.finished_at = now()
            self._result, self._current, self._place = current, None, FIRST
            self._save()
            logger.info("the store was checked: %s findings", current.findings)
        finally:
            self.is_running = False

    def _hash_texts(self, rest: Callable[[float], None]) -> None:
        """Documents of an older kb have no hash of their text yet."""
        while self._store.damage is None and not self._stop.is_set():
            began = time.process_time()
            if not self._store.hash_texts(_TEXTS_AT_ONCE):
                return
            rest(time.process_time() - began)

    def _leave_out(self) -> frozenset[str]:
        large = self._subject.database.page_count() > _MOST_PAGES
        return frozenset({integrity.NAME, totals.NAME}) if large else frozenset()

    def _take_in(self, result: Result, findings: list[Finding]) -> None:
        result.add(findings)
        for finding in findings:
            logger.error("the check of the store found: %s", named(finding))
            if finding.kind == "database":
                self._store.note_damage(named(finding))

    def _rest(self, used: float) -> None:
        """So long that this takes its share, and longer while somebody waits for something.

        The processor's time is that of the whole process: what others use makes the rest longer.
        """
        self._stop.wait(min(used / _SHARE, _LONGEST_REST))
        if self._busy():
            self._stop.wait(_WHILE_BUSY)

    def _save_sometimes(self) -> None:
        if time.monotonic() - self._saved > _SAVE_EVERY:
            self._save()

    def _save(self) -> None:
        """Without it the next start begins anew, so nothing is lost where that fails."""
        self._saved = time.monotonic()
        if self._store.damage is not None:
            return
        try:
            self._store.remember(FACT, _as_fact(self._result, self._current, self._place))
        except (StorageFull, StorageFailed) as error:
            logger.warning("how far the check of the store is could not be noted: %s", error)

    def _remembered(self) -> tuple[Result, Result | None, Place]:
        try:
            values: dict[str, Any] = json.loads(self._store.recall(FACT) or "{}")
            current = values["current"]
            check, up_to = values["place"]
            return (
                Result(**values["result"]),
                Result(**current) if current else None,
                Place(check, int(up_to)) if check in CHECKS else FIRST,
            )
        except (ValueError, KeyError, TypeError):
            return Result(), None, FIRST


def fact_of(report: Report) -> str:
    """What a check of a folder at rest found, for the next start to tell until it knows better.

    Of originals alone: what lacks in an index is made by that start.
    """
    result = Result(report.started_at, report.finished_at or now())
    result.add(report.of_kind("original"))
    return _as_fact(result, None, FIRST)


def _as_fact(result: Result, current: Result | None, place: Place) -> str:
    return json.dumps(
        {
            "result": _as_values(result),
            "current": _as_values(current) if current else None,
            "place": [place.check, place.up_to],
        }
    )


def _as_values(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in Result.__slots__}


def in_words(names: list[str]) -> str:
    """`3 originals are missing: a, b and 1 more`."""
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
