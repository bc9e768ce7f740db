"""Checks a store in use bit by bit, so slowly that nobody notices.

Each piece is short and followed by a pause many times as long. The store keeps the progress, so
that the next start continues there.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import Any

from kb.engine.errors import StorageFailed, StorageFull
from kb.engine.store import Store
from kb.engine.values import now, seconds_since
from kb.engine.verify.checks import integrity, totals
from kb.engine.verify.checks.originals import missing, of_file, wrong
from kb.engine.verify.report import MOST_NAMED, Finding, Progress, Report, named
from kb.engine.verify.run import CHECKS, FIRST, Place, run
from kb.engine.verify.subject import Subject

logger = logging.getLogger(__name__)

FACT = "check"
_SHARE = 0.03  # of one core
_BEGIN_AFTER = 30.0  # seconds: a start has enough to do
_LOOK_EVERY = 60.0
_SAVE_EVERY = 300.0
_SAVE_MET_EVERY = 5.0  # of a folder that was lost an export meets every original
_LONGEST_REST = 60.0
_WHILE_BUSY = 1.0
_TEXTS_AT_ONCE = 16
# What SQLite and the totals are asked in one go takes too long in a larger store than this.
_MOST_PAGES = 25_000
_MOST_NAMED = 20


@dataclass(slots=True)
class Result:
    """What the last check found. `finished_at` is None until one has come to its end.

    `changed_ids` are the documents whose originals are not what was added, `missing_ids` those
    whose originals are not there.
    """

    started_at: str | None = None
    finished_at: str | None = None
    missing: list[str] = field(default_factory=list)
    missing_ids: list[int] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    changed_ids: list[int] = field(default_factory=list)
    index: int = 0
    database: int = 0

    @property
    def findings(self) -> int:
        return len(self.missing) + len(self.changed) + self.index + self.database

    def add(self, findings: list[Finding]) -> None:
        """Texts that are missing are not kept here: the store knows them until they are read."""
        for finding in findings:
            if finding.kind == "original":
                name = finding.title or f"document {finding.document_id}"
                is_missing = "missing" in finding.what
                (self.missing if is_missing else self.changed).append(name)
                if finding.document_id is not None:
                    ids = self.missing_ids if is_missing else self.changed_ids
                    ids.append(finding.document_id)
            elif finding.kind == "index":
                self.index += 1
            elif finding.kind == "database":
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
        # What was met by others since the last check is told until the next one has looked.
        self._met: dict[str, Finding] = {}
        self._met_unsaved = False
        # What the start did not find, until a check has looked at all originals since. Where a
        # whole folder is gone, it would take long to find the document of each: those are counted.
        self._missed: list[Finding] = []
        self._missed_files = 0
        self._meeting = threading.Lock()
        self._result, self._current, self._place = self._remembered()
        self.is_running = False
        self._saved = time.monotonic()

    @property
    def result(self) -> Result:
        """Of the last check that came to its end; of the first one, as far as it is."""
        return self._result if self._result.finished_at or not self._current else self._current

    @property
    def known(self) -> Result:
        """What that check found, and what others have met since."""
        shown = self.result
        known = {*shown.missing_ids, *shown.changed_ids}
        of_jobs = set(shown.missing)
        also = {
            (each.document_id, each.job_id): each
            for each in [*self._missed, *list(self._met.values())]
            if each.document_id not in known and (each.job_id is None or each.title not in of_jobs)
        }
        if not also:
            return shown
        whole = Result(**{name: copy(value) for name, value in _as_values(shown).items()})
        whole.add(list(also.values()))
        whole.missing += ["one more"] * (self._missed_files - len(whole.missing))
        return whole

    def found_changed(self, document_id: int) -> bool:
        """Whether its original was not what was added, when that was last looked at."""
        running = self._current or self._result
        return (
            document_id in self._result.changed_ids
            or document_id in running.changed_ids
            or document_id in [met.document_id for met in list(self._met.values())]
        )

    def start(self) -> None:
        if self._every and not self._stop.is_set():
            self._thread.start()

    def let_go(self) -> None:
        self._stop.set()

    def stop(self, timeout: float) -> None:
        self.let_go()
        if self._thread.is_alive():
            self._thread.join(timeout)
        if self._met_unsaved:
            self._save()

    def finish(self) -> None:
        """Check everything at once, in the caller's thread."""
        self._check(rest=lambda _: None)

    def take_in(self, report: Report) -> None:
        """What somebody else's check of everything found."""
        self._result = Result(report.started_at, report.finished_at or now())
        self._take_in(self._result, report.findings)
        self._current, self._place = None, FIRST
        with self._meeting:
            self._met = {}
        self._missed, self._missed_files = [], 0
        self._save()

    def miss(self, names: set[str]) -> None:
        """Files that rows name and that the start did not find among the originals."""
        if names:
            self._missed = missing(self._subject, sorted(names)[:MOST_NAMED])
            self._missed_files = len(names)
            logger.error("%s originals are missing: run `kb verify` to see which", len(names))

    def look_at(self, name: str) -> None:
        """Somebody met an original that is not as it was added: that is known from now on."""
        with self._meeting:
            row = of_file(self._subject, name) if name not in self._met else None
            finding = wrong(self._subject.files, row) if row is not None else None
            if finding is None:
                return
            self._met[name] = finding
            self._met_unsaved = True
            logger.error("a changed original was found: %s", named(finding))
            if time.monotonic() - self._saved > _SAVE_MET_EVERY:
                self._save()

    def _run(self) -> None:
        self._stop.wait(_BEGIN_AFTER)
        while not self._stop.is_set():
            try:
                if self._is_due():
                    self._check(self._rest)
                elif self._met_unsaved:
                    self._save()
            except (StorageFull, StorageFailed) as error:
                logger.warning("the check of the store waits: %s", error.message)
            except Exception:
                logger.exception("the check of the store failed and begins again")
                self._current, self._place = None, FIRST
            self._stop.wait(_LOOK_EVERY)

    def _is_due(self) -> bool:
        if self._store.health.damage is not None:  # it is known; `kb verify` tells the rest
            return False
        last = self._result.finished_at
        if self._current is not None or last is None:
            return True
        return seconds_since(last) >= self._every * 3600

    def _check(self, rest: Callable[[float], None]) -> None:
        self.is_running = True
        try:
            self._hash_texts(rest)
            looks_at_all = self._current is None
            current = self._current = self._current or Result(now())
            began = time.process_time()
            for place, progress in self._pieces():
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
            self._look_again()
            if looks_at_all:
                self._missed, self._missed_files = [], 0
            self._save()
            logger.info("the store was checked: %s findings", current.findings)
        finally:
            self.is_running = False

    def _look_again(self) -> None:
        """Problems met during a check may come from behind it, or be repaired since."""
        with self._meeting:
            names, self._met = list(self._met), {}
        for name in names:
            self.look_at(name)

    def _hash_texts(self, rest: Callable[[float], None]) -> None:
        """Documents of an older kb have no hash of their text yet."""
        while self._store.health.damage is None and not self._stop.is_set():
            began = time.process_time()
            if not self._store.upkeep.hash_texts(_TEXTS_AT_ONCE):
                return
            rest(time.process_time() - began)

    def _pieces(self) -> Iterator[tuple[Place, Progress]]:
        if self._subject.database.page_count() <= _MOST_PAGES:
            return run(self._subject, self._place)
        indexes = {integrity.NAME: integrity.check_indexes}
        return run(self._subject, self._place, frozenset({totals.NAME}), indexes)

    def _take_in(self, result: Result, findings: list[Finding]) -> None:
        result.add(findings)
        for finding in findings:
            logger.error("the check of the store found: %s", named(finding))
            if finding.kind == "database":
                self._store.health.note_damage(named(finding))

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
        """If this fails, the next start begins again, and nothing is lost."""
        self._saved, self._met_unsaved = time.monotonic(), False
        if self._store.health.damage is not None:
            return
        try:
            fact = _as_fact(self._result, self._current, self._place, dict(self._met))
            self._store.facts.remember(FACT, fact)
        except (StorageFull, StorageFailed) as error:
            logger.warning("the progress of the check could not be recorded: %s", error)

    def _remembered(self) -> tuple[Result, Result | None, Place]:
        try:
            values: dict[str, Any] = json.loads(self._store.facts.recall(FACT) or "{}")
            current = values["current"]
            check, up_to = values["place"]
            met = values.get("met", {})
            self._met = {name: Finding(**finding) for name, finding in met.items()}
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
    return _as_fact(result, None, FIRST, {})


def _as_fact(
    result: Result,
    current: Result | None,
    place: Place,
    met: Mapping[str, Finding],
) -> str:
    return json.dumps(
        {
            "result": _as_values(result),
            "current": _as_values(current) if current else None,
            "place": [place.check, place.up_to],
            "met": {name: asdict(finding) for name, finding in met.items()},
        }
    )


def _as_values(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in Result.__slots__}


def in_words(names: list[str]) -> str:
    """`3 originals are missing: a, b and 1 more`."""
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
