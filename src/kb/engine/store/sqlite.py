"""The store on SQLite: one class, one method one transaction."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kb.engine.errors import StorageFailed, StoreDamaged
from kb.engine.models import Filter, Issue, Totals, Vectors
from kb.engine.store.belonging import Belonging
from kb.engine.store.chunks import ChunkRows, Terms
from kb.engine.store.damage import Damage
from kb.engine.store.database import Database
from kb.engine.store.doubles import DoubledDocuments
from kb.engine.store.frequencies import Frequencies
from kb.engine.store.jobs import Jobs
from kb.engine.store.leaving import Leaving
from kb.engine.store.look import Look
from kb.engine.store.migrate import migrate
from kb.engine.store.postings import Postings
from kb.engine.store.renewal import begin, clear_away, renewed_up_to
from kb.engine.store.renewing import renew_some
from kb.engine.store.reserve import Reserve, may_use_reserve
from kb.engine.store.schema_map import remember_schema
from kb.engine.store.text_hash import hash_some
from kb.engine.store.transfers import Transfers
from kb.engine.store.unembedded import Unembedded, unembedded
from kb.engine.store.unproven_texts import MissingText, missing
from kb.engine.store.v2 import Adopt, take_over
from kb.engine.store.vector_sets import Task, VectorSet, VectorSets, put_fact
from kb.engine.store.vectors import ChunkIndex

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


@dataclass(frozen=True, slots=True)
class _Searched:
    """The vectors that are searched, and the index of them in memory: exchanged as one."""

    vectors: VectorSet
    index: ChunkIndex


class Store(Jobs, DoubledDocuments, Transfers):
    """Everything the engine remembers.

    `terms` makes the index terms of a text (`terms_version` says by which rules), and `model`
    names the embedder whose vectors are wanted. As long as there are vectors of another one, that
    one is searched, until all of the wanted model's are there. `files` is the folder of originals
    that has to be this database's own.
    """

    def __init__(
        self,
        path: Path,
        terms: Terms,
        terms_version: int,
        model: str,
        reserve_bytes: int = 0,
        files: Path | None = None,
    ) -> None:
        self.path = path
        self._database = Database(path, reserve_bytes)
        self.belonging = None if files is None else Belonging(self._database, files)
        self.leaving = Leaving(self._database)
        try:
            if self.belonging is not None:
                self.belonging.check()
            self._open(terms, terms_version, model)
        except BaseException:
            self.close()
            raise

    def _open(self, terms: Terms, terms_version: int, model: str) -> None:
        migrate(self._database)
        if self.belonging is not None:
            self.belonging.settle()
        self._renewing = False
        if self.damage is None:
            remember_schema(self._database, self.path)
            self._begin_terms(terms_version)
        self._clearing = True  # until a look at the tables says that there is nothing
        self._terms = terms
        self._sets = VectorSets(self._database, model)
        self._chunks = ChunkRows(terms, self._sets)
        self._frequencies = Frequencies()
        self._postings = Postings()
        self._searched = _Searched(self._sets.active, ChunkIndex())
        self._next_index: ChunkIndex | None = None
        self._embedded_up_to = 0
        self._index_loaded = False
        self.vectors_loaded = False
        self._totals: tuple[int, _Searched, Totals] = (0, self._searched, _NOTHING)
        with self._as_far_as_it_can_be_read():
            self._load()
        with self._as_far_as_it_can_be_read():
            self.read_totals()

    @contextmanager
    def _as_far_as_it_can_be_read(self) -> Iterator[None]:
        """What a database that is known to be damaged cannot tell at start is done without."""
        known = self.damage is not None
        try:
            yield
        except StoreDamaged:
            if not known:
                raise

    @may_use_reserve
    def _begin_terms(self, version: int) -> None:
        with self._database.transaction(adds=False) as query:
            begin(query, version)
            self._renewing = renewed_up_to(query) is not None

    def take_over_v2(self, old: Path, adopt: Adopt) -> bool:
        """Copy a v2 database into this store, once; whether there was something to copy."""
        taken = take_over(self._database, self._chunks, old, adopt)
        if taken:
            self._load()
        return taken

    @property
    def failure(self) -> StorageFailed | None:
        """Why nothing can be written any more, if so."""
        return self._database.failure

    def issues(self) -> list[Issue]:
        """What is not as it should be, although everything works."""
        issues = [] if self.belonging is None else self.belonging.issues()
        why = self._database.without_checksums
        if why is not None:
            message = (
                "The pages of the store have no checksums, so damage on its disk may not be "
                f"noticed: {why}. The next start of the engine tries again"
            )
            issues.append(Issue("checksums_missing", message))
        return issues

    @property
    def damage(self) -> Damage | None:
        """What is wrong with the database's file, if something is known to be."""
        return self._database.damage

    def note_damage(self, why: str) -> None:
        """A check has found something: from now on the store is only read."""
        self._database.note_damage(why)

    @property
    def reserve(self) -> Reserve:
        """The room that deletions have on a full disk."""
        return self._database.reserve

    @property
    def model(self) -> str:
        """Whose vectors are searched."""
        return self._searched.vectors.model

    @property
    def wanted_model(self) -> str:
        """Whose vectors are to be searched as soon as they are all there."""
        return self._sets.wanted

    @property
    def chosen_model(self) -> str | None:
        """What somebody chose, in this run or an earlier one."""
        return self._sets.chosen

    @property
    def model_folder(self) -> str | None:
        """Where the last model was that came from a folder: its vectors may be those in use."""
        return self._sets.folder

    def remember_model_folder(self, folder: str) -> None:
        self._sets.remember_folder(folder)

    def want_model(self, model: str) -> None:
        """Change over to another model: at once if there are no vectors yet, else step by step."""
        self._sets.want(model)
        self._follow()

    def choose_model(self, model: str) -> None:
        """The same, and the choice is there after a restart."""
        self._sets.choose(model)
        self._follow()

    def model_task(self) -> Task | None:
        """What is left to do for the change to another model."""
        return self._sets.task()

    def begin_model(self) -> None:
        """Make room for the wanted model's vectors beside those that are searched."""
        self._sets.begin()
        self._embedded_up_to = 0

    def clear_model(self) -> int:
        """Take away some vectors of a model that is neither searched nor wanted; how many."""
        cleared = self._sets.clear()
        self._embedded_up_to = 0
        return cleared

    def switch_model(self) -> bool:
        """Search the wanted model's vectors from now on; False if some are still lacking.

        The new index is loaded beside the old one, which answers until then.
        """
        vectors, totals = self._sets.other, self.read_totals()
        if vectors is None or totals.chunks != totals.next_vectors:
            return False
        self._next_index = index = ChunkIndex()
        try:
            with self._database.reading() as query:
                index.load(query)
            with self._database.reading() as query:
                index.load_vectors(query, vectors)
            with self._sets.changing:
                if vectors != self._sets.other or not self._sets.switch():
                    return False
                # The lists of words hold for a state of the index, and this is another one.
                self._postings = Postings()
                self._searched = _Searched(vectors, index)
                self.vectors_loaded = True
        finally:
            self._next_index = None
        return True

    def load_vectors(self) -> None:
        """Bring the vectors into memory; until then searches go by words."""
        searched = self._searched
        with self._database.reading() as query:
            searched.index.load_vectors(query, searched.vectors)
        self.vectors_loaded = True

    @contextmanager
    def look(self, filter_: Filter | None = None, end_by: float | None = None) -> Iterator[Look]:
        """One consistent look at everything that a search needs.

        After `end_by`, a moment of time.monotonic(), what still runs raises SearchTimedOut.
        """
        if not self._index_loaded and self.damage is not None:
            raise self.damage.error()
        while True:
            with self._database.searching() as query:
                searched = self._searched
                view = searched.index.view(query, searched.vectors)
                # Old vectors are taken away only after the exchange: if it has not come by now,
                # this look still has them all.
                if searched is self._searched:
                    if end_by is not None:  # not before: the index is everybody's
                        query.end_by(end_by)
                    yield Look(
                        query, view, searched.vectors, self._frequencies, self._postings, filter_
                    )
                    return

    def totals(self) -> Totals:
        known = self.totals_if_known()
        return self.read_totals() if known is None else known

    def read_totals(self) -> Totals:
        """The totals from the disk, also where they are known: for who wants to see it answer."""
        # Before the look: a write or an exchange meanwhile makes it outdated.
        commits, searched = self._database.commits, self._searched
        found: dict[str, int] = dict(self._database.read(_TOTALS))
        by_place = found.pop("vectors"), found.pop("other_vectors")
        place = searched.vectors.place
        totals = Totals(
            **dict.fromkeys(_ZERO, 0) | found,
            vectors=by_place[place],
            next_vectors=by_place[1 - place],
        )
        self._totals = (commits, searched, totals)
        return totals

    def totals_if_known(self) -> Totals | None:
        """The totals if nothing was written since they were last read; never waits."""
        commits, searched, totals = self._totals
        is_current = commits == self._database.commits and searched is self._searched
        return totals if is_current else None

    def last_totals(self) -> Totals:
        """The totals when they were last read: for who has to say something nevertheless."""
        return self._totals[2]

    def unembedded(self, limit: int) -> list[Unembedded]:
        """The next chunks that still need a vector of the wanted model."""
        kept, totals = self._sets.filled(), self.totals()
        if kept is None:
            return []
        made = totals.vectors if kept == self._searched.vectors else totals.next_vectors
        if made == totals.chunks:
            return []
        found = unembedded(self._database, kept, self._embedded_up_to, limit)
        if not found and self._embedded_up_to:  # one came in that had been made for another model
            self._embedded_up_to = 0
            found = unembedded(self._database, kept, 0, limit)
        return found

    def put_vectors(
        self, chunk_ids: Sequence[int], vectors: Vectors, model: str | None = None
    ) -> None:
        """Give chunks their vectors, by the model that is searched where no other is named.

        Those that are gone meanwhile are passed over.
        """
        with self._database.transaction() as query:
            self._chunks.put_late_vectors(query, chunk_ids, vectors, model or self.model)
        self._embedded_up_to = max(self._embedded_up_to, *chunk_ids)

    @may_use_reserve
    def forget_words(self) -> int:
        """Take the words of some deleted chunks out of the index; of how many."""
        with self._database.transaction(adds=False) as query:
            forgotten = self._chunks.forget_words(query)
        if forgotten:
            self._database.empty_log_soon()
        return forgotten

    def renew_words(self) -> bool:
        """Some of what is to be done after a change of the terms; whether there was anything."""
        if self._renewing:
            with self._database.transaction() as query:
                self._renewing = renew_some(query, self._terms)
            if not self._renewing:  # counted anew, by the new index
                self._frequencies = Frequencies()
                self._clearing = True
            return True
        if self._clearing:
            with self._database.transaction(adds=False) as query:
                self._clearing = clear_away(query)
            self._database.empty_log_soon()
        return self._clearing

    @property
    def store_id(self) -> str:
        """Which store this is; it stays the same through backups and restores."""
        [(store_id,)] = self._database.read("SELECT value FROM facts WHERE name = 'store_id'")
        return str(store_id)

    def last_backup(self) -> str | None:
        """What was remembered of the last good backup."""
        rows = self._database.read("SELECT value FROM facts WHERE name = 'last_backup'")
        return str(rows[0][0]) if rows else None

    def remember_backup(self, about: str) -> None:
        with self._database.transaction() as query:
            put_fact(query, "last_backup", about)

    @property
    def database(self) -> Database:
        """For those who check what is in it."""
        return self._database

    def recall(self, name: str) -> str | None:
        """What was remembered under a name."""
        rows = self._database.read_if_whole("SELECT value FROM facts WHERE name = :n", n=name)
        return rows[0][0] if rows else None

    def remember(self, name: str, value: str) -> None:
        with self._database.transaction() as query:
            put_fact(query, name, value)

    def look_for_renewal(self) -> None:
        """Somebody else may have begun to make the word index anew."""
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

    def tidy(self) -> None:
        """What can wait until nobody waits: forget the changes that the index has seen."""
        with self.look():
            indexes = [self._searched.index, self._next_index]
            seen = min(index.seen for index in indexes if index is not None)
        with self._database.transaction(adds=False) as query:
            query("DELETE FROM change_log WHERE seq <= :seen", seen=seen)
            self.leaving.strike_off(query)
        self._database.tidy()

    def shrink(self) -> bool:
        """Give some of the room that deletions left back to the disk; whether there was any."""
        return self._database.shrink()

    def close(self) -> None:
        self._database.close()
        if self.belonging is not None:
            self.belonging.close()

    def _load(self) -> None:
        """Read the index anew. What led up to it need not be remembered: `tidy` forgets it, since
        a start must not have to write."""
        with self._database.reading() as query:
            self._searched.index.load(query)
        self._index_loaded = True

    def _follow(self) -> None:
        """Where nothing was embedded yet, the wanted model is searched already."""
        with self._sets.changing:
            if self._sets.active != self._searched.vectors:
                self._searched = _Searched(self._sets.active, self._searched.index)
