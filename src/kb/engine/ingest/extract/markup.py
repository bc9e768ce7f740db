"""Writes headings, paragraphs, list items and table rows as the Markdown that the chunker cuts."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from kb.engine.ingest.extract.rows import pipe_row

_DEEPEST_HEADING = 6
_DEEPEST_INDENT = 5
# What the chunker would take for a heading, its underline, or the border of code.
_MARKUP = re.compile(r"^(?=#{1,6}(?:\s|$)|```|~~~|(?:=+|-{2,})[ \t]*$)", re.MULTILINE)


class Item(NamedTuple):
    """A piece of a page. `header` is the first row of a table, and so begins a new one."""

    kind: Literal["heading", "paragraph", "list", "header", "row"]
    text: str


def plain(text: str) -> str:
    """Text that is no markup, whatever its lines look like: such lines are indented as code is."""
    return _MARKUP.sub("    ", text)


def heading(text: str, level: int = 1) -> Item:
    return Item("heading", f"{'#' * min(level, _DEEPEST_HEADING)} {' '.join(text.split())}")


def entry(text: str, level: int = 0, label: str = "-") -> Item:
    """An item of a list; `label` is its number or letter where it has one."""
    return Item("list", f"{'  ' * min(level, _DEEPEST_INDENT)}{label} {text}")


def table(rows: Iterable[Sequence[str]]) -> list[Item]:
    return [
        Item("row" if number else "header", pipe_row(cells)) for number, cells in enumerate(rows)
    ]


def join(items: Iterable[Item]) -> str:
    """The items as text: the rows of a table and the items of a list close together."""
    pieces: list[str] = []
    previous = ""
    for item in items:
        if pieces:
            together = item.kind == previous == "list" or (
                item.kind == "row" and previous in ("header", "row")
            )
            pieces.append("\n" if together else "\n\n")
        is_text = item.kind in ("paragraph", "list")
        pieces.append(plain(item.text) if is_text else item.text)
        previous = item.kind
    return "".join(pieces)
