"""Acknowledged writes in, what must be found out: the test's own memory of what it was promised."""

import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .engine_process import Answer, Gone
from .store_check import Found

_CONSONANTS = "bcdfghjk"
# Of texts, in words: mostly short, some of several passages, few that leave room when they go.
_LENGTHS = (5, 12, 25, 40) * 4 + (450,) * 3 + (4000,)
_PLAIN_WORDS = ("river", "mountain", "garden", "window", "letter", "summer", "silver", "market")


class State(NamedTuple):
    """What a document is at one moment. Its word stands in no other state of any document."""

    text: str
    tags: frozenset[str]
    word: str


@dataclass(slots=True)
class Write:
    """A change that was asked for: when, when it was certain (never: infinity), and to what."""

    asked: float
    state: State | None
    certain: float = math.inf


ABSENT = None
_FULL = 507
Post = Callable[[], Answer]


@dataclass(slots=True)
class Submission:
    """One thing that a client put in, under a path of its own.

    `acknowledged` is the last state the engine confirmed. `in_flight` is one that it was asked for
    when it died: that one or the acknowledged one must be there, and nothing else.
    """

    path: str
    is_note: bool
    acknowledged: State | None = ABSENT
    in_flight: list[State | None] = field(default_factory=list)
    document_id: int | None = None
    job_id: int | None = None
    retry: Post | None = None
    wanted: int = 202  # what the retry is answered with
    touched: bool = False
    dead_words: list[str] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        """Whether a client may change it: it is known to be there, and under which id."""
        return self.acknowledged is not ABSENT and not self.in_flight and bool(self.document_id)


