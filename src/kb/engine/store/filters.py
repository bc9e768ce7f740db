"""A filter in, SQL and the documents it lets through out."""

from typing import Any

import numpy as np

from kb.engine.models import Filter
from kb.engine.store.database import Query
from kb.engine.store.words import Ids


def matching_documents(query: Query, filter_: Filter) -> Ids:
    """The ids of every document that the filter lets through."""
    condition, values = where(filter_)
    rows = query(f"SELECT id FROM documents WHERE {condition}", **values)
    return np.array([row[0] for row in rows], np.int64)


def where(filter_: Filter) -> tuple[str, dict[str, Any]]:
    """The filter as SQL. Only our own words go into the statement; every value is bound."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    for number, tag in enumerate(filter_.tags):
        parts.append(
            "id IN (SELECT document_id FROM document_tags WHERE tag_id = "
            f"(SELECT id FROM tags WHERE name = :tag{number}))"
        )
        values[f"tag{number}"] = tag
    for number, tag in enumerate(filter_.without_tags):
        parts.append(
            "id NOT IN (SELECT document_id FROM document_tags WHERE tag_id = "
            f"(SELECT id FROM tags WHERE name = :without{number}))"
        )
        values[f"without{number}"] = tag
    for column, choices in (("doc_type", filter_.doc_types), ("format", filter_.formats)):
        if choices:
            names = [f"{column}{number}" for number in range(len(choices))]
            parts.append(f"{column} IN ({', '.join(':' + name for name in names)})")
            values |= dict(zip(names, choices, strict=True))
    if filter_.source_path is not None:
        parts.append("source_path = :source_path")
        values["source_path"] = filter_.source_path
    if filter_.path_prefix is not None:
        # Between the prefix and the prefix with the highest character after it: uses the index.
        parts.append("source_path >= :prefix AND source_path < :prefix_end")
        values |= {"prefix": filter_.path_prefix, "prefix_end": filter_.path_prefix + "\U0010ffff"}
    if filter_.created_after is not None:
        parts.append("created_at >= :after")
        values["after"] = filter_.created_after
    if filter_.created_before is not None:
        parts.append("created_at <= :before")
        values["before"] = filter_.created_before
    return " AND ".join(parts) or "TRUE", values
