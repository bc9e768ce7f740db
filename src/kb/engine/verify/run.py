"""Runs one check after another, in small pieces so that the caller can pause."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kb.engine.verify.checks import (
    integrity,
    jobs,
    missing_texts,
    originals,
    pages,
    passages,
    placed,
    texts,
    totals,
    words,
)
from kb.engine.verify.report import Progress
from kb.engine.verify.subject import Subject

Check = Callable[[Subject, int], Iterator[Progress]]


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run is: which check, and up to which key."""

    check: str
    up_to: int = 0


_MODULES = (
    pages,
    integrity,
    texts,
    passages,
    words,
    placed,
    totals,
    originals,
    jobs,
    missing_texts,
)
CHECKS: dict[str, Check] = {module.NAME: module.check for module in _MODULES}
FIRST = Place(next(iter(CHECKS)))


def run(
    subject: Subject,
    start: Place = FIRST,
    leave_out: frozenset[str] = frozenset(),
    instead: Mapping[str, Check] | None = None,
) -> Iterator[tuple[Place, Progress]]:
    """Everything from a place on."""
    names = list(CHECKS)
    checks = {**CHECKS, **(instead or {})}
    for name in names[names.index(start.check) :]:
        if name in leave_out:
            continue
        after = start.up_to if name == start.check else 0
        for progress in checks[name](subject, after):
            yield Place(name, progress.up_to), progress


def sizes(subject: Subject) -> dict[str, int]:
    """How many things each check has to look at, about."""
    chunks, documents = subject.last("chunks"), subject.last("documents")
    return {
        pages.NAME: subject.database.page_count(),
        integrity.NAME: subject.database.page_count(),
        texts.NAME: documents,
        passages.NAME: chunks,
        words.NAME: chunks,
        placed.NAME: subject.last("page_words"),
        totals.NAME: 1,
        originals.NAME: documents,
        jobs.NAME: subject.last("jobs"),
        missing_texts.NAME: 1,
    }
