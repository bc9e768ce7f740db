"""The change log that feeds an index in memory, and the progress of each of its readers."""

from datetime import timedelta

import apsw
import numpy as np

from kb.engine.store.file.database import Query, Row
from kb.engine.store.leases import Clock
from kb.engine.store.search.chunk_index import Change, Contents
from kb.engine.store.search.vector_sets import VectorSet
from kb.engine.values import written

# A reader that has said nothing for so long is gone. Should it come back, it reads everything anew.
GONE_SECONDS = 86400.0
_SAYS_SO_EVERY = GONE_SECONDS / 4


class LogOfChanges:
    """A `Feed` of one transaction. Entries are numbered without a gap, as they were committed."""

    def __init__(self, query: Query, vectors: VectorSet) -> None:
        self._query = query
        self._vectors = vectors

    def contents(self) -> Contents:
        """The first answer after a start waits for this. So the numbers are read from an index, and
        come as three long strings: a Python object for each would take twice as long."""
        [(place,)] = self._query(
            "SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'change_log'"
        )
        [columns] = self._query(
            "SELECT group_concat(id), group_concat(document_id), group_concat(seq) "
            "FROM chunks INDEXED BY sqlite_autoindex_chunks_2"
        )
        ids, documents, seqs = (np.fromstring(c or "", np.int64, sep=",") for c in columns)
        return Contents(place, ids, documents, seqs)

    def after(self, place: int) -> list[Change] | None:
        found = self._query(
            "SELECT seq, chunk_id, document_id, chunk_seq, change FROM change_log "
            "WHERE seq > :place ORDER BY seq",
            place=place,
        )
        return None if found and found[0][0] != place + 1 else found

    def codes(self, chunk_ids: list[int]) -> list[Row]:
        if not chunk_ids:  # an empty array cannot be bound
            return []
        return self._query(
            f"SELECT chunk_id, code FROM {self._vectors.codes} WHERE chunk_id IN carray(:ids) "
            "AND model = :model",
            ids=apsw.carray(np.array(chunk_ids, np.int64)),
            model=self._vectors.model,
        )

    def all_codes(self, after: int, limit: int) -> list[Row]:
        return self._query(
            f"SELECT chunk_id, code FROM {self._vectors.codes} WHERE chunk_id > :after "
            "AND model = :model ORDER BY chunk_id LIMIT :limit",
            after=after,
            model=self._vectors.model,
            limit=limit,
        )


class Reader:
    """One reader of the log, by its name; each method runs inside a transaction."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock

    def note(self, query: Query, place: int) -> None:
        """Record the progress of a reader; nothing is written if it is unchanged."""
        query(
            "INSERT INTO change_readers VALUES (:name, :place, :now) ON CONFLICT (name) DO UPDATE "
            "SET place = :place, seen_at = :now WHERE place <> :place OR seen_at <= :due",
            name=self._name,
            place=place,
            now=self._ago(0),
            due=self._ago(_SAYS_SO_EVERY),
        )

    def forget_seen(self, query: Query) -> int:
        """Delete what every reader has seen; returns the number of entries. The last entry stays,
        so that a reader further behind notices that some are missing."""
        query("DELETE FROM change_readers WHERE seen_at <= :gone", gone=self._ago(GONE_SECONDS))
        gone = query(
            "DELETE FROM change_log WHERE seq <= (SELECT min(place) FROM change_readers) "
            "AND seq < (SELECT max(seq) FROM change_log) RETURNING 1"
        )
        return len(gone)

    def _ago(self, seconds: float) -> str:
        return written(self._clock() - timedelta(seconds=seconds))
