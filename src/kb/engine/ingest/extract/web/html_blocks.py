"""Writes a web page as Markdown, to be cut and read: bold words and links are left plain."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kb.engine.ingest.extract.fence import fenced
from kb.engine.ingest.extract.markup import plain
from kb.engine.ingest.extract.rows import pipe_row

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol
    option p pre search section summary svg table tbody td text textarea tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_UNSEEN_TAGS = """
    audio canvas datalist head iframe noscript script select style template video
"""
_UNSEEN = frozenset(_UNSEEN_TAGS.split())
_VOID = frozenset({"br", "hr", "img"})
_MOST_UNSEEN = 20  # inside each other
_MOST_TABLES = 8  # inside each other; deeper ones are no tables to anybody
_LONGEST_CELL = 1_000  # characters; tables with more in a cell are there for the layout
_MOST_INDENT = 5
_WIDEST_SPAN = 100
_MOST_FILLERS = 100_000  # empty cells that only keep columns in line, in one page
_FILE_NAME = re.compile(r"\S{1,200}\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)", re.IGNORECASE)
_ANCHOR = re.compile(r"[^\s\x00-\x1f]{1,100}")
_DROPPED = str.maketrans({"\u00ad": None, "\u200b": None, "\n": " ", "\r": " "})

Kind = Literal["text", "item", "term", "heading", "table", "code"]


class _Block(NamedTuple):
    kind: Kind
    text: str
    prefix: str = ""
    anchor: str = ""  # of a heading: what an address with a `#` leads to it by


@dataclass
class _Table:
    """A table being read, row by row; `cell` is None between cells."""

    is_layout: bool = False
    has_header: bool = False
    rows: list[list[list[_Block]]] = field(default_factory=list)
    cell: list[_Block] | None = None
    below: dict[int, int] = field(default_factory=dict)  # column → rows that a cell still covers

    def blocks(self) -> list[_Block]:
        """One block of rows; for a layout table, the contents of its cells."""
        if not self.is_layout:
            rows = [[" ".join(block.text for block in cell) for cell in row] for row in self.rows]
            rows = [row for row in rows if any(row)]
            widest = max(map(len, rows), default=0)
            longest = max((len(cell) for row in rows for cell in row), default=0)
            if widest > 1 and longest <= _LONGEST_CELL:
                return [_Block("table", "\n".join(map(pipe_row, rows)))]
            if self.has_header and longest <= _LONGEST_CELL:
                return [block for row in self.rows for cell in row for block in _as_one(cell)]
        return [block for row in self.rows for cell in row for block in cell]


class Flow:
    """Takes tags and text as they come, well nested or not."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._tables: list[_Table] = []
        self._ignored_tables = 0
        self._lists: list[int | None] = []  # the number of the next item; None without numbers
        self._inline: list[str] = []
        self._prefix = ""
        self._kind: Kind = "text"
        self._is_code = False
        self._unseen: list[str] = []
        self._fillers = _MOST_FILLERS
        self._anchor = ""  # the last one that no text has followed
        self.places: list[tuple[int, str]] = []  # of headings in the text, once that is made

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._unseen == ["head"] and tag in _BLOCKS:  # a head that was never closed
            self._unseen.clear()
        if tag in _UNSEEN:
            if len(self._unseen) < _MOST_UNSEEN:
                self._unseen.append(tag)
        elif not self._unseen and (not self._is_code or tag == "br"):
            self._open(tag, attributes)

    def end(self, tag: str) -> None:
        if tag in _UNSEEN:
            if tag in self._unseen:
                del self._unseen[self._unseen.index(tag) :]
        elif self._unseen or tag not in _BLOCKS or tag in _VOID:
            return
        elif self._is_code and tag != "pre":
            self._inline.append("\n")
        else:
            self._flush()
            self._finish(tag)

    def text(self, data: str) -> None:
        if not self._unseen:
            self._inline.append(data if self._is_code else data.translate(_DROPPED))
            if self._anchor and self._kind != "heading" and not data.isspace():
                self._anchor = ""

    def markdown(self) -> str:
        """All that came, with a blank line between blocks, but not within lists."""
        self._flush()
        while self._tables:
            self._close_table()
        parts: list[str] = []
        length = 0
        before: Kind | None = None
        for block in self._blocks:
            if before is not None:
                parts.append("\n" if _belong_together(before, block.kind) else "\n\n")
                length += len(parts[-1])
            if block.kind == "heading":
                self.places.append((length, block.anchor))
            parts.append(block.prefix + block.text)
            before = block.kind
            length += len(parts[-1])
        return "".join(parts)

    @property
    def only_title(self) -> str | None:
        """The heading of the first level, if there is one alone, once all has come."""
        titles = [block.text for block in self._blocks if block.prefix == _HEADINGS["h1"]]
        return titles[0] if len(titles) == 1 else None

    def _remember_anchor(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element's name for links to it; a heading's own counts more than one within it."""
        named = attributes.get("id") or (attributes.get("name") if tag == "a" else None)
        if named and not (self._kind == "heading" and self._anchor):
            self._anchor = named if _ANCHOR.fullmatch(named) else ""

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _BLOCKS:
            self._flush()
        self._remember_anchor(tag, attributes)
        if tag in _BLOCKS:
            self._begin(tag, attributes)
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            self._image(attributes)
        elif tag == "button":  # stands in the line, but apart from what is beside it
            self._inline.append(" ")

    def _image(self, attributes: Mapping[str, str]) -> None:
        words = (attributes.get("alt") or "").strip()
        if words and not _FILE_NAME.fullmatch(words):
            self._inline.append(f" [Image: {words}] ".translate(_DROPPED))

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HEADINGS:
            self._kind, self._prefix = "heading", _HEADINGS[tag]
        elif tag in ("ul", "ol", "menu", "dir"):
            self._lists.append(_whole(attributes.get("start"), 1) if tag == "ol" else None)
        elif tag == "li":
            self._kind, self._prefix = "item", self._item_mark()
        elif tag == "dt":
            self._kind = "term"
        elif tag == "pre":
            if self._prefix.strip() not in ("", "-"):  # the number of a step that begins with code
                self._place().append(_Block("item", "", self._prefix.rstrip()))
            self._kind, self._prefix, self._is_code = "code", "", True
        elif tag == "table":
            self._begin_table(attributes)
        elif self._tables and tag == "tr":
            self._tables[-1].rows.append([])
            self._tables[-1].cell = None
        elif self._tables and tag in ("td", "th"):
            self._tables[-1].has_header |= tag == "th"
            self._begin_cell(attributes)

    def _finish(self, tag: str) -> None:
        if tag in ("ul", "ol", "menu", "dir") and self._lists:
            self._lists.pop()
        elif tag == "table":
            if self._ignored_tables:
                self._ignored_tables -= 1
            elif self._tables:
                self._close_table()
        elif tag in ("td", "th", "tr") and self._tables:
            self._tables[-1].cell = None
        elif tag in ("li", "dt") or tag in _HEADINGS:  # an empty one
            self._kind, self._prefix = "text", ""

    def _item_mark(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        indent = "  " * min(len(self._lists) - 1, _MOST_INDENT)
        return f"{indent}- " if number is None else f"{indent}{number}. "

    def _begin_table(self, attributes: Mapping[str, str]) -> None:
        for table in self._tables:
            table.is_layout = True
        if len(self._tables) >= _MOST_TABLES:
            self._ignored_tables += 1
            return
        self._tables.append(_Table(attributes.get("role") in ("presentation", "none")))

    def _begin_cell(self, attributes: Mapping[str, str]) -> None:
        """A cell, after those that only stand for cells reaching down from the rows above."""
        table = self._tables[-1]
        if not table.rows:
            table.rows.append([])
        row = table.rows[-1]
        while table.below.get(len(row)):
            table.below[len(row)] -= 1
            self._fill(row, 1)
        table.cell = []
        rowspan = _whole(attributes.get("rowspan"), 1)
        if rowspan > 1 and self._fillers > 0:
            table.below[len(row)] = min(rowspan, _WIDEST_SPAN) - 1
        row.append(table.cell)
        self._fill(row, min(_whole(attributes.get("colspan"), 1), _WIDEST_SPAN) - 1)

    def _fill(self, row: list[list[_Block]], count: int) -> None:
        count = min(count, self._fillers)
        self._fillers -= count
        row.extend([] for _ in range(count))

    def _close_table(self) -> None:
        table = self._tables.pop()
        self._place().extend(table.blocks())

    def _place(self) -> list[_Block]:
        """Where blocks go: into the cell that is open, or out of the table into the page."""
        for table in reversed(self._tables):
            if table.cell is not None:
                return table.cell
        return self._blocks

    def _flush(self) -> None:
        """End the block being read."""
        if not self._inline and not self._is_code:
            return
        joined = "".join(self._inline)
        self._inline.clear()
        kind, prefix = self._kind, self._prefix
        if self._is_code:
            self._is_code = False
            self._kind = "text"
            if joined.strip():
                if self._tables and "\n" in joined.strip():  # no cell has room for its lines
                    self._tables[-1].is_layout = True
                self._place().append(_Block("code", fenced(joined)))
            return
        lines = [" ".join(line.split()) for line in joined.split("\n")]
        text = (" " if kind == "heading" else "\n").join(filter(None, lines))
        if not text:
            return
        self._kind, self._prefix = "text", ""
        if kind == "heading" and self._tables:
            self._tables[-1].is_layout = True
        if kind != "heading":
            text = plain(text)
        anchor, self._anchor = (self._anchor, "") if kind == "heading" else ("", self._anchor)
        self._place().append(_Block(kind, text, prefix, anchor))


def _as_one(cell: list[_Block]) -> list[_Block]:
    """The paragraphs of a cell that is a row by itself: a name, then what is said of it."""
    if any(block.kind != "text" for block in cell):
        return cell
    return [_Block("text", "\n".join(block.text for block in cell))] if cell else []


def _belong_together(before: Kind, kind: Kind) -> bool:
    """Items of a list; a term and what it means."""
    return before == kind == "item" or (before == "term" and kind in ("term", "text"))


def _whole(value: str | None, otherwise: int) -> int:
    """A small whole number out of an attribute, which may hold anything."""
    digits = (value or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else otherwise
