"""Finds the nearest chunks: all of them in memory, as int8, fed by the database's changes.

The database is the truth; this is a cache of it. Rows are in order of chunk id, so a chunk is found
by bisection, and the chunks of a document are neighbours.
"""

import threading
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numkong
import numpy as np
from numpy.typing import NDArray

from kb.engine.store.search.sign_bits import ROWS, Block, Codes, Ids, Mask, Rows, block_of, likely
from kb.engine.values import Vector, Vectors

# int8 steps per unit: a component of a unit vector rarely passes 0.25, and is clamped if it does.
SCALE = 508
DIMENSIONS = 384
# Up to so many rows all codes are compared with a query's. Beyond that, their signs choose which.
EXACT_UP_TO = 250_000
_SPARE = 4096
_LOAD_BATCH = 20_000
# Up to this share of all rows it is cheaper to gather the allowed ones than to scan them all; to
# scan their signs is cheaper from so many rows on.
_FEW = 0.1
_FEW_ROWS = 40_000
_WITH_CODES = ("added", "embedded")

Floats = NDArray[np.float64]
# Its place in the log; the chunk, its document and its place in that; what became of it: 'added',
# 'embedded', 'renamed', 'moved' to another document, or 'removed'.
Change = tuple[int, int, int, int, str]
Coded = tuple[int, bytes]  # a chunk and its code


class Contents(NamedTuple):
    """All chunks of one moment, in any order, and the place in the log that this moment is at."""

    place: int
    ids: Ids
    documents: Ids
    seqs: Ids


class Feed(Protocol):
    """The chunks and what becomes of them, as one transaction sees it."""

    def contents(self) -> Contents: ...

    def after(self, place: int) -> list[Change] | None:
        """What has happened since, in order; None where some of that is forgotten already."""

    def codes(self, chunk_ids: list[int]) -> list[Coded]:
        """Of those that have one."""

    def all_codes(self, after: int, limit: int) -> list[Coded]:
        """The next ones by their ids."""


def quantise(vectors: Vectors) -> Codes:
    return np.clip(np.rint(vectors * SCALE), -127, 127).astype(np.int8)


@dataclass(frozen=True, slots=True)
class View:
    """The index as it stood at one moment. Later changes are not seen, but for late vectors."""

    ids: Ids
    documents: Ids
    seqs: NDArray[np.int32]
    codes: Codes
    alive: Mask
    embedded: Mask
    signs: tuple[Block | None, ...] = ()
    changed_before: int = 0  # how often more than the last chunks has changed

    def rows_of(self, chunk_ids: Ids) -> tuple[Rows, Mask]:
        """Where these chunks stand, and which of them are here at all."""
        rows = np.searchsorted(self.ids, chunk_ids)
        rows[rows == len(self.ids)] = 0
        found = self.alive[rows] & (self.ids[rows] == chunk_ids) if len(self.ids) else rows > 0
        return rows, found

    def rows_in(self, documents: Ids) -> Rows:
        """The living rows of these documents."""
        if not len(self.ids) or not len(documents):
            return np.empty(0, np.intp)
        allowed = np.zeros(int(max(self.documents.max(), documents.max())) + 1, np.bool_)
        allowed[documents] = True
        return np.flatnonzero(allowed[self.documents] & self.alive)

    def neighbours(self, rows: Rows) -> tuple[Rows, Rows]:
        """For each row the one before and after in the same document, or the row itself."""
        before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(self.ids) - 1)
        return self._where_beside(rows, before), self._where_beside(rows, after)

    def nearest(self, vector: Vector, limit: int, among: Rows | None) -> Rows:
        """The rows nearest by their int8 codes; the caller scores them exactly."""
        if not len(self.ids):
            return np.empty(0, np.intp)
        usable = self.alive & self.embedded
        if among is not None and len(among) > min(len(self.ids) * _FEW, _FEW_ROWS):
            mask = np.zeros(len(self.ids), np.bool_)
            mask[among] = True
            usable, among = usable & mask, None
        if among is None and len(self.ids) > EXACT_UP_TO:
            among = likely(self.signs, vector, usable, limit)
        codes, usable = (
            (self.codes, usable) if among is None else (self.codes[among], usable[among])
        )
        if not usable.any():
            return np.empty(0, np.intp)
        query = quantise(vector.reshape(1, -1))
        scores = np.asarray(numkong.cdist(query, codes, metric="dot", out_dtype="float32"))[0]
        scores[~usable] = -np.inf
        best: Rows = np.arange(len(scores))
        if limit < len(scores):
            best = np.argpartition(scores, -limit)[-limit:]
        best = best[np.isfinite(scores[best])]
        return best if among is None else among[best]

    def cosines(self, vector: Vector, rows: Rows) -> Floats:
        """How near these rows are by their codes: right to about .003; 0 without a vector."""
        scores = (self.codes[rows].astype(np.float32) @ vector) / SCALE
        return np.where(self.embedded[rows], scores, 0.0).astype(np.float64)

    def _where_beside(self, rows: Rows, others: Rows) -> Rows:
        """The others, but the row itself where they are of another document or place in it."""
        same = (self.documents[rows] == self.documents[others]) & self.alive[others]
        beside = same & (np.abs(self.seqs[rows] - self.seqs[others]) == 1)
        return np.where(beside, others, rows)


