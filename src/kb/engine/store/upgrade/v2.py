"""Copies the documents of a v2 data folder into this store.

The old file is only copied, never opened: SQLite would write beside it, and v2 must find it
unchanged. Everything goes in as one transaction, so after a kill nothing has happened, and the next
start does it again.
"""

import logging
import shutil
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from kb.engine.errors import FailedBeforeUpgrade, StartupError
from kb.engine.store.file.database import Database, Query, Row
from kb.engine.store.rows.chunk_rows import ChunkRows, count
from kb.engine.store.rows.document_rows import put_tags
from kb.engine.values import Chunk, now, written
from kb.kinds import NOTE, UnknownKind, as_format, kinds_of

logger = logging.getLogger(__name__)

VERSION = 2
_TAKEN = "v2_taken_over"
# A crashed v2 leaves its last transactions beside the file; the copy recovers them.
_SIDE_FILES = ("", "-wal", "-journal")
_NAMED = 100  # originals that are missing; the rest is counted
_FORMATS = {"markdown": "md", "text": "txt"}

Adopt = Callable[[Path], str | None]


class _Source(Query):
    """Asks the copy of the old database; where that cannot answer, the engine cannot start."""

    def __call__(self, sql: str, /, **values: Any) -> list[Row]:
        try:
            return super().__call__(sql, **values)
        except apsw.Error as error:
            raise StartupError(
                f"kb.db in the data folder cannot be read as a kb v2 database: {error}. Mend it "
                "with v2, or name another folder (--data-dir, KB_DATA_DIR)"
            ) from error


class _Place(NamedTuple):
    """What surrounds the old database: its folder, and a way to adopt an original."""

    folder: Path
    adopt: Adopt


def take_over(database: Database, chunks: ChunkRows, old: Path, adopt: Adopt) -> bool:
    """Copy everything out of `old`, once. `adopt` makes a file ours and returns its new name."""
    scratch = old.parent / "store-takeover"
    shutil.rmtree(scratch, ignore_errors=True)  # of one that was killed, even after its commit
    with database.reading() as query:
        if not old.exists() or query("SELECT 1 FROM facts WHERE name = :name", name=_TAKEN):
            return False
        if query("SELECT id FROM documents UNION ALL SELECT id FROM jobs LIMIT 1"):
            raise StartupError(
                f"{old.name} in the data folder cannot be taken over: this kb has documents of its "
                f"own already. Give {old.name} a folder of its own, and set KB_DATA_DIR to that "
                "folder to take it over"
            )
    scratch.mkdir(mode=0o700)
    try:
        opened = closing(_open(_copied(old, scratch)))
        with opened as connection, database.transaction() as query:
            _copy_everything(query, _Source(connection), chunks, _Place(old.parent, adopt))
            query("INSERT INTO facts VALUES (:name, :now)", name=_TAKEN, now=now())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def _copied(old: Path, scratch: Path) -> Path:
    for ending in _SIDE_FILES:
        part = old.with_name(old.name + ending)
        if part.exists():
            shutil.copyfile(part, scratch / part.name)
    return scratch / old.name


def _open(copy: Path) -> apsw.Connection:
    try:
        connection = apsw.Connection(str(copy))
        [(version,)] = connection.execute("PRAGMA user_version").fetchall()
        [(intact,), *_] = connection.execute("PRAGMA quick_check").fetchall()
    except apsw.Error as error:
        raise StartupError(f"The v2 database {copy.name} cannot be read: {error}") from error
    if version != VERSION or intact != "ok":
        raise StartupError(
            f"{copy.name} in the data folder is not an intact kb v2 database (version {version}): "
            "mend it with v2, or name another folder (--data-dir, KB_DATA_DIR)"
        )
    return connection


def _copy_everything(query: Query, source: _Source, chunks: ChunkRows, place: _Place) -> None:
    documents = source(
        "SELECT id, title, source_path, doc_type, content_hash, stored_path, created_at "
        "FROM documents ORDER BY id"
    )
    missing: list[tuple[int, str]] = []
    for number, row in enumerate(documents, start=1):
        missing += _copy_document(query, source, chunks, place, *row)
        if number % 1000 == 0:
            logger.info("taking over v2: %s of %s documents", number, len(documents))
    _copy_jobs(query, source)
    for table in ("documents", "chunks", "jobs"):
        _keep_ids_used(query, source, table)
    _sum_up(len(documents), missing)


def _sum_up(documents: int, missing: list[tuple[int, str]]) -> None:
    """The first start of v3 reports what it did not find."""
    for document_id, stored_path in missing[:_NAMED]:
        logger.warning(
            "document %s of v2: its original %s is not in the data folder; its text is taken over",
            document_id,
            stored_path,
        )
    if missing[_NAMED:]:
        logger.warning("and %s more originals of v2 are missing", len(missing) - _NAMED)
    logger.log(
        logging.WARNING if missing else logging.INFO,
        "took over %s documents of v2; originals missing: %s",
        documents,
        len(missing),
    )


