"""A path in, a task out, or the document that came of it: `knowledge-add`."""

import os
from functools import partial
from math import ceil
from pathlib import PurePath

import httpx
from anyio import CancelScope, get_cancelled_exc_class
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync

from kb.kinds import as_format
from kb.mcp import knowledge_tasks as tasks
from kb.mcp.contract import Call, Json, ToolFailed
from kb.mcp.engine import problem
from kb.mcp.knowledge_definitions import FORMAT_NAMES, FORMATS
from kb.mcp.knowledge_files import FileRoots, OpenFile, check_size
from kb.mcp.schema import BadArgument
from kb.mcp.task_methods import started
from kb.source_path import readable


async def add(roots: FileRoots, call: Call, arguments: Json) -> Json:
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
    """What is wrong with the place is told first, then with the file."""
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
