"""Writes a tree of values as text: `path: value` lines, with enough of the path to tell what a
value belongs to, and tables for lists of records."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kb.engine.ingest.extract.rows import pipe_row

_LONGEST_PATH = 200  # characters: a path stands before each value, and may be of any depth
_LONGEST_KEY = 500  # a sentence, in files that hold its translation
_MOST_SECTIONS = 200  # top-level names that become headings
_MOST_COLUMNS = 40
_LONGEST_CELL = 500  # characters; a table of longer texts cannot be read
_LONGEST_ITEM = 60  # characters; a list of longer texts takes a line for each
_DEEPEST_CELL = 3
_BLANK_LINES = re.compile(r"\n{3,}")
_TEXT = "text"  # the column of a record's own text


class Pairs(list[tuple[str, Any]]):
    """Names and values in order; a name may come twice. A value without a name is of the whole."""


def render(value: Any) -> str:
    """A whole document: each of its top-level names is a section, if it holds more than a value."""
    return _BLANK_LINES.sub("\n\n", "\n".join(_document(value))).strip("\n")


def render_record(value: Any) -> list[str]:
    """One of many values: its lines."""
    return list(_lines(value, ""))


def _document(value: Any) -> Iterator[str]:
    entries = _entries(value)
    if entries is None or len(entries) > _MOST_SECTIONS:
        yield from _lines(value, "")
        return
    in_section = False
    for key, item in entries:
        if _is_container(item) and not _inline(item):
            # Level 3: passages may hold several, where a heading above it always begins one.
            yield f"\n### {_name(key)}\n"
            yield from _lines(item, "")
            in_section = True
        else:
            if in_section:
                yield ""
                in_section = False
            yield from _lines(item, _name(key))


def _lines(value: Any, path: str) -> Iterator[str]:
    """Without recursion: a document may be nested as deep as it likes."""
    waiting: list[Iterator[tuple[str, Any]]] = [iter([(path, value)])]
    while waiting:
        following = next(waiting[-1], None)
        if following is None:
            waiting.pop()
            continue
        path, value = following
        inline = _inline(value)
        if inline is not None:
            yield _line(path, inline)
            continue
        rows = table(value)
        if rows is not None:
            yield from _titled(path, rows)
        else:
            waiting.append(_children(value, path))


def _children(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    entries = _entries(value)
    if entries is None:
        return ((_joined(path, f"[{index}]"), item) for index, item in enumerate(value))
    return ((_joined(path, _name(key)), item) for key, item in entries)


def _line(path: str, text: str) -> str:
    """Lines of a longer text are set in, so that none of them is taken for a heading."""
    if "\n" in text:
        text = "\n".join(f"    {line}".rstrip() for line in text.strip("\n").split("\n"))
        return f"{path}:\n{text}\n" if path else text
    return f"{path}: {text}" if path else text


def _titled(path: str, rows: list[str]) -> Iterator[str]:
    yield f"\n{path}:\n" if path else ""
    yield from rows
    yield ""


def _inline(value: Any) -> str | None:
    """What fits on one line: a scalar, or a list of scalars; None for all else."""
    scalar = _scalar(value)
    if scalar is not None:
        return scalar
    if isinstance(value, list) and not isinstance(value, Pairs):
        scalars = [_scalar(item) for item in value]
        texts = [text for text in scalars if text]
        if None not in scalars and all(_is_short(text) for text in texts):
            return ", ".join(texts)
    return "" if not value else None


def _is_short(text: str) -> bool:
    return len(text) <= _LONGEST_ITEM and "\n" not in text


def _scalar(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if isinstance(value, (list, dict)) else str(value)


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, dict)) and bool(value)


def _entries(value: Any) -> Sequence[tuple[str, Any]] | None:
    if isinstance(value, dict):
        return list(value.items())
    return value if isinstance(value, Pairs) else None


def table(value: Any) -> list[str] | None:
    """A list of records of one form as a table; None where records differ or are not flat."""
    if not isinstance(value, list) or isinstance(value, Pairs) or len(value) < 2:
        return None
    columns: dict[str, None] = {}
    records = []
    filled = 0
    for item in value:
        record = _cells(item)
        if record is None:
            return None
        columns.update(dict.fromkeys(record))
        if len(columns) > _MOST_COLUMNS:
            return None
        filled += len(record)
        records.append(record)
    if filled < len(records) * len(columns) / 2:
        return None
    rows = [[record.get(column, "") for column in columns] for record in records]
    return [pipe_row(columns), *map(pipe_row, rows)]


def _cells(item: Any) -> dict[str, str] | None:
    """A record by its columns, with `address.city` for shallow nesting; None if it is deeper."""
    cells: dict[str, str] = {}
    waiting = [("", item, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        entries = _entries(value)
        if entries is not None and value:
            if depth >= _DEEPEST_CELL or len(entries) > _MOST_COLUMNS:
                return None
            inner = [
                (_joined(path, _name(key)) or _TEXT, entry, depth + 1) for key, entry in entries
            ]
            waiting.extend(reversed(inner))
            continue
        text = _inline(value)
        if text is None or not path or path in cells or len(text) > _LONGEST_CELL:
            return None
        cells[path] = text
    return cells


def _name(key: str) -> str:
    return " ".join(key[:_LONGEST_KEY].split())


def _joined(path: str, key: str) -> str:
    """Before the name the end of a path that has grown too long: it says most about the value."""
    dot = "." if path and key and not key.startswith("[") else ""
    way = path if len(path) <= _LONGEST_PATH else f"…{path[-_LONGEST_PATH + 1 :]}"
    return f"{way}{dot}{key}"
