"""Waits for jobs to end, asking about all of them at once.

Asking about each one separately would cost the engine more time than small files do.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import httpx

from kb.client import ENDED, EngineClient, Json

_FIRST_PAUSE = 0.02  # seconds
_LONGEST_PAUSE = 0.5
_GROWTH = 1.3
_MOST_LISTED = 100  # in one answer
_PATIENCE = 30.0
_AGAIN_AFTER = 0.5


Answer = TypeVar("Answer")


def why_ended(job: Json) -> Json:
    """Why a job ended without being done."""
    error = job.get("error") or {"code": job["status"], "message": job["status"]}
    return {"error": error["code"], "message": error["message"]}


@dataclass
class _Waiting:
    on_progress: Callable[[Json], object]
    ended: anyio.Event = field(default_factory=anyio.Event)
    job: Json | None = None


async def patiently(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Try again for a while where nobody answers: an engine that restarts goes on where it was."""
    until = anyio.current_time() + _PATIENCE
    while True:
        try:
            return await call()
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 503 or anyio.current_time() > until:
                raise
        except httpx.TransportError:
            if anyio.current_time() > until:
                raise
        await anyio.sleep(_AGAIN_AFTER)


class JobsUnderWay:
    """Jobs that several tasks wait for, and that one task (`watch`) asks about."""

    def __init__(self, client: EngineClient) -> None:
        self._client = client
        self._waiting: dict[int, _Waiting] = {}
        self._pause = _FIRST_PAUSE

    async def wait_for(self, job_id: int, on_progress: Callable[[Json], object]) -> Json:
        waiting = self._waiting[job_id] = _Waiting(on_progress)
        self._pause = _FIRST_PAUSE
        await waiting.ended.wait()
        assert waiting.job is not None
        return waiting.job

    async def watch(self) -> None:
        """Until cancelled. Asks often while something ends, and less where all takes long."""
        while True:
            await anyio.sleep(self._pause)
            self._pause = min(self._pause * _GROWTH, _LONGEST_PAUSE)
            if self._waiting:
                await patiently(self._look)

    async def _look(self) -> None:
        wanted = set(self._waiting)
        listed = (await self._client.jobs(limit=_MOST_LISTED))["jobs"]
        jobs = {job["id"]: job for job in listed if job["id"] in wanted}
        for job_id in wanted - set(jobs):  # others have been adding since
            jobs[job_id] = await self._client.job(job_id)
        for job_id, job in jobs.items():
            waiting = self._waiting[job_id]
            waiting.on_progress(job)
            if job["status"] in ENDED:
                waiting.job = job
                waiting.ended.set()
                del self._waiting[job_id]
                self._pause = _FIRST_PAUSE
