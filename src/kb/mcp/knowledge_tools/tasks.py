"""The engine's jobs as tasks, as the knowledge-* tools call them.

`knowledge-task-status` reports a task's progress and result.
"""

import re
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import anyio
import httpx

from kb.client import ENDED, EngineClient, problem
from kb.mcp.contract import READS, Call, Json, Report, Tool, ToolFailed
from kb.mcp.knowledge_tools.form import FORMAT_NAMES, FORMATS, ID, takes
from kb.mcp.schema import BadArgument

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_STEPS = {"queued": "Waiting", "running": "Starting"}
_PATIENCE = 30.0  # seconds, for an engine that restarts: it goes on where it was
_AGAIN_AFTER = 0.5
_SLOWEST_LOOK = 0.25  # seconds: somebody watches, and waits for the end
_LAST_WORD = 5.0  # seconds, to cancel the job of someone who has gone


def task_id_of(given: str) -> str:
    """The id as the engine spells it. Raises task_not_found for what cannot be one."""
    task_id = given.strip().lower()
    if not UUID.fullmatch(task_id):
        _not_found(given)
    return task_id


def status_of(job: Json) -> str:
    return "completed" if job["status"] == "done" else str(job["status"])


def told(job: Json) -> str:
    """What is being done, for a person. With the task's id: who waits for an answer learns it
    nowhere else, and may want to cancel."""
    doing = job["message"] or _STEPS.get(job["step"], job["step"])
    return f"{doing} (task {job['uid']})"


def _told_done(job: Json) -> str:
    return told(job | {"message": "Completed"})


async def task(engine: EngineClient, given: str) -> Json:
    """The job behind a task. Raises task_not_found."""
    try:
        return await engine.job(task_id_of(given))
    except httpx.HTTPStatusError as error:
        if problem(error)["error"] == "job_not_found":
            _not_found(given)
        raise


async def cancel(engine: EngineClient, given: str) -> Json:
    """Cancel a task; one that has ended stays as it ended, and that is the answer."""
    job = await task(engine, given)
    if job["status"] == "failed":  # the engine would delete what it holds for a retry
        return {"success": True, "task_id": job["uid"], "status": status_of(job)}
    try:
        job = await engine.cancel_job(task_id_of(given))
    except httpx.HTTPStatusError as error:
        code = problem(error)["error"]
        if code == "job_not_found":
            _not_found(given)
        if code != "job_ended":
            raise
        job = await task(engine, given)
    return {"success": True, "task_id": job["uid"], "status": status_of(job)}


def _not_found(given: str) -> NoReturn:
    raise ToolFailed("task_not_found", f"Task with ID '{given}' not found", task_id=given)


def progress(job: Json) -> Json:
    """A task on its way, or one that went well. Raises how it failed."""
    answer = {"success": True, "task_id": job["uid"], "status": status_of(job)}
    if job["status"] == "done":
        return answer | {
            "progress": 1.0,
            "result": {
                "document_id": job["document_uid"],
                "filename": job["filename"],
                "chunks_created": job["chunk_count"],
            },
            "total_time_seconds": job["elapsed_seconds"],
        }
    if job["status"] in ENDED:
        raise failure(job)
    return answer | {
        "progress": job["progress"],
        "current_step": _STEPS.get(job["step"], job["step"]),
        "completed_steps": job["steps_done"],
        "total_steps": job["steps_total"],
        "elapsed_time_seconds": job["elapsed_seconds"],
        "estimated_remaining_seconds": job["remaining_seconds"],
    }


def failure(job: Json, **more: Any) -> ToolFailed:
    """Why a task ended without a document."""
    code, message = "cancelled", "The task was cancelled"
    if job["error"] is not None:
        code, message = job["error"]["code"], job["error"]["message"]
    if code == "unsupported_format":  # the engine reads more than these tools take
        message = f"{message.partition(' Supported: ')[0]} Use {FORMAT_NAMES}"
    return ToolFailed(
        code,
        message,
        task_id=job["uid"],
        status=status_of(job),
        elapsed_time_seconds=job["elapsed_seconds"],
        **more,
    )


def added(job: Json) -> Json:
    """What a task that has ended has added; it may be gone by now. Raises how it failed."""
    if job["status"] != "done":
        unreadable = job["error"] is not None and job["error"]["code"] == "unsupported_format"
        raise failure(job, **{"supported_formats": list(FORMATS)} if unreadable else {})
    return {
        "success": True,
        "document_id": job["document_uid"],
        "filename": job["filename"],
        "chunks_created": job["chunk_count"],
        "processing_method": job["processing_method"],
        "processing_time_seconds": job["elapsed_seconds"],
    }


async def wait(call: Call, task_id: str) -> Json:
    """The job once it has ended, told about meanwhile."""
    async for job in _states(call.engine, task_id):
        if job["status"] not in ENDED:
            await call.report(job["progress"], told(job))
    if job["status"] == "done":
        await call.report(1.0, _told_done(job))
    return job


async def follow(engine: EngineClient, task_id: str, report: Report) -> None:
    """Tell of a task until it has ended; it goes on if nobody listens any more."""
    try:
        async for job in _states(engine, task_id):
            if job["status"] not in ENDED:
                await report(job["progress"], told(job))
            elif job["status"] == "done":
                await report(1.0, _told_done(job))
    except (httpx.HTTPError, ToolFailed):
        return  # who wants to know asks for its status, and is told there


async def abandon(engine: EngineClient, task_id: str) -> None:
    """Cancel a task whose client has gone, from within its own cancellation."""
    with anyio.move_on_after(_LAST_WORD, shield=True):
        try:
            await cancel(engine, task_id)
        except (httpx.HTTPError, ToolFailed):
            return  # it has ended, or the engine has


async def _states(engine: EngineClient, task_id: str) -> AsyncIterator[Json]:
    """The job, again and again, until it has ended; an engine that restarts is waited for.

    A job that is gone was cancelled with everything else: the knowledge base was cleared.
    """
    until = anyio.current_time() + _PATIENCE
    while True:
        try:
            async for job in engine.watch_job(task_id, _SLOWEST_LOOK):
                until = anyio.current_time() + _PATIENCE
                yield job
            return
        except httpx.HTTPStatusError as error:
            if problem(error)["error"] == "job_not_found":
                raise ToolFailed(
                    "cancelled",
                    "The task was cancelled: the knowledge base was cleared meanwhile",
                    task_id=task_id,
                    status="cancelled",
                ) from error
            if error.response.status_code != 503 or anyio.current_time() > until:
                raise
        except httpx.TransportError:
            if anyio.current_time() > until:
                raise
        await anyio.sleep(_AGAIN_AFTER)


async def _task_status(call: Call, arguments: Json) -> Json:
    given = arguments["task_id"]
    if not UUID.fullmatch(given.strip().lower()):
        raise BadArgument("task_id", "task_id must be a UUID, as knowledge-add answered it")
    return progress(await task(call.engine, given))


TASK_STATUS = Tool(
    "knowledge-task-status",
    "Get status of an async processing task: its progress and result.",
    takes({"task_id": ID}, ("task_id",)),
    READS | {"title": "Task status"},
    _task_status,
)
