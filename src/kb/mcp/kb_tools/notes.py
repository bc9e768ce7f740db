"""`kb_addnote` and `kb_update_note`: what an agent wants to remember."""

from kb.mcp.contract import ADDS, CHANGES, Call, Json, Tool
from kb.mcp.kb_tools.parameters import ID, PATH, TAGS, TITLE
from kb.mcp.kb_tools.reading import bounded_head, page_of
from kb.mcp.schema import MOST_NOTE_CHARACTERS, BadArgument, arguments_schema

_NOTE = {"type": "string", "minLength": 1, "maxLength": MOST_NOTE_CHARACTERS}
_UPDATED_TOKENS = 2000


async def _add_note(call: Call, arguments: Json) -> Json:
    return queued(await call.engine.add_note(**arguments))


def queued(job: Json) -> Json:
    """Without the job's own uid: beside kb_get's `uid` it would be taken for the document's."""
    return {name: value for name, value in job.items() if name != "uid"}


async def _update_note(call: Call, arguments: Json) -> Json:
    changes = dict(arguments)
    document_id = changes.pop("document_id")
    if "text" in changes:
        document = await call.engine.update_note(document_id, **changes)
        return page_of(document, call.view.show, max_tokens=_UPDATED_TOKENS)
    if "title" not in changes and not changes.get("add_tags") and not changes.get("remove_tags"):
        raise BadArgument(
            "text",
            "say what to change: text, or for any document title, add_tags, remove_tags",
            missing=True,
        )
    document = await call.engine.update_document(document_id, **changes)
    return bounded_head(document, call.view.show, _UPDATED_TOKENS)


ADD_NOTE = Tool(
    "kb_addnote",
    "Save a note when the user asks to remember something, or when you learn a lasting fact,"
    " preference or decision. Write it so that it stands alone. Search first: to change a note"
    " use kb_update_note. Ready in seconds (kb_jobs). The same text, path and tags again add"
    " nothing; anything else is a new note.",
    arguments_schema(
        {
            "text": _NOTE,
            "tags": TAGS | {"description": "such as agent:<name>"},
            "title": TITLE,
            "source_path": PATH | {"description": "a name for kb_get to find it by"},
        },
        ("text",),
    ),
    ADDS | {"title": "Save a note"},
    _add_note,
)

UPDATE_NOTE = Tool(
    "kb_update_note",
    "Replace the text of a note when what it says has changed, rather than adding another; id"
    " and created_at stay. Without text: change title or tags of any document.",
    arguments_schema(
        {
            "document_id": ID,
            "text": _NOTE,
            "title": TITLE,
            "add_tags": TAGS,
            "remove_tags": TAGS,
            "if_updated_at": {
                "type": "string",
                "maxLength": 40,
                "description": "updated_at (or created_at) you saw: fails if changed since",
            },
        },
        ("document_id",),
    ),
    CHANGES | {"title": "Update a note, or tags"},
    _update_note,
)
