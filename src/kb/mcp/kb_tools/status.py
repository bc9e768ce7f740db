"""`kb_status` and `kb_jobs`: the state of the engine and of jobs."""

from kb.mcp.contract import READS, Call, Json, Tool
from kb.mcp.kb_tools.parameters import ID
from kb.mcp.schema import arguments_schema

_JOB_FIELDS = (
    "id",
    "status",
    "progress",
    "step",
    "message",
    "filename",
    "outcome",
    "changed",
    "document_id",
    "chunk_count",
    "duplicate_of",
    "error",
    "created_at",
    "finished_at",
    "remaining_seconds",
)
# Of the status: where files are, how they are read, backed up and checked is no agent's business.
_FOR_THE_KEEPER = ("sandbox", "backup", "check")
_SIZES = ("size_bytes", "files_bytes", "free_bytes")


async def _status(call: Call, _arguments: Json) -> Json:
    """What an agent can act on. What else the engine's keeper has to know, health tells of."""
    status = await call.status()
    told = {name: value for name, value in status.items() if name not in _FOR_THE_KEEPER}
    return told | {"store": {name: status["store"][name] for name in _SIZES}}


async def _jobs(call: Call, arguments: Json) -> Json:
    if "job_id" in arguments:
        return {"jobs": [_job(await call.engine.job(arguments["job_id"]))], "total": 1}
    found = await call.engine.jobs(**{"limit": 20} | arguments)
    return found | {"jobs": [_job(job) for job in found["jobs"]]}


def _job(job: Json) -> Json:
    return {name: job[name] for name in _JOB_FIELDS if job[name] not in (None, "")}


STATUS = Tool(
    "kb_status",
    "Check the knowledge base when something seems wrong: version, model, device, counts,"
    " queue, health.",
    arguments_schema({}),
    READS | {"title": "Knowledge base status"},
    _status,
)

JOBS = Tool(
    "kb_jobs",
    "See whether added notes and files are searchable yet (done), and why one failed. Newest"
    " first.",
    arguments_schema(
        {
            "status": {
                "type": "string",
                "enum": ["queued", "running", "done", "failed", "cancelled"],
            },
            "job_id": ID,
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20},
            "offset": {"type": "integer", "minimum": 0},
        }
    ),
    READS | {"title": "Ingestion jobs"},
    _jobs,
)
