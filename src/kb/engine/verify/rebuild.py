"""What is left of a damaged database in, a new one out, with all that it lacks named.

Rows are copied, everything that is made of others is made anew. The text of a document is taken as
it is found if its hash says that it is the one that was stored. Otherwise it is read again from the
original, if that is there; if not, what was found is kept and named.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from kb.engine.backup.rescue import Rescue
from kb.engine.models import now
from kb.engine.store.chunks import Terms, encoded, head_line
from kb.engine.store.database import Database, Query, Row
from kb.engine.store.migrate import migrate
from kb.engine.store.names import called
from kb.engine.store.text_hash import COLUMNS, hash_of
from kb.engine.store.vectors import DIMENSIONS
from kb.engine.verify.passages import fits
from kb.engine.verify.salvage import Salvage, Salvaged
from kb.engine.verify.totals import COUNTS, UNUSED_TAGS

_AT_ONCE = 500
# The name and hash of an original in, another name for it out, if it is there and is that one.
Adopt = Callable[[str, str], str | None]

_TABLES_BY_KEY = ("documents", "chunks", "tags", "page_words", "jobs", "turns")
_KEYS = {"turns": "pictures"}
# A table of pairs, and the index that has all of it, too.
_PAIRS = ("document_tags", "documents_by_tag")
_VECTORS = (("vectors", "exact_vectors"), ("other_vectors", "other_exact_vectors"))
# What is made of the rest, or stands for what is under way: none of it is copied.
_MADE_ANEW = (
    *("totals", "chunk_terms", "change_log", "words_to_forget", "facts", _PAIRS[0]),
    *(table for pair in _VECTORS for table in pair),
)
# Tables that a migration has put rows in.
_FILLED = ("turns",)
_PROGRESS = ("terms_next", "terms_up_to", "terms_renewed", "check")


@dataclass(slots=True)
class Rebuilt:
    """What became of a damaged database."""

    copied: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    read_again: list[int] = field(default_factory=list)
    from_backup: list[int] = field(default_factory=list)


class Rebuild:
    def __init__(
        self,
        salvage: Salvage,
        target: Path,
        terms: Terms,
        terms_version: int,
        adopt: Adopt,
        backup: Rescue | None = None,
    ) -> None:
        self._backup = backup
        self._old = salvage
        self._target = target
        self._terms = terms
        self._terms_version = terms_version
        self._adopt = adopt
        self._unproven_chunks: set[int] = set()
        self._to_read_again: set[int] = set()  # what else than its text is not proven
        self.result = Rebuilt()

    def run(self, store_id: str | None, commits: int) -> Rebuilt:
        """Make the new file, whole and on the disk when this returns."""
        database = Database(self._target)
        try:
            migrate(database)
            self._database = database
            for table in self._tables():
                self._copy(table)
            self._copy_pairs()
            self._copy_facts(store_id)
            self._put_texts_right()
            self._index()
            for codes, exact in _VECTORS:
                self._copy_vectors(codes, exact)
            self._finish(commits)
            database.checkpoint()
        finally:
            database.close()
        return self.result

    def _tables(self) -> list[str]:
        """Those we know come first, since others may refer to them."""
        found = self._database.read(
            "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'"
        )
        names = {name for (name,) in found if not name.startswith("sqlite_")}
        others = sorted(names - {*_TABLES_BY_KEY, *_MADE_ANEW})
        return [*_TABLES_BY_KEY, *others]

    def _columns(self, table: str) -> list[str]:
        ours = self._database.read(f"SELECT name FROM pragma_table_info('{table}')")
        theirs = self._old.columns(table)
        return [name for (name,) in ours if name in theirs]

    def _copy(self, table: str) -> None:
        columns = self._columns(table)
        if not columns:
            return
        key = _KEYS.get(table) or self._key(table)
        rows: Iterator[Salvaged] | list[Salvaged]
        rows = self._old.by_key(table, key, columns) if key else self._old.whole(table, columns)
        copied = 0
        for batch in _batches(rows):
            with self._database.transaction() as query:
                for salvaged in batch:
                    row = dict(zip(columns, salvaged.values, strict=True))
                    copied += self._insert(query, table, row, salvaged.is_proven)
        self.result.copied[table] = copied

    def _key(self, table: str) -> str | None:
        """The column that numbers the rows, where there is one."""
        rows = self._database.read(f"SELECT name, type, pk FROM pragma_table_info('{table}')")
        keys = [(name, kind) for name, kind, place in rows if place]
        return keys[0][0] if len(keys) == 1 and keys[0][1] == "INTEGER" else None

    def _insert(self, query: Query, table: str, row: dict[str, Any], is_proven: bool) -> bool:
        if not is_proven and not _is_sane(table, row):
            self.result.lost.append(f"{_named(table, row)}: what is left of it makes no sense")
            return False
        if table == "chunks" and not _exists(query, "documents", row["document_id"]):
            _put_stand_in(query, row["document_id"])
            self.result.lost.append(
                f"document {row['document_id']}: only its text is left, as a note"
            )
        if table == "page_words" and not _exists(query, "documents", row["document_id"]):
            return False
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        try:
            replace = "OR REPLACE" if table in _FILLED else ""
            query(f"INSERT {replace} INTO {table} ({names}) VALUES ({values})", **row)
        except apsw.ConstraintError as error:
            self.result.lost.append(f"{_named(table, row)}: {error}")
            return False
        if not is_proven:
            self._doubt(table, row)
        return True

    def _doubt(self, table: str, row: dict[str, Any]) -> None:
        if table == "chunks":
            self._unproven_chunks.add(row["id"])  # its document's hash may prove it yet
        elif table == "page_words":
            self._to_read_again.add(row["document_id"])
        elif table == "documents":
            self.result.unproven.append(
                f"document {row['id']} ({row['title']}): title, path and the like"
            )
        elif table not in _FILLED:
            self.result.unproven.append(_named(table, row))

    def _copy_pairs(self) -> None:
        table, index = _PAIRS
        with self._database.transaction() as query:
            for salvaged in self._old.whole(table, ["document_id", "tag_id"], index):
                document_id, tag_id = salvaged.values
                if not _exists(query, "documents", document_id):
                    continue
                if not _exists(query, "tags", tag_id):
                    self.result.lost.append(f"document {document_id}: a tag whose name is lost")
                    continue
                query(
                    "INSERT OR IGNORE INTO document_tags VALUES (:document, :tag)",
                    document=document_id,
                    tag=tag_id,
                )
                if not salvaged.is_proven:
                    self.result.unproven.append(f"document {document_id}: its tags")

    def _copy_facts(self, store_id: str | None) -> None:
        facts: dict[str, str] = {}
        for salvaged in self._old.whole("facts", ["name", "value"]):
            name, value = salvaged.values
            if salvaged.is_proven or (isinstance(name, str) and isinstance(value, str)):
                facts[name] = value
        facts["terms_version"] = str(self._terms_version)
        if store_id is not None:
            facts["store_id"] = store_id
        with self._database.transaction() as query:
            for name, value in facts.items():
                if name not in _PROGRESS:
                    query("INSERT OR REPLACE INTO facts VALUES (:n, :v)", n=name, v=value)

    def _put_texts_right(self) -> None:
        """Decide of each document whether its passages are those that were stored."""
        documents = self._database.read(
            "SELECT id, title, doc_type, text_hash, content_hash, chunk_count, stored_name "
            "FROM documents ORDER BY id"
        )
        for document in documents:
            with self._database.transaction() as query:
                self._put_text_right(query, *document)

    def _put_text_right(
        self,
        query: Query,
        document_id: int,
        title: str,
        doc_type: str,
        text_hash: str | None,
        content_hash: str,
        chunk_count: int,
        stored_name: str | None,
    ) -> None:
        rows = query(
            f"SELECT id, seq, {COLUMNS} FROM chunks WHERE document_id = :id ORDER BY seq",
            id=document_id,
        )
        doubted = self._unproven_chunks.intersection(row[0] for row in rows)
        numbered = [row[1] for row in rows] == list(range(chunk_count))
        numbered = numbered and document_id not in self._to_read_again
        if numbered and text_hash is not None and hash_of(row[2:] for row in rows) == text_hash:
            self._unproven_chunks -= doubted
            return
        if numbered and not doubted and text_hash is None:
            return
        if text_hash is not None and self._take_from_backup(query, document_id, text_hash):
            return
        again = stored_name and self._adopt(stored_name, content_hash)
        if again:
            query("DELETE FROM chunks WHERE document_id = :id", id=document_id)
            query("DELETE FROM page_words WHERE document_id = :id", id=document_id)
            _note_text(query, document_id, [])
            _queue(query, document_id, again)
            self.result.read_again.append(document_id)
            return
        for seq, row in enumerate(rows):
            query("UPDATE chunks SET seq = :seq WHERE id = :id", id=row[0], seq=seq)
        _note_text(query, document_id, [row[2:] for row in rows])
        if doc_type == "note":
            text = "".join(row[2] for row in rows).encode()
            query(
                "UPDATE documents SET content_hash = :hash, size_bytes = :size WHERE id = :id",
                id=document_id,
                hash=hashlib.sha256(text).hexdigest(),
                size=len(text),
            )
        missing = chunk_count - len(rows)
        what = f"{missing} of its {chunk_count} passages" if missing > 0 else "parts of its text"
        line = f"document {document_id} ({title}): {what}"
        (self.result.lost if missing > 0 else self.result.unproven).append(line)

    def _take_from_backup(self, query: Query, document_id: int, text_hash: str) -> bool:
        """The passages that the last backup has of a document, if they are the right ones."""
        if self._backup is None or document_id in self._to_read_again:
            return False
        columns = f"id, uid, seq, {COLUMNS}"
        rows = self._backup.rows(
            f"SELECT {columns} FROM chunks WHERE document_id = :id ORDER BY seq", id=document_id
        )
        if hash_of(row[3:] for row in rows) != text_hash:
            return False
        query("DELETE FROM chunks WHERE document_id = :id", id=document_id)
        names = columns.split(", ")
        for row in rows:
            values = dict(zip(names, row, strict=True))
            query(
                f"INSERT INTO chunks (document_id, {columns}) "
                f"VALUES (:document, {', '.join(f':{name}' for name in names)})",
                document=document_id,
                **values,
            )
            self._unproven_chunks.discard(row[0])
        self.result.from_backup.append(document_id)
        return True

    def _index(self) -> None:
        """The words of every passage, and what it is scored by."""
        last = 0
        while True:
            rows = self._database.read(
                "SELECT chunks.id, title, filename, source_path, headings, text FROM chunks "
                "JOIN documents ON documents.id = document_id WHERE chunks.id > :last "
                "ORDER BY chunks.id LIMIT :limit",
                last=last,
                limit=_AT_ONCE,
            )
            if not rows:
                return
            with self._database.transaction() as query:
                for chunk_id, *names, headings, text in rows:
                    body = encoded(self._terms(text))
                    head = encoded(self._terms(head_line(called(*names), json.loads(headings))))
                    query(
                        "INSERT INTO words (rowid, body, head) VALUES (:id, :body, :head)",
                        id=chunk_id,
                        body=body[0],
                        head=head[0],
                    )
                    query(
                        "INSERT INTO chunk_terms VALUES (:id, :body, :head)",
                        id=chunk_id,
                        body=body[1],
                        head=head[1],
                    )
            last = rows[-1][0]

    def _copy_vectors(self, codes: str, exact: str) -> None:
        """Those that are whole; the others are made again by whoever starts next."""
        vectors = {}
        for salvaged in self._old.by_key(codes, "chunk_id", ["chunk_id", "model", "code"]):
            chunk_id, model, code = salvaged.values
            if salvaged.is_proven and chunk_id not in self._unproven_chunks:
                vectors[chunk_id] = (model, code)
            if len(vectors) >= _AT_ONCE:
                self._put_vectors(codes, exact, vectors)
                vectors = {}
        self._put_vectors(codes, exact, vectors)

    def _put_vectors(self, codes: str, exact: str, vectors: dict[int, tuple[str, bytes]]) -> None:
        if not vectors:
            return
        rows = self._old.between(exact, "chunk_id", ["chunk_id", "vector"], vectors)
        with self._database.transaction() as query:
            for salvaged in rows:
                chunk_id, vector = salvaged.values
                if chunk_id not in vectors or not salvaged.is_proven:
                    continue
                model, code = vectors[chunk_id]
                is_whole = len(code) == DIMENSIONS and len(vector) == 2 * DIMENSIONS
                if not is_whole or not fits(code, vector) or not _exists(query, "chunks", chunk_id):
                    continue
                query(
                    f"INSERT INTO {codes} VALUES (:id, :model, :code)",
                    id=chunk_id,
                    model=model,
                    code=code,
                )
                query(f"INSERT INTO {exact} VALUES (:id, :v)", id=chunk_id, v=vector)

    def _finish(self, commits: int) -> None:
        with self._database.transaction() as query:
            for name, sql in COUNTS.items():
                [(value,)] = query(sql)
                query("INSERT OR REPLACE INTO totals VALUES (:n, :v)", n=name, v=value)
            if query("SELECT 1 FROM totals WHERE name = 'commits'"):
                query("UPDATE totals SET value = :v WHERE name = 'commits'", v=commits)
            for (name,) in query(UNUSED_TAGS):
                query("DELETE FROM tags WHERE name = :name", name=name)
            for salvaged in self._old.whole("sqlite_sequence", ["name", "seq"]):
                table, seq = salvaged.values
                if isinstance(seq, int) and seq < 1 << 40:  # ids are never used twice
                    query(
                        "UPDATE sqlite_sequence SET seq = max(seq, :seq) WHERE name = :name",
                        name=table,
                        seq=seq,
                    )


def _batches(rows: Iterator[Salvaged] | list[Salvaged]) -> Iterator[list[Salvaged]]:
    batch = []
    for row in rows:
        batch.append(row)
        if len(batch) == _AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _exists(query: Query, table: str, key: int) -> bool:
    return bool(query(f"SELECT 1 FROM {table} WHERE id = :id", id=key))


def _note_text(query: Query, document_id: int, rows: Sequence[Row]) -> None:
    query(
        "UPDATE documents SET chunk_count = :count, text_hash = :hash WHERE id = :id",
        id=document_id,
        count=len(rows),
        hash=hash_of(rows),
    )


def _queue(query: Query, document_id: int, stored_name: str) -> None:
    """A job that reads a document's original once more."""
    query(
        "INSERT INTO jobs (uid, status, kind, stored_name, filename, title, metadata, "
        "content_hash, size_bytes, turn, expected, document_id, document_uid, created_at) "
        "SELECT :uid, 'queued', 'file', :stored_name, filename, title, '{}', content_hash, "
        "size_bytes, 1 + (SELECT max(taken) FROM turns), 1 + size_bytes / 800, id, uid, :now "
        "FROM documents WHERE id = :id",
        id=document_id,
        uid=str(uuid.uuid4()),
        stored_name=stored_name,
        now=now(),
    )


