"""A check of everything on request, one at a time: its progress and its findings."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kb.engine.errors import KbError, VerifyRunning
from kb.engine.store.file.damage import Damage
from kb.engine.values import now
from kb.engine.verify.report import Finding, Report, named
from kb.engine.verify.run import Place, run, sizes
from kb.engine.verify.subject import Subject

logger = logging.getLogger(__name__)

State = Literal["never", "running", "done", "cancelled", "failed"]


@dataclass(slots=True)
class Repaired:
    """What was repaired, what is lost, and where that may be, all in words."""

    done: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    hint: str | None = None


Repair = Callable[[Report], Repaired]


@dataclass(slots=True)
class Run:
    """A check of everything and its progress. `after`: the findings left after a repair."""

    repair: bool
    state: State = "running"
    step: str = ""
    done: int = 0
    total: int = 1
    report: Report = field(default_factory=Report)
    repaired: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    hint: str | None = None
    after: Report | None = None
    failure: str | None = None

    @property
    def progress(self) -> float:
        return 1.0 if self.state == "done" else min(0.99, self.done / max(1, self.total))


class Verification:
    """Checks a store that is in use. `repair` makes again what can be while it is."""

    def __init__(self, subject: Subject, found: Callable[[Report], None], repair: Repair) -> None:
        self._subject = subject
        self._found = found
        self._repair = repair
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None
        self.last: Run | None = None

    def is_running(self) -> bool:
        return self.last is not None and self.last.state == "running"

    def start(self, repair: bool) -> Run:
        with self._lock:
            if self.is_running():
                raise VerifyRunning
            self._cancel.clear()
            self.last = started = Run(repair)
            self._thread = threading.Thread(
                target=self._run, args=[started], name="verify", daemon=True
            )
            self._thread.start()
        return started

    def cancel(self) -> Run | None:
        """Stop soon; what was found until then stays."""
        self._cancel.set()
        if self._thread is not None:
            self._thread.join(5)
        return self.last

    def _run(self, current: Run) -> None:
        try:
            check_all(self._subject, current, self._cancel.is_set)
            if current.state == "running":
                self._add_what_is_known(current.report)
                self._found(current.report)
                if current.repair and not current.report.is_whole:
                    repaired = self._repair(current.report)
                    current.repaired, current.lost = repaired.done, repaired.lost
                    current.hint, current.after = repaired.hint, self._left(current.report)
                    if not current.report.of_kind("database"):
                        self._found(current.after)
                current.state = "done"
        except KbError as error:
            current.state, current.failure = "failed", error.message
        except Exception as error:
            logger.exception("the check stumbled")
            current.state, current.failure = "failed", f"{type(error).__name__}: see the log"

    def _add_what_is_known(self, report: Report) -> None:
        """A store that is only read is not whole, whatever can be seen of that now: its log may
        have been cut, or an earlier run may have met the page that a cache now hides."""
        found = report.of_kind("database")
        if found:
            self._subject.database.note_damage(named(found[0]))
        damage = self._subject.database.damage
        if damage is not None:
            report.add("integrity", 0, [known_damage(damage)])

    def _left(self, report: Report) -> Report:
        """What is wrong after a repair: originals are looked at once more.

        A damaged database was left as it is, with all that was found.
        """
        if report.of_kind("database"):
            return report
        left = report.without("index")
        if not left.is_whole:
            left = Report(report.started_at, report.finished_at, report.checked.copy())
            for place, progress in run(self._subject, Place("originals")):
                left.add(place.check, 0, progress.findings)
        return left


def check_all(
    subject: Subject,
    current: Run,
    cancelled: Callable[[], bool] = lambda: False,
    tell: Callable[[Run], None] = lambda _: None,
) -> None:
    """Every check, as fast as it goes."""
    expected = sizes(subject)
    current.total = sum(expected.values())
    before, last = 0, Place("")
    for place, progress in run(subject):
        if place.check != last.check:
            before = sum(list(expected.values())[: list(expected).index(place.check)])
            current.done = before
        last, current.step = place, place.check
        current.done = min(before + expected[place.check], current.done + progress.done)
        current.report.add(place.check, progress.done, progress.findings, progress.originals)
        tell(current)
        if cancelled():
            current.state = "cancelled"
            return
    current.report.finished_at = now()


def known_damage(damage: Damage) -> Finding:
    """What keeps a running engine from writing: it is repaired only while none runs."""
    what = (
        f"The store is known to be damaged and is only read since {damage.since}: {damage.why}. "
        "Stop kb, then run `kb verify --repair`"
    )
    return Finding("integrity", "database", what, "note")
