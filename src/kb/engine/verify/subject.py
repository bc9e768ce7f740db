"""Reads the rows of a store a few at a time, around whatever cannot be read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kb.engine.errors import StoreDamaged
from kb.engine.store.file.database import Database
from kb.engine.store.rows.chunk_rows import Terms
from kb.engine.verify.report import Finding, Progress

# From a range of keys to how many things were looked at, and what was wrong with them.
CheckRange = Callable[[int, int], tuple[int, list[Finding]]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: a database, the folder of originals, and how index terms are made."""

    database: Database
    files: Path
    terms: Terms

    def last(self, table: str, key: str = "id") -> int:
        """The highest key, as far as that can be read."""
        found = 0
        for sql in (f"SELECT max({key}) FROM {table}", _SEQUENCE.format(table=table)):
            rows = self.database.read_if_whole(sql)
            found = max(found, *(row[0] or 0 for row in rows), 0)
        return found


_SEQUENCE = "SELECT seq FROM sqlite_sequence WHERE name = '{table}'"


def in_ranges(
    after: int, last: int, size: int, check: CheckRange, unreadable: Callable[[int], Finding]
) -> Iterator[Progress]:
    """Check a range of keys after another. One that cannot be read is taken key by key."""
    while after < last:
        up_to = min(after + size, last)
        try:
            done, findings = check(after + 1, up_to)
        except StoreDamaged:
            if size > 1:
                yield from in_ranges(after, up_to, 1, check, unreadable)
                after = up_to
                continue
            done, findings = 1, [unreadable(up_to)]
        yield Progress(up_to, done, findings)
        after = up_to
