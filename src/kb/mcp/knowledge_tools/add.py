"""`knowledge-add`: adds a file and answers with its task, or with the document it became."""

import os
from functools import partial
from math import ceil
from pathlib import PurePath

import httpx
from anyio import CancelScope, get_cancelled_exc_class
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync

from kb.client import problem
from kb.kinds import as_format
from kb.mcp.contract import ADDS, Call, Json, Tool, ToolFailed
from kb.mcp.knowledge_tools import tasks
from kb.mcp.knowledge_tools.files import FileRoots, OpenFile, check_size
from kb.mcp.knowledge_tools.form import FORMAT_NAMES, FORMATS, takes
from kb.mcp.knowledge_tools.task_methods import started
from kb.mcp.schema import BadArgument, nullable
from kb.source_path import readable


def add_from(roots: FileRoots) -> Tool:
    """`knowledge-add`, for the folders that the server may read."""
    return Tool(
        "knowledge-add",
        "Add a document or image to the knowledge base for semantic search: PDF, DOCX, PPTX, XLSX,"
        " HTML, JPG, PNG, SVG. Answers at once with a task_id for knowledge-task-status, unless"
        " async is false. The same path again is the same document: it is updated and keeps its id,"
        " tags are added to those it has; with nothing new it stays unchanged.",
        takes(
            {
                "file_path": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4096,
                    "description": "on the server's machine, in a folder it may read",
                },
                "metadata": _metadata(),
                "force_ocr": {
                    "type": "boolean",
                    "default": False,
                    "description": "read pages as pictures even if they have text",
                },
                "async": {"type": "boolean", "default": True},
            },
            ("file_path",),
        ),
        ADDS | {"title": "Add a document"},
        partial(_add, roots),
    )


def _metadata() -> Json:
    """Any names are taken; title and tags mean something."""
    return {
        "type": "object",
        "properties": nullable(
            {
                "title": {"type": "string"},
                "author": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            }
        ),
        "description": "what to keep with it",
    }


async def _add(roots: FileRoots, call: Call, arguments: Json) -> Json:
    """Hand a file to the engine, then answer with the task, or wait for what comes of it."""
    _check_format(arguments["file_path"])
    about = _about(arguments.get("metadata", {}))
    file = await _open(roots, call, arguments["file_path"])
    # Until the engine has answered nobody knows whether there is a job to be cancelled.
    with CancelScope(shield=True):
        job = await _send(call, file, about | {"force_ocr": arguments.get("force_ocr")})
    try:
        await checkpoint()  # here whoever went away meanwhile is noticed
        return await _answer(call, arguments, job)
    except get_cancelled_exc_class():
        await tasks.abandon(call.engine, job["uid"])
        raise


async def _answer(call: Call, arguments: Json, job: Json) -> Json:
    """A client that knows the protocol's own tasks gets one of those, unless it asks for ours."""
    task_id = job["uid"]
    if call.takes_tasks and not arguments.get("async", False):
        raise started(await tasks.task(call.engine, task_id))
    if not arguments.get("async", True):
        return tasks.added(await tasks.wait(call, task_id))
    await call.report(0.0, f"Document queued for processing (task {task_id})")
    call.follow(partial(tasks.follow, call.engine, task_id))
    return {
        "success": True,
        "task_id": task_id,
        "message": "Document queued for processing",
        "estimated_time_seconds": max(1, ceil(job["estimated_seconds"])),
    }


async def _open(roots: FileRoots, call: Call, file_path: str) -> OpenFile:
    """Problems with the place are reported first, then those with the file."""
    places = roots.places(file_path)
    engine = await call.engine.status()
    store = engine["store"]
    file = await run_sync(roots.open, places, store["path"], store["files_path"])
    try:
        check_size(file.size, engine["max_file_mb"])
    except ToolFailed:
        os.close(file.descriptor)
        raise
    return file


async def _send(call: Call, file: OpenFile, about: Json) -> Json:
    try:
        return await call.engine.add_file(
            file.descriptor,
            filename=readable(file.path.name),
            source_path=readable(str(file.path)),
            from_here=True,
            **about,
        )
    except httpx.HTTPStatusError as error:
        told = problem(error)
        if told["error"] != "invalid_request":
            raise
        raise BadArgument("metadata", f"metadata cannot be used: {told['message']}") from error


def _check_format(file_path: str) -> None:
    ending = PurePath(file_path).suffix
    if as_format(ending) not in FORMATS:
        raise ToolFailed(
            "unsupported_format",
            f"Unsupported file format: {ending or 'none'}. Use {FORMAT_NAMES}",
            supported_formats=list(FORMATS),
        )


def _about(metadata: Json) -> Json:
    """Title and tags, which the engine knows by name, and the rest."""
    rest = dict(metadata)
    title, tags = rest.pop("title", None), rest.pop("tags", None)
    if title is not None and not isinstance(title, str):
        raise BadArgument("metadata.title", "metadata.title must be a text")
    tags = [] if tags is None else [tags] if isinstance(tags, str) else tags
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise BadArgument("metadata.tags", "metadata.tags must be a list of texts")
    return {"title": title, "tags": tags, "metadata": rest or None}
