"""Finds passages whose terms or vectors do not fit them."""

import json
from collections.abc import Iterator

import numpy as np

from kb.engine.scoring import fingerprints
from kb.engine.store.file.database import Query
from kb.engine.store.rows.chunk_rows import head_line
from kb.engine.store.rows.search_names import called
from kb.engine.store.search.chunk_index import DIMENSIONS, quantise
from kb.engine.store.search.vector_sets import VectorSet
from kb.engine.store.search.word_index_renewal import renewed_up_to
from kb.engine.verify.report import Finding, Progress, Remedy, unreadable
from kb.engine.verify.subject import Subject, in_ranges

NAME = "passages"
_AT_ONCE = 32
_EXACT_BYTES = 2 * DIMENSIONS
_CHUNKS = (
    "SELECT chunks.id, document_id, title, filename, source_path, headings, text, body, head "
    "FROM chunks JOIN documents ON documents.id = document_id "
    "LEFT JOIN chunk_terms ON chunk_terms.chunk_id = chunks.id "
    "WHERE chunks.id BETWEEN :first AND :last"
)


def check(subject: Subject, after: int) -> Iterator[Progress]:
    def check_range(first: int, last: int) -> tuple[int, list[Finding]]:
        with subject.database.reading() as query:
            return _check_range(subject, query, first, last)

    yield from in_ranges(after, subject.last("chunks"), _AT_ONCE, check_range, _unreadable)


def _check_range(
    subject: Subject, query: Query, first: int, last: int
) -> tuple[int, list[Finding]]:
    found: list[Finding] = []
    rows = query(_CHUNKS, first=first, last=last)
    of = {row[0]: (row[1], row[2]) for row in rows}

    def add(chunk_id: int, what: str, remedy: Remedy) -> None:
        document = of.get(chunk_id, (None, None))
        made_from = "its text"
        found.append(Finding(NAME, "index", what, remedy, *document, None, chunk_id, made_from))

    renewing = renewed_up_to(query) is not None  # the terms are made by two sets of rules
    for chunk_id, _, *names, headings, text, body, head in [] if renewing else rows:
        heading = head_line(called(*names), json.loads(headings))
        wanted = fingerprints(subject.terms(text)), fingerprints(subject.terms(heading))
        if (body, head) != wanted:
            add(chunk_id, "The scoring data of a passage does not fit its text", "terms")
    for kept in vector_sets(query):
        for chunk_id, reason in _wrong_vectors(query, kept, first, last):
            add(chunk_id, reason, "vectors")
    return len(rows), found


def vector_sets(query: Query) -> list[VectorSet]:
    """The tables that hold vectors, and whose."""
    facts: dict[str, str] = dict(query("SELECT name, value FROM facts"))
    place, model = int(facts.get("vectors_place", 0)), facts.get("model")
    other = facts.get("other_model")
    sets = [VectorSet(model, place)] if model else []
    return [*sets, *([VectorSet(other, 1 - place)] if other else [])]


def _wrong_vectors(
    query: Query, kept: VectorSet, first: int, last: int
) -> Iterator[tuple[int, str]]:
    rows = query(
        f"SELECT chunk_id, model, code, vector FROM {kept.codes} LEFT JOIN {kept.exact} "
        "USING (chunk_id) WHERE chunk_id BETWEEN :first AND :last",
        first=first,
        last=last,
    )
    for chunk_id, model, code, exact in rows:
        if model != kept.model:
            yield chunk_id, f"A vector is of {model} instead of {kept.model}"
        elif len(code) != DIMENSIONS or exact is None or len(exact) != _EXACT_BYTES:
            yield chunk_id, "A vector has the wrong length"
        elif not fits(code, exact):
            yield chunk_id, "The two forms of a vector differ"


def fits(code: bytes, exact: bytes) -> bool:
    """The code is the exact vector's, as far as its sixteen bits tell."""
    vector = np.frombuffer(exact, np.float16).astype(np.float32)
    if not np.isfinite(vector).all():
        return False
    codes = np.frombuffer(code, np.int8).astype(np.int16)
    return bool(np.abs(codes - quantise(vector)).max() <= 1)


def _unreadable(chunk_id: int) -> Finding:
    what = f"Passage {chunk_id}, its terms or its vectors cannot be read"
    return unreadable(NAME, what, chunk_id=chunk_id)
