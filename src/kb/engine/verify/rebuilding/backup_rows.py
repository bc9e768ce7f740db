"""The rows of the last backup, by table and key; none where there is no backup."""

from typing import Any

import apsw

from kb.engine.backup.rescue import Rescue

Values = dict[str, Any]


class BackupRows:
    """Its schema is that of the kb that made it: a column may lack, or a whole table."""

    def __init__(self, backup: Rescue | None) -> None:
        self._backup = backup
        self._columns: dict[str, list[str]] = {}

    @property
    def taken_at(self) -> str:
        return self._backup.manifest.taken_at if self._backup else ""

    def row(self, table: str, key: int) -> Values | None:
        return next(iter(self.rows(table, "id", key)), None)

    def rows(self, table: str, column: str, value: Any, order: str = "1") -> list[Values]:
        """Those that have this value in a column."""
        return self._select(table, f"WHERE {column} = :value ORDER BY {order}", value=value)

    def all(self, table: str) -> list[Values]:
        return self._select(table, "")

    def _select(self, table: str, rest: str, **values: Any) -> list[Values]:
        if self._backup is None:
            return []
        columns = self._columns_of(table)
        if not columns:
            return []
        try:
            rows = self._backup.rows(f"SELECT {', '.join(columns)} FROM {table} {rest}", **values)
        except apsw.Error:  # a backup whose disk fails now is as good as none
            return []
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def _columns_of(self, table: str) -> list[str]:
        if self._backup is not None and table not in self._columns:
            rows = self._backup.rows(f"SELECT name FROM pragma_table_info('{table}')")
            self._columns[table] = [name for (name,) in rows]
        return self._columns.get(table, [])
