"""Reads the database of mcp-memory-service: one note for each memory.

The database is never written, and its vectors are ignored, so no extension of SQLite is needed.
Columns differ between versions, and whatever is there is read; deleted memories are only counted.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kb.imports import fit
from kb.imports.front_matter import as_list
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.parts import in_parts

_USUAL_NAME = "sqlite_vec.db"
_NEEDED = {"content", "content_hash"}
# Beside the text; which of them there are depends on the version.
_COLUMNS = (
    "tags",
    "memory_type",
    "metadata",
    "created_at",
    "updated_at",
    "created_at_iso",
    "updated_at_iso",
    "deleted_at",
    "parent_id",
    "version",
    "confidence",
    "superseded_by",
)
_KEPT = ("memory_type", "parent_id", "version", "confidence", "superseded_by")
_SIGNATURE = b"SQLite format 3\0"
_LONGEST_TITLE = 80
_ATTEMPTS = 3
_REMEDY = "take an older copy of it, or have SQLite recover it first (sqlite3 FILE .recover)"
_FEWEST_BYTES = 8  # that a memory takes in the file
_COPIED_FOR_A_LOOK = 64 * 2**20  # bytes


class MemoryService:
    name = "memory-service"

    def recognises(self, path: Path) -> bool:
        """By its table; one that is new may have it in its log alone."""
        database = _database_in(path)
        try:
            with_log = _size(database) + _size(_log_of(database)) < _COPIED_FOR_A_LOOK
            with _opened(database, with_log) as connection:
                return _columns(connection) >= _NEEDED
        except (Unreadable, OSError):
            return False

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        database = _database_in(path)
        with _opened(database) as connection:
            columns = _columns(connection)
            if not columns >= _NEEDED:
                raise Unreadable(
                    f"{database} has no table of memories: name the file of mcp-memory-service "
                    f"with SQLite, usually {_USUAL_NAME}"
                )
            size = _size(database) + _size(_log_of(database))
            yield from _memories(connection, columns, size // _FEWEST_BYTES, told)
            _tell_what_stays(connection, columns, told)


def _database_in(path: Path) -> Path:
    return path / _USUAL_NAME if os.path.isdir(path) else path


@contextmanager
def _opened(database: Path, with_log: bool = True) -> Iterator[sqlite3.Connection]:
    """The database as it is. With a log of changes beside it, a copy of both is read: to read such
    a database in its place, SQLite would write beside it."""
    with tempfile.TemporaryDirectory(prefix="kb-import-") as folder:
        try:
            with database.open("rb") as file:
                if file.read(len(_SIGNATURE)) != _SIGNATURE:
                    raise Unreadable(f"{database} is not an SQLite database")
            if with_log and _size(_log_of(database)):
                address = _copied(database, Path(folder)).as_uri()
            else:
                address = f"{database.absolute().as_uri()}?immutable=1"
            with closing(sqlite3.connect(address, uri=True)) as connection:
                connection.text_factory = lambda data: data.decode(errors="surrogateescape")
                yield connection
        except sqlite3.Error as error:
            raise Unreadable(
                f"{database} is damaged, or no database that SQLite can read ({error}): {_REMEDY}"
            ) from error
        except OSError as error:
            raise Unreadable(f"{database} cannot be read: {error.strerror or error}") from error


def _log_of(database: Path) -> Path:
    return database.with_name(database.name + "-wal")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _copied(database: Path, folder: Path) -> Path:
    for _ in range(_ATTEMPTS):
        before = _state(database)
        copy = folder / database.name
        for file in (database, _log_of(database)):
            shutil.copyfile(file, folder / file.name)
        if _state(database) == before:
            return copy
    raise Unreadable(f"{database} is being written: stop mcp-memory-service, and import it then")


def _state(database: Path) -> list[tuple[int, int]]:
    stats = [file.stat() for file in (database, _log_of(database))]
    return [(status.st_size, status.st_mtime_ns) for status in stats]


def _columns(connection: sqlite3.Connection, table: str = "memories") -> set[str]:
    """Those of a table that is one: what a view or an extension makes up may have no end."""
    is_table = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE name = ? AND type = 'table' AND rootpage > 0", (table,)
    ).fetchall()
    if not is_table:
        return set()
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def _memories(
    connection: sqlite3.Connection,
    columns: set[str],
    most: int,
    told: Told,
) -> Iterator[Item]:
    """`most` is how many the file has room for: damage can lead from page to page without end."""
    names = ["content_hash", "content", *(name for name in _COLUMNS if name in columns)]
    where = "WHERE deleted_at IS NULL" if "deleted_at" in columns else ""
    rows = connection.execute(f"SELECT {', '.join(names)} FROM memories {where} ORDER BY rowid")  # noqa: S608
    for number, row in enumerate(rows, start=1):
        if number > most:
            raise Unreadable(
                "the database has more memories than fit into its file, so it is damaged: "
                + _REMEDY
            )
        memory = dict(zip(names, map(_decoded, row), strict=True))
        name = f"memory {fit.one_line(memory['content_hash'] or f'in row {number}')}"
        content = fit.clean(str(memory["content"] or "")).strip()
        if memory["content"] is None and row[1] is not None:
            told(Skipped(name, "its text is no text: it is bytes that are not UTF-8"))
        elif not content:
            told(Skipped(name, "it has no text"))
        else:
            if fit.is_broken(memory):
                told(Skipped(name, fit.BROKEN, is_taken=True))
            yield from _notes(memory, content)


def _decoded(value: object) -> object:
    """A value of the table; bytes where a text belongs are that text, or nothing."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _notes(memory: Json, content: str) -> Iterator[Item]:
    # Without a hash of its own it is known by that of its text, as the program makes it.
    key = fit.one_line(memory["content_hash"] or hashlib.sha256(content.encode()).hexdigest())
    created_at = fit.utc(memory.get("created_at")) or fit.utc(memory.get("created_at_iso"))
    updated_at = fit.utc(memory.get("updated_at")) or fit.utc(memory.get("updated_at_iso"))
    own = {name: memory.get(name) for name in _KEPT}
    yield from in_parts(
        Item(
            key=key,
            title=fit.one_line(content.partition("\n")[0].lstrip("# "), _LONGEST_TITLE) or key,
            text=content,
            source_path=f"mcp-memory-service/{key}",
            tags=fit.tag_list(_tags(memory.get("tags"))),
            metadata=fit.metadata_of({**_metadata(memory.get("metadata")), **own}),
            created_at=created_at,
            updated_at=fit.changed_after(created_at, updated_at),
        )
    )


def _tags(value: object) -> list[object]:
    """A text with commas; a JSON list in the databases of some versions."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return as_list(json.loads(value))
        except (ValueError, RecursionError):
            return as_list(value.strip(" []").replace('"', ""))
    return as_list(value)


def _metadata(value: object) -> Json:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {"metadata": value}
    return found if isinstance(found, dict) else {}


def _tell_what_stays(connection: sqlite3.Connection, columns: set[str], told: Told) -> None:
    if "deleted_at" in columns:
        count = _count(connection, "memories WHERE deleted_at IS NOT NULL")
        if count:
            told(Skipped(fit.counted(count, "memory", "memories"), "deleted in mcp-memory-service"))
    if _columns(connection, "memory_graph"):
        count = _count(connection, "memory_graph")
        if count:
            told(
                Skipped(
                    fit.counted(count, "association", "associations"),
                    "kb has no links between notes",
                )
            )


def _count(connection: sqlite3.Connection, what: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {what}").fetchone()  # noqa: S608
    return int(row[0])
