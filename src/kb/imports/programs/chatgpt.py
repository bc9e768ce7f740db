"""Reads an export of ChatGPT: one document for each conversation, and the files in it.

A conversation is a tree: each edit and each new answer is a branch. The branch that ChatGPT shows
comes first in the document; the others follow it, and say so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb.imports.conversation import Message, documents, earliest
from kb.imports.export_files import distinct, export_files, heads, objects_in
from kb.imports.fit import changed_after, metadata_of, one_line, utc
from kb.imports.folder import Found
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.programs.chatgpt_content import asset_ids, attached, text_of

_ARCHIVES = re.compile(r"(?:conversations|data|export)\b.*\.zip", re.I)
_CONVERSATIONS = re.compile(
    r"(?:.*/)?conversations(?:[-_ ]?\d+)?\.json|(?:.*/)?conversations/.+\.json"
)
_MEDIA = re.compile(r"(file[-_][A-Za-z0-9]+)(?:-(.+))?")
_DOCUMENTS = re.compile(r"(?:.*/)?(?:textdocs|dalle-generations|user-[^/]+)/.+")
_WHO = {"user": "User", "assistant": "ChatGPT", "system": "System"}
_KEPT = ("default_model_slug", "gizmo_id", "is_archived", "is_starred", "conversation_origin")


@dataclass(frozen=True, slots=True)
class _Mention:
    """Where a file is shown, and what it was called there."""

    conversation: str
    title: str
    at: str | None
    name: str | None


class ChatGpt:
    name = "chatgpt"

    def recognises(self, path: Path) -> bool:
        return any('"mapping"' in head for head in heads(path, _CONVERSATIONS, _ARCHIVES))

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        files = export_files(path, _ARCHIVES, told)
        named = [file for file in files if _CONVERSATIONS.fullmatch(file.name)]
        conversations = files if path.is_file() else named
        if not conversations:
            raise Unreadable(f"{path} holds no conversations.json of ChatGPT")
        others = [file for file in files if file not in conversations]
        yield from distinct(_items(conversations, others, told), told)


def _items(conversations: list[Found], others: list[Found], told: Told) -> Iterator[Item]:
    mentions: dict[str, _Mention] = {}
    for file in conversations:
        for where, record in objects_in(file, told):
            yield from _conversation(record, where, mentions, told)
    for file in others:
        media = _MEDIA.match(file.path.name)
        if media or _DOCUMENTS.fullmatch(file.name):
            yield _media(file, media, mentions)
        else:
            told(Skipped(file.name, "neither a conversation nor a file of one"))


def _conversation(
    record: Json, where: str, mentions: dict[str, _Mention], told: Told
) -> Iterator[Item]:
    mapping = record.get("mapping")
    mapping = mapping if isinstance(mapping, dict) else {}
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    if not nodes:
        told(Skipped(where, "not a conversation: it has no messages"))
        return
    key = one_line(record.get("conversation_id") or record.get("id") or min(nodes))
    branches = list(_branches(nodes, record.get("current_node")))
    messages: list[Message] = []
    hidden = 0
    for number, branch in enumerate(branches):
        about = f"branch {number}" if number else ""
        for name in branch:
            message = nodes[name].get("message")
            if isinstance(message, dict) and _is_hidden(message):
                hidden += 1
            elif isinstance(message, dict):
                messages += _message(message, about)
    if not messages:
        told(Skipped(f"{where}: {one_line(record.get('title') or key)}", "nothing was said in it"))
        return
    created_at = utc(record.get("create_time")) or earliest(*(said.at for said in messages))
    item = Item(
        key=key,
        title=one_line(record.get("title") or "") or one_line(messages[0].text, 80),
        source_path=f"https://chatgpt.com/c/{key}",
        metadata=metadata_of(
            {
                "conversation": "ChatGPT",
                "messages": len(messages),
                "other_branches": len(branches) - 1 or None,
                "hidden_messages": hidden or None,
                **{name: record.get(name) for name in _KEPT},
            }
        ),
        created_at=created_at,
        updated_at=changed_after(created_at, utc(record.get("update_time"))),
    )
    for node in nodes.values():
        _note_files(node.get("message"), item, mentions)
    yield from documents(item, messages)


def _branches(nodes: Json, current: object) -> Iterator[list[str]]:
    """The nodes of the branch that is shown; then, for each place where another one leaves it,
    the nodes of that. Every node is in one of them, whatever is wrong with the tree."""
    shown = _up(nodes, current if isinstance(current, str) and current in nodes else _latest(nodes))
    yield shown
    children: dict[str, list[str]] = {}
    for name, node in nodes.items():
        children.setdefault(str(node.get("parent")), []).append(name)
    seen = set(shown)
    leaving = [child for name in shown for child in children.get(name, ())]
    for start in (*leaving, *nodes):
        branch = []
        waiting = [start]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                branch.append(name)
                waiting += reversed(children.get(name, []))
        if any(nodes[name].get("message") for name in branch):
            yield branch


def _up(nodes: Json, leaf: str) -> list[str]:
    path: dict[str, None] = {}
    name: object = leaf
    while isinstance(name, str) and name in nodes and name not in path:
        path[name] = None
        name = nodes[name].get("parent")
    return list(reversed(path))


def _latest(nodes: Json) -> str:
    def said_at(name: str) -> str:
        message = nodes[name].get("message")
        return (utc(message.get("create_time")) or "") if isinstance(message, dict) else ""

    return max(nodes, key=said_at)


def _is_hidden(message: Json) -> bool:
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("is_visually_hidden_from_conversation"))


def _message(message: Json, about: str) -> Iterator[Message]:
    text = text_of(message)
    if text:
        author = message.get("author")
        author = author if isinstance(author, dict) else {}
        role = str(author.get("role") or "unknown")
        who = _WHO.get(role) or one_line(f"{role} {author.get('name') or ''}", 80).capitalize()
        yield Message(who, text, utc(message.get("create_time")), about)


def _note_files(message: object, item: Item, mentions: dict[str, _Mention]) -> None:
    if isinstance(message, dict):
        at = utc(message.get("create_time"))
        names = dict.fromkeys(asset_ids(message)) | attached(message)
        for name, called in names.items():
            if mentions.get(name) is None or called:
                mentions[name] = _Mention(item.key, item.title, at, called)


def _media(file: Found, media: re.Match[str] | None, mentions: dict[str, _Mention]) -> Item:
    """A picture or another file of the export, under the name that it had when it was sent."""
    mention = mentions.get(media[1]) if media else None
    called = (mention and mention.name) or (media and media[2]) or file.path.name
    name = one_line(called.rpartition("/")[2], 200) or file.path.name
    metadata = {"conversation": "ChatGPT", "of": mention and mention.title}
    address = f"c/{mention.conversation}" if mention else "files"
    return Item(
        key=f"file/{media[1] if media else file.name}",
        title=name,
        file=file.path,
        filename=name,
        source_path=f"https://chatgpt.com/{address}#{file.path.name}",
        metadata=metadata_of(metadata),
        created_at=mention.at if mention else None,
    )
