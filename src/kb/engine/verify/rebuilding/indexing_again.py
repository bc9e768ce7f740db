"""Indexes the words of rebuilt passages again, and copies their vectors."""

import json
from collections.abc import Collection

from kb.engine.store.file.database import Database
from kb.engine.store.rows.chunk_rows import Terms, encoded, head_line
from kb.engine.store.rows.search_names import called
from kb.engine.store.search.chunk_index import DIMENSIONS
from kb.engine.verify.checks.passages import fits
from kb.engine.verify.rebuilding.salvage import Salvage

# The tables of codes, and those of exact vectors.
VECTORS = (("vectors", "exact_vectors"), ("other_vectors", "other_exact_vectors"))
_AT_ONCE = 500


def index_words(database: Database, terms: Terms) -> None:
    """The words of every passage, and what it is scored by."""
    last = 0
    while True:
        rows = database.read(
            "SELECT chunks.id, title, filename, source_path, headings, text FROM chunks "
            "JOIN documents ON documents.id = document_id WHERE chunks.id > :last "
            "ORDER BY chunks.id LIMIT :limit",
            last=last,
            limit=_AT_ONCE,
        )
        if not rows:
            return
        with database.transaction() as query:
            for chunk_id, *names, headings, text in rows:
                body = encoded(terms(text))
                head = encoded(terms(head_line(called(*names), json.loads(headings))))
                query(
                    "INSERT INTO words (rowid, body, head) VALUES (:id, :body, :head)",
                    id=chunk_id,
                    body=body[0],
                    head=head[0],
                )
                query(
                    "INSERT INTO chunk_terms VALUES (:id, :body, :head)",
                    id=chunk_id,
                    body=body[1],
                    head=head[1],
                )
        last = rows[-1][0]


def copy_vectors(
    old: Salvage, database: Database, codes: str, exact: str, doubted: Collection[int]
) -> None:
    """Copy whole vectors, except those of `doubted` passages; the next start makes the others
    again."""
    vectors = {}
    for salvaged in old.by_key(codes, "chunk_id", ["chunk_id", "model", "code"]):
        chunk_id, model, code = salvaged.values
        if salvaged.is_proven and chunk_id not in doubted:
            vectors[chunk_id] = (model, code)
        if len(vectors) >= _AT_ONCE:
            _put_vectors(old, database, codes, exact, vectors)
            vectors = {}
    if vectors:
        _put_vectors(old, database, codes, exact, vectors)


def _put_vectors(
    old: Salvage, database: Database, codes: str, exact: str, vectors: dict[int, tuple[str, bytes]]
) -> None:
    rows = old.between(exact, "chunk_id", ["chunk_id", "vector"], vectors)
    with database.transaction() as query:
        for salvaged in rows:
            chunk_id, vector = salvaged.values
            if chunk_id not in vectors or not salvaged.is_proven:
                continue
            model, code = vectors[chunk_id]
            is_whole = len(code) == DIMENSIONS and len(vector) == 2 * DIMENSIONS
            there = query("SELECT 1 FROM chunks WHERE id = :id", id=chunk_id)
            if not is_whole or not fits(code, vector) or not there:
                continue
            query(
                f"INSERT INTO {codes} VALUES (:id, :model, :code)",
                id=chunk_id,
                model=model,
                code=code,
            )
            query(f"INSERT INTO {exact} VALUES (:id, :v)", id=chunk_id, v=vector)