def _copy_document(
    query: Query,
    source: _Source,
    chunks: ChunkRows,
    place: _Place,
    document_id: int,
    *fields: Any,
) -> list[tuple[int, str]]:
    """Returns the original that v2 says it has and has not, with the document's id."""
    title, source_path, called, content_hash, stored_path, created_at = fields
    original = _original(place.folder, stored_path)
    rows = source(
        "SELECT id, text, page FROM chunks WHERE document_id = :id ORDER BY chunk_index, id",
        id=document_id,
    )
    size = original.stat().st_size if original else sum(len(row[1].encode()) for row in rows)
    name = Path(source_path or stored_path or "").name or None
    doc_type = _kind(called, name)
    query(
        "INSERT INTO documents (id, uid, title, filename, doc_type, format, source_path, "
        "content_hash, size_bytes, metadata, processing_method, stored_name, chunk_count, "
        "created_at) VALUES (:id, :uid, :title, :filename, :doc_type, :format, :source_path, "
        ":hash, :size, '{}', 'text_extraction', :stored_name, :chunks, :created_at)",
        id=document_id,
        uid=str(uuid.uuid4()),
        title=title,
        filename=None if doc_type == "note" else name,
        doc_type=doc_type,
        format=_format(doc_type, name),
        source_path=source_path,
        hash=content_hash,
        size=size,
        stored_name=place.adopt(original) if original else None,
        chunks=len(rows),
        created_at=_time(created_at),
    )
    chunks.insert_as_they_were(
        query,
        document_id,
        [(id_, Chunk(text, seq, page)) for seq, (id_, text, page) in enumerate(rows)],
    )
    tags = source(
        "SELECT name FROM document_tags JOIN tags ON tags.id = tag_id WHERE document_id = :id",
        id=document_id,
    )
    put_tags(query, document_id, {tag for (tag,) in tags})
    count(
        query,
        documents=1,
        notes=doc_type == "note",
        file_bytes=size if original else 0,
    )
    return [(document_id, stored_path)] if stored_path and original is None else []


def _copy_jobs(query: Query, source: _Source) -> None:
    rows = source(
        "SELECT id, status, filename, document_id, error, created_at, finished_at FROM jobs"
    )
    for job_id, status, filename, document_id, error, created_at, finished_at in rows:
        done = status == "done"
        message = error or "The upgrade to v3 found this job unfinished: add the file again"
        query(
            "INSERT INTO jobs (id, uid, status, kind, filename, attempts, outcome, document_id, "
            "document_uid, chunk_count, error_code, error_message, created_at, started_at, "
            "finished_at) VALUES (:id, :uid, :status, :kind, :filename, 1, :outcome, "
            ":document_id, (SELECT uid FROM documents WHERE id = :document_id), "
            "(SELECT chunk_count FROM documents WHERE id = :document_id), :code, :message, "
            ":created_at, :created_at, :finished_at)",
            id=job_id,
            uid=str(uuid.uuid4()),
            status="done" if done else "failed",
            kind="file" if filename else "note",
            filename=filename,
            outcome="added" if done else None,
            document_id=document_id,
            code=None if done else FailedBeforeUpgrade.code,
            message=None if done else message,
            created_at=_time(created_at),
            finished_at=_time(finished_at or created_at),
        )


def _keep_ids_used(query: Query, source: _Source, table: str) -> None:
    """An id that v2 gave away and deleted is not given away again."""
    rows = source("SELECT seq FROM sqlite_sequence WHERE name = :name", name=table)
    for (last,) in rows:
        query(
            "DELETE FROM sqlite_sequence WHERE name = :name AND seq < :last", name=table, last=last
        )
        query(
            "INSERT INTO sqlite_sequence (name, seq) SELECT :name, :last "
            "WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :name)",
            name=table,
            last=last,
        )


def _original(folder: Path, stored_path: str | None) -> Path | None:
    """The original, if it is still there and really lies in the data folder."""
    if not stored_path:
        return None
    path = (folder / stored_path).resolve()
    return path if path.is_file() and path.is_relative_to(folder.resolve()) else None


def _kind(called: str, name: str | None) -> str:
    """v2 kept no list: what it called by another name is what that or the ending stands for."""
    for word in (called, Path(name or "").suffix):
        with suppress(UnknownKind):
            meant = kinds_of(word)
            if len(meant) == 1 and (word == called or meant != (NOTE,)):
                return meant[0]
    return "text"


def _format(doc_type: str, name: str | None) -> str:
    ending = Path(name).suffix.lstrip(".").lower() if name and doc_type != "note" else ""
    return as_format(ending) or _FORMATS.get(doc_type, doc_type)


def _time(text: str) -> str:
    """v2 wrote `2026-04-04 22:50:19`, in UTC."""
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return written(moment)
