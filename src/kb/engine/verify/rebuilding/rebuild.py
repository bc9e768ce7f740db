"""Makes a new database from what is left of a damaged one, and names everything it lacks.

Rows are copied, and everything derived from others is made again. The text of a document is kept if
its hash says that it is the one that was stored. Otherwise it is read again from the original. If
there is none, what was found is kept and reported.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from kb.engine.backup.rescue import Rescue
from kb.engine.store.file.database import Database, Query
from kb.engine.store.rows.chunk_rows import Terms
from kb.engine.store.rows.unproven_texts import note_unproven
from kb.engine.store.upgrade.migrate import migrate
from kb.engine.verify.checks.totals import COUNTS, UNUSED_TAGS
from kb.engine.verify.rebuilding.backup_rows import BackupRows, Values
from kb.engine.verify.rebuilding.indexing_again import VECTORS, copy_vectors, index_words
from kb.engine.verify.rebuilding.lost_documents import LostDocuments, Measured
from kb.engine.verify.rebuilding.lost_jobs import LostJobs, end_done, settle_texts
from kb.engine.verify.rebuilding.old_rows import OldRows
from kb.engine.verify.rebuilding.salvage import Salvage, Salvaged
from kb.engine.verify.rebuilding.saved_facts import saved_facts
from kb.engine.verify.rebuilding.tags_again import TagsAgain
from kb.engine.verify.rebuilding.texts_again import Adopt, Texts, TextsAgain
from kb.engine.verify.rebuilding.witnesses import Witnesses

_AT_ONCE = 500

_TABLES_BY_KEY = ("chunks", "page_words", "turns")
_KEYS = {"turns": "pictures"}
# What is made of the rest, or stands for what is under way: none of it is copied.
_MADE_ANEW = (
    *("totals", "chunk_terms", "change_log", "change_readers", "sweeping", "words_to_forget"),
    *(table for pair in VECTORS for table in pair),
)
_VERSIONED = ("documents", "jobs")
_ONE_BY_ONE = ("documents", "jobs", "job_texts", "facts", "tags", "document_tags")
# Tables that a migration has put rows in.
_FILLED = ("turns",)


@dataclass(slots=True)
class Rebuilt:
    """What became of a damaged database; `counts` are what the new one holds."""

    counts: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    rows_from_backup: list[str] = field(default_factory=list)
    texts: Texts = field(default_factory=Texts)


class Rebuild:
    """`adopt` finds originals, `measured` describes the file in an original's place."""

    def __init__(
        self,
        salvage: Salvage,
        target: Path,
        terms: Terms,
        terms_version: int,
        adopt: Adopt,
        measured: Measured,
        backup: Rescue | None = None,
    ) -> None:
        self._backup = BackupRows(backup)
        self._old = salvage
        self._target = target
        self._terms = terms
        self._terms_version = terms_version
        self._adopt = adopt
        self._measured = measured
        self._witnesses = {table: Witnesses(salvage, table) for table in _VERSIONED}
        self._older: set[int] = set()  # documents whose rows lack their last change
        self._denied: dict[int, Values] = {}  # documents that are there, and no index knows
        self._deleted: set[int] = set()  # documents of which only passages were left
        self._unproven_chunks: set[int] = set()
        self._pages_lost: set[int] = set()  # documents that lack places of words
        self._unproven_texts: set[int] = set()  # of jobs
        self._known_columns: dict[str, set[str]] = {}
        self.result = Rebuilt()

    def run(self, store_id: str | None, commits: int) -> Rebuilt:
        """Make the new file, whole and on the disk when this returns."""
        with closing(Database(self._target)) as database:
            migrate(database)
            self._database = database
            self._copy_documents()
            for table in self._tables():
                self._copy(table)
            self._take_back_documents()
            self._decide_on_denied()
            self._copy_jobs()
            self._note_lost_pages()
            self._copy_tags()
            self._copy_facts(store_id)
            self._put_texts_right()
            index_words(database, self._terms)
            for codes, exact in VECTORS:
                copy_vectors(self._old, database, codes, exact, self._unproven_chunks)
            self._finish(commits)
            database.checkpoint()
        return self.result

    def _tables(self) -> list[str]:
        """Those we know come first, since others may refer to them."""
        found = self._database.read(
            "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'"
        )
        names = {name for (name,) in found if not name.startswith("sqlite_")}
        others = sorted(names - {*_TABLES_BY_KEY, *_ONE_BY_ONE, *_MADE_ANEW})
        return [*_TABLES_BY_KEY, *others]

    def _columns(self, table: str) -> list[str]:
        ours = self._database.read(f"SELECT name FROM pragma_table_info('{table}')")
        theirs = self._old.columns(table)
        return [name for (name,) in ours if name in theirs]

    def _copy_documents(self) -> None:
        """First those whose rows are right, then what can be had of the others."""
        found = self._copy("documents")
        unread = self._old.unread.get("documents", set())
        witnesses = self._witnesses["documents"]
        self._lost = LostDocuments(self._old, self._backup, unread, witnesses, self._measured)
        with self._database.transaction() as query:
            for document_id in sorted(unread):
                existed = self._lost.existed(document_id)
                row = found.get(document_id)
                if existed or (existed is None and row is not None):
                    self._remake_document(query, document_id, row)

    def _take_back_documents(self) -> None:
        """Those that nothing is left of but the backup, where it cannot be told whether they were
        deleted since: if all passages can be read and none is theirs, they were."""
        with self._database.transaction() as query:
            for document_id in sorted(self._old.unread.get("documents", set())):
                if self._lost.existed(document_id) is not None or _exists(
                    query, "documents", document_id
                ):
                    continue
                saved = self._lost.in_backup(document_id)
                if saved and (self._old.unread.get("chunks") or not saved["chunk_count"]):
                    self._remake_document(query, document_id, None)

    def _decide_on_denied(self) -> None:
        """A page that lost its last write may have documents that were deleted by that. If nothing
        else is left of one, neither passages nor an original, it was."""
        all_passages_are_read = not self._old.unread.get("chunks")
        with self._database.transaction() as query:
            for document_id, row in list(self._denied.items()):
                name = f"document {document_id} ({row['title']})"
                is_left = row["stored_name"] and self._measured(row["stored_name"])
                if all_passages_are_read and not is_left:
                    self.result.unproven.append(
                        f"{name}: left out, since every index says that it was deleted"
                    )
                else:
                    self._reinstate(query, document_id)
        for document_id in sorted(self._deleted):
            self.result.unproven.append(
                f"passages of document {document_id}: left out, since it was deleted"
            )

    def _reinstate(self, query: Query, document_id: int) -> None:
        row = self._denied.pop(document_id)
        self._put(query, "documents", row)
        self.result.unproven.append(
            f"document {document_id} ({row['title']}): it may have been deleted"
        )

    def _remake_document(self, query: Query, document_id: int, found: Values | None) -> None:
        remade = self._lost.remade(document_id, found, document_id in self._older)
        if not self._put(query, "documents", remade.row):
            return
        if remade.from_backup:
            self.result.rows_from_backup.append(f"document {document_id}")
        if remade.doubt:
            (self.result.lost if remade.is_lost else self.result.unproven).append(remade.doubt)

    def _copy(self, table: str) -> dict[int, Values]:
        """Copy what is right. Returns the rows of documents and jobs that may be wrong."""
        columns = self._columns(table)
        doubtful: dict[int, Values] = {}
        if not columns:
            return doubtful
        old = OldRows(self._old, table)
        key = _KEYS.get(table) or self._key(table)
        rows: Iterable[Salvaged]
        rows = self._old.by_key(table, key, columns) if key else self._old.whole(table, columns)
        for batch in _batches(rows):
            with self._database.transaction() as query:
                for salvaged in batch:
                    row = dict(zip(columns, salvaged.values, strict=True))
                    put = self._put_proven if salvaged.is_proven else self._put_unproven
                    if not put(query, old, row):
                        doubtful[row["id"]] = row
        if table in _VERSIONED:
            self._note_unread(table, doubtful)
        return doubtful

    def _put_proven(self, query: Query, old: OldRows, row: Values) -> bool:
        """Whether it is settled what becomes of the row."""
        if old.table == "documents" and self._witnesses[old.table].all_deny(row["id"]):
            self._denied[row["id"]] = row
        elif old.has(row):
            if old.table == "documents":
                self._older.add(row["id"])
            return False
        else:
            self._insert(query, old.table, row)
        return True

    def _put_unproven(self, query: Query, old: OldRows, row: Values) -> bool:
        if not _is_sane(old.table, row):
            self._name_senseless(old.table, row)
        elif old.table in _VERSIONED:
            return False
        elif self._insert(query, old.table, row):
            self._doubt(old.table, row)
        return True

    def _note_unread(self, table: str, doubtful: dict[int, Values]) -> None:
        """An older version may be there beside the newer one, and a newer one not at all."""
        there = {row_id for (row_id,) in self._database.read(f"SELECT id FROM {table}")}
        unread = self._old.unread.setdefault(table, set())
        unread |= doubtful.keys() | self._witnesses[table].lacking(there)
        unread -= there

    def _name_senseless(self, table: str, row: Values) -> None:
        """Documents, passages and jobs are reported if it is known what they were."""
        if table not in ("documents", "chunks", "jobs"):
            self.result.lost.append(f"{_named(table, row)}: what is left of it makes no sense")

    def _key(self, table: str) -> str | None:
        """The column that numbers the rows, where there is one."""
        rows = self._database.read(f"SELECT name, type, pk FROM pragma_table_info('{table}')")
        keys = [(name, kind) for name, kind, place in rows if place]
        return keys[0][0] if len(keys) == 1 and keys[0][1] == "INTEGER" else None

    def _insert(self, query: Query, table: str, row: Values) -> bool:
        if table == "chunks" and not self._has_document(query, row["document_id"]):
            return False
        if table == "page_words" and not _exists(query, "documents", row["document_id"]):
            return False
        if table == "job_texts" and not _exists(query, "jobs", row["job_id"]):
            return False
        return self._put(query, table, row)

    def _has_document(self, query: Query, document_id: int) -> bool:
        """Whether a passage has a document, if need be by having that back: its text is worth more
        than none. One that every index says was deleted has not."""
        if _exists(query, "documents", document_id):
            return True
        if document_id in self._denied:
            self._reinstate(query, document_id)
        elif self._lost.existed(document_id) is False:
            self._deleted.add(document_id)
            return False
        else:
            self._remake_document(query, document_id, None)
        return True

    def _put(self, query: Query, table: str, row: Values) -> bool:
        columns = self._columns_here(table)
        row = {name: value for name, value in row.items() if name in columns}
        values = ", ".join(f":{name}" for name in row)
        try:
            replace = "OR REPLACE" if table in _FILLED else ""
            query(f"INSERT {replace} INTO {table} ({', '.join(row)}) VALUES ({values})", **row)
        except apsw.ConstraintError:
            self.result.lost.append(
                f"{_named(table, row)}: what was found contradicts another row, which is kept"
            )
            return False
        return True

    def _columns_here(self, table: str) -> set[str]:
        if table not in self._known_columns:
            rows = self._database.read(f"SELECT name FROM pragma_table_info('{table}')")
            self._known_columns[table] = {name for (name,) in rows}
        return self._known_columns[table]

    def _doubt(self, table: str, row: Values) -> None:
        if table == "chunks":
            self._unproven_chunks.add(row["id"])  # its document's hash may prove it yet
        elif table == "page_words":
            self._pages_lost.add(row["document_id"])
        elif table == "job_texts":
            self._unproven_texts.add(row["job_id"])  # its job's hash may prove it yet
        elif table not in _FILLED:
            self.result.unproven.append(_named(table, row))

    def _copy_jobs(self) -> None:
        found = self._copy("jobs")
        unread = self._old.unread.get("jobs", set())
        jobs = LostJobs(self._old, self._backup, unread)
        with self._database.transaction() as query:
            for job_id in sorted(unread):
                remade = jobs.remade(query, job_id, found.get(job_id))
                if remade.row is not None and self._put(query, "jobs", remade.row):
                    if remade.from_backup:
                        self.result.rows_from_backup.append(f"job {job_id}")
                    if remade.doubt:
                        self.result.unproven.append(remade.doubt)
                elif remade.doubt:
                    self.result.lost.append(remade.doubt)
            self.result.unproven += end_done(query)
        self._copy("job_texts")
        self._copy_older_job_texts()
        with self._database.transaction() as query:
            unproven, lost = settle_texts(query, self._backup, self._unproven_texts)
        self.result.unproven += unproven
        self.result.lost += lost

    def _copy_older_job_texts(self) -> None:
        """Of a database from before they had a table of their own."""
        if "text" not in self._old.columns("jobs"):
            return
        for batch in _batches(self._old.by_key("jobs", "id", ["id", "text"])):
            with self._database.transaction() as query:
                for salvaged in batch:
                    job_id, text = salvaged.values
                    if isinstance(text, str) and _exists(query, "jobs", job_id):
                        query("INSERT INTO job_texts VALUES (:id, :text)", id=job_id, text=text)
                        query("UPDATE jobs SET has_text = 1 WHERE id = :id", id=job_id)

    def _note_lost_pages(self) -> None:
        """Documents of whose pages rows are missing, which the index of those rows tells."""
        unread = self._old.unread.get("page_words", set())
        if unread:
            index = "sqlite_autoindex_page_words_1"
            rows = self._old.by_index("page_words", index, "id, document_id", unread)
            self._pages_lost.update(document_id for _, document_id in rows or [])

    def _copy_tags(self) -> None:
        tags = TagsAgain(self._old, self._backup)
        with self._database.transaction() as query:
            tags.copy(query)
        self.result.lost += tags.lost
        self.result.unproven += tags.unproven

    def _copy_facts(self, store_id: str | None) -> None:
        facts, doubts = saved_facts(self._old, self._backup)
        self.result.unproven += doubts
        facts["terms_version"] = str(self._terms_version)
        if store_id is not None:
            facts["store_id"] = store_id
        with self._database.transaction() as query:
            for name, value in facts.items():
                query("INSERT OR REPLACE INTO facts VALUES (:n, :v)", n=name, v=value)

    def _put_texts_right(self) -> None:
        """Decide of each document whether its passages are those that were stored."""
        texts = TextsAgain(
            self._old, self._backup, self._adopt, self._unproven_chunks, self._pages_lost
        )
        with self._database.reading() as query:
            documents = texts.documents(query)
        for about in documents:
            with self._database.transaction() as query:
                texts.put_right(query, about)
        with self._database.transaction() as query:
            note_unproven(query, texts.result.unproven_ids, texts.result.lost_ids)
        self.result.texts = texts.result

    def _finish(self, commits: int) -> None:
        with self._database.transaction() as query:
            for name, sql in COUNTS.items():
                [(value,)] = query(sql)
                query("INSERT OR REPLACE INTO totals VALUES (:n, :v)", n=name, v=value)
                self.result.counts[name] = value
            if query("SELECT 1 FROM totals WHERE name = 'commits'"):
                query("UPDATE totals SET value = :v WHERE name = 'commits'", v=commits)
            for (name,) in query(UNUSED_TAGS):
                query("DELETE FROM tags WHERE name = :name", name=name)
            for salvaged in self._old.whole("sqlite_sequence", ["name", "seq"]):
                table, seq = salvaged.values
                if isinstance(seq, int) and seq < 1 << 40:
                    _go_on_from(query, table, seq)


