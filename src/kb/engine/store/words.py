"""Terms in, the chunks that hold them out: the word index."""

from collections.abc import Iterable, Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from kb.engine.scoring import HEAD_WEIGHT
from kb.engine.store.database import Query

Ids = NDArray[np.int64]

# A condition that lets more chunks through than this is no condition worth its time.
MOST_HOLDING = 100_000


def as_row(terms: Iterable[str]) -> str:
    """Terms as the word index takes them."""
    return " ".join(terms)


def any_of(terms: Iterable[str]) -> str:
    """An FTS5 expression: quoted, so that nothing in a term is syntax."""
    return " OR ".join(f'"{term}"' for term in terms)


def best_matches(query: Query, terms: Sequence[str], limit: int, among: Ids | None) -> list[int]:
    """The chunks that match best by bm25. `among` is for few: it is built into a set each time."""
    restriction = "" if among is None else "AND +rowid IN carray(:among) "
    if query("SELECT 1 FROM words_to_forget LIMIT 1"):
        restriction += "AND rowid NOT IN (SELECT chunk_id FROM words_to_forget "
        restriction += "WHERE chunk_id NOT IN (SELECT id FROM chunks)) "
    values = {} if among is None else {"among": apsw.carray(among)}
    rows = query(
        f"SELECT rowid FROM words WHERE words MATCH :match {restriction}"
        "ORDER BY bm25(words, 1, :weight) LIMIT :limit",
        match=any_of(terms),
        weight=HEAD_WEIGHT,
        limit=limit,
        **values,
    )
    return [row[0] for row in rows]


def holding(query: Query, phrase: Sequence[str]) -> list[int]:
    """The chunks where these terms stand side by side; of very many only so many."""
    rows = query(
        "SELECT rowid FROM words WHERE words MATCH :match LIMIT :limit",
        match=f'"{" ".join(phrase)}"',
        limit=MOST_HOLDING,
    )
    return [row[0] for row in rows]


def frequency(query: Query, *phrase: str) -> int:
    """In how many chunks these terms stand side by side."""
    [(count,)] = query(
        "SELECT count(*) FROM words WHERE words MATCH :match", match=f'"{" ".join(phrase)}"'
    )
    return int(count)
