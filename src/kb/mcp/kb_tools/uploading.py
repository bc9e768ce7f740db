"""The `kb_upload_*` tools: a file in pieces, or by one PUT from a shell."""

import shlex
import unicodedata

from kb.mcp.contract import ADDS, Call, Json, Tool
from kb.mcp.kb_tools.notes import queued
from kb.mcp.kb_tools.parameters import PATH, TAGS, TITLE
from kb.mcp.schema import BadArgument, arguments_schema
from kb.mcp.uploads.open_uploads import PUT_ROUTE
from kb.mcp.uploads.upload import MOST_CHUNK_CHARACTERS, MOST_CHUNKS, Plan, Upload

_UPLOAD_ID = {"type": "string", "maxLength": 36}
_SHA256 = {"type": "string", "pattern": "^[0-9a-fA-F]{64}$", "description": "64 hex digits"}


async def _upload_start(call: Call, arguments: Json) -> Json:
    for name in ("filename", "title", "source_path", "tags"):
        _check_one_line(name, arguments.get(name))
    tags = arguments.get("tags")
    plan = Plan(**arguments | {"tags": None if tags is None else tuple(tags)})
    largest = (await call.engine.status())["max_file_mb"] * 2**20
    upload, token = call.uploads.start(call.caller, plan, largest, call.share)
    answer = {"upload_id": upload.id, "expires_in_seconds": call.uploads.ttl}
    if not call.base_url:
        return answer
    url = call.base_url + PUT_ROUTE.format(token=token)
    command = (
        f"curl -gsS --fail-with-body -T {shlex.quote(f'./{plan.filename}')} {shlex.quote(url)}"
    )
    return answer | {"put_url": url, "curl": command}


def _check_one_line(name: str, texts: str | list[str] | None) -> None:
    """What the engine would refuse is refused before the bytes travel."""
    for text in [texts] if isinstance(texts, str) else texts or []:
        if not text.strip() or any(unicodedata.category(letter) == "Cc" for letter in text):
            raise BadArgument(name, f"{name} must not be blank or hold line breaks")


async def _upload_chunk(call: Call, arguments: Json) -> Json:
    return await call.uploads.add_chunk(
        call.caller, arguments["upload_id"], arguments["chunk_index"], arguments["data"]
    )


async def _upload_finish(call: Call, arguments: Json) -> Json:
    async def hand_over(upload: Upload) -> Json:
        plan = upload.plan
        await call.report(0.5, f"handing {plan.filename} to the engine")
        return await call.engine.add_file(
            upload.path,
            plan.tags or (),
            filename=plan.filename,
            title=plan.title,
            source_path=plan.source_path,
            # Who calls again after a broken connection gets the same job.
            idempotency_key=f"upload-{upload.id}",
        )

    job = await call.uploads.finish(
        call.caller, arguments["upload_id"], arguments.get("sha256"), hand_over
    )
    await call.report(1.0, f"queued as job {job['job_id']}")
    return queued(job)


UPLOAD_START = Tool(
    "kb_upload_start",
    "Begin adding a file (PDF, Office, HTML, image, text, code) to the knowledge base. With a"
    " shell, run the returned curl command on the file; without, send kb_upload_chunk for each"
    " ~1 MB. Then call kb_upload_finish. An upload ends after minutes without a call. Example:"
    " filename=hi.txt, total_size=5.",
    arguments_schema(
        {
            "filename": {"type": "string", "minLength": 1, "maxLength": 255},
            "total_size": {"type": "integer", "minimum": 1, "description": "bytes"},
            "tags": TAGS,
            "title": TITLE,
            "source_path": PATH
            | {"description": "again: replaces the file (a bare name: with the same tags)"},
            "sha256": _SHA256,
        },
        ("filename", "total_size"),
    ),
    ADDS | {"title": "Begin an upload", "idempotentHint": False},
    _upload_start,
)

UPLOAD_CHUNK = Tool(
    "kb_upload_chunk",
    "Send one piece of an upload where curl cannot be used. Any order; repeating one is"
    " harmless. Example: upload_id=<id>, chunk_index=0, data=aGVsbG8=.",
    arguments_schema(
        {
            "upload_id": _UPLOAD_ID,
            "data": {
                "type": "string",
                "maxLength": MOST_CHUNK_CHARACTERS,
                "description": "base64; may be wrapped",
            },
            "chunk_index": {"type": "integer", "minimum": 0, "maximum": MOST_CHUNKS - 1},
        },
        ("upload_id", "data", "chunk_index"),
    ),
    ADDS | {"title": "Send a piece of a file"},
    _upload_chunk,
)

UPLOAD_FINISH = Tool(
    "kb_upload_finish",
    "Complete an upload when every byte was sent. Returns the job_id (see kb_jobs). Names what"
    " is missing; safe to repeat. Example: upload_id=<id>.",
    arguments_schema({"upload_id": _UPLOAD_ID, "sha256": _SHA256}, ("upload_id",)),
    ADDS | {"title": "Finish an upload"},
    _upload_finish,
)
