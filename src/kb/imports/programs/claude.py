"""Reads an export of Claude: one document for each conversation.

Projects and Claude's memory are read as well: instructions, uploaded documents, and what Claude
noted. For files, the export has only the text that was read from them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kb.imports.conversation import (
    Message,
    as_json,
    documents,
    earliest,
    fenced,
    output,
    quoted,
)
from kb.imports.export_files import distinct, export_files, heads, objects_in
from kb.imports.fit import LONGEST_PATH, changed_after, clean, metadata_of, one_line, utc
from kb.imports.folder import Found
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.parts import in_parts

_ARCHIVES = re.compile(
    r"(?:conversations|projects|memories|users|data|design_chats)\b.*\.zip", re.I
)
# One file, several that are numbered, or a folder with a file for each.
_FILES = r"(?:.*/)?{0}(?:[-_ ]?\d+)?\.json|(?:.*/)?{0}/.+\.json"
_CONVERSATIONS = re.compile(_FILES.format("conversations"))
_WHO = {"human": "Human", "assistant": "Claude"}
_Reader = Callable[[Json, str, Told], Iterator[Item]]


class Claude:
    name = "claude"

    def recognises(self, path: Path) -> bool:
        return any('"chat_messages"' in head for head in heads(path, _CONVERSATIONS, _ARCHIVES))

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        files = export_files(path, _ARCHIVES, told)
        readers: dict[str, _Reader] = {}
        for file in files:
            take = _conversation if path.is_file() else _reader(file.name)
            if take:
                readers[file.name] = take
        if not readers:
            raise Unreadable(f"{path} holds no conversations.json of Claude")
        yield from distinct(_items(files, readers, told), told)


def _reader(name: str) -> _Reader | None:
    return next((take for names, take in _READERS if names.fullmatch(name)), None)


def _items(files: list[Found], readers: dict[str, _Reader], told: Told) -> Iterator[Item]:
    for file in files:
        if file.name in readers:
            for where, record in objects_in(file, told):
                yield from readers[file.name](record, where, told)
        else:
            told(Skipped(file.name, "neither conversations nor projects nor memories"))


def _conversation(record: Json, where: str, told: Told) -> Iterator[Item]:
    uuid = one_line(record.get("uuid") or "")
    entries = record.get("chat_messages")
    if not uuid or not isinstance(entries, list):
        told(Skipped(where, "not a conversation: it has no uuid or no messages"))
        return
    messages = list(_messages(entries, where, told))
    if not messages:
        told(Skipped(f"{where}: {one_line(record.get('name') or uuid)}", "nothing was said in it"))
        return
    project = record.get("project")
    metadata = {
        "conversation": "Claude",
        "messages": len(messages),
        "model": record.get("model"),
        "summary": record.get("summary"),
        "project": project.get("name") if isinstance(project, dict) else None,
    }
    title = one_line(record.get("name") or "") or _first_words(messages)
    since = earliest(*(said.at for said in messages))
    yield from documents(_item(uuid, f"chat/{uuid}", title, record, metadata, since), messages)


def _first_words(messages: list[Message]) -> str:
    words = messages[0].text.strip().partition("\n")[0]
    return one_line(words, 80) or "Untitled conversation"


def _messages(entries: list[Any], where: str, told: Told) -> Iterator[Message]:
    answered: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            told(Skipped(f"{where}, message {number}", "not an object"))
            continue
        text = _text(entry)
        parent = entry.get("parent_message_uuid")
        again = isinstance(parent, str) and parent in answered
        if isinstance(parent, str):
            answered.add(parent)
        if text:
            sender = str(entry.get("sender") or "unknown")
            about = "another version" if again else ""
            who = _WHO.get(sender, one_line(sender, 80).capitalize())
            yield Message(who, text, utc(entry.get("created_at")), about)


def _text(entry: Json) -> str:
    said = "\n\n".join(filter(str.strip, map(_block, _dicts(entry.get("content")))))
    if not said:
        said = str(entry.get("text") or "")
    return "\n\n".join(filter(None, [clean(said).strip(), *_attached(entry)]))


def _block(block: Json) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text") or "")
    if kind == "thinking":
        thought = str(block.get("thinking") or "")
        return f"Thinking:\n\n{quoted(thought)}" if thought.strip() else ""
    if kind == "tool_use":
        return _tool_use(str(block.get("name") or "a tool"), block.get("input"))
    if kind == "tool_result":
        result = _result(block.get("content"))
        return f"Result of {block.get('name') or 'the tool'}:\n\n{output(result)}" if result else ""
    if kind == "token_budget":
        return ""
    said = block.get("text")
    return said if isinstance(said, str) else f"({one_line(kind)})\n\n{output(as_json(block))}"


def _tool_use(name: str, given: object) -> str:
    """An artifact, or a file that was written, is what was said; of other tools, what was asked."""
    if not isinstance(given, dict):
        return f"Used {one_line(name)}."
    title = one_line(given.get("title") or given.get("path") or given.get("id") or name, 200)
    content = given.get("content") if name == "artifacts" else given.get("file_text")
    if isinstance(content, str) and content.strip():
        language = given.get("language") or (
            "markdown" if given.get("type") == "text/markdown" else ""
        )
        return f"Artifact: {title}\n\n{fenced(content, str(language or ''))}"
    if "old_str" in given and "new_str" in given:
        change = f"{fenced(str(given['old_str']))}\n\nbecomes\n\n{fenced(str(given['new_str']))}"
        return f"Changed: {title}\n\n{change}"
    return f"Used {one_line(name)}:\n\n{output(as_json(given))}" if given else f"Used {name}."


def _result(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, dict):
            head = " ".join(str(part[name]) for name in ("title", "url") if part.get(name))
            texts.append("\n".join(filter(None, [head, str(part.get("text") or "")])))
    return "\n\n".join(filter(None, texts)).strip()


def _attached(entry: Json) -> Iterator[str]:
    for file in _dicts(entry.get("attachments")):
        name = one_line(file.get("file_name") or "without a name", 200)
        content = str(file.get("extracted_content") or "")
        yield f"Attachment: {name}" + (f"\n\n{fenced(content)}" if content.strip() else "")
    for file in _dicts(entry.get("files")) + _dicts(entry.get("files_v2")):
        yield f"File: {one_line(file.get('file_name') or file.get('file_uuid') or 'unknown', 200)}"


def _dicts(value: object) -> list[Json]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _project(record: Json, where: str, told: Told) -> Iterator[Item]:
    uuid = one_line(record.get("uuid") or "")
    if not uuid:
        told(Skipped(where, "not a project: it has no uuid"))
        return
    name = one_line(record.get("name") or "") or "Untitled project"
    about = [
        Message(title, str(record[field]))
        for field, title in (("description", "Description"), ("prompt_template", "Instructions"))
        if str(record.get(field) or "").strip()
    ]
    item = _item(uuid, f"project/{uuid}", f"Project: {name}", record, {"project": name})
    yield from documents(item, about)
    if not about and not record.get("docs"):
        told(Skipped(f"{where}: {name}", "a project with nothing in it"))
    for number, document in enumerate(_dicts(record.get("docs")), start=1):
        filename = one_line(document.get("filename") or "") or f"document {number}"
        content = clean(str(document.get("content") or ""))
        if content.strip():
            key = one_line(document.get("uuid") or "") or f"{uuid}/{filename}"
            item = _item(key, f"project/{uuid}/{filename}", filename, document, {"project": name})
            yield from in_parts(replace(item, text=content))
        else:
            told(Skipped(f"{where}, {filename}", "a document without text"))


def _memories(record: Json, where: str, told: Told) -> Iterator[Item]:
    account = one_line(record.get("account_uuid") or "") or "account"
    projects = record.get("project_memories")
    texts = {"": record.get("conversations_memory")}
    texts |= projects if isinstance(projects, dict) else {}
    found = {name: text for name, text in texts.items() if isinstance(text, str) and text.strip()}
    if not found:
        told(Skipped(where, "no memories in it"))
    for project, text in found.items():
        key = f"memory/{account}" + (f"/{one_line(project)}" if project else "")
        title = "Claude's memory" + (f" of project {one_line(project)}" if project else "")
        yield from in_parts(replace(_item(key, key, title, record, {}), text=clean(text)))


def _item(
    key: str, address: str, title: str, record: Json, metadata: Json, since: str | None = None
) -> Item:
    created_at = utc(record.get("created_at")) or since
    return Item(
        key=key,
        title=one_line(title),
        source_path=one_line(f"https://claude.ai/{address}", LONGEST_PATH),
        metadata=metadata_of(metadata),
        created_at=created_at,
        updated_at=changed_after(created_at, utc(record.get("updated_at"))),
    )


_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (_CONVERSATIONS, _conversation),
    (re.compile(_FILES.format("projects")), _project),
    (re.compile(_FILES.format("memories")), _memories),
)
