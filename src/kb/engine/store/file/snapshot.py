"""Reads the pages of a database as of one instant, and makes a database of them again.

Both go through SQLite's backup API, with a small file system of ours at its other end. Nothing here
opens the database's file directly, which would cost SQLite its locks.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from kb.engine.store.file.database import Row
from kb.engine.store.file.page_checksums import connect
from kb.engine.store.originals import ALL_FILES

_BUSY_MILLISECONDS = 5000
_CHECKSUM_BYTES = 8
_PAGES_AT_ONCE = 256
# In the header of a database: how it is written (2 is by way of a log), and by how many bytes the
# content of a page falls short of the page.
_WRITE_VERSION, _READ_VERSION = 18, 19
_ROLLBACK = b"\x01\x01"
_SINK_PRAGMAS = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA cache_size = 64",  # pages are handed on at once instead of being gathered
)
_OWNERS = (
    "SELECT stored_name, 'document', id, COALESCE(filename, title) FROM documents "
    "WHERE stored_name IS NOT NULL UNION ALL SELECT stored_name, 'job', id, "
    "COALESCE(filename, title, kind) FROM jobs WHERE stored_name IS NOT NULL"
)

Take = Callable[[int, bytes], None]
Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class AboutStore:
    """What a database says of itself."""

    store_id: str
    commits: int
    schema_version: int
    page_size: int
    size_bytes: int
    documents: int
    notes: int
    chunks: int
    jobs_waiting: int


class Snapshot:
    """A database at one instant, for as long as this is open; writers go on meanwhile. Their writes
    stay in the log until then, so close it soon."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
        self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
        try:
            self._connection.execute("BEGIN")
            self.about = about_store(self._connection)  # the first query is the instant
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def files(self) -> list[str]:
        """The names of all originals that were needed at that instant."""
        return [name for (name,) in _rows(self._connection, ALL_FILES)]

    def copy(self, take: Take, after_some: Callable[[int], None]) -> None:
        """Hand over every page with its place; `after_some` is told how many were handed over.

        A page that lies in the log has no checksum yet, one in the file has: so that the same page
        is always the same bytes, none of them has one here.
        """
        spare = self._connection.reserve_bytes("main") == _CHECKSUM_BYTES

        def page(offset: int, data: bytes) -> None:
            if spare:
                data = data[:-_CHECKSUM_BYTES] + bytes(_CHECKSUM_BYTES)
            if offset == 0:
                data = data[:_WRITE_VERSION] + _ROLLBACK + data[_READ_VERSION + 1 :]
            take(offset, data)

        with (
            _provided(_Sink(page)) as target,
            target.backup("main", self._connection, "main") as copying,
        ):
            for pragma in _SINK_PRAGMAS:
                target.execute(pragma).fetchall()
            while not copying.done:
                copying.step(_PAGES_AT_ONCE)
                after_some(copying.page_count - copying.remaining)


@contextmanager
def reading_pages(size: int, read: Read) -> Iterator[apsw.Connection]:
    """A database whose bytes come from `read(offset, amount)`; it can only be read."""
    with _provided(_Source(size, read)) as connection:
        connection.execute("PRAGMA temp_store = MEMORY").fetchall()
        yield connection


def write_database(source: apsw.Connection, path: Path, after_some: Callable[[int], None]) -> None:
    """A whole database into a new file, where its pages get their checksums again."""
    with closing(connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)) as target:
        target.execute("PRAGMA synchronous = FULL").fetchall()
        _rows(source, "PRAGMA schema_version")  # else SQLite knows not how its pages are laid out
        if source.reserve_bytes("main") == _CHECKSUM_BYTES:
            # First of all: a page gets its checksum when it goes into a file that has room for it.
            target.reserve_bytes("main", _CHECKSUM_BYTES)
            target.execute("CREATE TABLE room (a)").fetchall()
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_AT_ONCE)
                after_some(copying.page_count - copying.remaining)


