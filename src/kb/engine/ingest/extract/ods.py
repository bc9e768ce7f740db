"""OpenDocument spreadsheets, sheet by sheet, as tables: what is shown in each cell, and comments.

A file says "a million times this row" in a few bytes. Empty repetitions are only counted, and what
is repeated is told once.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.odf_paragraph import segments
from kb.engine.ingest.extract.office import bounded, usual_ending, whole
from kb.engine.ingest.extract.opendocument import (
    CONTENT,
    OFFICE,
    STYLE,
    TABLE,
    TEXT,
    OpenDocument,
    comment,
    open_document,
)
from kb.engine.ingest.extract.package import Element, forget
from kb.engine.ingest.extract.xlsx_cells import Row
from kb.engine.ingest.extract.xlsx_extras import Extra, extras_pages
from kb.engine.ingest.extract.xlsx_layout import Layout
from kb.engine.models import Page

_ENDINGS = ("ods", "ots")
_MOST_SHEETS = 5_000
_MOST_CELLS = 5_000_000
_MOST_COLUMNS = 16_384
_MOST_ROWS = 10_000_000
_MOST_COPIES = 100  # of a cell that is repeated to the right
_LONGEST_CELL = 32_767  # characters
_SHEET, _ROW, _STYLE = f"{TABLE}table", f"{TABLE}table-row", f"{STYLE}style"
_CELL, _COVERED = f"{TABLE}table-cell", f"{TABLE}covered-table-cell"
_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")


class _Sheet(NamedTuple):
    number: int
    name: str
    is_hidden: bool

    @property
    def location(self) -> str:
        return f"{self.name} (hidden)" if self.is_hidden else self.name


def extract(source: Source) -> Extraction:
    document = open_document(source, whole_content=False)
    return Extraction(
        "ods",
        usual_ending(source.filename, _ENDINGS),
        bounded(_Workbook(document).pages(), source),
        title=document.title,
        metadata=document.metadata,
    )


class _Workbook:
    """Goes through the sheets once, row by row."""

    def __init__(self, document: OpenDocument) -> None:
        self._package = document.package
        self._comments: list[Extra] = []
        self._left = _MOST_CELLS

    def pages(self) -> Iterator[Page]:
        elements = self._package.stream(CONTENT, (_SHEET, _ROW, _STYLE), ("start", "end"))
        hidden: set[str] = set()
        number = 0
        for event, element in elements:
            if event == "end" and element.tag == _STYLE:
                if any(part.get(f"{TABLE}display") == "false" for part in element):
                    hidden.add(element.get(f"{STYLE}name", ""))
                forget(element)
            elif event == "start" and element.tag == _SHEET:
                number += 1
                if number > _MOST_SHEETS:
                    raise self._package.too_large(f"it has more than {_MOST_SHEETS:,} sheets")
                name = element.get(f"{TABLE}name", "") or f"Sheet{number}"
                sheet = _Sheet(number, name, element.get(f"{TABLE}style-name", "") in hidden)
                layout = Layout(number, sheet.name, sheet.location, ())
                yield from layout.pages(self._rows(elements, element))
                yield from extras_pages(self._comments, number, name, sheet.location)
                self._comments = []

    def _rows(self, elements: Iterator[tuple[str, Element]], sheet: Element) -> Iterator[Row]:
        """The rows of a sheet that hold something, up to its end."""
        number = 0
        for event, element in elements:
            if event != "end":
                continue
            if element is sheet:
                forget(element)
                return
            if element.tag == _ROW:
                row = self._row(element, number + 1)
                if row.cells:
                    yield row
                number += max(whole(element.get(f"{TABLE}number-rows-repeated"), 1), 1)
                number = min(number, _MOST_ROWS - 1)
                forget(element)

    def _row(self, element: Element, number: int) -> Row:
        cells: dict[int, str] = {}
        has_numbers = False
        column = 1
        self._left -= len(element)
        for cell in element:
            if cell.tag not in (_CELL, _COVERED):
                continue
            repeated = max(whole(cell.get(f"{TABLE}number-columns-repeated"), 1), 1)
            text = _shown(cell) if cell.tag == _CELL else ""
            if text:
                copies = min(repeated, _MOST_COPIES, _MOST_COLUMNS + 1 - column)
                self._left -= copies
                cells |= dict.fromkeys(range(column, column + copies), text)
                has_numbers = has_numbers or _is_number(cell)
            for note in cell.iterfind(f"{OFFICE}annotation"):
                words = _paragraphs(note)
                if words:
                    self._comments.append(Extra(number, column, comment(note, words)))
            column += repeated
        if self._left < 0:
            raise self._package.too_large(f"it has more than {_MOST_CELLS:,} cells")
        return Row(number, cells, has_numbers)


def _shown(cell: Element) -> str:
    """What a cell shows; where its program did not write that, its value."""
    text = _paragraphs(cell)
    if not text:
        values = (cell.get(f"{OFFICE}{name}") for name in _VALUES)
        text = next(filter(None, values), "")
    return text[:_LONGEST_CELL]


def _paragraphs(element: Element) -> str:
    texts = (
        segment.text
        for paragraph in element
        if paragraph.tag in _PARAGRAPHS
        for segment in segments(paragraph)
    )
    return "\n".join(filter(None, texts))


def _is_number(cell: Element) -> bool:
    return cell.get(f"{OFFICE}value-type", "string") not in ("string", "")
