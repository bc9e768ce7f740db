"""Restores the stored text of each document from salvaged passages, or what is left of it.

A text is right if its hash says so. Otherwise it is taken from the last backup, if that has the
right one, or read again from the original. Passages keep their ids, since somebody may have cited
them.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kb.engine.store.file.database import Query, Row
from kb.engine.store.rows.text_hash import COLUMNS, hash_of
from kb.engine.verify.reading_again import Names, queue_reading
from kb.engine.verify.rebuilding.backup_rows import BackupRows
from kb.engine.verify.rebuilding.salvage import Salvage

# The name and hash of an original in, another name for it out, if it is somewhere and is that one.
Adopt = Callable[[str, str], str | None]

_DOCUMENTS = (
    "SELECT id, title, doc_type, text_hash, content_hash, chunk_count, stored_name FROM documents "
    "ORDER BY id"
)


@dataclass(frozen=True, slots=True)
class About:
    """What the row of a document says of its text. A `count` below 0: nobody knows."""

    id: int
    title: str
    doc_type: str
    text_hash: str | None
    content_hash: str
    count: int
    stored_name: str | None


@dataclass(slots=True)
class Texts:
    """What became of the texts; `unproven_ids` are documents whose text is not the stored one, may
    not be, or is still to be read, `lost_ids` those of which it is sure."""

    lost: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    read_again: list[int] = field(default_factory=list)
    from_backup: list[int] = field(default_factory=list)
    unproven_ids: list[int] = field(default_factory=list)
    lost_ids: list[int] = field(default_factory=list)


class TextsAgain:
    """`unproven_chunks` are ids of passages from pages with wrong bytes; those that turn out to be
    right are taken out of it. `pages_lost` are documents that lack places of words on pages."""

    def __init__(
        self,
        salvage: Salvage,
        backup: BackupRows,
        adopt: Adopt,
        unproven_chunks: set[int],
        pages_lost: set[int],
    ) -> None:
        self._backup = backup
        self._adopt = adopt
        self._unproven = unproven_chunks
        self._pages_lost = pages_lost
        self._lost_names = LostNames(salvage)
        self.result = Texts()

    @staticmethod
    def documents(query: Query) -> list[About]:
        return [About(*row) for row in query(_DOCUMENTS)]

    def put_right(self, query: Query, about: About) -> None:
        """Decide whether a document's passages are those that were stored, and see to it."""
        rows = query(
            f"SELECT id, uid, seq, {COLUMNS} FROM chunks WHERE document_id = :id ORDER BY seq",
            id=about.id,
        )
        names = {row[2]: (row[0], row[1]) for row in rows} | dict(self._lost_names.of(about.id))
        is_right = self._is_right(query, about, rows) or (
            about.text_hash is not None
            and self._take_from_backup(query, about, names, about.text_hash)
        )
        if is_right:
            self._unproven.difference_update(row[0] for row in rows)
            if self._has_its_pages(query, about):
                return
        again = about.stored_name and self._adopt(about.stored_name, about.content_hash)
        if again:
            self._read_again(query, about, again, names)
        elif is_right:
            self.result.unproven.append(
                f"document {about.id} ({about.title}): where words stand on its pages"
            )
        elif rows or not self._take_from_backup(query, about, {}):
            self._keep_what_is_left(query, about, rows)
        else:
            self._name_older(about)

    def _is_right(self, query: Query, about: About, rows: list[Row]) -> bool:
        expected = about.count if about.count >= 0 else self._lost_names.count(about.id, rows)
        if expected is None or [row[2] for row in rows] != list(range(expected)):
            return False
        if about.text_hash is not None:
            return hash_of(row[3:] for row in rows) == about.text_hash
        if self._unproven.intersection(row[0] for row in rows):
            return False
        if about.count < 0:
            _note_text(query, about, rows)
        return True

    def _has_its_pages(self, query: Query, about: About) -> bool:
        """Whether the places of its words are there, maybe by now: the backup may have them."""
        if about.id not in self._pages_lost:
            return True
        saved = self._backup.row("documents", about.id)
        hashes = about.text_hash, about.content_hash
        if saved is None or (saved.get("text_hash"), saved["content_hash"]) != hashes:
            return False
        query("DELETE FROM page_words WHERE document_id = :id", id=about.id)
        for row in self._backup.rows("page_words", "document_id", about.id, "page"):
            query(
                "INSERT INTO page_words (document_id, page, words) VALUES (:id, :page, :words)",
                id=about.id,
                page=row["page"],
                words=row["words"],
            )
        self._pages_lost.discard(about.id)
        self.result.from_backup.append(about.id)
        return True

    def _take_from_backup(
        self, query: Query, about: About, names: Names, text_hash: str | None = None
    ) -> bool:
        """The passages that the last backup has of a document, if they have this hash; without
        one, whatever it has."""
        columns = COLUMNS.split(", ")
        rows = self._backup.rows("chunks", "document_id", about.id, "seq")
        texts = [[row[name] for name in columns] for row in rows]
        if not rows or hash_of(texts) != (text_hash or hash_of(texts)):
            return False
        query("DELETE FROM chunks WHERE document_id = :id", id=about.id)
        placed = ", ".join(f":{name}" for name in columns)
        for row, text in zip(rows, texts, strict=True):
            chunk_id, uid = names.get(row["seq"], (row["id"], row["uid"]))
            query(
                f"INSERT INTO chunks (id, uid, document_id, seq, {COLUMNS}) "
                f"VALUES (:id, :uid, :document, :seq, {placed})",
                id=chunk_id,
                uid=uid or row["uid"],
                document=about.id,
                seq=row["seq"],
                **dict(zip(columns, text, strict=True)),
            )
        if text_hash is None:
            _note_text(query, about, [(None, None, None, *text) for text in texts])
        self.result.from_backup.append(about.id)
        return True

    def _read_again(self, query: Query, about: About, stored_name: str, names: Names) -> None:
        query("DELETE FROM chunks WHERE document_id = :id", id=about.id)
        query("DELETE FROM page_words WHERE document_id = :id", id=about.id)
        _note_text(query, about, [])
        queue_reading(query, about.id, stored_name, about.text_hash, names)
        self.result.read_again.append(about.id)
        self.result.unproven_ids.append(about.id)

    def _keep_what_is_left(self, query: Query, about: About, rows: Sequence[Row]) -> None:
        for seq, row in enumerate(rows):
            query("UPDATE chunks SET seq = :seq WHERE id = :id", id=row[0], seq=seq)
        _note_text(query, about, rows)
        missing = about.count - len(rows)
        is_lost = missing > 0 or about.text_hash is not None
        if missing > 0:
            what = f"{missing} of its {about.count} passages"
        elif is_lost:
            what = "its text as it was last; what is there is older, or has other words"
        else:
            what = "parts of its text"
        line = f"document {about.id} ({about.title}): {what}"
        (self.result.lost if is_lost else self.result.unproven).append(line)
        self.result.unproven_ids.append(about.id)
        if is_lost:
            self.result.lost_ids.append(about.id)

    def _name_older(self, about: About) -> None:
        self.result.unproven.append(
            f"document {about.id} ({about.title}): its text is as of the backup of "
            f"{self._backup.taken_at}"
        )
        self.result.unproven_ids.append(about.id)


