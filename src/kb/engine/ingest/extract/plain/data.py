"""JSON and JSON lines as readable text, or plain text if not valid or nested too deep."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.paging import pages_of, row_pages
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.plain.value_tree import render, render_record, table
from kb.engine.pages import Page

_ENDINGS = frozenset({"geojson", "json", "jsonl", "ndjson", "webmanifest"})
_MOST_CONTAINERS = 1_000_000  # lists and objects, of which each takes some 100 bytes of memory
_NO_JSON = object()
# Digits stay as they were written: 1.10 is not 1.1, and a number may have thousands of them.
_decode = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str).decode


def extract(source: Source) -> Extraction:
    text = read_text(source)
    value = parse(text)
    named = ending(source.filename)
    if value is _NO_JSON:
        return _lines_extraction(source, text) if _is_lines(text) else _as_text(text, named)
    title = value.get("title", value.get("name")) if isinstance(value, dict) else None
    rendered = render(value)
    if not rendered:
        raise NoTextFound(f"{source.filename} has no values in it", filename=source.filename)
    pages = pages_of(rendered)
    return Extraction(
        "json",
        named if named in _ENDINGS else "json",
        islice(pages, source.start, None),
        title=line(title) or None if isinstance(title, str) else None,
    )


def extract_lines(source: Source) -> Extraction:
    """One value a line; a file of a single value over several lines is read as that."""
    text = read_text(source)
    return _lines_extraction(source, text) if _is_lines(text) else extract(source)


def parse(text: str) -> Any:
    """The value; `_NO_JSON` if it is invalid, or too deep or too large to keep as one."""
    if len(text) > _MOST_CONTAINERS and text.count("[") + text.count("{") > _MOST_CONTAINERS:
        return _NO_JSON
    try:
        return _decode(text)
    except (ValueError, RecursionError, MemoryError):
        return _NO_JSON


def _as_text(text: str, named: str) -> Extraction:
    doc_type = "json" if named in _ENDINGS else "text"
    return Extraction(doc_type, named, iter([Page(text)]))


def _is_lines(text: str) -> bool:
    """Whether the first line that is not blank is a whole object or list, and not all there is."""
    first, _, rest = text.strip().partition("\n")
    return first[:1] in ("{", "[") and bool(rest) and parse(first) is not _NO_JSON


def _lines_extraction(source: Source, text: str) -> Extraction:
    named = ending(source.filename)
    records = [
        (number, _value(row)) for number, row in enumerate(text.split("\n"), start=1) if row.strip()
    ]
    rows = table([value for _, value in records])
    if rows is not None:
        numbers = (number for number, _ in records)
        pages = row_pages(zip(numbers, rows[1:], strict=True), header=rows[0])
    else:
        pages = row_pages(_blocks(records))
    return Extraction(
        "json", named if named in _ENDINGS else "jsonl", islice(pages, source.start, None)
    )


def _value(row: str) -> Any:
    value = parse(row)
    return row.strip() if value is _NO_JSON else value


def _blocks(records: list[tuple[int, Any]]) -> Iterator[tuple[int, str]]:
    """The lines of each record, with a blank one after them."""
    for number, value in records:
        for entry in render_record(value):
            yield from ((number, row) for row in entry.split("\n"))
        yield number, ""
