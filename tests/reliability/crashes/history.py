"""Acknowledged writes and a restored store in, whether it is one instant of that history out."""

import math
import time
from dataclasses import dataclass

from ..engine_process import Answer
from ..oracle import Oracle, Post, State, Submission
from ..store_check import Found


@dataclass(slots=True)
class Write:
    """A change that was asked for: when, when it was confirmed (never: infinity), and to what."""

    begun: float
    state: State | None
    confirmed: float = math.inf


class Historian(Oracle):
    """An oracle that also remembers when each thing was what."""

    def __init__(self, name: str, seed: str) -> None:
        super().__init__(name, seed)
        self.writes: dict[str, list[Write]] = {}

    def ask(
        self,
        submission: Submission,
        state: State | None,
        post: Post,
        wanted: int,
        unless: int | None = None,
    ) -> Answer:
        write = Write(time.monotonic(), state)
        self.writes.setdefault(submission.path, []).append(write)
        answer = super().ask(submission, state, post, wanted, unless)
        if answer.status == wanted:
            write.confirmed = time.monotonic()
        return answer


Span = tuple[float, float]


def compare(historians: list[Historian], found: Found, began: float, ended: float) -> list[str]:
    """What speaks against the store having been like this at one instant of the backup.

    What each document is allows some spans of time: from when that state was asked for until the
    next one had been confirmed. There has to be an instant that all documents allow, after the
    backup was asked for and before it was done.
    """
    violations, spans = [], [[(began, ended)]]
    for historian in historians:
        for path, writes in historian.writes.items():
            there = found.documents.pop(path, [])
            if len(there) > 1:
                violations.append(f"{path}: {len(there)} documents of one submission")
                continue
            state = (there[0].text, there[0].tags) if there else None
            allowed = _spans(writes, state)
            if not allowed:
                violations.append(f"{path}: a state that it never had")
            spans.append(allowed)
    violations += [f"{path}: a document nobody added" for path in found.documents]
    if not violations and not any(_fits(start, spans) for each in spans for start, _ in each):
        alone = [each for each in spans[1:] if not any(_fits(s, [spans[0], each]) for s, _ in each)]
        violations.append(
            f"no instant of the backup fits all: {len(alone)} documents fit none of them, "
            f"{len(spans)} do not fit each other"
        )
    return violations


def _spans(writes: list[Write], there: tuple[str, frozenset[str]] | None) -> list[Span]:
    states: list[tuple[float, State | None]] = [(-math.inf, None)]
    states += [(write.begun, write.state) for write in writes]
    found = []
    for number, (begun, state) in enumerate(states):
        if (state[:2] if state else None) == there:
            # One that was never confirmed may not have happened: it ends nothing.
            ends = [each.confirmed for each in writes[number:] if each.confirmed < math.inf]
            found.append((begun, min(ends, default=math.inf)))
    return found


def _fits(instant: float, spans: list[list[Span]]) -> bool:
    return all(any(start <= instant <= end for start, end in each) for each in spans)
