"""Turns a filter into SQL, and into the documents it lets through."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kb.engine.store.file.database import Query
from kb.engine.store.search.sign_bits import Ids
from kb.engine.values import Filter
from kb.source_path import spellings


def matching_documents(query: Query, filter_: Filter) -> Ids:
    """The ids of every document that the filter lets through.

    Tags come from their own index: to look up each tagged document would take twenty times as long.
    """
    found: Ids | None = None
    rest = replace(filter_, tags=(), without_tags=())
    if rest != Filter() or not filter_.tags:
        condition, values = where(rest)
        found = _ids(query, f"SELECT group_concat(id) FROM documents WHERE {condition}", values)
    for tag in filter_.tags:
        tagged = _tagged(query, tag)
        found = tagged if found is None else np.intersect1d(found, tagged, assume_unique=True)
    assert found is not None
    for tag in filter_.without_tags:
        found = np.setdiff1d(found, _tagged(query, tag), assume_unique=True)
    return found


def _tagged(query: Query, tag: str) -> Ids:
    return _ids(
        query,
        "SELECT group_concat(document_id) FROM document_tags WHERE tag_id = "
        "(SELECT id FROM tags WHERE name = :tag)",
        {"tag": tag},
    )


def _ids(query: Query, sql: str, values: dict[str, Any]) -> Ids:
    """As one long string: a Python object for each would take three times as long."""
    [(found,)] = query(sql, **values)
    return np.fromstring(found or "", np.int64, sep=",")


Condition = tuple[str, dict[str, Any]]


def where(filter_: Filter) -> Condition:
    """The filter as SQL. Only our own words go into the statement; every value is bound."""
    conditions = [*_of_tags(filter_), *_of_paths(filter_), *_of_columns(filter_)]
    values = {name: value for _, named in conditions for name, value in named.items()}
    return " AND ".join(condition for condition, _ in conditions) or "TRUE", values


def _of_tags(filter_: Filter) -> Iterator[Condition]:
    for name, is_in, tags in (("tag", "IN", filter_.tags), ("no", "NOT IN", filter_.without_tags)):
        for number, tag in enumerate(tags):
            yield (
                f"id {is_in} (SELECT document_id FROM document_tags WHERE tag_id = "
                f"(SELECT id FROM tags WHERE name = :{name}{number}))",
                {f"{name}{number}": tag},
            )


def _of_paths(filter_: Filter) -> Iterator[Condition]:
    if filter_.source_path is not None:
        condition, named = _one_of("source_path", spellings(filter_.source_path))
        if len(named) > 1:  # the first of them that there is: another may be another file
            order = ", ".join(f"source_path = :{name} DESC" for name in named)
            condition = (
                f"source_path = (SELECT source_path FROM documents WHERE {condition} "
                f"ORDER BY {order} LIMIT 1)"
            )
        yield condition, named
    if filter_.path_prefix is not None:
        # Between the prefix and the prefix with the highest character after it: uses the index.
        prefixes = dict(enumerate(spellings(filter_.path_prefix.strip())))
        ranges = (f"(source_path >= :prefix{n} AND source_path < :prefix{n}_end)" for n in prefixes)
        values = {f"prefix{number}": prefix for number, prefix in prefixes.items()}
        values |= {f"{name}_end": prefix + "\U0010ffff" for name, prefix in values.items()}
        yield f"({' OR '.join(ranges)})", values


def _of_columns(filter_: Filter) -> Iterator[Condition]:
    for column, choices in (("doc_type", filter_.doc_types), ("format", filter_.formats)):
        if choices:
            yield _one_of(column, choices)
    if filter_.created_after is not None:
        yield "created_at >= :after", {"after": filter_.created_after}
    if filter_.created_before is not None:
        yield "created_at <= :before", {"before": filter_.created_before}
    if filter_.warnings is not None:
        without = "" if filter_.warnings else "NOT "
        yield f"{without}COALESCE(json_array_length(how_read, '$.warnings'), 0)", {}


def _one_of(column: str, choices: Sequence[str]) -> Condition:
    names = [f"{column}{number}" for number in range(len(choices))]
    condition = f"{column} IN ({', '.join(':' + name for name in names)})"
    return condition, dict(zip(names, choices, strict=True))