class Oracle:
    """What one client was told, and what must therefore be true."""

    def __init__(self, name: str, seed: str) -> None:
        self.name = name
        self.random = random.Random(f"{seed}-{name}")
        self.submissions: list[Submission] = []
        self.outcomes: dict[str, str] = {}
        self.told: dict[str, float] = {}  # when a job was taken, by its key
        self.acknowledged = 0
        self.uncertain = 0
        self.refused: list[str] = []
        self.disk_is_full = False
        self.done_on_a_full_disk = 0
        # Jobs by their keys: those that need not end well, those that hold a file, and those that
        # were told to let go of it.
        self.may_be_cancelled: set[str] = set()
        self.may_fail: set[str] = set()
        self.held: dict[str, int] = {}
        self.let_go: set[str] = set()
        self._words = self._new_words()

    def new_submission(self, is_note: bool) -> Submission:
        """A file has an absolute path, which is one document whatever its tags; a note a name."""
        path = f"{'' if is_note else '/'}{self.name}/{len(self.submissions)}"
        return self.submission_of(path, is_note)

    def submission_of(self, path: str, is_note: bool = False) -> Submission:
        self.submissions.append(Submission(path, is_note))
        return self.submissions[-1]

    def new_state(self, tags: frozenset[str] | None = None) -> State:
        """A text no other document has; mostly short, now and then of several chunks."""
        word = next(self._words)
        length = self.random.choice(_LENGTHS)
        words = [self.random.choice(_PLAIN_WORDS) for _ in range(length)]
        words.insert(self.random.randrange(length), word)
        lines = [" ".join(words[start : start + 15]) for start in range(0, length + 1, 15)]
        return State("\n".join(lines) + "\n", self.new_tags() if tags is None else tags, word)

    def new_tags(self) -> frozenset[str]:
        return frozenset(f"{self.name}-{self.random.randrange(12)}" for _ in range(2))

    def ask(
        self,
        submission: Submission,
        state: State | None,
        post: Post,
        wanted: int,
        unless: int | None = None,
    ) -> Answer:
        """Ask for a change. While no answer has come, either state may be the true one.

        The answer `unless` says that it came too late, so that nothing has changed.
        """
        self.begin(submission, state)
        answer = post()
        self.uncertain -= 1
        submission.in_flight = []
        if answer.status == wanted:
            self._confirm(submission, state)
        elif answer.status == unless:
            submission.retry = None
            submission.writes.pop()
        else:
            submission.retry = None
            submission.writes.pop()
            self.note_refusal(submission.path, answer)
        return answer

    def begin(self, submission: Submission, state: State | None) -> None:
        """From now on it may be this."""
        submission.touched = True
        submission.in_flight = [state]
        submission.writes.append(Write(time.monotonic(), state))
        self.uncertain += 1

    def settle(self, submission: Submission, state: State | None) -> None:
        """It is this, as was asked for."""
        self.uncertain -= 1
        submission.in_flight = []
        self._confirm(submission, state)

    def note_refusal(self, what: str, answer: Answer) -> None:
        """A disk that is full may say so; nothing is changed then."""
        if answer.status == 503 and answer.body["error"] == "shutting_down":
            raise Gone("the engine says so itself")
        if not (self.disk_is_full and answer.status == _FULL):
            self.refused.append(f"{what}: {answer.status} {answer.body}")

    def _confirm(self, submission: Submission, state: State | None) -> None:
        self.acknowledged += 1
        self.done_on_a_full_disk += self.disk_is_full
        submission.retry = None
        self._settle(submission, state)

    @staticmethod
    def _settle(submission: Submission, state: State | None) -> None:
        """What the submission is from now on; the word of what it was must not be found."""
        if submission.writes and submission.writes[-1].certain == math.inf:
            write = submission.writes.pop()
            submission.writes.append(Write(write.asked, state, time.monotonic()))
        before = submission.acknowledged
        words = {state.word if state else None}
        candidates = [before, *submission.in_flight]
        dead = [*submission.dead_words, *(s.word for s in candidates if s)]
        submission.dead_words = [word for word in dict.fromkeys(dead) if word not in words]
        submission.acknowledged = state
        submission.in_flight = []

    def go_back(self, began: float, ended: float) -> None:
        """All is again as it was at some instant between two times: what that may be.

        What was told of jobs holds for those that were there before.
        """
        for submission in self.submissions:
            before = [each for each in submission.writes if each.certain <= began]
            during = [
                each for each in submission.writes if each.asked < ended and each.certain > began
            ]
            submission.acknowledged = before[-1].state if before else ABSENT
            submission.in_flight = [each.state for each in during]
            submission.writes = [*before[-1:], Write(began, ABSENT)]
            submission.retry = submission.document_id = None
            submission.dead_words = []
            submission.touched = True
        self.outcomes = {key: end for key, end in self.outcomes.items() if self.told[key] < began}
        self.held.clear()
        self.let_go.clear()

    def reconcile(self, found: Found) -> list[str]:
        """Compare with what is there; then that is what counts as acknowledged."""
        violations = [f"refused: {refusal}" for refusal in self.refused]
        self.refused = []
        for submission in self.submissions:
            violations += self._compare(submission, found)
        for key, outcome in self.outcomes.items():
            job = found.jobs.get(key)
            if job is None:
                violations.append(f"job {key}: acknowledged and lost")
            elif job.outcome != outcome:
                violations.append(f"job {key}: ended as {job.outcome} instead of {outcome}")
        return violations + self._compare_jobs(found)

    def _compare_jobs(self, found: Found) -> list[str]:
        """Those that did not end well: whether they may, and hold what they are to hold."""
        violations = []
        for key in self.may_be_cancelled | self.may_fail:
            job = found.jobs.get(key)
            if job is None or job.status == "done":
                continue
            allowed = ("cancelled",) if key in self.may_be_cancelled else ("failed", "cancelled")
            if job.status not in allowed:
                violations.append(f"job {key} is {job.status}")
            found.unhappy.discard(key)
            if key in self.held and not job.holds:
                violations.append(f"job {key}: what it held is lost")
            if key in self.let_go and job.holds:
                violations.append(f"job {key} still holds what was deleted")
        violations += [
            f"job {key}: acknowledged and lost"
            for key in [*self.held, *self.let_go]
            if key not in found.jobs
        ]
        return violations

    def _compare(self, submission: Submission, found: Found) -> list[str]:
        documents = found.documents.pop(submission.path, [])
        if len(documents) > 1:
            return [f"{submission.path}: {len(documents)} documents of one submission"]
        allowed = [submission.acknowledged, *submission.in_flight]
        document = documents[0] if documents else None
        there = (document.text, document.tags) if document else None
        for state in allowed:
            if there == (state[:2] if state else None):
                self._settle(submission, state)
                submission.document_id = document.id if document else None
                submission.retry = None
                return []
        if there is None:
            return [f"{submission.path}: an acknowledged write is lost"]
        return [f"{submission.path}: neither what was acknowledged nor what was in flight"]

    def _new_words(self) -> Iterator[str]:
        """Words of consonants: no stemmer shortens them, no two are alike."""
        prefix = f"zq{self.name}"
        for number in range(8**6):
            digits = (_CONSONANTS[(number >> shift) & 7] for shift in range(0, 18, 3))
            yield f"{prefix}{''.join(digits)}k"
