"""Exports documents as records of everything about them, and imports such records."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace

from kb.engine.records import Fate, LastIds, Passage, PastJob, Put, Record
from kb.engine.store.facts import put_fact
from kb.engine.store.file.database import Database, Query
from kb.engine.store.rows.chunk_rows import Called
from kb.engine.store.rows.document_rows import DocumentRows, found
from kb.engine.store.transfer.arrivals import conflict, decide
from kb.engine.store.transfer.numbering import keeps, kept_id, numbering, take_over
from kb.engine.store.transfer.record_rows import ids_after, put_jobs, record_of
from kb.engine.values import Arrival, Chunk, Document, Draft, Numbered, now

# Characters of text in one answer, unless a single document has more.
_ENOUGH = 2 * 2**20


class Transfers:
    """The part of the store that is about export and import."""

    def __init__(self, database: Database, documents: DocumentRows) -> None:
        self._database = database
        self._documents = documents

    def numbering(self) -> tuple[str, LastIds]:
        """The name of this store's ids, and the greatest that were given away."""
        with self._database.reading() as query:
            return numbering(query)

    def record(self, key: int | str) -> Record:
        with self._database.reading() as query:
            return record_of(query, found(query, key).id)

    def records(self, after: int, limit: int) -> tuple[list[Record], int | None]:
        """Some documents in order of their ids, and after which id there are more.

        All of one moment, and never more than can be held: few that are long, or many that are not.
        """
        records: list[Record] = []
        size = 0
        with self._database.reading() as query:
            for document_id in ids_after(query, after):
                if len(records) == limit or size > _ENOUGH:
                    return records, records[-1].id
                record = record_of(query, document_id)
                size += sum(len(passage.text) for passage in record.passages)
                records.append(record)
        return records, None

    def fates(self, arrivals: Sequence[Arrival]) -> list[tuple[Fate, Document | None]]:
        """What importing these would come to."""
        with self._database.reading() as query:
            return [decide(query, arrival) for arrival in arrivals]

    def take_over_numbering(self, numbered: Numbered) -> None:
        """Before a document with an id gets a job, whose own id would be given away otherwise."""
        with self._database.transaction() as query:
            take_over(query, numbered)

    def put(self, draft: Draft, passages: Sequence[Passage], jobs: Sequence[PastJob]) -> Put:
        """A document as it was elsewhere, with its passages; their vectors are made later."""
        arrival = draft.arrival
        assert arrival is not None
        prepared = self._documents.chunks.prepare([_chunk(passage) for passage in passages], {})
        with self._database.transaction() as query:
            fate, target = decide(query, arrival)
            if target is not None and fate == "unchanged":
                return Put(fate, target, draft.stored_name)
            if target is not None and fate == "conflict":
                raise conflict(target)
            unneeded = None
            if target is None:
                document_id = self._documents.insert(
                    query, draft, prepared, kept_id(query, arrival), _called(query, draft, passages)
                )
            else:
                document_id = target.id
                had = _called(query, draft, passages, target.id)
                has_them = _has(query, target, draft, passages)
                kept = _original_here(query, target, draft)
                unneeded = self._documents.replace(
                    query,
                    target,
                    replace(draft, stored_name=kept) if kept else draft,
                    None if has_them else prepared,
                    had,
                )
                unneeded = None if kept else unneeded
            if not any(job.content_hash for job in jobs):  # so it is v2's: nobody knows of what
                put_fact(query, "v2_imported", now())
            document = found(query, document_id)
            put_jobs(query, document, arrival.numbered, jobs)
        if unneeded:
            self._database.checkpoint()
        return Put(fate, document, unneeded)


def _original_here(query: Query, target: Document, draft: Draft) -> str | None:
    """What this store has of a document that comes without its original: that of these bytes."""
    if draft.stored_name is not None or target.content_hash != draft.content_hash:
        return None
    [(name,)] = query("SELECT stored_name FROM documents WHERE id = :id", id=target.id)
    return name  # type: ignore[no-any-return]


def _chunk(passage: Passage) -> Chunk:
    return Chunk(
        text=passage.text,
        seq=passage.seq,
        page=passage.page,
        location=passage.location,
        start=passage.start,
        headings=tuple(passage.headings),
        table_header=passage.table_header,
    )


def _called(
    query: Query, draft: Draft, passages: Sequence[Passage], document_id: int | None = None
) -> Called:
    """What the passages are still called here: each name is there once in a store."""
    ids = [passage.id for passage in passages]
    uids = [uuid.UUID(passage.uid) for passage in passages]
    taken = query(
        "SELECT 1 FROM chunks WHERE uid IN (SELECT unhex(value) FROM json_each(:uids)) "
        "AND document_id IS NOT :id LIMIT 1",
        uids=json.dumps([uid.hex for uid in uids]),
        id=document_id,
    )
    numbered = draft.arrival.numbered if draft.arrival else None
    return Called(
        ids=ids if keeps(query, numbered, "chunks", ids) else None,
        uids=None if taken else [uid.bytes for uid in uids],
    )


def _has(query: Query, target: Document, draft: Draft, passages: Sequence[Passage]) -> bool:
    """Whether a document's passages are these already, and are called so in the word index."""
    if (target.content_hash, target.filename, target.source_path) != (
        draft.content_hash,
        draft.filename,
        draft.source_path,
    ):
        return False
    rows = query("SELECT uid FROM chunks WHERE document_id = :id ORDER BY seq", id=target.id)
    return [uid for (uid,) in rows] == [uuid.UUID(passage.uid).bytes for passage in passages]
