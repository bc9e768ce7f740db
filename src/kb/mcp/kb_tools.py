"""The kb_* tools: tags as they are, nothing added, nothing hidden."""

import shlex
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from kb.mcp.budget import CHARACTERS, fit_hits, size
from kb.mcp.contract import Call, Contract, Json, Tool, ToolFailed
from kb.mcp.definitions import DEFAULT_READ_TOKENS, DEFAULT_TOKENS, DEFINITIONS, INSTRUCTIONS
from kb.mcp.incomplete import TOOK_TOO_LONG, incomplete
from kb.mcp.listing import FILTERS, PAGE, Sort, entries, list_documents
from kb.mcp.reading import FOR_HINTS, Show, around, bounded_head, page_of, source
from kb.mcp.schema import BadArgument
from kb.mcp.settings import McpSettings
from kb.mcp.upload import Plan, Upload
from kb.mcp.uploads import PUT_ROUTE

_HIT_FIELDS = (
    "chunk_id",
    "document_id",
    "relevance",
    "score",
    "title",
    "headings",
    "text",
    "page",
    "location",
    "filename",
    "source_path",
    "doc_type",
    "tags",
    "created_at",
    "updated_at",
)
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
_UPDATED_TOKENS = 2000


def build(_settings: McpSettings) -> Contract:
    """The contract as the default server offers it."""
    return Contract("kb", "kb", INSTRUCTIONS, tools())


def tools(
    show: Show = lambda thing: thing, sort: Sort = lambda tags: {"tags": tags}
) -> tuple[Tool, ...]:
    """The ten tools. `show` has the last word on how a hit or a document looks, `sort` on how the
    counts of tags do."""
    runs: dict[str, Callable[[Call, Json], Awaitable[Json]]] = {
        "kb_search": partial(_search, show),
        "kb_addnote": _add_note,
        "kb_upload_start": _upload_start,
        "kb_upload_chunk": _upload_chunk,
        "kb_upload_finish": _upload_finish,
        "kb_update_note": partial(_update_note, show),
        "kb_get": partial(_get, show, sort),
        "kb_status": _status,
        "kb_jobs": _jobs,
        "kb_delete": _delete,
    }
    return tuple(
        Tool(
            definition.name,
            definition.description,
            definition.input_schema,
            definition.annotations,
            runs[definition.name],
            aliases=definition.aliases,
            accepts=definition.accepts,
        )
        for definition in DEFINITIONS
    )


async def _search(show: Show, call: Call, arguments: Json) -> Json:
    options = dict(arguments)
    max_tokens = options.pop("max_tokens", DEFAULT_TOKENS)
    # An agent's query is text: what looks like a condition in it is what it looks for.
    found = await call.engine.search(**options, plain=True)
    hits = [show(_hit(result)) for result in found["results"]]
    answer = {"query": found["query"], "total": found["total"], "took_ms": found["took_ms"]}
    hints = []
    if found["degraded"]:
        answer["degraded"] = found["degraded"]
        hints.append(incomplete(found["degraded"]))
    if not hits and found["degraded"] != TOOK_TOO_LONG:
        hints.append(_why_nothing(show, arguments))
    elif hits and found.get("nothing_fits_well"):
        hints.append("Nothing fits well, these are only the nearest: try other words")
    room = max_tokens * CHARACTERS - size(answer) - FOR_HINTS
    shown, cut = fit_hits(hits, [result["highlights"] for result in found["results"]], room)
    omitted = len(hits) - len(shown)
    if cut or omitted:
        answer |= {"truncated": True, "omitted": omitted}
        hints.append(
            f"{cut} passages shortened and {omitted} left out to stay under {max_tokens} tokens:"
            " kb_get with document_id and around=chunk_id gives the whole, max_tokens more"
        )
    return answer | {"results": shown} | ({"hint": ". ".join(hints)} if hints else {})


def _why_nothing(show: Show, arguments: Json) -> str:
    """What was asked for without a filter is nearly always near something."""
    narrowed = show({"tags": arguments.get("tags", [])}) | {"doc_type": arguments.get("doc_type")}
    filters = [name for name, value in narrowed.items() if value]
    if not filters:
        return "Nothing matches: try other words, or kb_status"
    named = " and ".join(filters)
    return f"Nothing matches within {named}: search without, or call kb_get to see what there is"


def _hit(result: Json) -> Json:
    return {"source": source(result)} | {name: result[name] for name in _HIT_FIELDS}


async def _add_note(call: Call, arguments: Json) -> Json:
    return _queued(await call.engine.add_note(**arguments))


def _queued(job: Json) -> Json:
    """Without the job's own uid: beside kb_get's `uid` it would be taken for the document's."""
    return {name: value for name, value in job.items() if name != "uid"}


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
    return _queued(job)


async def _update_note(show: Show, call: Call, arguments: Json) -> Json:
    changes = dict(arguments)
    document_id = changes.pop("document_id")
    if "text" in changes:
        document = await call.engine.update_note(document_id, **changes)
        return page_of(document, show, max_tokens=_UPDATED_TOKENS)
    if "title" not in changes and not changes.get("add_tags") and not changes.get("remove_tags"):
        raise BadArgument(
            "text",
            "say what to change: text, or for any document title, add_tags, remove_tags",
            missing=True,
        )
    document = await call.engine.update_document(document_id, **changes)
    return bounded_head(document, show, _UPDATED_TOKENS)


async def _get(show: Show, sort: Sort, call: Call, arguments: Json) -> Json:
    given = [name for name in ("document_id", "uid", "source_path") if name in arguments]
    _check_purpose(given, arguments)
    if not given:
        return await list_documents(show, sort, call, arguments)
    key = arguments[given[0]]
    if given != ["source_path"]:
        return _part(await call.engine.document(key), show, arguments)
    found = await call.engine.documents(source_path=key, limit=PAGE)
    documents = found["documents"]
    if len(documents) == 1:
        whole = await call.engine.document(documents[0]["id"])
        return {"documents": [_part(whole, show, arguments)], "total": 1}
    hint = (
        "Several have this path: call kb_get with the document_id of one for its text"
        if documents
        else f"No document has the path {key}: paths match exactly, kb_search finds by content"
    )
    room = arguments.get("max_tokens", DEFAULT_READ_TOKENS) * CHARACTERS - FOR_HINTS
    return {
        "documents": entries(documents, show, room),
        "total": found["total"],
        "hint": hint,
    }


def _check_purpose(given: Sequence[str], arguments: Json) -> None:
    """To read one document, or to list several: not both at once."""
    if len(given) > 1:
        raise ToolFailed(
            "invalid_parameter",
            "kb_get: send one of document_id, uid and source_path to read a document, or none of"
            f" them to list documents; not {' and '.join(given)}",
        )
    if given and arguments.keys() & FILTERS:
        raise ToolFailed(
            "invalid_parameter",
            f"kb_get: {given[0]} reads one document, and filters list several: leave out either",
        )
    if not given and "around" in arguments:
        raise BadArgument(
            "document_id", "document_id is missing: around needs that of the passage", missing=True
        )


def _part(document: Json, show: Show, arguments: Json) -> Json:
    options = {name: arguments[name] for name in ("offset", "limit") if name in arguments}
    max_tokens = arguments.get("max_tokens", DEFAULT_READ_TOKENS)
    if "around" not in arguments:
        return page_of(document, show, max_tokens=max_tokens, **options)
    options.pop("offset", None)
    return around(document, show, arguments["around"], max_tokens=max_tokens, **options)


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


async def _delete(call: Call, arguments: Json) -> Json:
    return await call.engine.delete_document(arguments["document_id"])
