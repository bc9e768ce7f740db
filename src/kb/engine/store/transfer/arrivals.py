"""Decides what becomes of an imported document here."""

from dataclasses import replace

from kb.engine.errors import Conflict
from kb.engine.records import Fate
from kb.engine.store.file.database import Query
from kb.engine.store.rows.document_rows import found, given_tags
from kb.engine.values import Arrival, Document
from kb.imports.digest import digest_of


def decide(query: Query, arrival: Arrival) -> tuple[Fate, Document | None]:
    """What importing it comes to, and the document that it is already, if it is here.

    One of another kb is the same if it says the same, and older than what is here if it was changed
    there before. Of any other source we know what it said last: unless it says something else now,
    there is nothing to do, and if the document was changed here meanwhile, only a person can tell
    which is right.
    """
    document = arrived(query, arrival)
    if document is None:
        return "new", None
    last = document.updated_at or document.created_at
    lacks_tags = not set(arrival.given_tags) <= set(document.tags)
    if arrival.uid is not None:
        seen = arrival.seen_at or last
        if _says_the_same(query, document, arrival.digest):
            return ("updated" if last < seen or lacks_tags else "unchanged"), document
        changed_here = last > seen
    else:
        [(known, left)] = query(
            "SELECT import_digest, import_left FROM documents WHERE id = :id", id=document.id
        )
        changed_here = last != left
        if known == arrival.digest and not (lacks_tags or (arrival.force and changed_here)):
            return "unchanged", document
    return ("conflict" if changed_here and not arrival.force else "updated"), document


def arrived(query: Query, arrival: Arrival) -> Document | None:
    """The document that an import is about, if it is here already."""
    if arrival.uid is not None:
        rows = query("SELECT id FROM documents WHERE uid = :uid", uid=arrival.uid)
        if rows:
            return found(query, rows[0][0])
    if arrival.imported is None:
        return None
    rows = query(
        "SELECT id FROM documents WHERE import_source = :source AND import_key = :key",
        source=arrival.imported.source,
        key=arrival.imported.key,
    )
    return found(query, rows[0][0]) if rows else None


def _says_the_same(query: Query, document: Document, other: str) -> bool:
    """Whether a document of another kb is as it is there, but for tags that it was given here."""
    its_own = set(document.tags) - given_tags(query, document)
    return other in (digest_of(document), digest_of(replace(document, tags=sorted(its_own))))


def conflict(document: Document) -> Conflict:
    last = document.updated_at or document.created_at
    return Conflict(
        f"Document {document.id} was changed here at {last}, after what is to be imported: import "
        "it with force to put that in its place, or leave it as it is",
        document_id=document.id,
        updated_at=last,
    )
