"""Restores tags from the table, its index and the last backup."""

from kb.engine.store.file.database import Query
from kb.engine.verify.rebuilding.backup_rows import BackupRows
from kb.engine.verify.rebuilding.lost_documents import changed_at
from kb.engine.verify.rebuilding.salvage import Salvage

# Small tables, and indexes that have all of each, too. One of the pairs is the table itself, which
# SQLite would not look at, if not told to.
_TAGS = ("tags", "sqlite_autoindex_tags_1")
_PAIRS = ("document_tags", "sqlite_autoindex_document_tags_1", "documents_by_tag")
_CHANGES = "SELECT id, uid, COALESCE(updated_at, created_at) FROM documents ORDER BY id"


class TagsAgain:
    """`lost` and `unproven` describe these in words."""

    def __init__(self, salvage: Salvage, backup: BackupRows) -> None:
        self._old = salvage
        self._backup = backup
        self.lost: list[str] = []
        self.unproven: list[str] = []

    def copy(self, query: Query) -> None:
        """The names of tags, and which documents have which; those are there already."""
        self._copy_names(query)
        table, *indexes = _PAIRS
        for salvaged in self._old.whole(table, ["document_id", "tag_id"], *indexes):
            document_id, tag_id = salvaged.values
            if query("SELECT 1 FROM documents WHERE id = :id", id=document_id):
                self._put_pair(query, document_id, tag_id, salvaged.is_proven)
        if table in self._old.incomplete:
            self._complete(query)

    def _copy_names(self, query: Query) -> None:
        table, index = _TAGS
        rows = self._old.whole(table, ["id", "name"], index)
        for salvaged in sorted(rows, key=lambda row: not row.is_proven):
            tag_id, name = salvaged.values
            if not isinstance(name, str) or not _put_tag(query, tag_id, name):
                continue
            saved = None if salvaged.is_proven else self._backup.row(table, tag_id)
            if not salvaged.is_proven and (saved is None or saved["name"] != name):
                self.unproven.append(f"tag {tag_id}: its name, {name}")

    def _put_pair(self, query: Query, document_id: int, tag_id: int, is_proven: bool) -> None:
        known = query("SELECT 1 FROM tags WHERE id = :id", id=tag_id)
        if not known and not self._take_from_backup(query, tag_id):
            self.lost.append(f"document {document_id}: a tag whose name is lost")
            return
        query(
            "INSERT OR IGNORE INTO document_tags VALUES (:document, :tag)",
            document=document_id,
            tag=tag_id,
        )
        if not is_proven:
            self.unproven.append(f"document {document_id}: its tags")

    def _take_from_backup(self, query: Query, tag_id: int) -> bool:
        """A tag from the backup. Its number may have been used again, so it is reported."""
        saved = self._backup.row("tags", tag_id)
        if saved is None or not _put_tag(query, tag_id, saved["name"]):
            return False
        self.unproven.append(
            f"tag {tag_id}: its name, {saved['name']}, is as of the backup of "
            f"{self._backup.taken_at}"
        )
        return True

    def _complete(self, query: Query) -> None:
        """A document that is as the backup has it has the tags that it has there."""
        for document_id, uid, changed in query(_CHANGES):
            saved = self._backup.row("documents", document_id)
            if saved is None or (saved["uid"], changed_at(saved)) != (uid, changed):
                self.unproven.append(f"document {document_id}: its tags")
                continue
            for pair in self._backup.rows("document_tags", "document_id", document_id):
                self._put_pair(query, document_id, pair["tag_id"], is_proven=True)


def _put_tag(query: Query, tag_id: int, name: str) -> bool:
    """False where another tag has that number, or that name."""
    return bool(
        query(
            "INSERT OR IGNORE INTO tags (id, name) VALUES (:id, :name) RETURNING 1",
            id=tag_id,
            name=name,
        )
    )
