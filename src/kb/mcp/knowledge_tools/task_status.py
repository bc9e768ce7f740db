"""`knowledge-task-status`: how far a task is, and what came of it."""

from kb.mcp.contract import READS, Call, Json, Tool
from kb.mcp.knowledge_tools import tasks
from kb.mcp.knowledge_tools.form import ID, takes
from kb.mcp.schema import BadArgument


async def _task_status(call: Call, arguments: Json) -> Json:
    given = arguments["task_id"]
    if not tasks.UUID.fullmatch(given.strip().lower()):
        raise BadArgument("task_id", "task_id must be a UUID, as knowledge-add answered it")
    return tasks.progress(await tasks.task(call.engine, given))


TASK_STATUS = Tool(
    "knowledge-task-status",
    "Get status of an async processing task: how far it is, and what came of it.",
    takes({"task_id": ID}, ("task_id",)),
    READS | {"title": "Task status"},
    _task_status,
)
