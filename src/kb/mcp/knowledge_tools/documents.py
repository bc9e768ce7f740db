"""`knowledge-show`, `-remove` and `-clear`: lists documents, and removes them once confirmed."""

import httpx

from kb.client import problem
from kb.mcp.budget import CHARACTERS, MOST_TOKENS, fit
from kb.mcp.contract import CHANGES, READS, Call, Json, Tool, ToolFailed
from kb.mcp.knowledge_tools import tasks
from kb.mcp.knowledge_tools.files import MEGABYTE
from kb.mcp.knowledge_tools.form import ID, name_of, takes, to_the_second
from kb.mcp.schema import BadArgument

CONFIRMATION_PHRASE = "DELETE ALL"
_SORTS = {"date_added": "created", "filename": "filename", "size": "size"}
_DEFAULT_LIMIT = 100
_FOR_THE_REST = 400  # characters of an answer beside its list
_DECLINED = "The user was asked and did not agree: nothing was removed"
_CONFIRM = {"type": "boolean", "default": False}


async def _show(call: Call, arguments: Json) -> Json:
    limit, offset = arguments.get("limit", _DEFAULT_LIMIT), arguments.get("offset", 0)
    found = await call.engine.documents(
        limit=limit,
        offset=offset,
        sort=_SORTS[arguments.get("sort_by", "date_added")],
        order=arguments.get("sort_order", "desc"),
    )
    documents = [_shown(document) for document in found["documents"]]
    shown = fit(documents, MOST_TOKENS * CHARACTERS - _FOR_THE_REST)
    answer = {"success": True, "documents": shown, "total_count": found["total"]}
    if not found["total"]:
        return answer | {"message": "Knowledge base is empty"}
    answer |= {"limit": limit, "offset": offset}
    if len(shown) == len(documents):
        return answer
    return answer | {
        "truncated": True,
        "hint": f"No more than {len(shown)} documents fit in one answer: call again with"
        f" offset={offset + len(shown)}",
    }


def _shown(document: Json) -> Json:
    return {
        "id": document["uid"],
        "filename": name_of(document),
        "format": document["format"],
        "size_bytes": document["size_bytes"],
        "date_added": to_the_second(document["created_at"]),
        "chunk_count": document["chunk_count"],
        "processing_status": document["processing_status"],
        "processing_method": document["processing_method"],
    }


async def _remove(call: Call, arguments: Json) -> Json:
    given, confirm = arguments["document_id"], arguments.get("confirm", False)
    if not isinstance(confirm, bool):
        raise BadArgument("confirm", "confirm must be the boolean true, nothing else confirms")
    try:
        document = await call.engine.document(_document_id(given), chunks=False)
        shown = {
            "id": document["uid"],
            "filename": name_of(document),
            "chunks": document["chunk_count"],
        }
        agreed = confirm or await _agrees_to_remove(call, arguments, shown)
        if not agreed:
            told = _DECLINED if agreed is False else "Set confirm=true to remove this document"
            raise ToolFailed("confirmation_required", told, document=shown)
        removed = await call.engine.delete_document(document["uid"])
    except httpx.HTTPStatusError as error:
        if problem(error)["error"] != "document_not_found":
            raise
        raise _not_found(given) from error
    return {
        "success": True,
        "document_id": document["uid"],
        "filename": name_of(document),
        "chunks_removed": removed["chunks_removed"],
        "message": "Document removed successfully",
    }


async def _agrees_to_remove(call: Call, arguments: Json, document: Json) -> bool | None:
    """None where nobody was asked."""
    if "confirm" in arguments:
        return None
    reply = await call.ask(
        f"Remove {document['filename']} ({document['chunks']} chunks) from the knowledge base?"
        " This cannot be undone.",
        _form(confirm={"type": "boolean", "title": "Remove it", "default": False}),
    )
    return None if reply is None else reply.agreed and reply.content.get("confirm") is True


def _document_id(given: str) -> str:
    """The id as the engine spells it. It has numbers, too, which are not meant here."""
    document_id = given.strip().lower()
    if not tasks.UUID.fullmatch(document_id):
        raise _not_found(given)
    return document_id


def _not_found(given: str) -> ToolFailed:
    message = f"Document with ID '{given}' not found"
    return ToolFailed("document_not_found", message, document_id=given)


async def _clear(call: Call, arguments: Json) -> Json:
    count = (await call.engine.status())["counts"]["documents"]
    agreed = await _agrees_to_clear(call, arguments, count)
    if not agreed:
        told = (
            _DECLINED
            if agreed is False
            else "This action will delete ALL documents. Set confirm=true and"
            f" confirmation_phrase='{CONFIRMATION_PHRASE}' to proceed"
        )
        raise ToolFailed("confirmation_required", told, current_document_count=count)
    cleared = await call.engine.clear(CONFIRMATION_PHRASE)
    return {
        "success": True,
        "documents_removed": cleared["documents_removed"],
        "embeddings_removed": cleared["chunks_removed"],
        "storage_freed_mb": round(cleared["bytes_freed"] / MEGABYTE, 2),
        "message": "Knowledge base cleared successfully",
    }


async def _agrees_to_clear(call: Call, arguments: Json, count: int) -> bool | None:
    """None where it was not confirmed and nobody was asked. A click is not enough for this.

    Whatever is sent that is not the right confirmation is a wrong one.
    """
    if "confirm" in arguments:
        confirm, phrase = arguments["confirm"], arguments.get("confirmation_phrase")
        return True if confirm is True and phrase == CONFIRMATION_PHRASE else None
    reply = await call.ask(
        f"Remove ALL {count} {'document' if count == 1 else 'documents'} from the knowledge base?"
        " This cannot be undone."
        f" Type {CONFIRMATION_PHRASE} to confirm.",
        _form(confirmation_phrase={"type": "string", "title": f"Type {CONFIRMATION_PHRASE}"}),
    )
    if reply is None:
        return None
    return reply.agreed and reply.content.get("confirmation_phrase") == CONFIRMATION_PHRASE


def _form(**fields: Json) -> Json:
    return {"type": "object", "properties": fields, "required": list(fields)}


SHOW = Tool(
    "knowledge-show",
    "List all documents in the knowledge base with metadata.",
    takes(
        {
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "default": _DEFAULT_LIMIT,
            },
            "offset": {"type": "integer", "minimum": 0, "maximum": 10**9, "default": 0},
            "sort_by": {"type": "string", "enum": list(_SORTS), "default": "date_added"},
            "sort_order": {"type": "string", "enum": ["asc", "desc"], "default": "desc"},
        }
    ),
    READS | {"title": "List documents"},
    _show,
)

# A text that says true is taken for true elsewhere. What cannot be undone wants the real one, so
# here confirming is left to the tools.
REMOVE = Tool(
    "knowledge-remove",
    "Remove a specific document from the knowledge base for good. Only with confirm=true, which"
    " needs the user's word.",
    takes({"document_id": ID, "confirm": _CONFIRM}, ("document_id",)),
    CHANGES | {"title": "Remove a document"},
    _remove,
    checked_by={"confirm": {}},
)

CLEAR = Tool(
    "knowledge-clear",
    "Remove all documents from the knowledge base for good. Only when the user asks for exactly"
    " that.",
    takes(
        {
            "confirm": {"type": "boolean", "description": "must be true"},
            "confirmation_phrase": {
                "type": "string",
                "description": f"must be {CONFIRMATION_PHRASE}",
            },
        },
        ("confirm", "confirmation_phrase"),
    ),
    CHANGES | {"title": "Remove everything"},
    _clear,
    checked_by={"confirm": {}, "confirmation_phrase": {}},
)