def _put_stand_in(query: Query, document_id: int) -> None:
    """For passages whose document is lost: their text is worth more than none."""
    query(
        "INSERT INTO documents (id, uid, title, doc_type, format, content_hash, size_bytes, "
        "metadata, processing_method, chunk_count, created_at) VALUES (:id, :uid, :title, 'note', "
        "'note', '', 0, '{}', 'text_extraction', -1, :now)",
        id=document_id,
        uid=str(uuid.uuid4()),
        title=f"What is left of document {document_id}",
        now=now(),
    )


def _is_sane(table: str, row: dict[str, Any]) -> bool:
    """Whether a row from a page with wrong bytes can at least be what it claims to be."""
    texts = {"documents": ("uid", "title", "doc_type", "content_hash", "created_at", "metadata")}
    for name in texts.get(table, ()):
        if not isinstance(row[name], str):
            return False
    if table == "documents" and not _is_json(row["metadata"]):
        return False
    if table == "chunks":
        return (
            isinstance(row["text"], str)
            and isinstance(row["uid"], bytes)
            and len(row["uid"]) == 16
            and _is_json(row["headings"])
        )
    if table == "jobs":
        return row["status"] in ("queued", "running", "done", "failed", "cancelled")
    return True


def _is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (ValueError, TypeError):
        return False
    return True


def _named(table: str, row: dict[str, Any]) -> str:
    key = next(iter(row.values()), None)
    kinds = {"documents": "document", "chunks": "passage", "tags": "tag", "jobs": "job"}
    return f"{kinds.get(table, table)} {key}"
