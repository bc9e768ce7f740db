"""The tables that hold each model's vectors, and how one model follows another.

Two pairs of tables can hold the vectors of two models. One pair is searched. The other is empty, or
holds the vectors made so far for the next model, or those left of the previous one. A row in
`facts` says which is which and changes in one transaction, so after a kill at any moment the next
start can continue.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kb.engine.store.facts import put_fact
from kb.engine.store.file.database import Database, Query
from kb.engine.store.file.reserve import may_use_reserve

CLEARED_AT_ONCE = 500

Task = Literal["begin", "embed", "clear"]


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The vectors of one model: the table of codes, that of exact vectors, and their total."""

    model: str
    place: int

    @property
    def codes(self) -> str:
        return ("vectors", "other_vectors")[self.place]

    @property
    def exact(self) -> str:
        return ("exact_vectors", "other_exact_vectors")[self.place]

    @property
    def total(self) -> str:
        """As `totals` calls it."""
        return self.codes


class VectorSets:
    """Which model is searched, which is wanted, and what is in the other tables.

    What changes here has been committed before. A writer asks inside its own transaction, and the
    tables of a model stay the same when it becomes the one that is searched, so a vector is never
    written where another model's belong. `changing` is held by whoever changes which is which.
    """

    def __init__(self, database: Database, model: str) -> None:
        self._database = database
        self.changing = threading.RLock()
        facts: dict[str, str] = dict(database.read_if_whole("SELECT name, value FROM facts"))
        known = database.read_if_whole("SELECT model FROM vectors LIMIT 1")
        place = int(facts.get("vectors_place", 0))
        self.active = VectorSet(facts.get("model") or (known[0][0] if known else model), place)
        other = facts.get("other_model")
        self.other = VectorSet(other, 1 - place) if other else None
        self.chosen: str | None = facts.get("chosen_model")
        self.folder: str | None = facts.get("model_folder")
        self.wanted = self.active.model
        self.want(model)

    @may_use_reserve
    def want(self, model: str) -> None:
        """Have the vectors of this model searched: at once if there are no others, else later.

        Never, as long as the database is damaged: it may be read as far as it can, and that is all.
        """
        if self._database.damage is None:
            self._want(model)

    def choose(self, model: str) -> None:
        """The same as `want`, remembered for the next start."""
        self._want(model, chosen=True)

    def _want(self, model: str, *, chosen: bool = False) -> None:
        with self.changing:
            active, other = self.active, self.other
            with self._database.transaction(adds=chosen) as query:
                if chosen:
                    put_fact(query, "chosen_model", model)
                if _nothing_embedded(query):
                    active, other = VectorSet(model, active.place), None
                _note(query, active, other)
            self.active, self.other, self.wanted = active, other, model
            if chosen:
                self.chosen = model

    def remember_folder(self, folder: str) -> None:
        """Where a model that is in no package was found last."""
        with self._database.transaction() as query:
            put_fact(query, "model_folder", folder)
        self.folder = folder

    def written(self) -> Iterator[VectorSet]:
        """Which models' vectors a new chunk needs."""
        yield self.active
        if self.other is not None and self.other.model == self.wanted:
            yield self.other

    def filled(self) -> VectorSet | None:
        """Where vectors of the wanted model go, if that can be yet."""
        return next((each for each in self.written() if each.model == self.wanted), None)

    def task(self) -> Task | None:
        """What is to be done next until the wanted model is searched and no other is left."""
        if self.other is None:
            return None if self.wanted == self.active.model else "begin"
        return "embed" if self.other.model == self.wanted != self.active.model else "clear"

    def begin(self) -> None:
        """Have the other tables filled with the vectors of the wanted model."""
        with self.changing:
            other = VectorSet(self.wanted, 1 - self.active.place)
            with self._database.transaction() as query:
                _note(query, self.active, other)
            self.other = other

    def clear(self) -> int:
        """Take some vectors out of the other tables; how many there were."""
        with self.changing:
            if self.other is None or self.task() != "clear":  # it is wanted again
                return 0
            return self._clear(self.other)

    def _clear(self, other: VectorSet) -> int:
        with self._database.transaction(adds=False) as query:
            gone = query(
                f"DELETE FROM {other.codes} WHERE chunk_id IN "
                f"(SELECT chunk_id FROM {other.codes} ORDER BY chunk_id LIMIT :limit) RETURNING 1",
                limit=CLEARED_AT_ONCE,
            )
            if gone:
                query(
                    "UPDATE totals SET value = value - :gone WHERE name = :name",
                    gone=len(gone),
                    name=other.total,
                )
            else:
                _note(query, self.active, None)
        if not gone:
            self.other = None
        return len(gone)

    def switch(self) -> bool:
        """Search the other model from now on, if it is wanted and every chunk has its vector.

        The caller holds `changing` until the index in memory is that of the other model, too.
        """
        if self.other is None or self.task() != "embed":
            return False
        with self._database.transaction() as query:
            totals: dict[str, int] = dict(query("SELECT name, value FROM totals"))
            complete = totals["chunks"] == totals[self.other.total]
            if complete:
                _note(query, self.other, self.active)
        if complete:
            self.active, self.other = self.other, self.active
        return complete


def _nothing_embedded(query: Query) -> bool:
    rows = query("SELECT sum(value) FROM totals WHERE name IN ('vectors', 'other_vectors')")
    return rows == [(0,)]


def _note(query: Query, active: VectorSet, other: VectorSet | None) -> None:
    put_fact(query, "model", active.model)
    put_fact(query, "vectors_place", str(active.place))
    if other is not None:
        put_fact(query, "other_model", other.model)
    else:
        query("DELETE FROM facts WHERE name = 'other_model'")
