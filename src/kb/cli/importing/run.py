"""A source in, what became of each of its documents out: planned first, then done."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import httpx
from rich.progress import Progress, TaskID

from kb.cli.importing.letter import Json, Letter, letter
from kb.cli.waiting import JobsUnderWay, patiently
from kb.client import EngineClient, EngineTooOld, problem
from kb.imports.item import Item, Skipped, Source

# In a check: enough that asking costs little, and few enough for one request.
_CHECKED = 100
# As in `kb add`: sending is bounded by the disk and the wire, and the worker is never idle.
_SENDING = 8
_UNDER_WAY = 64

DAMAGED = "damaged"  # instead of the kind of a document: nobody knows what it was
OUTCOMES = ("new", "added", "updated", "unchanged", "conflict", "failed")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one item, or would become of it."""

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
    """One run of `kb import`. `tags` are given to every document."""

    client: EngineClient
    source: Source
    path: Path
    tags: tuple[str, ...] = ()
    force: bool = False
    on_result: Callable[[Result], object] = lambda _: None
    skipped: list[Skipped] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)
    lost: Exception | None = None

    async def plan(self) -> None:
        """Ask for each item what importing it would come to. Nothing is changed."""
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

    async def _check(self, batch: list[Letter]) -> None:
        checks = [each.check for each in batch]
        answer = await patiently(lambda: self.client.check_import(checks))
        for each, told in zip(batch, answer["items"], strict=True):
            self.results[each.key] = Result(
                each.key, each.title, each.kind, told["outcome"], told["document_id"]
            )

    def _hear(self, told: Skipped) -> None:
        """What is damaged in the source has failed; what else is left out is only told."""
        if not told.is_damage:
            self.skipped.append(told)
            return
        why = {"error": "damaged", "message": told.why}
        self.results[told.key] = Result(told.key, told.key, DAMAGED, "failed", error=why)

    def to_do(self) -> set[str]:
        """What has to be sent."""
        wanted = {"new", "updated"} | ({"conflict"} if self.force else set())
        return {key for key, result in self.results.items() if result.outcome in wanted}

    async def send(self, bar: Progress, task: TaskID) -> None:
        """Do what was planned; each item ends as a result, unless the engine is out of reach."""
        wanted = self.to_do()
        for result in list(self.results.values()):
            if result.key not in wanted:
                self.on_result(result)
        todo = (each for each in self._letters(lambda _: None) if each.key in wanted)
        jobs, sending = JobsUnderWay(self.client), anyio.CapacityLimiter(_SENDING)
        batch = str(uuid.uuid4())

        async def take_turns(scope: anyio.CancelScope) -> None:
            for each in todo:
                wanted.discard(each.key)  # a source that has it twice sends it once
                try:
                    result = await self._one(each, batch, jobs, sending)
                except Exception as error:  # kept, or the task group would wrap it
                    self.lost = self.lost or error
                    scope.cancel()
                    return
                self.results[each.key] = result
                self.on_result(result)
                bar.advance(task)

        async with anyio.create_task_group() as watching:
            watching.start_soon(self._watch, jobs, watching.cancel_scope)
            async with anyio.create_task_group() as group:
                for _ in range(min(_UNDER_WAY, len(wanted))):
                    group.start_soon(take_turns, watching.cancel_scope)
            watching.cancel_scope.cancel()

    async def _watch(self, jobs: JobsUnderWay, scope: anyio.CancelScope) -> None:
        try:
            await jobs.watch()
        except Exception as error:
            self.lost = self.lost or error
            scope.cancel()

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
            outcome = "conflict" if said["error"] == "conflict" else "failed"
            return _result(each, outcome, said.get("document_id"), said)
        if job["status"] == "done":
            return _result(each, job["outcome"], job["document_id"])
        error_ = job.get("error") or {"code": job["status"], "message": job["status"]}
        outcome = "conflict" if error_["code"] == "conflict" else "failed"
        why = {"error": error_["code"], "message": error_["message"]}
        return _result(each, outcome, error=why)

    def _letters(self, told: Callable[[Skipped], None]) -> Iterator[Letter]:
        for item in self.source.read(self.path, told):
            try:
                yield letter(self._with_tags(item), self.source.name)
            except OSError as error:
                told(Skipped(item.key, f"its file cannot be read: {error.strerror or error}"))

    def _with_tags(self, item: Item) -> Item:
        return replace(item, tags=tuple(dict.fromkeys((*item.tags, *self.tags))))

    def tally(self) -> Counter[str]:
        return Counter(result.outcome for result in self.results.values())


def _result(
    each: Letter, outcome: str, document_id: int | None = None, error: Json | None = None
) -> Result:
    return Result(each.key, each.title, each.kind, outcome, document_id, error)
