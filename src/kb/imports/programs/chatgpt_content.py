"""The text of one ChatGPT message, whatever kind of content it has."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from kb.imports.conversation import as_json, fenced, output, quoted
from kb.imports.fit import clean, one_line
from kb.imports.item import Json


def text_of(message: Json) -> str:
    """The message's text, with the names of its attachments; empty if there is none."""
    content = message.get("content")
    said = ""
    if isinstance(content, dict):
        said = _canvas(message, content) or _KINDS.get(str(content.get("content_type")), _any)(
            content
        )
    pictures = [f"Attachment: {one_line(name, 200)}" for name in attached(message).values() if name]
    return "\n\n".join(filter(None, [clean(said).strip(), *pictures]))


def attached(message: Json) -> dict[str, str | None]:
    """The files that are attached to a message: their ids, and what they are called."""
    metadata = message.get("metadata")
    listed = metadata.get("attachments") if isinstance(metadata, dict) else None
    files = [file for file in listed if isinstance(file, dict)] if isinstance(listed, list) else []
    return {
        str(file["id"]): str(file["name"]) if file.get("name") else None
        for file in files
        if file.get("id")
    }


def asset_ids(message: Json) -> Iterator[str]:
    """The ids of the pictures and recordings within a message."""
    content = message.get("content")
    for part in _parts(content) if isinstance(content, dict) else ():
        if isinstance(part, dict) and isinstance(part.get("asset_pointer"), str):
            pointer = part["asset_pointer"].rpartition("://")[2]
            yield pointer.partition("#")[0].partition("?")[0]


def _parts(content: Json) -> list[Any]:
    parts = content.get("parts")
    return parts if isinstance(parts, list) else []


def _canvas(message: Json, content: Json) -> str:
    """A document that ChatGPT wrote beside the conversation; it comes as an order to a tool."""
    if not str(message.get("recipient") or "").startswith("canmore."):
        return ""
    text = content.get("text") or "".join(part for part in _parts(content) if isinstance(part, str))
    try:
        order = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(order, dict) or not isinstance(order.get("content"), str):
        return ""
    return f"Canvas: {one_line(order.get('name') or 'Untitled', 200)}\n\n{fenced(order['content'])}"


def _plain(content: Json) -> str:
    return "\n\n".join(filter(str.strip, map(_part, _parts(content))))


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = str(part.get("content_type") or "")
    if kind == "audio_transcription":
        return str(part.get("text") or "")
    if kind == "image_asset_pointer":
        metadata = part.get("metadata")
        dalle = metadata.get("dalle") if isinstance(metadata, dict) else None
        prompt = dalle.get("prompt") if isinstance(dalle, dict) else None
        return f"(Picture: {prompt})" if prompt else "(Picture)"
    if "audio" in kind or "video" in kind:
        return "(Recording)"
    return str(part.get("text") or "") or output(as_json(part))


def _code(content: Json) -> str:
    text = str(content.get("text") or "")
    language = str(content.get("language") or "")
    return fenced(text, "" if language == "unknown" else language) if text.strip() else ""


def _printed(content: Json) -> str:
    text = str(content.get("text") or "")
    return output(text) if text.strip() else ""


def _quote(content: Json) -> str:
    text = str(content.get("text") or "")
    return "\n\n".join(filter(None, [_source(content), quoted(text) if text.strip() else ""]))


def _page(content: Json) -> str:
    text = str(content.get("text") or content.get("snippet") or "")
    return "\n\n".join(filter(None, [_source(content), output(text) if text.strip() else ""]))


def _source(content: Json) -> str:
    names = ("title", "url") if content.get("url") else ("title", "domain")
    return one_line(" · ".join(str(content[name]) for name in names if content.get(name)), 1_000)


def _browsing(content: Json) -> str:
    texts = [str(content[name]) for name in ("summary", "result") if content.get(name)]
    return output("\n".join(texts)) if texts else ""


def _thoughts(content: Json) -> str:
    listed = content.get("thoughts")
    thoughts = (
        [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    )
    texts = [
        "\n".join(str(thought[name]) for name in ("summary", "content") if thought.get(name))
        for thought in thoughts
    ]
    said = "\n\n".join(filter(None, texts))
    return f"Thinking:\n\n{quoted(said)}" if said else ""


def _recap(content: Json) -> str:
    text = str(content.get("content") or "").strip()
    return f"({text})" if text else ""


def _error(content: Json) -> str:
    return f"Error: {content.get('name') or ''} {content.get('text') or ''}".strip()


def _instructions(content: Json) -> str:
    texts = [
        str(content[name]) for name in ("user_profile", "user_instructions") if content.get(name)
    ]
    return "\n\n".join(texts)


def _context(content: Json) -> str:
    return str(content.get("model_set_context") or "")


def _any(content: Json) -> str:
    """A kind that came after this was written: its text, if it has one, else all of it."""
    for name in ("text", "result", "content"):
        if isinstance(content.get(name), str) and content[name].strip():
            return str(content[name])
    return _plain(content) or output(as_json(content))


_KINDS: dict[str, Callable[[Json], str]] = {
    "text": _plain,
    "multimodal_text": _plain,
    "code": _code,
    "execution_output": _printed,
    "tether_quote": _quote,
    "tether_browsing_display": _browsing,
    "sonic_webpage": _page,
    "thoughts": _thoughts,
    "reasoning_recap": _recap,
    "system_error": _error,
    "user_editable_context": _instructions,
    "model_editable_context": _context,
}
