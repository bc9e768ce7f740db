"""`kb_get` without an id: lists documents and the values to filter by."""

from kb.mcp.budget import CHARACTERS, fit, size
from kb.mcp.contract import Call, Counts, Json
from kb.mcp.kb_tools.parameters import DEFAULT_READ_TOKENS
from kb.mcp.kb_tools.reading import FOR_HINTS, Show

FILTERS = {"tags", "doc_type", "path_prefix"}
PAGE = 20  # documents
_FIELDS = ("id", "title", "doc_type", "tags", "chunk_count", "created_at", "updated_at")
_SHARE = 8  # of an answer: one part for counts of a sort


async def list_documents(call: Call, arguments: Json) -> Json:
    """Documents, newest first. The first page comes with the kinds and the tags that there are."""
    filter_ = {"tag" if name == "tags" else name: arguments.get(name) for name in FILTERS}
    offset, limit = arguments.get("offset", 0), arguments.get("limit", PAGE)
    room = arguments.get("max_tokens", DEFAULT_READ_TOKENS) * CHARACTERS - FOR_HINTS
    found = await call.engine.documents(**filter_, limit=limit, offset=offset)
    total = found["total"]
    answer: Json = {"total": total, "offset": offset}
    hints = []
    if total and not offset:
        counted = _counted(await call.engine.stats(**filter_), call)
        shown = {name: _most_used(counts, room // _SHARE) for name, counts in counted.items()}
        hints += [
            f"Only the most used {name} are counted"
            for name in counted
            if shown[name] != counted[name]
        ]
        answer |= shown
    answer["documents"] = entries(found["documents"], call.view.show, room - size(answer))
    end = offset + len(answer["documents"])
    if offset < end < total:
        answer["next_offset"] = end
        hints.append(f"{total - end} more follow: call again with offset={end}")
    elif offset >= total > 0:
        hints.append(f"The list ends before that: use an offset below {total}")
    elif not total and not any(filter_.values()):
        hints.append("The knowledge base is empty: add to it with kb_addnote or kb_upload_start")
    elif not total:
        hints.append("There are no such documents: call without filters to see what there is")
    return answer | ({"hint": ". ".join(hints)} if hints else {})


def entries(documents: list[Json], show: Show, room: int) -> list[Json]:
    """As many documents as fit into this many characters, at least one."""
    return fit([_entry(document, show) for document in documents], room)


def _entry(document: Json, show: Show) -> Json:
    """A document with what it is chosen by, and without what it has no value for."""
    known = show({name: document[name] for name in _FIELDS})
    known["source"] = document["source_path"] or document["filename"]
    return {name: value for name, value in known.items() if value not in (None, [])}


def _counted(stats: Json, call: Call) -> dict[str, Counts]:
    kinds = {each["doc_type"]: each["documents"] for each in stats["types"]}
    tags = {each["tag"]: each["count"] for each in stats["tags"]}
    return {"doc_types": kinds, **call.view.sort(tags)}


def _most_used(counts: Counts, room: int) -> Counts:
    """As many as fit into this many characters; the most used come first."""
    shown: Counts = {}
    for name, count in counts.items():
        room -= size({name: count})
        if room < 0:
            break
        shown[name] = count
    return shown
