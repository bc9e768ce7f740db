"""The word index: finds the chunks that contain terms."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kb.engine.scoring import HEAD_WEIGHT
from kb.engine.store.file.database import Query
from kb.engine.store.search.sign_bits import Ids

# A byte for each chunk id from 0 on: 1 where that chunk may be found.
Allowed = NDArray[np.uint8]

# To look a chunk up in a string of bytes takes as long however many are allowed. A set of them
# would have to be made for every query, and a condition on the bare rowid makes FTS5 run the query
# once for each.
_IS_ALLOWED = "AND substr(:allowed, rowid + 1, 1) = x'01' "

# A condition that lets more chunks through than this is no condition worth its time.
MOST_HOLDING = 100_000
# So many texts are looked through for one that holds what was asked for letter by letter.
MOST_READ = 5_000


def as_row(terms: Iterable[str]) -> str:
    """Terms as the word index takes them."""
    return " ".join(terms)


def any_of(terms: Iterable[str]) -> str:
    """An FTS5 expression: quoted, so that nothing in a term is syntax."""
    return " OR ".join(f'"{term}"' for term in terms)


def best_matches(
    query: Query, terms: Sequence[str], limit: int, allowed: Allowed | None
) -> list[int]:
    """The chunks with any of the terms that match best by bm25: a microsecond for each match."""
    restriction = "" if allowed is None else _IS_ALLOWED
    values = {} if allowed is None else {"allowed": allowed}
    rows = query(
        f"SELECT rowid FROM words WHERE words MATCH :match {restriction}"
        "ORDER BY bm25(words, 1, :weight) LIMIT :limit",
        match=any_of(terms),
        weight=HEAD_WEIGHT,
        limit=limit,
        **values,
    )
    return [row[0] for row in rows]


def holding(query: Query, phrases: Sequence[Sequence[str]]) -> list[int]:
    """The chunks in which the terms of any are adjacent; at most a limited number."""
    rows = query(
        "SELECT rowid FROM words WHERE words MATCH :match LIMIT :limit",
        match=any_of(" ".join(phrase) for phrase in phrases),
        limit=MOST_HOLDING,
    )
    return [row[0] for row in rows]


def holding_text(
    query: Query, phrase: Sequence[str], text: str, part: str, limit: int
) -> list[int]:
    """Chunks in which these terms are adjacent and contain this part of a text, in lower case,
    literally. Those with the whole text on one line come first. Only the newest are looked at, as
    many as can be read in a moment."""
    newest = "SELECT rowid FROM words WHERE words MATCH :match ORDER BY rowid DESC LIMIT :most"
    values = {"match": any_of([" ".join(phrase)])}
    if not phrase:
        newest, values = "SELECT id FROM chunks ORDER BY id DESC LIMIT :most", {}
    rows = query(
        f"SELECT id FROM chunks WHERE id IN ({newest}) AND instr(lower(text), :part) "
        "ORDER BY instr(lower(text), :text) = 0 LIMIT :limit",
        most=MOST_READ,
        text=text,
        part=part,
        limit=limit,
        **values,
    )
    return [row[0] for row in rows]


def chunks_with(query: Query, term: str, after: int) -> Ids:
    """All chunks with this term that come after another.

    As one long string: a Python object for each would take three times as long.
    """
    [(found,)] = query(
        "SELECT group_concat(rowid) FROM words WHERE words MATCH :match AND rowid > :after",
        match=any_of([term]),
        after=after,
    )
    return np.fromstring(found or "", np.int64, sep=",")


def frequency(query: Query, *phrase: str, most: int) -> int:
    """In how many chunks these terms stand side by side; counts no further than `most`."""
    [(count,)] = query(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH :match LIMIT :most)",
        match=f'"{" ".join(phrase)}"',
        most=most,
    )
    return int(count)


def words_linger(query: Query) -> bool:
    """Whether the index may still find chunks that are gone.

    They go bit by bit; or, while another index is made, with the whole of this one.
    """
    return bool(
        query(
            "SELECT 1 FROM words_to_forget UNION ALL "
            "SELECT 1 FROM facts WHERE name = 'terms_up_to' LIMIT 1"
        )
    )


def rules(query: Query) -> str:
    """What the terms in the index were made by."""
    [(version,)] = query("SELECT value FROM facts WHERE name = 'terms_version'")
    return str(version)
