"""One hash over everything that is shown of a document's text.

It is written with the passages, and later shows whether they are still the same. The hash of the
content cannot: for a file it is that of the original's bytes.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from kb.engine.store.file.database import Query

# What `hash_of` takes, in the order of the passages.
COLUMNS = "text, page, location, start, headings, table_header"


def hash_of(rows: Iterable[Iterable[Any]]) -> str:
    """`rows` are as the table has them: `COLUMNS`, with the headings as their JSON."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(list(row)).encode())
    return digest.hexdigest()


def hash_in(query: Query, document_id: int) -> str:
    """Of a document's passages as they are stored now."""
    return hash_of(
        query(f"SELECT {COLUMNS} FROM chunks WHERE document_id = :id ORDER BY seq", id=document_id)
    )


def hash_some(query: Query, limit: int) -> int:
    """Give some documents of an older kb their hash; how many there were."""
    rows = query(
        "SELECT id FROM documents WHERE text_hash IS NULL ORDER BY id LIMIT :limit", limit=limit
    )
    for (document_id,) in rows:
        query(
            "UPDATE documents SET text_hash = :hash WHERE id = :id",
            id=document_id,
            hash=hash_in(query, document_id),
        )
    return len(rows)
