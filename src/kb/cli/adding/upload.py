"""Uploads files, many at once, but never more than the engine can use."""

import hashlib
import os
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.to_thread
import httpx

from kb.cli.adding.waiting import JobsUnderWay, patiently, why_ended
from kb.cli.concurrently import in_turns
from kb.client import EngineClient, EngineTooOld, Json, problem
from kb.source_path import readable

# Sending is bounded by the disk and the wire; beyond it, enough jobs wait that the worker is never
# idle, and few enough that an interrupted run leaves no long queue behind.
_SENDING = 8
_UNDER_WAY = 64

OUTCOMES = ("added", "updated", "tags_added", "unchanged", "queued", "failed")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to send. What came by standard input has a name but no path of its own."""

    path: Path
    filename: str
    source_path: str | None

    @property
    def shown(self) -> str:
        return self.source_path or self.filename

    @property
    def size(self) -> int:
        """In bytes; 0 if the file is gone or unreadable, which is reported when its turn comes."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


@dataclass(frozen=True, slots=True)
class Result:
    """How adding one file ended."""

    path: str
    outcome: str
    job: Json | None = None
    error: Json | None = None

    @property
    def said(self) -> str:
        return self.outcome.replace("_", " ")

    def as_json(self) -> Json:
        job = self.job or {}
        return {
            "path": self.path,
            "outcome": self.outcome,
            "document_id": job.get("document_id"),
            "document_uid": job.get("document_uid"),
            "chunk_count": job.get("chunk_count"),
            "duplicate_of": job.get("duplicate_of"),
            "job_id": job.get("job_id", job.get("id")),
            "error": self.error,
        }


class Watcher(Protocol):
    """Is told about the progress of uploads."""

    def uploading(self, number: int, name: str, sent: int, total: int) -> None: ...
    def working(self, number: int, name: str, job: Json) -> None: ...
    def finished(self, number: int, tally: str) -> None: ...


def tally(results: Sequence[Result]) -> str:
    """`3 added, 1 failed`: every outcome there was."""
    return _tally(Counter(result.outcome for result in results))


def _tally(counts: Counter[str]) -> str:
    words = {"tags_added": "with tags added"}
    there = [name for name in OUTCOMES if counts[name]]
    return ", ".join(f"{counts[name]:,} {words.get(name, name)}" for name in there)


class Adding:
    """One run of `kb add`. `lost` is what ended it early."""

    def __init__(
        self,
        client: EngineClient,
        watcher: Watcher,
        *,
        wait: bool,
        on_result: Callable[[Result], object],
        retry: bool = False,
        **fields: Any,
    ) -> None:
        self._client = client
        self._watcher = watcher
        self._wait = wait
        self._on_result = on_result
        self._retry = retry
        self._fields = fields
        self._batch = str(uuid.uuid4())
        self._sending = anyio.CapacityLimiter(_SENDING)
        self._jobs = JobsUnderWay(client)
        self._largest = 0
        self._ended: dict[int, Result] = {}
        self._counts: Counter[str] = Counter()
        self.lost: Exception | None = None

    @property
    def results(self) -> list[Result]:
        """How the files ended that have ended, in the order they were given."""
        return [self._ended[number] for number in sorted(self._ended)]

    async def add(self, sources: Sequence[Source]) -> None:
        """Add them all; each ends as a result, unless the engine itself is out of reach."""
        status = await self._client.status()
        self._largest = status["max_file_mb"]
        self._foreseeing = Foreseeing(self._client, status, self._fields)
        at_once = min(_UNDER_WAY, len(sources))
        self.lost = await in_turns(enumerate(sources), self._add, at_once, self._jobs.watch)
        if self.lost is not None and not isinstance(self.lost, httpx.HTTPError):
            raise self.lost

    async def _add(self, numbered: tuple[int, Source]) -> None:
        number, source = numbered
        result = await self._one(number, source)
        self._ended[number] = result
        self._counts[result.outcome] += 1
        self._watcher.finished(number, _tally(self._counts))
        self._on_result(result)

    async def _one(self, number: int, source: Source) -> Result:
        name = source.filename
        try:
            # The engine would refuse it as well, but only after much of it was sent for nothing.
            if source.path.stat().st_size > self._largest * 2**20:
                most = f"{self._largest} MB, the limit of this engine (KB_MAX_FILE_MB)"
                return _failed(source, "file_too_large", f"larger than {most}")
            async with self._sending:
                known = await self._foreseeing.outcome(source.path, name, source.source_path)
            if known and known["outcome"] == "unchanged":
                return Result(source.shown, "unchanged", known)
            if known and not self._retry:
                error, again = known["error"], "It failed like that before and was not sent again"
                said = f"{error['message']}. {again}: --retry does"
                return _failed(source, error["code"], said, known)
            send = partial(
                self._client.add_file,
                source.path,
                filename=name,
                source_path=source.source_path,
                from_here=source.source_path is not None,
                idempotency_key=str(uuid.uuid4()),  # sent again, it is the same job
                batch=self._batch,
                on_progress=lambda sent, total: self._watcher.uploading(number, name, sent, total),
                **self._fields,
            )
            async with self._sending:
                job = await patiently(send)
            if not self._wait:
                return Result(source.shown, "queued", job)
            job = await self._jobs.wait_for(
                job["job_id"], lambda job: self._watcher.working(number, name, job)
            )
        except OSError as error:
            reason = error.strerror or str(error)
            return _failed(source, "unreadable", f"cannot be read: {reason}")
        except httpx.HTTPStatusError as error:
            if isinstance(error, EngineTooOld) or error.response.status_code in (401, 421):
                raise  # it would be the same for every other file
            return Result(source.shown, "failed", None, problem(error))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise  # there is no engine, for this file or another
        except httpx.TransportError as error:
            reason = f"the connection broke meanwhile ({type(error).__name__}); add it again"
            return _failed(source, "connection_broken", reason)
        return _ended(source, job)


def _ended(source: Source, job: Json) -> Result:
    if job["status"] != "done":
        return Result(source.shown, "failed", job, why_ended(job))
    only_tags = job.get("changed") == ["tags"]
    return Result(source.shown, "tags_added" if only_tags else job["outcome"], job)


def _failed(source: Source, code: str, message: str, job: Json | None = None) -> Result:
    return Result(source.shown, "failed", job, {"error": code, "message": message})


def as_source(path: Path) -> Source:
    """A file of the disk, known to the engine by its absolute path."""
    return Source(path, readable(path.name), readable(os.path.abspath(path)))


class Foreseeing:
    """Leaves out files that need not be sent: the engine has them, or has refused them before.

    An engine that has neither files nor failed jobs is not asked: then nothing has to be hashed.
    """

    def __init__(self, client: EngineClient, status: Json, fields: dict[str, Any]) -> None:
        counts = status["counts"]
        self._client = client
        self._fields = fields
        self._may_know = counts["documents"] > counts["notes"] or status["queue"]["failed"] > 0

    async def outcome(self, path: Path, filename: str, source_path: str | None) -> Json | None:
        """The known outcome; None if the file must be sent."""
        if not self._may_know:
            return None
        content_hash = await anyio.to_thread.run_sync(_sha256, path)
        foreseen = await self._client.check_file(
            filename,
            content_hash,
            path.stat().st_size,
            source_path=source_path,
            from_here=source_path is not None,
            **self._fields,
        )
        return foreseen if foreseen["outcome"] else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