def _go_on_from(query: Query, table: str, seq: int) -> None:
    """Ids are never used twice, also where no row is left that has one."""
    query(
        "INSERT INTO sqlite_sequence SELECT name, 0 FROM sqlite_schema WHERE name = :name AND "
        "name NOT IN (SELECT name FROM sqlite_sequence)",
        name=table,
    )
    query("UPDATE sqlite_sequence SET seq = max(seq, :seq) WHERE name = :name", name=table, seq=seq)


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


def _is_sane(table: str, row: dict[str, Any]) -> bool:
    """Whether a row from a page with wrong bytes can at least be what it claims to be."""
    texts = {"documents": ("uid", "title", "doc_type", "content_hash", "created_at", "metadata")}
    for name in texts.get(table, ()):
        if not isinstance(row[name], str):
            return False
    if table == "documents":
        return _is_json(row["metadata"]) and _is_json(row.get("how_read") or "null")
    if table == "chunks":
        return (
            isinstance(row["text"], str)
            and isinstance(row["uid"], bytes)
            and len(row["uid"]) == 16
            and _is_json(row["headings"])
        )
    if table == "job_texts":
        return isinstance(row["text"], str)
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
    kinds["job_texts"] = "text of job"
    return f"{kinds.get(table, table)} {key}"
