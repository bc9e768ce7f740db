"""The protocol's methods to follow and cancel an add, answered from the engine's jobs.

`tools/cancel` is the knowledge-* contract's own. The others are the protocol's extension for tasks,
for clients that declare it: they get a task instead of a tool's answer, and ask about that. A task
is a job of the engine and nothing else, so it outlives this process.
"""

from typing import Any

import mcp_types as types
from pydantic import Field

from kb.client import ENDED
from kb.mcp.calls import TASKS
from kb.mcp.contract import Call, Instead, Json, Method, Result, ToolFailed, as_failure, as_json
from kb.mcp.knowledge_tools.form import as_object
from kb.mcp.knowledge_tools.tasks import added, cancel, task, told
from kb.mcp.sdk import MCPError
from kb.mcp.server import answer
from kb.mcp.transport.messages import FAILED

_POLL_MS = 500


class TaskParams(types.RequestParams):
    """A request about one task."""

    task_id: str = Field(alias="taskId", max_length=100)


class UpdateParams(TaskParams):
    """What a task was waiting for; ours wait for nothing."""

    input_responses: dict[str, Any] = Field(default_factory=dict, alias="inputResponses")


def started(job: Json) -> Instead:
    """A task, in place of the answer that it will have."""
    return Instead({"resultType": "task"} | _task(job))


def _task(job: Json) -> Json:
    ended = job["status"] in ENDED
    return {
        "taskId": job["uid"],
        "status": "working" if not ended else _ended(job),
        "statusMessage": told(job),
        "createdAt": job["created_at"],
        "lastUpdatedAt": job["finished_at"] or job["started_at"] or job["created_at"],
        "ttlMs": None,  # the engine forgets a job only with everything else
        "pollIntervalMs": _POLL_MS,
    }


def _ended(job: Json) -> str:
    """An add that failed is a task that has its answer: only the protocol's errors fail a task."""
    return "cancelled" if job["status"] == "cancelled" else "completed"


async def _cancel_tool(call: Call, params: TaskParams) -> Json:
    return await cancel(call.engine, params.task_id)


async def _get(call: Call, params: TaskParams) -> Json:
    job = await _known(call, params)
    state: Json = {"resultType": "complete"} | _task(job)
    if state["status"] == "completed":
        state["result"] = answer(_result(job))
    return state


def _result(job: Json) -> Result:
    """What the tool would have answered, had it waited."""
    try:
        content = added(job)
        return Result(content, as_json(content))
    except ToolFailed as failed:
        return as_object(failed)


async def _update(call: Call, params: UpdateParams) -> Json:
    await _known(call, params)
    return {"resultType": "complete"}


async def _cancel(call: Call, params: TaskParams) -> Json:
    await _known(call, params)
    await cancel(call.engine, params.task_id)
    return {"resultType": "complete"}


async def _known(call: Call, params: TaskParams) -> Json:
    if not call.takes_tasks:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"Declare the extension {TASKS} to use its requests",
            data={"requiredCapabilities": {"extensions": {TASKS: {}}}},
        )
    try:
        return await task(call.engine, params.task_id)
    except ToolFailed as unknown:
        raise MCPError(
            code=types.INVALID_PARAMS, message=unknown.message, data={"taskId": params.task_id}
        ) from unknown


def _of_the_protocol(run: Any) -> Any:
    """The extension knows no other failures than the protocol's errors."""

    async def checked(call: Call, params: Any) -> Json:
        try:
            state: Json = await run(call, params)
            return state
        except MCPError:
            raise
        except Exception as error:
            message = as_failure("The task", error, {}).message
            raise MCPError(code=FAILED, message=message) from error

    return checked


METHODS = (
    Method("tools/cancel", TaskParams, _cancel_tool, also_notified=True),
    Method("tasks/get", TaskParams, _of_the_protocol(_get)),
    Method("tasks/update", UpdateParams, _of_the_protocol(_update)),
    Method("tasks/cancel", TaskParams, _of_the_protocol(_cancel)),
)