def database_trouble(path: Path) -> str | None:
    """What is wrong with a database file that nobody has open, if anything."""
    try:
        connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error as error:
        return str(error)
    try:
        return trouble_in(connection)
    finally:
        connection.close()


def owners_of_files(connection: apsw.Connection) -> list[tuple[str, str]]:
    """The name of each original, and the document or job that it is of, in words."""
    return [
        (name, f"{what} {number} ({called})")
        for name, what, number, called in _rows(connection, _OWNERS)
    ]


def about_store(connection: apsw.Connection) -> AboutStore:
    facts: dict[str, str] = dict(_rows(connection, "SELECT name, value FROM facts"))
    totals: dict[str, int] = dict(_rows(connection, "SELECT name, value FROM totals"))
    [(schema, page_size, pages, waiting)] = _rows(
        connection,
        "SELECT user_version, page_size, page_count, (SELECT count(*) FROM jobs WHERE status IN "
        "('queued', 'running')) FROM pragma_user_version, pragma_page_size, pragma_page_count",
    )
    return AboutStore(
        store_id=facts["store_id"],
        commits=totals["commits"],
        schema_version=schema,
        page_size=page_size,
        size_bytes=page_size * pages,
        documents=totals["documents"],
        notes=totals["notes"],
        chunks=totals["chunks"],
        jobs_waiting=waiting,
    )


def trouble_in(connection: apsw.Connection) -> str | None:
    """What SQLite finds wrong with a database, if anything."""
    try:
        [(found,), *_] = _rows(connection, "PRAGMA quick_check(1)")
    except apsw.Error as error:
        return str(error)
    return None if found == "ok" else str(found)


def _rows(connection: apsw.Connection, sql: str) -> list[Row]:
    return connection.execute(sql).fetchall()


@contextmanager
def _provided(file: "_Sink | _Source") -> Iterator[apsw.Connection]:
    """A connection to this file, by a file system that has no other."""
    system = _FileSystem(f"kb-{uuid.uuid4().hex}", file)
    connection = apsw.Connection("pages", file.flags, vfs=system.name)
    try:
        yield connection
    finally:
        connection.close()
        system.unregister()


class _FileSystem(apsw.VFS):
    def __init__(self, name: str, file: "_Sink | _Source") -> None:
        super().__init__(name, "")
        self.name = name
        self._file = file

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: ARG002
        return self._file

    def xAccess(self, path: str, flags: int) -> bool:  # noqa: ARG002
        return False  # there is no journal

    def xFullPathname(self, name: str) -> str:
        return name

    def xDelete(self, name: str, sync: bool) -> None:
        """There is nothing else here."""


class _File:
    """What SQLite asks of a file that nobody else has open."""

    def xClose(self) -> None:
        """Nothing is open."""

    def xTruncate(self, size: int) -> None:
        """Nothing was ever longer."""

    def xSync(self, flags: int) -> None:
        """The receiver keeps the pages."""

    def xLock(self, level: int) -> None:
        """Nobody else is here."""

    def xUnlock(self, level: int) -> None:
        """Nobody else is here."""

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, operation: int, pointer: int) -> bool:  # noqa: ARG002
        return False

    def xSectorSize(self) -> int:
        return 4096

    def xDeviceCharacteristics(self) -> int:
        return apsw.SQLITE_IOCAP_IMMUTABLE if isinstance(self, _Source) else 0


class _Sink(_File):
    """A new file of which only the size is kept: each page goes to `take`."""

    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE

    def __init__(self, take: Take) -> None:
        self._take = take
        self._size = 0

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: ARG002
        return b""

    def xWrite(self, data: bytes, offset: int) -> None:
        self._size = max(self._size, offset + len(data))
        self._take(offset, bytes(data))

    def xFileSize(self) -> int:
        return self._size


class _Source(_File):
    flags = apsw.SQLITE_OPEN_READONLY

    def __init__(self, size: int, read: Read) -> None:
        self._size = size
        self._read = read

    def xRead(self, amount: int, offset: int) -> bytes:
        return self._read(offset, amount)

    def xFileSize(self) -> int:
        return self._size
