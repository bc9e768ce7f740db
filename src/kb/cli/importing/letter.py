"""An item of a source in, what is sent to the engine about it out."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kb.imports.digest import digest
from kb.imports.item import Item

Json = dict[str, Any]

_LONGEST_KEY = 1000


@dataclass(frozen=True, slots=True)
class Letter:
    """`check` asks what importing would come to; `document` and `file` do it."""

    key: str
    title: str
    kind: Literal["note", "file"]
    check: Json
    document: Json
    file: Path | None


def letter(item: Item, source: str) -> Letter:
    """What an item says, and a digest of that. Raises OSError where its file cannot be read."""
    record = item.record or {}
    content_hash = record.get("content_hash") or _hash(item)
    said: Json = {
        "title": item.title,
        "filename": item.filename,
        "source_path": item.source_path,
        "tags": list(item.tags),
        "metadata": item.metadata,
        "created_at": item.created_at,
    }
    of_all = digest(content_hash=content_hash, **said)
    named = {"source": source, "key": _key(item.key), "digest": of_all}
    document = {**said, "updated_at": item.updated_at, "uid": item.uid, **record}
    if "passages" not in record:
        document |= {**named, "text": item.text}
    return Letter(
        key=item.key,
        title=item.title,
        kind="note" if item.file is None and record.get("doc_type", "note") == "note" else "file",
        check={**named, "uid": item.uid, "seen_at": _seen_at(item)},
        document={name: value for name, value in document.items() if _is_said(name, value, record)},
        file=item.file,
    )


def _is_said(name: str, value: object, record: Json) -> bool:
    """With all that is known of a document, what is null says something, too."""
    return value is not None or (bool(record) and name in record) or "passages" in record


def _seen_at(item: Item) -> str | None:
    return (item.updated_at or item.created_at) if item.uid else None


def _key(key: str) -> str:
    """A key that the engine takes; one that is very long goes by its hash."""
    if len(key) <= _LONGEST_KEY:
        return key
    return f"{key[:100]}…{hashlib.sha256(key.encode(errors='replace')).hexdigest()}"


def _hash(item: Item) -> str:
    if item.file is None:
        return hashlib.sha256((item.text or "").encode(errors="replace")).hexdigest()
    with item.file.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
