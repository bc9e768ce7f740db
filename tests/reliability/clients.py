"""An engine in, acknowledged writes out: a client that adds, changes, tags and deletes."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from .engine_process import PATIENCE, Answer, EngineProcess, Gone, wait_until
from .oracle import ABSENT, Oracle, State, Submission

_OTHERWISE = 0.3  # the share of writes that are of the rarer kinds


@dataclass(slots=True)
class Client:
    """Works alone on its own documents, so it always knows what each must be."""

    engine: EngineProcess
    oracle: Oracle
    otherwise: Callable[["Client", list[Submission]], None] | None = None
    doing: str = ""
    interrupted: Counter[str] = field(default_factory=Counter)  # what was, by a death

    def work_until_gone(self) -> None:
        """One write after another until the engine does not answer any more."""
        while True:
            try:
                self.step()
            except Gone:
                self.interrupted[self.doing] += 1
                return

    def delete_longest(self, count: int) -> None:
        """So that there is room to be given back to the disk."""
        settled = [each for each in self.oracle.submissions if each.is_settled]
        for submission in sorted(settled, key=_length)[-count:]:
            self._delete(submission)

    def step(self) -> None:
        chance = self.oracle.random.random()
        settled = [each for each in self.oracle.submissions if each.is_settled]
        if self.otherwise is not None and self.oracle.random.random() < _OTHERWISE:
            self.otherwise(self, settled)
            return
        if chance < 0.4 or not settled:
            self.doing = "add"
            self._add(is_note=chance < 0.25)
            return
        submission = self.oracle.random.choice(settled)
        if chance < 0.6:
            self.doing = "update"
            self._revise(submission)
        elif chance < 0.75:
            self.doing = "add again"
            self._add_tags(submission)
        elif chance < 0.85:
            self.doing = "tag"
            self._tag(submission)
        else:
            self.doing = "delete"
            self._delete(submission)

    def retry_some(self) -> None:
        """Send again, under the same key, about half of what was never answered."""
        for submission in self.oracle.submissions:
            if submission.retry and self.oracle.random.random() < 0.5:
                [state] = submission.in_flight
                self.oracle.uncertain -= 1  # asked anew just below
                self.oracle.ask(submission, state, submission.retry, submission.wanted)

    def _add(self, is_note: bool) -> None:
        submission, state = self.oracle.new_submission(is_note), self.oracle.new_state()
        self._submit(submission, state, state.tags, "added")

    def _revise(self, submission: Submission) -> None:
        """A file is sent again with tags of its own, which are added to those it has."""
        before = submission.acknowledged
        assert before is not None
        sent = frozenset() if submission.is_note else self.oracle.new_tags()
        state = self.oracle.new_state(before.tags | sent)
        if not submission.is_note:
            self._submit(submission, state, sent, "updated")
            return
        path = f"/api/v1/notes/{submission.document_id}"
        self.oracle.ask(
            submission, state, lambda: self.engine.send("PATCH", path, {"text": state.text}), 200
        )

    def _add_tags(self, submission: Submission) -> None:
        """The same bytes once more, with other tags: nothing but tags is added."""
        before = submission.acknowledged
        assert before is not None
        sent = self.oracle.new_tags()
        if submission.is_note or sent <= before.tags:
            self._tag(submission)
            return
        self._submit(submission, before._replace(tags=before.tags | sent), sent, "updated")

    def _tag(self, submission: Submission) -> None:
        before = submission.acknowledged
        assert before is not None
        state = before._replace(tags=self.oracle.new_tags())
        path = f"/api/v1/documents/{submission.document_id}/tags"
        body = {"tags": sorted(state.tags)}
        self.oracle.ask(submission, state, lambda: self.engine.send("PUT", path, body), 200)

    def _delete(self, submission: Submission) -> None:
        path = f"/api/v1/documents/{submission.document_id}"
        self.oracle.ask(submission, ABSENT, lambda: self.engine.request("DELETE", path), 200)

    def _submit(
        self, submission: Submission, state: State, tags: frozenset[str], outcome: str
    ) -> None:
        """A job under a key of its own; half of the time its end is waited for."""
        key = self.key_of(submission, state)

        def post() -> Answer:
            answer = self.post(submission, state.text, sorted(tags), key)
            if answer.status != 202:
                return answer
            self.oracle.outcomes[key] = outcome
            self.oracle.told.setdefault(key, time.monotonic())
            return answer

        submission.retry, submission.wanted = post, 202
        submission.document_id = None
        answer = self.oracle.ask(submission, state, post, 202)
        if answer.status == 202 and self.oracle.random.random() < 0.5:
            submission.document_id = self.document_of(answer.body["job_id"])

    def key_of(self, submission: Submission, state: State) -> str:
        return f"{submission.path}#{state.word}#{self.oracle.random.randrange(10**9)}"

    def post(self, submission: Submission, text: str, tags: list[str], key: str) -> Answer:
        if submission.is_note:
            note = {"text": text, "tags": tags, "source_path": submission.path}
            return self.engine.send("POST", "/api/v1/jobs", note, key)
        path = PurePosixPath(submission.path)
        name = path.name if path.suffix else f"{path.name}.txt"
        fields = {"tags": tags, "source_path": submission.path}
        return self.engine.upload(name, text.encode(), fields, key)

    def document_of(self, job_id: int) -> int | None:
        def ended() -> Answer | None:
            answer = self.engine.get(f"/api/v1/jobs/{job_id}")
            waits = answer.status == 200 and answer.body["status"] in ("queued", "running")
            return None if waits else answer

        answer: Answer = wait_until(ended, PATIENCE, f"job {job_id} ends")
        if answer.status != 200:
            self.oracle.refused.append(f"job {job_id}: {answer.status} {answer.body}")
            return None
        return answer.body["document_id"]  # type: ignore[no-any-return]


def _length(submission: Submission) -> int:
    return len(submission.acknowledged.text) if submission.acknowledged else 0


def check_by_api(engine: EngineProcess, submissions: list[Submission]) -> list[str]:
    """What the engine itself says of these documents: by id, by a living word, by a dead one."""
    violations = []
    for submission in submissions:
        state = submission.acknowledged
        if state is not None:
            answer = engine.get(f"/api/v1/documents/{submission.document_id}")
            text = "".join(chunk["text"] for chunk in answer.body.get("chunks", []))
            if answer.status != 200 or text != state.text:
                violations.append(f"{submission.path}: the API shows another text")
            elif frozenset(answer.body["tags"]) != state.tags:
                violations.append(f"{submission.path}: the API shows other tags")
            if documents_with(engine, state.word) != {submission.document_id}:
                violations.append(f"{submission.path}: not found by its word {state.word}")
        violations += [
            f"{submission.path}: still found by {word}, which it no longer holds"
            for word in submission.dead_words[-2:]
            if documents_with(engine, word)
        ]
    return violations


def documents_with(engine: EngineProcess, word: str) -> set[int]:
    """The documents that a search by this word finds."""
    answer = engine.send("POST", "/api/v1/search", {"query": word, "fts_only": True})
    return {hit["document_id"] for hit in answer.body["results"]}
