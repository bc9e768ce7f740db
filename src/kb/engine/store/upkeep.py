"""Keeps the store in order: postponed work, and work on the store as a whole."""

from pathlib import Path

from kb.engine.errors import StorageFailed
from kb.engine.store.file.database import Database
from kb.engine.store.file.reserve import may_use_reserve
from kb.engine.store.originals import ALL_FILES, Originals
from kb.engine.store.rows.chunk_rows import ChunkRows, Terms
from kb.engine.store.rows.text_hash import hash_some
from kb.engine.store.rows.unproven_texts import MissingText, missing
from kb.engine.store.search.change_log import Reader
from kb.engine.store.search.index_in_memory import IndexInMemory
from kb.engine.store.search.renewal_steps import renew_some
from kb.engine.store.search.word_index_renewal import begin, clear_away, renewed_up_to
from kb.engine.store.search.word_index_renewal import clear as clear_words
from kb.engine.store.upgrade.v2 import Adopt, take_over
from kb.engine.values import Cleared

_NEWEST = (
    "SELECT max(written) FROM ("
    "SELECT max(COALESCE(updated_at, created_at)) AS written FROM documents UNION ALL "
    "SELECT max(created_at) FROM jobs UNION ALL "
    "SELECT value FROM facts WHERE name = 'v2_taken_over')"
)


class Upkeep:
    """The part of the store for maintenance. `terms` makes the index terms of a text, by the rules
    of `version`."""

    def __init__(
        self,
        database: Database,
        chunks: ChunkRows,
        index: IndexInMemory,
        reader: Reader,
        originals: Originals,
        terms: Terms,
        version: int,
    ) -> None:
        self._database = database
        self._chunks = chunks
        self._index = index
        self._reader = reader
        self._originals = originals
        self._terms = terms
        self._renewing = False
        self._clearing = True  # until a look at the tables says that there is nothing
        if database.damage is None:
            self._begin_terms(version)

    @may_use_reserve
    def _begin_terms(self, version: int) -> None:
        with self._database.transaction(adds=False) as query:
            begin(query, version)
            self._renewing = renewed_up_to(query) is not None

    def take_over_v2(self, old: Path, adopt: Adopt) -> bool:
        """Copy a v2 database into this store, once; whether there was something to copy."""
        taken = take_over(self._database, self._chunks, old, adopt)
        if taken:
            self._index.load()
        return taken

    def newest_change(self) -> str | None:
        """When the latest row was written, as far as rows say that; None where there is none."""
        [(newest,)] = self._database.read(_NEWEST)
        return newest  # type: ignore[no-any-return]

    @may_use_reserve
    def clear(self) -> tuple[Cleared, list[str]]:
        """Remove everything; also the names of all files, which are the caller's to unlink."""
        with self._database.transaction(adds=False) as query:
            names = [name for (name,) in query(ALL_FILES)]
            [(documents,)] = query("SELECT count(*) FROM documents")
            [(chunks,)] = query("SELECT count(*) FROM chunks")
            [(jobs,)] = query("SELECT count(*) FROM jobs")
            [(size,)] = query("SELECT COALESCE(sum(size_bytes), 0) FROM documents")
            query(
                "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
                "SELECT id, document_id, seq, 'removed' FROM chunks"
            )
            clear_words(query)
            for table in ("exact_vectors", "vectors", "other_exact_vectors", "other_vectors"):
                query(f"DELETE FROM {table}")
            for table in ("chunk_terms", "chunks", "document_tags", "words_to_forget"):
                query(f"DELETE FROM {table}")
            for table in ("page_words", "tags", "documents", "job_texts", "jobs"):
                query(f"DELETE FROM {table}")
            query("UPDATE totals SET value = 0 WHERE name <> 'commits'")
        self._database.checkpoint()
        return Cleared("cleared", documents, chunks, jobs, size), names

    @may_use_reserve
    def forget_words(self) -> int:
        """Take the words of some deleted chunks out of the index; of how many."""
        with self._database.transaction(adds=False) as query:
            forgotten = self._chunks.forget_words(query)
        if forgotten:
            self._database.empty_log_soon()
        return forgotten

    def renew_words(self) -> bool:
        """Do some of the work after a change of the terms; returns whether there was any."""
        if self._renewing:
            with self._database.transaction() as query:
                self._renewing = renew_some(query, self._terms)
            if not self._renewing:
                self._index.count_words_anew()
                self._clearing = True
            return True
        if self._clearing:
            with self._database.transaction(adds=False) as query:
                self._clearing = clear_away(query)
            self._database.empty_log_soon()
        return self._clearing

    def look_for_renewal(self) -> None:
        """Another process may have begun to rebuild the word index."""
        with self._database.reading() as query:
            self._renewing = renewed_up_to(query) is not None

    def missing_texts(self) -> list[MissingText]:
        """Documents whose text was lost and not read again since, as far as that can be read."""
        try:
            with self._database.reading() as query:
                return missing(query)
        except StorageFailed:  # which the status tells of itself
            return []

    def hash_texts(self, limit: int) -> int:
        """Give some documents of an older kb the hash of their text; how many there were."""
        with self._database.transaction() as query:
            return hash_some(query, limit)

    def tidy(self) -> int:
        """What can wait until nobody waits: forget the changes that every reader has seen; how
        many those were."""
        place = self._index.place()
        with self._database.transaction(adds=False) as query:
            self._reader.note(query, place)
            forgotten = self._reader.forget_seen(query)
            self._originals.strike_off(query)
        self._database.tidy()
        return forgotten

    def shrink(self) -> bool:
        """Give some of the room that deletions left back to the disk; whether there was any."""
        return self._database.shrink()
