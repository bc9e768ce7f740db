"""How much the store holds, cached until something is written."""

from kb.engine.store.file.database import Database
from kb.engine.store.search.index_in_memory import IndexInMemory
from kb.engine.values import Totals

# One statement, since every `GET /status` runs it.
_TOTALS = (
    "SELECT name, value FROM totals WHERE name <> 'commits' "
    "UNION ALL SELECT 'tags', count(*) FROM tags "
    "UNION ALL SELECT status, count(*) FROM jobs "
    "WHERE status IN ('queued', 'running', 'failed') GROUP BY status "
    "UNION ALL SELECT 'failed_bytes', COALESCE(sum(size_bytes), 0) FROM jobs "
    "WHERE status = 'failed' AND (has_text OR stored_name IS NOT NULL) "
    "UNION ALL SELECT 'words_outdated', max(0, totals.value - facts.value) FROM totals, facts "
    "WHERE totals.name = 'chunks' AND facts.name = 'terms_renewed' "
    "UNION ALL SELECT 'size_bytes', page_count * page_size "
    "FROM pragma_page_count, pragma_page_size"
)

_ZERO = ("queued", "running", "failed", "words_outdated")  # unless the statement has them
_NOTHING = Totals(**dict.fromkeys(Totals.__slots__, 0))


class RunningTotals:
    """The part of the store that counts."""

    def __init__(self, database: Database, index: IndexInMemory) -> None:
        self._database = database
        self._index = index
        self._read = (0, index.searched, _NOTHING)

    def current(self) -> Totals:
        known = self.if_known()
        return self.read() if known is None else known

    def read(self) -> Totals:
        """From the disk, also where they are known: for who wants to see it answer."""
        # Before the look: a write or an exchange meanwhile makes it outdated.
        commits, searched = self._database.commits, self._index.searched
        found: dict[str, int] = dict(self._database.read(_TOTALS))
        by_place = found.pop("vectors"), found.pop("other_vectors")
        place = searched.vectors.place
        totals = Totals(
            **dict.fromkeys(_ZERO, 0) | found,
            vectors=by_place[place],
            next_vectors=by_place[1 - place],
        )
        self._read = (commits, searched, totals)
        return totals

    def if_known(self) -> Totals | None:
        """The totals if nothing was written since they were last read; never waits."""
        commits, searched, totals = self._read
        is_current = commits == self._database.commits and searched is self._index.searched
        return totals if is_current else None

    def last_read(self) -> Totals:
        """As they were then: for who has to say something nevertheless."""
        return self._read[2]
