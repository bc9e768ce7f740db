"""Finds running totals and tags that disagree with what they count."""

from collections.abc import Iterator

from kb.engine.errors import StoreDamaged
from kb.engine.store.file.database import Query
from kb.engine.verify.report import Finding, Progress
from kb.engine.verify.subject import Subject

NAME = "totals"
COUNTS = {
    "documents": "SELECT count(*) FROM documents",
    "notes": "SELECT count(*) FROM documents WHERE doc_type = 'note'",
    "chunks": "SELECT count(*) FROM chunks",
    "terms": "SELECT COALESCE(sum(length(body) + length(head)) / 4, 0) FROM chunk_terms",
    "vectors": "SELECT count(*) FROM vectors",
    "other_vectors": "SELECT count(*) FROM other_vectors",
    "file_bytes": "SELECT COALESCE(sum(size_bytes), 0) FROM documents "
    "WHERE stored_name IS NOT NULL",
}
UNUSED_TAGS = "SELECT name FROM tags WHERE id NOT IN (SELECT tag_id FROM document_tags)"


def check(subject: Subject, _after: int) -> Iterator[Progress]:
    try:
        with subject.database.reading() as query:
            found = [*_totals(query), *_tags(query)]
    except StoreDamaged as error:
        found = [_finding(f"What there is cannot be counted: {error.why}")]
    yield Progress(1, len(COUNTS), found)


def _totals(query: Query) -> Iterator[Finding]:
    kept: dict[str, int] = dict(query("SELECT name, value FROM totals"))
    for name, sql in COUNTS.items():
        [(counted,)] = query(sql)
        if kept.get(name) != counted:
            yield _finding(f"The total of {name} is kept as {kept.get(name)} and is {counted}")


def _tags(query: Query) -> Iterator[Finding]:
    for (name,) in query(UNUSED_TAGS):
        what, source = f"The tag {name} is on no document", "the tags of documents"
        yield Finding(NAME, "index", what, "tags", made_from=source)


def _finding(what: str) -> Finding:
    return Finding(NAME, "index", what, "totals", made_from="what is counted")
