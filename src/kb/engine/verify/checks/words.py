"""Finds passages whose words are wrong in the word index.

The index is in order of words, the passages are not. So each passage gets one sum over a number for
each word at its place. Words of the text are added, words of the index are subtracted, and a
passage whose sum is not zero at the end is wrong. That takes eight bytes per passage, however long
it is.
"""

import json
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kb.engine.errors import StoreDamaged
from kb.engine.store.rows.chunk_rows import head_line
from kb.engine.store.rows.search_names import called
from kb.engine.store.search.word_index_renewal import renewed_up_to
from kb.engine.verify.report import Finding, Progress
from kb.engine.verify.subject import Subject

NAME = "words"
_PASSAGES_AT_ONCE = 64
_WORDS_AT_ONCE = 20_000
_TERMS_AT_ONCE = 500
_MASK = 2**64 - 1
_OTHER_WORDS = "The word index has other words than a passage"
_COLUMNS = {"body": 0, "head": 1}
_TABLES = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words_by_term USING fts5vocab(main, words, row)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words_by_place USING fts5vocab(main, words, instance)",
)
_TEXTS = (
    "SELECT chunks.id, title, filename, source_path, headings, text "
    "FROM chunks JOIN documents ON documents.id = document_id "
    "WHERE chunks.id BETWEEN :first AND :last"
)

Sums = NDArray[np.uint64]


def check(subject: Subject, _after: int) -> Iterator[Progress]:
    """Always from the beginning, since the sums are only in memory. A passage that seems wrong may
    just have changed between two looks. So everything is done once more, and only what is wrong
    both times counts."""
    with subject.database.reading() as query:
        if renewed_up_to(query) is not None:
            return
    try:
        suspects = yield from _compared(subject)
        if suspects:
            suspects &= yield from _compared(subject)
        yield Progress(1, 0, list(_wrong(subject, suspects)))
    except StoreDamaged:
        yield Progress(1, 0, [_finding("The word index cannot be compared with the passages")])


def _compared(subject: Subject) -> Generator[Progress, None, set[int]]:
    """The passages whose sum is not zero, and those in the index that there are none of."""
    last = subject.last("chunks")
    sums: Sums = np.zeros(last + 1, np.uint64)
    for first in range(1, last + 1, _PASSAGES_AT_ONCE):
        up_to = min(first + _PASSAGES_AT_ONCE - 1, last)
        yield Progress(0, _add_texts(subject, sums, first, up_to))
    strays: set[int] = set()
    term: str | None = ""
    while term is not None:
        term = _take_words_away(subject, sums, strays, term)
        yield Progress(0)
    return {*np.flatnonzero(sums).tolist(), *strays}


def _add_texts(subject: Subject, sums: Sums, first: int, last: int) -> int:
    with subject.database.reading() as query:
        rows = query(_TEXTS, first=first, last=last)
    for chunk_id, *names, headings, text in rows:
        columns = (text, head_line(called(*names), json.loads(headings)))
        total = sum(
            _number(term, column, place)
            for column, part in enumerate(columns)
            for place, term in enumerate(subject.terms(part))
        )
        _add(sums, chunk_id, total)
    return len(rows)


def _take_words_away(subject: Subject, sums: Sums, strays: set[int], after: str) -> str | None:
    """The next words of the index; the last of them, or None at its end."""
    with subject.database.reading() as query:
        for sql in _TABLES:
            query(sql)
        terms = query(
            "SELECT term, cnt FROM temp.words_by_term WHERE term > :after LIMIT :limit",
            after=after,
            limit=_TERMS_AT_ONCE,
        )
        if not terms:
            return None
        counts = np.cumsum([count for _, count in terms])
        last = terms[max(0, int(np.searchsorted(counts, _WORDS_AT_ONCE)) - 1)][0]
        for term, chunk_id, column, place in query.each(
            'SELECT term, doc, col, "offset" FROM temp.words_by_place '
            "WHERE term > :after AND term <= :last",
            after=after,
            last=last,
        ):
            if 0 <= chunk_id < len(sums):
                _add(sums, chunk_id, -_number(term, _COLUMNS[column], place))
            else:
                strays.add(chunk_id)
    return str(last)


def _add(sums: Sums, chunk_id: int, number: int) -> None:
    sums[chunk_id] = (int(sums[chunk_id]) + number) & _MASK


def _number(term: str, column: int, place: int) -> int:
    return hash((term, column, place))


def _wrong(subject: Subject, suspects: set[int]) -> Iterator[Finding]:
    for chunk_id in sorted(suspects):
        with subject.database.reading() as query:
            if query("SELECT 1 FROM words_to_forget WHERE chunk_id = :id", id=chunk_id):
                continue
            rows = query(
                "SELECT document_id, title FROM chunks "
                "JOIN documents ON documents.id = document_id WHERE chunks.id = :id",
                id=chunk_id,
            )
            if rows:
                what, (document_id, title) = _OTHER_WORDS, rows[0]
                yield _finding(what, document_id=document_id, title=title, chunk_id=chunk_id)
            elif query("SELECT 1 FROM words_docsize WHERE id = :id", id=chunk_id):
                yield _finding(f"The word index has words of passage {chunk_id}, which is gone")


def _finding(what: str, **about: Any) -> Finding:
    return Finding(NAME, "index", what, "words", made_from="the passages", **about)
