"""Collects the paragraphs, cells and rows of an RTF text as they come."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kb.engine.ingest.extract.markup import Item, entry, heading
from kb.engine.ingest.extract.ooxml.docx_pages import TURN, Turn
from kb.engine.ingest.extract.rows import pipe_row

_MOST_CELLS = 1_000  # of a row


@dataclass
class Shape:
    """How the paragraph being read is set; `\\pard` makes all of it anew but the mark."""

    level: int | None = None  # of a heading, from 1
    mark: str | None = None  # what stands before an item of a list
    depth: int = 0  # of the list
    in_table: bool = False


@dataclass
class Story:
    """A text of its own, such as the document, a note or a box. What hangs on a paragraph comes
    after it, what hangs on a cell after its table."""

    items: list[Item | Turn] = field(default_factory=list)
    shape: Shape = field(default_factory=Shape)
    _pieces: list[str] = field(default_factory=list)
    _attached: list[Item] = field(default_factory=list)
    _cell: list[str] = field(default_factory=list)
    _row: list[str] = field(default_factory=list)
    _in_rows: bool = False  # the last thing said was a row of a table

    def say(self, text: str) -> None:
        self._pieces.append(text)

    @property
    def said(self) -> str:
        """The text so far of the current paragraph."""
        return "".join(self._pieces)

    @property
    def has_words(self) -> bool:
        return any(piece and not piece.isspace() for piece in self._pieces)

    def attach(self, items: Iterable[Item]) -> None:
        self._attached += items

    def end_paragraph(self) -> None:
        text = self._taken()
        if self.shape.in_table:
            self._cell += [text] if text else []
            return
        if text:
            self._end_table()
            self.items.append(self._written(text))
        self.shape.mark = None
        if not self._in_rows:
            self._release()

    def end_cell(self) -> None:
        text = self._taken()
        if len(self._row) < _MOST_CELLS:
            self._row.append(" ".join(filter(None, [*self._cell, text])))
        self._cell = []

    def end_row(self) -> None:
        while self._row and not self._row[-1]:
            self._row.pop()
        if self._row:
            self.items.append(Item("row" if self._in_rows else "header", pipe_row(self._row)))
            self._in_rows = True
        self._row, self._cell = [], []

    def turn(self) -> None:
        """A page ends here, if it has begun."""
        self.end_paragraph()
        if self.items:
            self.items.append(TURN)

    def finish(self) -> list[Item | Turn]:
        self.shape.in_table = False
        self.end_paragraph()
        if self._row or self._cell:  # a table that was cut off
            self.end_cell()
            self.end_row()
        self._end_table()
        self._release()
        return self.items

    def _taken(self) -> str:
        text = "".join(self._pieces).strip()
        self._pieces = []
        return text

    def _written(self, text: str) -> Item:
        if self.shape.level is not None:
            numbered = self.shape.mark not in (None, "-")
            return heading(f"{self.shape.mark} {text}" if numbered else text, self.shape.level)
        if self.shape.mark is not None:
            return entry(text, self.shape.depth, self.shape.mark)
        return Item("paragraph", text)

    def _end_table(self) -> None:
        if self._in_rows:
            self._in_rows = False
            self._release()

    def _release(self) -> None:
        self.items += self._attached
        self._attached = []
