"""Runs an import: plans it, carries it out, and reports what became of each document."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import httpx
from rich.progress import Progress, TaskID

from kb.cli.adding.waiting import JobsUnderWay, patiently, why_ended
from kb.cli.concurrently import in_turns
from kb.cli.importing.letter import Letter, key_of, letter
from kb.client import EngineClient, EngineTooOld, Json, problem
from kb.imports.item import Skipped, Source

# In a check: enough that asking costs little, and few enough for one request.
_CHECKED = 100
# As in `kb add`: sending is bounded by the disk and the wire, and the worker is never idle.
_SENDING = 8
_UNDER_WAY = 64

DAMAGED = "damaged"  # instead of the kind of a document: nobody knows what it was
OUTCOMES = ("new", "added", "updated", "unchanged", "conflict", "unread", "failed")
# What a file is that another program kept beside its notes is not the import's fault.
_UNREAD = ("unsupported_format", "no_text_found", "password_needed", "damaged_file")


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one item, or the expected outcome."""

    key: str
    title: str
    kind: str
    outcome: str
    document_id: int | None = None
    error: Json | None = None

    def as_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass
class Import:
    """One run of `kb import`. `tags` are given to every document. `named` is what the person
    named: the path itself, or the archive that was unpacked there."""

    client: EngineClient
    source: Source
    path: Path
    named: Path
    tags: tuple[str, ...] = ()
    force: bool = False
    on_result: Callable[[Result], object] = lambda _: None
    skipped: list[Skipped] = field(default_factory=list)
    remarks: list[Skipped] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)
    lost: Exception | None = None
    left: int = 0  # how many were still to do when it was lost

    async def plan(self) -> None:
        """Ask for each item what importing it would come to. Nothing is changed."""
        self._largest = (await self.client.status())["max_file_mb"]
        batch: list[Letter] = []
        for each in self._letters(self._hear):
            if each.key in self.results or any(each.key == other.key for other in batch):
                self.skipped.append(Skipped(each.key, "the source has it twice"))
                continue
            batch.append(each)
            if len(batch) == _CHECKED:
                await self._check(batch)
                batch = []
        if batch:
            await self._check(batch)

        await self._tell_what_stays()

    async def _tell_what_stays(self) -> None:
        """For items emptied in the source, report whether there is a document here."""
        emptied = [each for each in self.skipped if each.known_as]
        for batch in (emptied[at : at + _CHECKED] for at in range(0, len(emptied), _CHECKED)):
            checks = [
                {"source": self.source.name, "key": key_of(each.known_as or ""), "digest": "0" * 64}
                for each in batch
            ]
            answer = await patiently(lambda asked=checks: self.client.check_import(asked))  # type: ignore[misc]
            for each, told in zip(batch, answer["items"], strict=True):
                if told["document_id"] is not None:
                    why = f"{each.why}; document {told['document_id']} stays as it was"
                    self.skipped[self.skipped.index(each)] = replace(each, why=why)

    async def _check(self, batch: list[Letter]) -> None:
        checks = [each.check for each in batch]
        answer = await patiently(lambda: self.client.check_import(checks))
        for each, told in zip(batch, answer["items"], strict=True):
            outcome, error = told["outcome"], None
            if outcome == "conflict" and self.force:
                outcome = "updated"
            if outcome in ("new", "updated"):
                error = each.refusal(self._largest)
                outcome = _ended(each, error["error"]) if error else outcome
            self.results[each.key] = _result(each, outcome, told["document_id"], error)

    def _hear(self, told: Skipped) -> None:
        """Damaged parts of the source count as failed; other parts left out are only reported."""
        told = replace(told, why=told.why.replace(str(self.path), str(self.named)))
        if not told.is_damage:
            (self.remarks if told.is_taken else self.skipped).append(told)
            return
        why = {"error": "damaged", "message": told.why}
        self.results[told.key] = Result(told.key, told.key, DAMAGED, "failed", error=why)

    def to_do(self) -> set[str]:
        """The items to send."""
        return {key for key, result in self.results.items() if result.outcome in ("new", "updated")}

    async def send(self, bar: Progress, task: TaskID) -> None:
        """Do what was planned; each item ends as a result, unless the engine is out of reach."""
        wanted = self.to_do()
        unfinished = set(wanted)
        for result in list(self.results.values()):
            if result.key not in wanted:
                self.on_result(result)
        todo = (each for each in self._letters(lambda _: None) if each.key in wanted)
        jobs, sending = JobsUnderWay(self.client), anyio.CapacityLimiter(_SENDING)
        batch = str(uuid.uuid4())

        async def import_one(each: Letter) -> None:
            wanted.discard(each.key)  # a source that has it twice sends it once
            result = await self._one(each, batch, jobs, sending)
            self.results[each.key] = result
            unfinished.discard(each.key)
            self.on_result(result)
            bar.advance(task)

        at_once = min(_UNDER_WAY, len(wanted))
        self.lost = await in_turns(todo, import_one, at_once, jobs.watch)
        if self.lost is not None:  # what was only planned is no result
            self.left = len(unfinished)
            self.results = {
                key: result for key, result in self.results.items() if key not in unfinished
            }

    async def _one(
        self, each: Letter, batch: str, jobs: JobsUnderWay, sending: anyio.CapacityLimiter
    ) -> Result:
        document = each.document | {"force": self.force}
        try:
            async with sending:
                answer = await patiently(
                    lambda: self.client.import_document(document, each.file, batch)
                )
            if answer["outcome"] != "queued":
                return _result(each, answer["outcome"], answer["document_id"])
            job = await jobs.wait_for(answer["job_id"], lambda _: None)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            return _result(each, "failed", error={"error": "unreadable", "message": reason})
        except httpx.HTTPStatusError as error:
            if isinstance(error, EngineTooOld) or error.response.status_code in (401, 421, 503):
                raise
            said = problem(error)
            return _result(each, _ended(each, said["error"]), said.get("document_id"), said)
        if job["status"] == "done":
            return _result(each, job["outcome"], job["document_id"])
        why = why_ended(job)
        return _result(each, _ended(each, why["error"]), error=why)

    def _letters(self, told: Callable[[Skipped], None]) -> Iterator[Letter]:
        for item in self.source.read(self.path, told):
            try:
                yield letter(item, self.source.name, self.tags)
            except OSError as error:
                told(Skipped(item.key, f"its file cannot be read: {error.strerror or error}"))

    def tally(self) -> Counter[str]:
        return Counter(result.outcome for result in self.results.values())


def _ended(each: Letter, code: str) -> str:
    """The outcome of what the engine did not take."""
    if code == "conflict":
        return code
    return "unread" if each.is_foreign and each.file and code in _UNREAD else "failed"


def _result(
    each: Letter, outcome: str, document_id: int | None = None, error: Json | None = None
) -> Result:
    return Result(each.key, each.title, each.kind, outcome, document_id, error)