class ChunkIndex:
    """Grows at the end, since ids nearly always rise; removed rows are marked, and swept when many.

    Chunks that were exported and are imported again have the ids they had: rows are put in order
    then, and marked ones swept, since an id may come back.
    """

    _alive: Mask
    _documents: Ids

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.place = 0  # in the log, up to which all is in here
        self._changed_before = 0
        self._size = 0
        self._removed = 0
        self._signs: list[Block | None] = []
        self._allocate(_SPARE)

    def load(self, feed: Feed) -> None:
        """Everything but the vectors."""
        with self._lock:
            self._load(feed)

    def _load(self, feed: Feed) -> None:
        self.place, ids, documents, seqs = feed.contents()
        order = np.argsort(ids)
        self._allocate(_roomy(len(ids)))
        self._size, self._removed, self._signs = len(ids), 0, []
        self._ids[: self._size] = ids[order]
        self._documents[: self._size] = documents[order]
        self._seqs[: self._size] = seqs[order]
        self._alive[: self._size] = True
        self._changed_before += 1

    def load_vectors(self, feed: Feed) -> None:
        """The codes of all vectors, in batches so that searches go on meanwhile."""
        last = 0
        while rows := feed.all_codes(last, _LOAD_BATCH):
            with self._lock:
                self._put_codes(rows)
            last = rows[-1][0]
        while True:
            with self._lock:
                if not self._put_signs():
                    return

    def view(self, feed: Feed) -> View:
        """The index as the feed's transaction sees the database.

        That transaction must not have read anything yet: its first read is here, one at a time, so
        none ever sees less than the index already knows.
        """
        with self._lock:
            if not self._refresh(feed):
                self._put_signs()
            size = self._size
            return View(
                self._ids[:size],
                self._documents[:size],
                self._seqs[:size],
                self._codes[:size],
                self._alive[:size],
                self._embedded[:size],
                tuple(self._signs),
                self._changed_before,
            )

    def _refresh(self, feed: Feed) -> bool:
        """Catch up with the log; whether there was something in it."""
        changes = feed.after(self.place)
        if changes is None:
            self._read_anew(feed)
            return True
        if not changes:
            return False
        # Read before anything is changed here: if reading fails, the same changes come again.
        codes = feed.codes([row[1] for row in changes if row[4] in _WITH_CODES])
        kinds = {row[4] for row in changes}
        if "removed" in kinds:
            self._alive = self._alive.copy()  # earlier views keep what they had
        if "moved" in kinds:
            self._documents = self._documents.copy()
        self._apply(changes)
        self._put_codes(codes)
        self.place = changes[-1][0]
        if self._removed > 1000 and self._removed > self._size // 4:
            self._sweep()
        return True

    def _apply(self, changes: list[Change]) -> None:
        in_order = True
        for _, chunk_id, document_id, seq, change in changes:
            if change == "added":
                in_order &= not self._size or chunk_id > self._ids[self._size - 1]
                self._append(chunk_id, document_id, seq)
                continue
            if not in_order and change in ("removed", "moved"):  # these are looked for by their ids
                self._put_in_order()
                in_order = True
            if change == "removed":
                self._remove(chunk_id)
            elif change == "moved":
                self._move(chunk_id, document_id)
            elif change == "renamed":
                self._changed_before += 1
        if not in_order:
            self._put_in_order()

    def _read_anew(self, feed: Feed) -> None:
        """The log was deleted before it was read here: this process was paused for very long."""
        codes, last = [], 0
        while rows := feed.all_codes(last, _LOAD_BATCH):
            codes.append(rows)
            last = rows[-1][0]
        self._load(feed)
        for rows in codes:
            self._put_codes(rows)

    def _put_signs(self) -> bool:
        """Make the signs of one block that is full and has none; whether there was one.

        One takes some milliseconds, so this is done at leisure: a look does it for at most one, and
        only if it found nothing new. Until then the block is searched by its codes.
        """
        full = self._size // ROWS if self._size > EXACT_UP_TO else 0
        self._signs += [None] * (full - len(self._signs))
        if None not in self._signs:
            return False
        number = self._signs.index(None)
        self._signs[number] = block_of(self._codes[number * ROWS : (number + 1) * ROWS])
        return True

    def _allocate(self, capacity: int) -> None:
        self._ids = np.zeros(capacity, np.int64)
        self._documents = np.zeros(capacity, np.int64)
        self._seqs = np.zeros(capacity, np.int32)
        self._codes = np.zeros((capacity, DIMENSIONS), np.int8)
        self._alive = np.zeros(capacity, np.bool_)
        self._embedded = np.zeros(capacity, np.bool_)

    def _copy(self, rows: slice | Mask | Rows, capacity: int) -> None:
        """Move the chosen rows into new arrays; views of the old ones stay whole."""
        names = ("_ids", "_documents", "_seqs", "_codes", "_alive", "_embedded")
        kept = {name: getattr(self, name)[: self._size][rows] for name in names}
        self._allocate(capacity)
        for name, values in kept.items():
            getattr(self, name)[: len(values)] = values

    def _append(self, chunk_id: int, document_id: int, seq: int) -> None:
        if self._size == len(self._ids):
            self._copy(slice(None), _roomy(self._size))
        row = self._size
        self._ids[row], self._documents[row], self._seqs[row] = chunk_id, document_id, seq
        self._alive[row], self._embedded[row] = True, False
        self._size += 1

    def _remove(self, chunk_id: int) -> None:
        row = self._row_of(chunk_id)
        if row is not None and self._alive[row]:
            self._alive[row] = False
            self._removed += 1

    def _move(self, chunk_id: int, document_id: int) -> None:
        row = self._row_of(chunk_id)
        if row is not None:
            self._documents[row] = document_id

    def _row_of(self, chunk_id: int) -> int | None:
        row = int(np.searchsorted(self._ids[: self._size], chunk_id))
        return row if row < self._size and self._ids[row] == chunk_id else None

    def _sweep(self) -> None:
        alive = self._alive[: self._size].copy()
        kept = int(alive.sum())
        self._copy(alive, _roomy(kept))
        self._size, self._removed, self._signs = kept, 0, []

    def _put_in_order(self) -> None:
        alive = np.flatnonzero(self._alive[: self._size])
        order = alive[np.argsort(self._ids[alive])]
        self._copy(order, _roomy(len(order)))
        self._size, self._removed, self._signs = len(order), 0, []
        self._changed_before += 1

    def _put_codes(self, rows: list[Coded]) -> None:
        if not rows:
            return
        ids = np.array([row[0] for row in rows], np.int64)
        places = np.searchsorted(self._ids[: self._size], ids)
        known = places < self._size
        known[known] = self._ids[places[known]] == ids[known]
        codes = np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(-1, DIMENSIONS)
        self._codes[places[known]] = codes[known]
        self._embedded[places[known]] = True
        for number in np.unique(places[known] // ROWS):
            if number < len(self._signs):
                self._signs[number] = None


def _roomy(rows: int) -> int:
    """Room for some more: memory that was never written to is not taken from the system."""
    return rows * 5 // 4 + _SPARE
