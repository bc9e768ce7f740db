"""Which rows a table had, as most of its indexes say.

Each index is on its own pages. One that lost a write, or that alone has it, is outvoted.
"""

from kb.engine.verify.rebuilding.salvage import Salvage

# Indexes that tell of every row of a table.
_INDEXES = {
    "documents": (
        "documents_by_recency",
        "sqlite_autoindex_documents_1",
        "documents_by_hash",
        "documents_by_kind",
    ),
    "jobs": ("jobs_by_status", "sqlite_autoindex_jobs_1"),
}


class Witnesses:
    """Only indexes that are whole count."""

    def __init__(self, salvage: Salvage, table: str) -> None:
        told = (salvage.by_index(table, index, "id") for index in _INDEXES.get(table, ()))
        self._ids = [{row[0] for row in rows} for rows in told if rows is not None]

    def existed(self, row_id: int) -> bool | None:
        """Whether there was such a row; None where nothing tells, or as many say yes as no."""
        yes = sum(row_id in ids for ids in self._ids)
        no = len(self._ids) - yes
        return None if yes == no else yes > no

    def all_deny(self, row_id: int) -> bool:
        """Whether several tell, and none of them knows it."""
        return len(self._ids) > 1 and not any(row_id in ids for ids in self._ids)

    def lacking(self, there: set[int]) -> set[int]:
        """Rows that there were and are not here: the table has lost the write that put them in."""
        others = set().union(*self._ids) - there
        return {row_id for row_id in others if self.existed(row_id) is not False}
