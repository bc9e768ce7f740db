"""Documents whose text was lost and has not been read again since."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from kb.engine.store.facts import put_fact
from kb.engine.store.file.database import Query

# Whose text may not be the stored one, and of whom it is sure that something of it is gone.
_UNPROVEN, _LOST = "unproven_texts", "lost_texts"
_ABOUT = (
    "SELECT id, title, stored_name, (SELECT max(id) FROM jobs WHERE document_id = documents.id "
    "AND status IN ('queued', 'running')), chunk_count > 0 FROM documents "
    "WHERE id = :id AND (chunk_count = 0 OR :is_lost)"
)


@dataclass(frozen=True, slots=True)
class MissingText:
    """A document whose text is gone, and the job that is to read it again, if any.

    `is_partial`: something is there, but not all, or not as it was last.
    """

    id: int
    title: str
    stored_name: str | None
    job_id: int | None
    is_partial: bool


def note_unproven(query: Query, document_ids: Iterable[int], lost: Iterable[int]) -> None:
    """Remember whose text is not the stored one, or may not be, until it is read again."""
    for name, more in ((_UNPROVEN, document_ids), (_LOST, lost)):
        noted = _noted(query, name)
        if not noted.issuperset(more):
            put_fact(query, name, json.dumps(sorted(noted.union(more))))


def unproven(query: Query) -> list[int]:
    return sorted(_noted(query, _UNPROVEN))


def missing(query: Query) -> list[MissingText]:
    lost = _noted(query, _LOST)
    return [
        MissingText(*row)
        for each in unproven(query)
        for row in query(_ABOUT, id=each, is_lost=each in lost)
    ]


def strike_off(query: Query, document_id: int) -> None:
    """It has a text that was read."""
    for name in (_UNPROVEN, _LOST):
        noted = _noted(query, name)
        if document_id in noted:
            put_fact(query, name, json.dumps(sorted(noted - {document_id})))


def _noted(query: Query, name: str) -> set[int]:
    rows = query("SELECT value FROM facts WHERE name = :name", name=name)
    return set(json.loads(rows[0][0])) if rows else set()
