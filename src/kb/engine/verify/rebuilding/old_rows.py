"""Finds rows that are an older version, by what an index says about the newer one.

If a disk lost the last write of a page, the page has a valid checksum but old rows. Indexes are on
other pages.
"""

from kb.engine.verify.rebuilding.backup_rows import Values
from kb.engine.verify.rebuilding.lost_documents import CHANGED, changed_at
from kb.engine.verify.rebuilding.salvage import Salvage

# An index that tells of every row which version it is.
_VERSIONS = {
    "documents": ("documents_by_recency", CHANGED),
    "jobs": ("jobs_by_status", "status"),
}
_HAS_ENDED = ("done", "cancelled")  # a job that has failed may wait once more


class OldRows:
    """Which rows of a table are older than an index says. None are where it cannot be trusted."""

    def __init__(self, salvage: Salvage, table: str) -> None:
        self.table = table
        self._newest: dict[int, str] = {}
        if table in _VERSIONS:
            index, version = _VERSIONS[table]
            self._newest = dict(salvage.by_index(table, index, f"id, {version}") or [])

    def has(self, row: Values) -> bool:
        newest = self._newest.get(row["id"]) if self._newest else None
        if newest is None:
            return False
        if self.table == "jobs":
            return newest in _HAS_ENDED and row["status"] != newest
        return str(changed_at(row)) < newest
