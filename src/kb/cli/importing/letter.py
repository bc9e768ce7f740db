"""The request that sends an item of a source to the engine."""

import hashlib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kb.client import Json
from kb.imports.digest import digest
from kb.imports.fit import LONGEST_NOTE, MOST_TAGS
from kb.imports.item import Item
from kb.source_path import has_namesake

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
    size: int | None  # of the file

    @property
    def is_foreign(self) -> bool:
        """Whether it comes from another program than kb."""
        return self.document.get("uid") is None

    def refusal(self, largest_mb: int) -> Json | None:
        """Why the engine would refuse it, if that is known without sending it."""
        if "passages" in self.document:
            return None
        text = self.document.get("text")
        tags = {*self.document["tags"], *self.document.get("given_tags", ())}
        is_blank = text is not None and not text.strip()
        reasons = (
            (is_blank or self.size == 0, "no_text_found", "it is empty"),
            (
                len(text or "") > LONGEST_NOTE,
                "text_too_long",
                f"a note has at most {LONGEST_NOTE:,} characters; add a longer text as a file",
            ),
            ("\0" in (text or ""), "invalid_request", "it holds NUL characters"),
            (
                _holds_controls(self.document.get("source_path") or ""),
                "invalid_request",
                "its name holds a line break or another control character: rename the file",
            ),
            (len(tags) > MOST_TAGS, "invalid_request", f"it has more than {MOST_TAGS} tags"),
            (
                (self.size or 0) > largest_mb * 2**20,
                "file_too_large",
                f"it is larger than {largest_mb} MB (KB_MAX_FILE_MB)",
            ),
        )
        found = [{"error": code, "message": why} for is_so, code, why in reasons if is_so]
        return found[0] if found else None


def letter(item: Item, source: str, given_tags: tuple[str, ...] = ()) -> Letter:
    """The request for an item, and a digest of it without the tags that this run adds. Raises
    OSError if its file cannot be read."""
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
    named = {"source": source, "key": key_of(item.key), "digest": of_all}
    document = {**said, "updated_at": item.updated_at, "uid": item.uid, **record}
    if "passages" not in record:
        document |= {**named, "text": item.text}
    if item.source_path == str(item.file) and has_namesake(item.source_path):
        document["exact_path"] = True
    given = {"given_tags": list(given_tags)} if given_tags else {}
    document |= given
    seen_at = (item.updated_at or item.created_at) if item.uid else None
    return Letter(
        key=item.key,
        title=item.title,
        kind="note" if item.file is None and record.get("doc_type", "note") == "note" else "file",
        check={**named, "uid": item.uid, "seen_at": seen_at, **given},
        document={name: value for name, value in document.items() if _is_said(name, value, record)},
        file=item.file,
        size=item.file.stat().st_size if item.file else None,
    )


def _holds_controls(name: str) -> bool:
    return any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name)


def _is_said(name: str, value: object, record: Json) -> bool:
    """With all that is known of a document, what is null says something, too."""
    return value is not None or (bool(record) and name in record) or "passages" in record


def key_of(key: str) -> str:
    """A key that the engine takes; one that is very long goes by its hash."""
    if len(key) <= _LONGEST_KEY:
        return key
    return f"{key[:100]}…{hashlib.sha256(key.encode(errors='replace')).hexdigest()}"


def _hash(item: Item) -> str:
    if item.file is None:
        return hashlib.sha256((item.text or "").encode(errors="replace")).hexdigest()
    with item.file.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
