"""Reads every row of a damaged database that can still be read, and says which can be trusted.

Two connections read it. One compares checksums, so its rows are as they were written. The other
does not, and reads pages that the first refuses. Around unreadable places, rows are looked for one
by one.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from kb.engine.errors import StorageFailed
from kb.engine.store.file.damage import is_damage
from kb.engine.store.file.database import Row
from kb.engine.store.file.page_checksums import connect
from kb.engine.verify.rebuilding.first_page import mended

_AT_ONCE = 256
_AGAIN = (0.0, 0.05, 0.2)  # seconds
_WITHOUT_CHECKSUMS = "PRAGMA checksum_verification = OFF"


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A row. `is_proven`: its page has the bytes that were written."""

    values: Row
    is_proven: bool


class Salvage:
    """The rows of a damaged file. Nothing is written to it, its log neither.

    `unread` has the keys, by table, under which there may have been a row that is not proven or not
    there any more; `incomplete` the tables without such keys of which rows may lack.
    """

    def __init__(self, database: Path, scratch: Path) -> None:
        self.unread: dict[str, set[int]] = {}
        self.incomplete: set[str] = set()
        try:
            self._trusted, self._any = _open(database), _open(database)
        except apsw.Error as error:
            if not is_damage(error) and not isinstance(error, apsw.SQLError):
                raise StorageFailed(
                    f"{database} cannot be read: {error}. Check its disk, then try again"
                ) from error
            mended(database, scratch)
            self._trusted, self._any = _open(scratch), _open(scratch)
        self._any.execute(_WITHOUT_CHECKSUMS).fetchall()

    def close(self) -> None:
        for connection in (self._trusted, self._any):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns; none where there is no such table."""
        rows = self._read(self._any, f"SELECT name FROM pragma_table_info('{table}')") or []
        return [row[0] for row in rows]

    def by_key(self, table: str, key: str, columns: Sequence[str]) -> Iterator[Salvaged]:
        """The rows of a table that has numbers for keys."""
        first, last = self._bounds(table, key)
        names = ", ".join(columns)
        select = f"SELECT {names} FROM {table} WHERE {key} BETWEEN ? AND ? ORDER BY {key}"
        unread = self.unread.setdefault(table, set())
        for low in range(first, last + 1, _AT_ONCE):
            yield from self._range(select, low, min(low + _AT_ONCE - 1, last), unread)

    def between(
        self, table: str, key: str, columns: Sequence[str], keys: Collection[int]
    ) -> Iterator[Salvaged]:
        """The rows from the lowest to the highest of some keys."""
        select = f"SELECT {', '.join(columns)} FROM {table} WHERE {key} BETWEEN ? AND ?"
        yield from self._range(select, min(keys), max(keys), set())

    def whole(self, table: str, columns: Sequence[str], *indexes: str) -> list[Salvaged]:
        """The rows of a small table, or one that has an index with all of its columns."""
        names = ", ".join(columns)
        sources = [f"{table} NOT INDEXED", *(f"{table} INDEXED BY {index}" for index in indexes)]
        for source in sources:
            rows = self._read(self._trusted, f"SELECT {names} FROM {source}")
            if rows is not None:
                return [Salvaged(row, True) for row in rows]
        self.incomplete.add(table)
        found: dict[Row, bool] = {}
        for connection, is_proven in ((self._trusted, True), (self._any, False)):
            for source in sources:
                for order in ("ASC", "DESC"):
                    sql = f"SELECT {names} FROM {source} ORDER BY {names} {order}"
                    for row in _until_it_breaks(connection, sql):
                        found.setdefault(row, is_proven)
        return [Salvaged(row, is_proven) for row, is_proven in found.items()]

    def by_index(
        self,
        table: str,
        index: str,
        columns: str,
        keys: Collection[int] | None = None,
        where: str = "TRUE",
    ) -> list[Row] | None:
        """What an index that has all of these columns, first of all the key, says of rows with
        these keys, or of all; None where it cannot be trusted."""
        sql = f"SELECT {columns} FROM {table} INDEXED BY {index} WHERE {where}"
        try:
            return [row for row in self._trusted.execute(sql) if keys is None or row[0] in keys]
        except (apsw.Error, UnicodeDecodeError, MemoryError):
            return None

    def trusted(self, sql: str, *values: Any) -> list[Row]:
        """As far as it can be read: nothing where it cannot."""
        return self._read(self._trusted, sql, *values) or []

    def _range(self, select: str, low: int, high: int, unread: set[int]) -> Iterator[Salvaged]:
        rows = self._read(self._trusted, select, low, high)
        if rows is not None:
            yield from (Salvaged(row, True) for row in rows)
        elif low == high:
            unread.add(low)
            yield from (
                Salvaged(row, False) for row in self._read(self._any, select, low, high) or []
            )
        else:
            middle = (low + high) // 2
            yield from self._range(select, low, middle, unread)
            yield from self._range(select, middle + 1, high, unread)

    def _bounds(self, table: str, key: str) -> tuple[int, int]:
        """The lowest and highest key that there may be.

        No key is higher than the last one that was given out: what a damaged page says may be
        anything.
        """
        given = _KEYS_OF.get(key, table)
        given_out = self.trusted("SELECT seq FROM sqlite_sequence WHERE name = ?", given)
        if given_out and isinstance(given_out[0][0], int):
            return 1, given_out[0][0]
        return min(1, self._edge("min", table, key)), self._edge("max", table, key)

    def _edge(self, which: str, table: str, key: str) -> int:
        """The lowest or highest key, as the table or an index says. Where none can be trusted,
        what is on the damaged pages, as far as so many rows have room in the file."""
        indexes = self._read(self._any, f"SELECT name FROM pragma_index_list('{table}')") or []
        for source in (table, *(f"{table} INDEXED BY {name}" for (name,) in indexes)):
            rows = self.trusted(f"SELECT {which}({key}) FROM {source}")
            if rows and isinstance(rows[0][0], int | None):
                return rows[0][0] or 0
        rows = self._read(self._any, f"SELECT {which}({key}) FROM {table}") or []
        pages = self.trusted("SELECT * FROM pragma_page_count")
        most = pages[0][0] * _MOST_ON_A_PAGE if pages else 0
        found = rows[0][0] if rows and isinstance(rows[0][0], int) else most
        return max(0, min(found, most))

    @staticmethod
    def _read(connection: apsw.Connection, sql: str, *values: Any) -> list[Row] | None:
        """None where it cannot be read. A disk that stumbles is asked again."""
        for pause in _AGAIN:
            time.sleep(pause)
            try:
                return connection.execute(sql, values).fetchall()
            except apsw.IOError as error:
                if is_damage(error):
                    return None
            except (apsw.Error, UnicodeDecodeError, MemoryError):
                return None
        return None


_MOST_ON_A_PAGE = 64
# Whose keys another table has for its own.
_KEYS_OF = {"chunk_id": "chunks", "job_id": "jobs"}


def _open(path: Path) -> apsw.Connection:
    """Raises apsw.Error where not even the schema can be read."""
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        connection.execute("SELECT 1 FROM documents LIMIT 0").fetchall()
    except apsw.Error:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()
        raise
    return connection


def _until_it_breaks(connection: apsw.Connection, sql: str) -> Iterator[Row]:
    try:
        yield from connection.execute(sql)
    except (apsw.Error, UnicodeDecodeError, MemoryError):
        return
