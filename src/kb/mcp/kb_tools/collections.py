"""The kb_* tools with collections: one per document, kept as a `collection:<name>` tag.

The engine knows only tags. Answers show them as a `collection` field, a `collection` parameter
becomes a tag, and a document is kept in at most one collection.
"""

from dataclasses import replace
from functools import partial

from kb.mcp.contract import ADDS, Call, Contract, Counts, Json, Tool, ToolFailed, View
from kb.mcp.kb_tools.parameters import ID
from kb.mcp.kb_tools.reading import head
from kb.mcp.kb_tools.tool_set import INSTRUCTIONS, TOOLS
from kb.mcp.schema import BadArgument, arguments_schema
from kb.mcp.settings import McpSettings
from kb.source_path import names_one_thing

PREFIX = "collection:"
DEFAULT = "documents"

_ADDING = ("kb_addnote", "kb_upload_start")
_FILTERING = ("kb_search", "kb_get")
_TRIES = 20


def build(settings: McpSettings) -> Contract:
    """The contract for the collections in the settings."""
    names = settings.collections
    tools = (*(_with_collection(tool, names) for tool in TOOLS), _set_collection(names))
    instructions = f"{INSTRUCTIONS}\n{_advice(names)}"
    view = View(partial(present, names), _apart)
    return Contract("collections", "kb", instructions, tools, view=view)


def present(names: tuple[str, ...], thing: Json) -> Json:
    """A hit or a document with its collection as a field of its own and not among the tags.

    Someone may have given it two by other means; then the one that is known counts.
    """
    held = [tag.removeprefix(PREFIX) for tag in thing["tags"] if tag.startswith(PREFIX)]
    held.sort(key=lambda name: names.index(name) if name in names else len(names))
    tags = [tag for tag in thing["tags"] if not tag.startswith(PREFIX)]
    return thing | {"collection": held[0] if held else None, "tags": tags}


def _apart(tags: Counts) -> dict[str, Counts]:
    """How often each tag is used and, apart from them, how many documents a collection has."""
    collections = {
        tag.removeprefix(PREFIX): count for tag, count in tags.items() if tag.startswith(PREFIX)
    }
    others = {tag: count for tag, count in tags.items() if not tag.startswith(PREFIX)}
    return {"collections": collections, "tags": others}


def _advice(names: tuple[str, ...]) -> str:
    return (
        f"Each document is in one collection ({', '.join(names)}): search one to leave the others"
        " out, and keep your own notes apart from the user's documents, in memory if there is one."
    )


def _with_collection(tool: Tool, names: tuple[str, ...]) -> Tool:
    """The tool with a `collection` parameter, where it filters or adds."""
    if tool.name == "kb_update_note":
        return replace(tool, run=partial(_retagged, tool))
    if tool.name in _FILTERING:
        run, words = partial(_scoped, tool), {}
    elif tool.name in _ADDING:
        default = DEFAULT if DEFAULT in names else names[0]
        run, words = partial(_placed, tool, names, default), {"default": default}
    else:
        return tool
    collection = {"collection": {"type": "string", "enum": list(names)} | words}
    properties = tool.input_schema["properties"] | collection
    return replace(tool, input_schema=tool.input_schema | {"properties": properties}, run=run)


async def _scoped(tool: Tool, call: Call, arguments: Json) -> Json:
    """Search or list one collection; without one, everything."""
    options = dict(arguments)
    collection = options.pop("collection", None)
    if collection is not None:
        options["tags"] = [*options.get("tags", ()), PREFIX + collection]
    return await tool.run(call, options)


async def _placed(
    tool: Tool, names: tuple[str, ...], default: str, call: Call, arguments: Json
) -> Json:
    """Add to exactly one collection."""
    options = dict(arguments)
    tags = options.get("tags", [])
    stray = _collections_among(tags)
    if stray and "collection" not in options:
        name = stray[0].strip().removeprefix(PREFIX)
        known = name if name in names else f"<one of {', '.join(names)}>"
        raise BadArgument("tags", f"tags cannot name a collection: send collection={known} instead")
    kept = [tag for tag in tags if tag not in stray]
    wanted, home = options.pop("collection", None), None
    if tool.name == "kb_upload_start":
        home = await _home(call, options.get("source_path", ""))
    if home and wanted not in (None, home):
        raise BadArgument(
            "collection",
            f"{options['source_path']} is in {home} already: leave collection out, or move the"
            " document with kb_set_collection first",
        )
    options["tags"] = [*kept, PREFIX + (home or wanted or default)]
    return await tool.run(call, options)


async def _retagged(tool: Tool, call: Call, arguments: Json) -> Json:
    """Change tags, but no collection: a document would be in two, or in none, by mistake."""
    for parameter in ("add_tags", "remove_tags"):
        if _collections_among(arguments.get(parameter, [])):
            raise BadArgument(
                parameter, f"{parameter} cannot name a collection: use kb_set_collection instead"
            )
    return await tool.run(call, arguments)


def _collections_among(tags: list[str]) -> list[str]:
    """The engine leaves out spaces around a tag, so they hide nothing here either."""
    return [tag for tag in tags if tag.strip().startswith(PREFIX)]


async def _home(call: Call, source_path: str) -> str | None:
    """Where the file is that an upload with this path would update: it gets no second one."""
    if not names_one_thing(source_path):
        return None
    found = await call.engine.documents(source_path=source_path)
    files = [document for document in found["documents"] if document["doc_type"] != "note"]
    tags = {tag for file in files for tag in file["tags"] if tag.startswith(PREFIX)}
    held = [tag.removeprefix(PREFIX) for tag in tags]
    return held[0] if len(held) == 1 else None


def _set_collection(names: tuple[str, ...]) -> Tool:
    return Tool(
        "kb_set_collection",
        "Move a document to another collection, or out of all (leave collection out). It is in one"
        " at most; its other tags stay.",
        arguments_schema(
            {
                "document_id": ID,
                "collection": {"type": "string", "enum": list(names), "nullable": True},
            },
            ("document_id",),
        ),
        ADDS | {"title": "Move to a collection"},
        _move,
    )


async def _move(call: Call, arguments: Json) -> Json:
    """Put a document into one collection, or none, without touching its other tags.

    Each change answers with the tags as they are then, so two who move a document at once notice
    each other: whoever is last to see it in its place alone was the last to touch it.
    """
    document_id, collection = arguments["document_id"], arguments.get("collection")
    wanted = set() if collection is None else {PREFIX + collection}
    document = await call.engine.document(document_id)
    for _ in range(_TRIES):
        held = {tag for tag in document["tags"] if tag.startswith(PREFIX)}
        if held == wanted:
            return head(document, call.view.show)
        if wanted - held:
            document = await call.engine.add_tags(document_id, wanted)
        else:
            document = await call.engine.remove_tags(document_id, held - wanted)
    raise ToolFailed(
        "conflict",
        f"Document {document_id} is being moved by others at this moment: call again",
        document_id=document_id,
    )
