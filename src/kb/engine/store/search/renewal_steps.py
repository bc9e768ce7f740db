"""The steps of a renewal: a few chunks at a time are indexed by today's rules."""

import json

from kb.engine.store.file.database import Query
from kb.engine.store.rows.chunk_rows import Terms, count, encoded, head_line, length
from kb.engine.store.rows.search_names import called
from kb.engine.store.search.word_index_renewal import finish, renewed_up_to, step

AT_ONCE = 64

_NEXT = (
    "SELECT chunks.id, title, filename, source_path, headings, text, "
    "(length(body) + length(head)) / 4 "
    "FROM chunks JOIN documents ON documents.id = document_id "
    "JOIN chunk_terms ON chunk_terms.chunk_id = chunks.id "
    "WHERE chunks.id > :up_to ORDER BY chunks.id LIMIT :limit"
)


def renew_some(query: Query, terms: Terms) -> bool:
    """Put the next chunks into the new index; False when it is whole and in its place."""
    up_to = renewed_up_to(query)
    if up_to is None:
        return False
    rows = query(_NEXT, up_to=up_to, limit=AT_ONCE)
    if not rows:
        finish(query)
        return False
    for chunk_id, *names, headings, text, old_length in rows:
        body = encoded(terms(text))
        head = encoded(terms(head_line(called(*names), json.loads(headings))))
        query(
            "INSERT INTO words_next (rowid, body, head) VALUES (:id, :body, :head)",
            id=chunk_id,
            body=body[0],
            head=head[0],
        )
        query(
            "UPDATE chunk_terms SET body = :body, head = :head WHERE chunk_id = :id",
            id=chunk_id,
            body=body[1],
            head=head[1],
        )
        count(query, terms=length(body) + length(head) - old_length)
    step(query, rows[-1][0], len(rows))
    return True
