"""The store on SQLite: one class, one method one transaction."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.engine.errors import StartupError
from kb.engine.models import Chunk, Filter, Totals, Vectors
from kb.engine.store.chunks import ChunkRows, Terms
from kb.engine.store.database import Database
from kb.engine.store.frequencies import Frequencies
from kb.engine.store.jobs import Jobs
from kb.engine.store.look import Look
from kb.engine.store.migrate import migrate
from kb.engine.store.v2 import Adopt, take_over
from kb.engine.store.vectors import ChunkIndex

# One statement, since every `GET /status` runs it.
_TOTALS = (
    "SELECT name, value FROM totals UNION ALL SELECT 'tags', count(*) FROM tags "
    "UNION ALL SELECT status, count(*) FROM jobs "
    "WHERE status IN ('queued', 'running', 'failed') GROUP BY status "
    "UNION ALL SELECT 'size_bytes', page_count * page_size "
    "FROM pragma_page_count, pragma_page_size"
)


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A chunk that has no vector of the model in use yet."""

    chunk_id: int
    title: str
    chunk: Chunk


class Store(Jobs):
    """Everything the engine remembers.

    `terms` makes the index terms of a text (`terms_version` says by which rules), and `model`
    names the embedder whose vectors are looked at.
    """

    def __init__(self, path: Path, terms: Terms, terms_version: int, model: str) -> None:
        self.path = path
        self.model = model
        self._database = Database(path)
        self._totals: tuple[int, Totals | None] = (-1, None)
        migrate(self._database)
        self._check_terms(terms_version)
        self._chunks = ChunkRows(terms, model)
        self._frequencies = Frequencies()
        self._index = ChunkIndex()
        self._embedded_up_to = 0
        self._all_embedded = False
        self.vectors_loaded = False
        self._load()

    def take_over_v2(self, old: Path, adopt: Adopt) -> bool:
        """Copy a v2 database into this store, once; whether there was something to copy."""
        taken = take_over(self._database, self._chunks, old, adopt)
        if taken:
            self._load()
        return taken

    @property
    def failure(self) -> str | None:
        """Why nothing can be written any more, if so."""
        return self._database.failure

    def load_vectors(self) -> None:
        """Bring the vectors into memory; until then searches go by words."""
        with self._database.reading() as query:
            self._index.load_vectors(query, self.model)
        self.vectors_loaded = True

    @contextmanager
    def look(self, filter_: Filter | None = None) -> Iterator[Look]:
        """One consistent look at everything that a search needs."""
        with self._database.reading() as query:
            view = self._index.view(query, self.model)
            yield Look(query, view, self._frequencies, filter_)

    def totals(self) -> Totals:
        known = self.totals_if_known()
        return self.read_totals() if known is None else known

    def read_totals(self) -> Totals:
        """The totals from the disk, also where they are known: for who wants to see it answer."""
        commits = self._database.commits  # before the look: a write meanwhile makes it outdated
        found: dict[str, int] = dict(self._database.read(_TOTALS))
        totals = Totals(**dict.fromkeys(("queued", "running", "failed"), 0) | found)
        self._totals = (commits, totals)
        return totals

    def totals_if_known(self) -> Totals | None:
        """The totals if nothing was written since they were last read; never waits."""
        commits, totals = self._totals
        return totals if commits == self._database.commits else None

    def unembedded(self, limit: int) -> list[Unembedded]:
        """The next chunks that still need a vector of this model.

        Whatever is added has its vectors, so once there are no more there will be none.
        """
        if self._all_embedded:
            return []
        with self._database.reading() as query:
            rows = query(
                "SELECT chunks.id, title, headings, text, seq, page, location, start, table_header "
                "FROM chunks JOIN documents ON documents.id = document_id "
                "WHERE chunks.id > :after AND NOT EXISTS (SELECT 1 FROM vectors "
                "WHERE chunk_id = chunks.id AND model = :model) ORDER BY chunks.id LIMIT :limit",
                after=self._embedded_up_to,
                model=self.model,
                limit=limit,
            )
        self._all_embedded = not rows
        return [_unembedded(*row) for row in rows]

    def put_vectors(self, chunk_ids: Sequence[int], vectors: Vectors) -> None:
        """Give chunks their vectors; those that are gone meanwhile are passed over."""
        with self._database.transaction() as query:
            self._chunks.put_late_vectors(query, chunk_ids, vectors)
        self._embedded_up_to = max(self._embedded_up_to, *chunk_ids)

    def forget_words(self) -> int:
        """Take the words of some deleted chunks out of the index; of how many."""
        with self._database.transaction() as query:
            forgotten = self._chunks.forget_words(query)
        if forgotten:
            self._database.empty_log_soon()
        return forgotten

    def tidy(self) -> None:
        """What can wait until nobody waits: forget the changes that the index has seen."""
        with self.look():
            seen = self._index.seen
        with self._database.transaction() as query:
            query("DELETE FROM change_log WHERE seq <= :seen", seen=seen)
        self._database.tidy()

    def close(self) -> None:
        self._database.close()

    def _load(self) -> None:
        """Read the index anew; what led up to it need not be remembered any more."""
        with self._database.transaction() as query:
            query("DELETE FROM change_log")
        with self._database.reading() as query:
            self._index.load(query)

    def _check_terms(self, version: int) -> None:
        with self._database.transaction() as query:
            rows = query("SELECT value FROM facts WHERE name = 'terms_version'")
            if not rows:
                query("INSERT INTO facts VALUES ('terms_version', :version)", version=str(version))
            elif rows != [(str(version),)]:
                raise StartupError(
                    f"The word index was made by other rules (version {rows[0][0]}, this kb has "
                    f"{version}): use the kb that made it, or a newer one"
                )


def _unembedded(chunk_id: int, title: str, headings: str, *values: Any) -> Unembedded:
    text, seq, page, location, start, table_header = values
    path = tuple(json.loads(headings))
    chunk = Chunk(text, seq, page, location, start, path, table_header)
    return Unembedded(chunk_id, title, chunk)
