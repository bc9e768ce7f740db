"""The requested part of a document."""

from collections.abc import Callable

from kb.mcp.budget import CHARACTERS, SHORTEST, shorten, size
from kb.mcp.contract import Json, ToolFailed

Show = Callable[[Json], Json]

_CHUNK_FIELDS = ("id", "seq", "page", "location", "headings", "text")
_LEFT_OUT = ("text", "chunks", "origin", "how_read")
FOR_HINTS = 400  # characters to keep free for what is said at the end


def source(thing: Json) -> str:
    """Where a hit or a document comes from, in words to cite: `report.pdf, page 3`."""
    name = thing["source_path"] or thing["filename"] or f"note: {thing['title']}"
    place = thing.get("location") or (f"page {thing['page']}" if thing.get("page") else "")
    return f"{name}, {place}" if place else str(name)


def head(document: Json, show: Show) -> Json:
    """What is known about a document, without its text. To an agent, machines have no names, and
    how a file was read matters only where something is missing."""
    known = {name: value for name, value in document.items() if name not in _LEFT_OUT}
    warnings = (document.get("how_read") or {}).get("warnings")
    known |= {"warnings": warnings} if warnings else {}
    return show(known | {"source": source(document)})


def bounded_head(document: Json, show: Show, max_tokens: int) -> Json:
    """What is known about a document, without its metadata if that would take too much."""
    about, hints = _affordable(head(document, show), max_tokens)
    return about | ({"hint": hints[0]} if hints else {})


def page_of(
    document: Json, show: Show, *, offset: int = 0, limit: int = 1000, max_tokens: int
) -> Json:
    """A document with as many of its passages from `offset` on as may be shown."""
    about, hints = _affordable(head(document, show), max_tokens)
    chunks = document["chunks"]
    window = chunks[offset : offset + limit]
    wanted = [_passage(chunk, under_header=chunk is window[0]) for chunk in window]
    shown = _fill(wanted, max_tokens * CHARACTERS - size(about) - FOR_HINTS)
    end = offset + len(shown)
    answer = about | {"offset": offset, "chunks": shown}
    if end < len(chunks):
        answer["next_offset"] = end
        hints.append(f"Passages {end} to {len(chunks) - 1} follow: call again with offset={end}")
    elif offset >= len(chunks) > 0:
        hints.append(f"It ends before that: use an offset below {len(chunks)}")
    if any("excerpt" in chunk for chunk in shown):
        hints.append("A passage was cut: raise max_tokens to see all of it")
    return answer | ({"hint": ". ".join(hints)} if hints else {})


def around(document: Json, show: Show, chunk_id: int, *, limit: int = 5, max_tokens: int) -> Json:
    """A document with the passages nearest to one of them, in order; that one is always there."""
    chunks = document["chunks"]
    found = next((at for at, chunk in enumerate(chunks) if chunk["id"] == chunk_id), None)
    if found is None:
        raise ToolFailed(
            "chunk_not_found",
            f"Passage {chunk_id} is not in document {document['id']}: it may have changed,"
            " take document_id and chunk_id from a new kb_search",
            chunk_id=chunk_id,
            document_id=document["id"],
        )
    first = max(0, min(found - limit // 2, len(chunks) - limit))
    window = range(first, min(first + limit, len(chunks)))
    nearest = sorted(window, key=lambda at: (abs(at - found), -at))
    about, hints = _affordable(head(document, show), max_tokens)
    room = max_tokens * CHARACTERS - size(about) - FOR_HINTS
    shown = _fill([_passage(chunks[at], under_header=at == found) for at in nearest], room)
    shown.sort(key=lambda chunk: chunk["seq"])
    hints.append(f"Passages {shown[0]['seq']} to {shown[-1]['seq']} of {len(chunks)}")
    return about | {
        "offset": shown[0]["seq"],
        "chunks": shown,
        "hint": ". ".join(hints) + ": call with offset for others",
    }


def _passage(chunk: Json, *, under_header: bool) -> Json:
    """With the first row of its table above it, if it is a later passage of a long one: the other
    passages around it have the same columns."""
    passage = {name: chunk[name] for name in _CHUNK_FIELDS}
    if under_header and chunk["table_header"]:
        passage["text"] = f"{chunk['table_header']}\n{chunk['text']}"
    return passage


def _fill(passages: list[Json], room: int) -> list[Json]:
    """As many as fit, in the order given. The first comes even if it must be cut for that."""
    shown: list[Json] = []
    for passage in passages:
        taken = size(passage) + 1
        if shown and taken > room:
            break
        if taken > room:
            passage = shorten(passage, (), max(room - size(passage | {"text": ""}), SHORTEST))
        shown.append(passage)
        room -= taken
    return shown


def _affordable(about: Json, max_tokens: int) -> tuple[Json, list[str]]:
    """Metadata may be larger than any answer should be; the text matters more."""
    if size(about) <= max_tokens * CHARACTERS // 2:
        return about, []
    rest = {name: value for name, value in about.items() if name != "metadata"}
    return rest, ["The metadata was left out: raise max_tokens to see it"]
