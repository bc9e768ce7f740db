"""A damaged database file in, every row that can still be read out, and whether it can be trusted.

It is read by two connections. One compares checksums: what it gives is what was written. The other
does not, and gives what is on the pages that the first refuses. Around what neither can read, rows
are looked for one by one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from kb.engine.store.database import Row
from kb.engine.store.pages import connect
from kb.engine.verify.first_page import mended

_AT_ONCE = 256
_WITHOUT_CHECKSUMS = "PRAGMA checksum_verification = OFF"


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A row. `is_proven`: its page has the bytes that were written."""

    values: Row
    is_proven: bool


class Salvage:
    """The rows of a damaged file. Nothing is written to it, its log neither."""

    def __init__(self, database: Path, scratch: Path) -> None:
        try:
            self._trusted, self._any = _open(database), _open(database)
        except apsw.Error:
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
        for low in range(first, last + 1, _AT_ONCE):
            yield from self._range(select, low, min(low + _AT_ONCE - 1, last))

    def between(
        self, table: str, key: str, columns: Sequence[str], keys: Collection[int]
    ) -> Iterator[Salvaged]:
        """The rows from the lowest to the highest of some keys."""
        select = f"SELECT {', '.join(columns)} FROM {table} WHERE {key} BETWEEN ? AND ?"
        yield from self._range(select, min(keys), max(keys))

    def whole(self, table: str, columns: Sequence[str], *indexes: str) -> list[Salvaged]:
        """The rows of a small table, or one that has an index with all of its columns."""
        names = ", ".join(columns)
        sources = [table, *(f"{table} INDEXED BY {index}" for index in indexes)]
        for source in sources:
            rows = self._read(self._trusted, f"SELECT {names} FROM {source}")
            if rows is not None:
                return [Salvaged(row, True) for row in rows]
        found: dict[Row, bool] = {}
        for connection, is_proven in ((self._trusted, True), (self._any, False)):
            for source in sources:
                for order in ("ASC", "DESC"):
                    sql = f"SELECT {names} FROM {source} ORDER BY {names} {order}"
                    for row in _until_it_breaks(connection, sql):
                        found.setdefault(row, is_proven)
        return [Salvaged(row, is_proven) for row, is_proven in found.items()]

    def _range(self, select: str, low: int, high: int) -> Iterator[Salvaged]:
        rows = self._read(self._trusted, select, low, high)
        if rows is not None:
            yield from (Salvaged(row, True) for row in rows)
        elif low == high:
            yield from (
                Salvaged(row, False) for row in self._read(self._any, select, low, high) or []
            )
        else:
            middle = (low + high) // 2
            yield from self._range(select, low, middle)
            yield from self._range(select, middle + 1, high)

    def _bounds(self, table: str, key: str) -> tuple[int, int]:
        """The lowest and highest key that there may be."""
        lows, highs = [], []
        for connection in (self._trusted, self._any):
            for row in self._read(connection, f"SELECT min({key}) FROM {table}") or []:
                lows.append(row[0])
            for sql in (
                f"SELECT max({key}) FROM {table}",
                f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'",
            ):
                highs += [row[0] for row in self._read(connection, sql) or []]
        low = min((each for each in lows if isinstance(each, int)), default=1)
        high = max((each for each in highs if isinstance(each, int)), default=0)
        return min(low, 1), min(high, _HIGHEST)

    @staticmethod
    def _read(connection: apsw.Connection, sql: str, *values: Any) -> list[Row] | None:
        """None where it cannot be read."""
        try:
            return connection.execute(sql, values).fetchall()
        except (apsw.Error, UnicodeDecodeError, MemoryError):
            return None


# A key that is read from a damaged page may be anything.
_HIGHEST = 1 << 32


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