class LostNames:
    """What passages that cannot be read were called: two indexes tell that of each."""

    def __init__(self, salvage: Salvage) -> None:
        unread = salvage.unread.get("chunks", set())
        self._of: dict[int, dict[int, tuple[int, bytes | None]]] = {}
        self._all_known = True
        if not unread:
            return
        places = salvage.by_index(
            "chunks", "sqlite_autoindex_chunks_2", "id, document_id, seq", unread
        )
        called = salvage.by_index("chunks", "sqlite_autoindex_chunks_1", "id, uid", unread)
        uids: dict[int, bytes] = dict(called or [])
        self._all_known = places is not None
        for chunk_id, document_id, seq in places or []:
            self._of.setdefault(document_id, {})[seq] = chunk_id, uids.get(chunk_id)

    def of(self, document_id: int) -> Names:
        return self._of.get(document_id, {})

    def count(self, document_id: int, rows: list[Row]) -> int | None:
        """How many passages a document had, where its row does not say; None if nothing does."""
        if not self._all_known:
            return None
        return len({row[2] for row in rows} | self.of(document_id).keys())


def _note_text(query: Query, about: About, rows: Sequence[Row]) -> None:
    """Have the row say of the text what these passages are."""
    query(
        "UPDATE documents SET chunk_count = :count, text_hash = :hash WHERE id = :id",
        id=about.id,
        count=len(rows),
        hash=hash_of(row[3:] for row in rows),
    )
    if about.doc_type == "note":
        text = "".join(row[3] for row in rows).encode()
        query(
            "UPDATE documents SET content_hash = :hash, size_bytes = :size WHERE id = :id",
            id=about.id,
            hash=hashlib.sha256(text).hexdigest(),
            size=len(text),
        )
