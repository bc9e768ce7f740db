"""`knowledge-status`: statistics and health."""

from collections.abc import Awaitable
from typing import TypeVar

import httpx

from kb.client import problem
from kb.mcp.contract import READS, Call, Json, Tool
from kb.mcp.knowledge_tools.files import MEGABYTE
from kb.mcp.knowledge_tools.form import takes, to_the_second

Figure = TypeVar("Figure")

# Issues of the engine, by their codes, and what they say about its parts.
_DATABASE = frozenset({"storage_failed", "store_damaged"})
_STORAGE = _DATABASE | {"files_inaccessible"}


async def _status(call: Call, _arguments: Json) -> Json:
    state = await call.status()
    return {
        "success": True,
        "knowledge_base": _knowledge_base(state, await _if_readable(_total_size(call)) or 0),
        "health": _health(state),
        "configuration": {
            "embedding_model": state["model"]["public_name"],
            "chunk_size": state["chunk_tokens"],
            "max_file_size_mb": state["max_file_mb"],
        },
        "last_updated": await _if_readable(_last_updated(call)),
    }


async def _if_readable(figure: Awaitable[Figure]) -> Figure | None:
    """None if the store cannot be read; its health says why."""
    try:
        return await figure
    except httpx.HTTPStatusError as error:
        if problem(error)["error"] not in _DATABASE:
            raise
        return None


async def _total_size(call: Call) -> int:
    """Of all documents as they came in, notes too: what `knowledge-show` lists, added up."""
    types = (await call.engine.stats())["types"]
    return sum(each["size_bytes"] for each in types)


def _knowledge_base(state: Json, size: int) -> Json:
    documents, chunks = state["counts"]["documents"], state["counts"]["chunks"]
    return {
        "name": "default",
        "document_count": documents,
        "total_chunks": chunks,
        "total_size_bytes": size,
        "total_size_mb": round(size / MEGABYTE, 2),
        "average_chunks_per_document": round(chunks / documents, 1) if documents else 0.0,
        "storage_path": state["store"]["files_path"],
        "vector_db_path": state["store"]["path"],
    }


def _health(state: Json) -> Json:
    """Only what the engine has seen. A model that still loads is no fault, but it is missed."""
    found = state["health"]["issues"]
    codes = {issue["code"] for issue in found}
    issues = [issue["message"] for issue in found]
    if state["model"]["state"] == "loading":
        issues.append("The embedding model is still loading: searches go by words alone")
    health = {
        "status": "degraded" if issues else "healthy",
        "vector_db_connected": not codes & _DATABASE,
        "storage_accessible": not codes & _STORAGE,
        "embedding_model_loaded": state["model"]["state"] == "ready",
    }
    return health | ({"issues": issues} if issues else {})


async def _last_updated(call: Call) -> str | None:
    """When a present document was last added or changed; null if there is none."""
    newest = await call.engine.documents(sort="updated", order="desc", limit=1)
    if not newest["documents"]:
        return None
    [document] = newest["documents"]
    return to_the_second(document["updated_at"] or document["created_at"])


STATUS = Tool(
    "knowledge-status",
    "Get knowledge base statistics and health status.",
    takes({}),
    READS | {"title": "Status"},
    _status,
)
