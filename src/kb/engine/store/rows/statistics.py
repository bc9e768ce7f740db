"""Counts the documents that a filter lets through.

The documents' rows already have their number of chunks, so each count takes one pass over these.
"""

from dataclasses import replace

from kb.engine.store.file.database import Query
from kb.engine.store.rows.filters import where
from kb.engine.values import DayCount, Filter, Statistics, TagCount, TypeCount

_TAGS = 500  # the most used; a chip or a bar for more is of no use to anybody


def statistics(query: Query, filter_: Filter) -> Statistics:
    """Days without regard to the filter's dates and types to its types: what else there would be
    to choose. Tags are those of the documents that are let through, as a second one narrows."""
    any_day = replace(filter_, created_after=None, created_before=None)
    any_type = replace(filter_, doc_types=())
    return Statistics(_days(query, any_day), _types(query, any_type), _tags(query, filter_))


def _days(query: Query, filter_: Filter) -> list[DayCount]:
    condition, values = where(filter_)
    rows = query(
        "SELECT substr(created_at, 1, 10) AS day, count(*), sum(chunk_count) "
        f"FROM documents WHERE {condition} GROUP BY day ORDER BY day",
        **values,
    )
    return [DayCount(*row) for row in rows]


def _types(query: Query, filter_: Filter) -> list[TypeCount]:
    condition, values = where(filter_)
    rows = query(
        "SELECT doc_type, count(*) AS documents, sum(chunk_count), sum(size_bytes) "
        f"FROM documents WHERE {condition} GROUP BY doc_type ORDER BY documents DESC, doc_type",
        **values,
    )
    return [TypeCount(*row) for row in rows]


def _tags(query: Query, filter_: Filter) -> list[TagCount]:
    condition, values = where(filter_)
    among = f"document_id IN (SELECT id FROM documents WHERE {condition})" if values else "TRUE"
    rows = query(
        "SELECT name, count(*) AS documents FROM tags JOIN document_tags ON tag_id = tags.id "
        f"WHERE {among} GROUP BY name ORDER BY documents DESC, name LIMIT :limit",
        limit=_TAGS,
        **values,
    )
    return [TagCount(*row) for row in rows]
