"""Finds chunks that end with the beginning of a phrase that goes on in the next chunk."""

from collections.abc import Sequence

from kb.engine.store.file.database import Query
from kb.engine.store.search.word_search import any_of
from kb.engine.text.terms import phrases

# So many chunks may have the rarest term of a phrase: all of them are looked at, in milliseconds.
MOST_AT_BORDERS = 100
_LETTERS = 40  # of a term and what stands around it, more than enough for most

_PAIRS = (
    "SELECT here.id, substr(here.text, -:length), substr(next.text, 1, :length) "
    "FROM chunks AS here JOIN chunks AS next "
    "ON next.document_id = here.document_id AND next.seq = here.seq + 1 "
)


def over_borders(query: Query, phrase: Sequence[str], rarest: str) -> list[int]:
    """`rarest` is the term of the phrase that the fewest chunks have: it is at one of the sides."""
    pairs = query(
        "WITH holders(id) AS (SELECT rowid FROM words WHERE words MATCH :match LIMIT :most) "
        f"{_PAIRS} WHERE here.id IN (SELECT id FROM holders) UNION "
        f"{_PAIRS} WHERE next.id IN (SELECT id FROM holders)",
        match=any_of([rarest]),
        most=MOST_AT_BORDERS,
        length=_LETTERS * len(phrase),
    )
    return [here for here, end, beginning in pairs if _holds(end, beginning, phrase)]


def _holds(end: str, beginning: str, phrase: Sequence[str]) -> bool:
    """A word has one term or more, so no more words of either side can belong to the phrase."""
    most = len(phrase) - 1
    found = phrases(" ".join((*end.split()[-most:], *beginning.split()[:most])))
    return bool(found) and _as_text(phrase) in _as_text(found[-1])


def _as_text(terms: Sequence[str]) -> str:
    return f" {' '.join(terms)} "
