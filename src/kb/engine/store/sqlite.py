"""The store on SQLite: its parts, put together on one database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from kb.engine.errors import StoreDamaged
from kb.engine.store.documents import Documents
from kb.engine.store.doubles import DoubledDocuments
from kb.engine.store.facts import Facts
from kb.engine.store.file.belonging import Belonging
from kb.engine.store.file.database import Database
from kb.engine.store.file.schema_map import remember_schema
from kb.engine.store.file.stamp import Stamp
from kb.engine.store.health import Health
from kb.engine.store.jobs import Jobs
from kb.engine.store.leases import Clock, Leases
from kb.engine.store.models import Models
from kb.engine.store.originals import Originals
from kb.engine.store.rows.chunk_rows import ChunkRows, Terms
from kb.engine.store.rows.document_rows import DocumentRows
from kb.engine.store.search.change_log import Reader
from kb.engine.store.search.index_in_memory import IndexInMemory
from kb.engine.store.search.look import Look
from kb.engine.store.search.vector_sets import VectorSets
from kb.engine.store.sweeping import Sweeping
from kb.engine.store.totals import RunningTotals
from kb.engine.store.transfers import Transfers
from kb.engine.store.upgrade.migrate import migrate
from kb.engine.store.upkeep import Upkeep
from kb.engine.values import Filter, utc_now


class Store:
    """Everything the engine remembers: parts with methods of their own, each one transaction.

    `terms` makes the index terms of a text (`terms_version` says by which rules), and `model`
    names the embedder whose vectors are wanted. As long as there are vectors of another one, that
    one is searched, until all of the wanted model's are there. `files` is the folder of originals
    that has to be this database's own. `clock` tells when leases of jobs are over. `name` tells the
    engines of one store apart; each keeps its own when it starts again.
    """

    documents: Documents
    doubles: DoubledDocuments
    transfers: Transfers
    jobs: Jobs
    models: Models
    totals: RunningTotals
    upkeep: Upkeep

    def __init__(
        self,
        path: Path,
        terms: Terms,
        terms_version: int,
        model: str,
        reserve_bytes: int = 0,
        files: Path | None = None,
        clock: Clock = utc_now,
        name: str = "engine",
    ) -> None:
        self.path = path
        stamp = None if files is None else Stamp(files)
        self.database = Database(path, reserve_bytes, stamp)  # for those who check what is in it
        self._belonging = None if stamp is None else Belonging(self.database, stamp)
        self.health = Health(self.database, self._belonging)
        self.facts = Facts(self.database)
        self.originals = Originals(self.database)
        self.sweeping = Sweeping(self.database, name, clock)
        try:
            self._open(terms, terms_version, model, Leases(clock), Reader(name, clock))
        except BaseException:
            self.close()
            raise

    def _open(
        self, terms: Terms, terms_version: int, model: str, leases: Leases, reader: Reader
    ) -> None:
        database = self.database
        if self._belonging is not None:
            self._belonging.check()
        migrate(database)
        if self._belonging is not None:
            self._belonging.settle()
        if database.damage is None:
            remember_schema(database, self.path)
        sets = VectorSets(database, model)
        chunks = ChunkRows(terms, sets)
        rows = DocumentRows(chunks)
        self._index = IndexInMemory(database, sets)
        self.documents = Documents(database, rows)
        self.doubles = DoubledDocuments(database, rows)
        self.transfers = Transfers(database, rows)
        self.jobs = Jobs(database, rows, leases)
        self.totals = RunningTotals(database, self._index)
        self.models = Models(database, sets, chunks, self._index, self.totals)
        self.upkeep = Upkeep(
            database, chunks, self._index, reader, self.originals, terms, terms_version
        )
        with self._as_far_as_it_can_be_read():
            self._index.load()
        with self._as_far_as_it_can_be_read():
            self.totals.read()

    @contextmanager
    def _as_far_as_it_can_be_read(self) -> Iterator[None]:
        """What a database that is known to be damaged cannot tell at start is done without."""
        known = self.database.damage is not None
        try:
            yield
        except StoreDamaged:
            if not known:
                raise

    def look(
        self, filter_: Filter | None = None, end_by: float | None = None
    ) -> AbstractContextManager[Look]:
        """One consistent look at everything that a search needs.

        After `end_by`, a moment of time.monotonic(), what still runs raises SearchTimedOut.
        """
        return self._index.look(filter_, end_by)

    def close(self) -> None:
        self.database.close()
        if self._belonging is not None:
            self._belonging.close()
