"""The best available row for a document whose own row cannot be trusted.

Most of a row is also in indexes: whether it existed, its uid, its path, its original, and when it
last changed. If the row in the last backup has the same time, it is the very same row. If not,
whatever cannot be known is reported.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from kb.engine.ingest.titles import first_line, shortened, stem
from kb.engine.store.file.database import Row
from kb.engine.values import now
from kb.engine.verify.rebuilding.backup_rows import BackupRows, Values
from kb.engine.verify.rebuilding.salvage import Salvage
from kb.engine.verify.rebuilding.witnesses import Witnesses

CHANGED = "COALESCE(updated_at, created_at)"
# An index, what it tells of a document, and of which ones.
_INDEXES = (
    ("documents_by_recency", (CHANGED,), "TRUE"),
    ("sqlite_autoindex_documents_1", ("uid",), "TRUE"),
    ("documents_by_hash", ("content_hash",), "TRUE"),
    ("documents_by_kind", ("doc_type", "format", "created_at"), "TRUE"),
    ("documents_by_path", ("source_path",), "source_path IS NOT NULL"),
    ("documents_by_file", ("stored_name",), "stored_name IS NOT NULL"),
)
_OF_THE_TEXT = ("text_hash",)


# The name of an original in, its size and hash out, if it is there.
Measured = Callable[[str], tuple[int, str] | None]
_TAKEN_AS_IT_IS = ", and whether its original is the one that was added"


@dataclass(frozen=True, slots=True)
class Remade:
    """A row, and a remark about it. With `is_lost` something is gone, not only unproven."""

    row: Values
    doubt: str | None = None
    is_lost: bool = False
    from_backup: bool = False


class LostDocuments:
    """`unread` are the ids of documents whose rows cannot be trusted, or are not there.

    `measured` tells the size and hash of an original by its name.
    """

    def __init__(
        self,
        salvage: Salvage,
        backup: BackupRows,
        unread: set[int],
        witnesses: Witnesses,
        measured: Measured,
    ) -> None:
        self._old = salvage
        self._backup = backup
        self._measured = measured
        self._witnesses = witnesses
        self._known: dict[int, Values] = {}
        self._told: set[str] = set()
        for index, columns, where in _INDEXES if unread else ():
            rows = salvage.by_index("documents", index, ", ".join(["id", *columns]), unread, where)
            if rows is not None:
                self._learn(columns, rows)

    def _learn(self, columns: tuple[str, ...], rows: list[Row]) -> None:
        self._told.update(columns)
        for document_id, *values in rows:
            about = self._known.setdefault(document_id, {})
            about.update(zip(columns, values, strict=True))

    def existed(self, document_id: int) -> bool | None:
        """Whether there was such a document; None where nothing tells."""
        return self._witnesses.existed(document_id)

    def in_backup(self, document_id: int) -> Values | None:
        """What the backup has under this id, if that can be the same document."""
        saved = self._backup.row("documents", document_id)
        uid = self._known.get(document_id, {}).get("uid")
        return saved if saved is not None and uid in (None, saved["uid"]) else None

    def remade(self, document_id: int, found: Values | None, is_older: bool = False) -> Remade:
        """`found` is the row on a page with wrong bytes, if it can be a document at all, or, if it
        `is_older`, the row before its last change."""
        about = self._known.get(document_id, {})
        saved = self.in_backup(document_id)
        if saved is not None and self._is_unchanged(saved, about, found):
            newer = {name: value for name, value in (found or {}).items() if name not in saved}
            filled = sorted(name for name, value in newer.items() if value is not None)
            unknown = ", ".join(name for name in filled if name not in _OF_THE_TEXT)
            doubt = f"{unknown}, which the backup is too old to have" if unknown else None
            return Remade(
                {**saved, **newer}, _said(document_id, saved, doubt), from_backup=saved != found
            )
        sure = self._columns(about)
        if found is not None and is_older:
            return self._older(document_id, found, sure)
        if found is not None:
            return self._doubtful(document_id, found, sure, saved)
        if saved is not None:
            return self._as_of_the_backup(document_id, saved, sure)
        return self._from_indexes(document_id, sure)

    @staticmethod
    def _is_unchanged(saved: Values, about: Values, found: Values | None) -> bool:
        if CHANGED in about:
            return bool(about[CHANGED] == changed_at(saved))
        same = found is not None and found["uid"] == saved["uid"]
        return same and found is not None and changed_at(found) == changed_at(saved)

    def _older(self, document_id: int, found: Values, sure: Values) -> Remade:
        row = self._with_changed_content({**found, **sure}, found)
        row["updated_at"] = self._known[document_id].get(CHANGED, found["updated_at"])
        doubt = f"title, tags and the like may be an older version, of {changed_at(found)}"
        return Remade(row, _said(document_id, found, doubt))

    def _doubtful(
        self, document_id: int, found: Values, sure: Values, saved: Values | None
    ) -> Remade:
        """A title that nothing proves gives way to the name of the file, where that is proven."""
        row, doubt = {**found, **sure}, "title, path and the like"
        name = self._name(document_id, sure)
        if name and stem(name) and (saved is None or saved["title"] != found["title"]):
            row["title"] = shortened(stem(name))
            if row["title"] != found["title"]:
                doubt = f"{doubt}; what is left of its title is `{found['title']}`"
        return Remade(row, _said(document_id, row, doubt))

    def _with_changed_content(self, row: Values, before: Values) -> Values:
        """What a row says of its text and its size is of a content that it may not have now."""
        if row["content_hash"] != before["content_hash"]:
            row |= {"text_hash": None, "chunk_count": -1}
            row["size_bytes"] = self._size(row)
        return row

    def _as_of_the_backup(self, document_id: int, saved: Values, sure: Values) -> Remade:
        row = {**saved, **sure}
        if CHANGED in self._known.get(document_id, {}):
            row["updated_at"] = self._known[document_id][CHANGED]
        doubt = ""
        if "content_hash" not in sure and self._take_as_it_is(row):
            doubt = _TAKEN_AS_IT_IS
        if "content_hash" not in sure or sure["content_hash"] != saved["content_hash"]:
            row |= {"text_hash": None, "chunk_count": -1}
            row["size_bytes"] = self._size(row)
        doubt = (
            f"title, metadata and the like are as of the backup of {self._backup.taken_at}{doubt}"
        )
        return Remade(row, _said(document_id, row, doubt), from_backup=True)

    def _from_indexes(self, document_id: int, sure: Values) -> Remade:
        kind = "text" if sure.get("stored_name") else "note"  # until it is read again
        is_note = sure.get("doc_type", kind) == "note"
        name = self._name(document_id, sure)
        title = self._first_line(document_id) if is_note else stem(name)
        row = {
            "id": document_id,
            "uid": str(uuid.uuid4()),
            "title": shortened(title) or f"What is left of document {document_id}",
            "filename": None if is_note else name or None,
            "doc_type": kind,
            "format": kind,
            "content_hash": "",
            "metadata": "{}",
            "processing_method": "text_extraction",
            "chunk_count": -1,
            "created_at": now(),
            **sure,
        }
        row["size_bytes"] = self._size(row)
        doubt = "its title, metadata and the like"
        if "content_hash" not in sure and self._take_as_it_is(row):
            doubt += _TAKEN_AS_IT_IS
        return Remade(row, _said(document_id, row, doubt), is_lost=True)

    def _columns(self, about: Values) -> Values:
        """The columns that indexes know. An index that knows some documents knows others, too."""
        sure = {name: value for name, value in about.items() if name != CHANGED}
        for name in ("source_path", "stored_name"):
            if name in self._told:
                sure.setdefault(name, None)
        return sure

    def _take_as_it_is(self, row: Values) -> bool:
        """Accept a row's original as it is now, since nothing says what it was."""
        measured = self._measured(row["stored_name"]) if row.get("stored_name") else None
        if measured is None or measured[1] == row["content_hash"]:
            return False
        row["size_bytes"], row["content_hash"] = measured
        return True

    def _name(self, document_id: int, sure: Values) -> str:
        """What its file was called, as far as that is proven."""
        return self._filename(document_id) or PurePath(sure.get("source_path") or "").name

    def _filename(self, document_id: int) -> str | None:
        rows = self._old.trusted(
            "SELECT filename FROM jobs WHERE document_id = ? AND filename IS NOT NULL "
            "ORDER BY id DESC LIMIT 1",
            document_id,
        )
        return str(rows[0][0]) if rows else None

    def _first_line(self, document_id: int) -> str:
        """What a note is called that was given no title."""
        rows = self._old.trusted(
            "SELECT text FROM chunks WHERE document_id = ? AND seq = 0", document_id
        )
        return first_line(rows[0][0]) if rows else ""

    def _size(self, row: Values) -> int:
        measured = self._measured(row["stored_name"]) if row.get("stored_name") else None
        return measured[0] if measured else 0


def changed_at(row: Values) -> Any:
    """When a document was changed last, or added."""
    return row["updated_at"] or row["created_at"]


def _said(document_id: int, row: Values, doubt: str | None) -> str | None:
    return doubt and f"document {document_id} ({row['title']}): {doubt}"
