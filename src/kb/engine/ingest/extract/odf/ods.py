"""OpenDocument spreadsheets, sheet by sheet: what cells show, then comments, boxes and charts. A
few bytes may say "a million times this row": such a row is read once."""

from collections.abc import Iterator
from typing import NamedTuple

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.odf.odf_file import (
    CONTENT,
    OFFICE,
    STYLE,
    TABLE,
    TEXT,
    OpenDocument,
    comment,
    open_document,
)
from kb.engine.ingest.extract.odf.paragraph import is_drawn, segments
from kb.engine.ingest.extract.odf.story import Story
from kb.engine.ingest.extract.ooxml.office_file import extraction, whole
from kb.engine.ingest.extract.ooxml.xlsx_cells import Row, is_page_count
from kb.engine.ingest.extract.ooxml.xlsx_extras import Extra, extras_pages
from kb.engine.ingest.extract.ooxml.xlsx_layout import Layout
from kb.engine.ingest.extract.zip_package import Element, forget
from kb.engine.pages import Page

_ENDINGS = ("ods", "ots", "fods")
_MOST_SHEETS = 5_000
_MOST_CELLS = 5_000_000
_MOST_COLUMNS = 16_384
_MOST_ROWS = 10_000_000
_MOST_COPIES = 100  # of a cell that is repeated to the right, or of a row that is repeated
_LONGEST_CELL = 32_767  # characters
_SHEET, _ROW, _STYLE = f"{TABLE}table", f"{TABLE}table-row", f"{STYLE}style"
_SHAPES = f"{TABLE}shapes"
_CELL, _COVERED = f"{TABLE}table-cell", f"{TABLE}covered-table-cell"
_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_MASTER = f"{STYLE}master-page-name"
_MARGINS = frozenset(
    f"{STYLE}{name}{side}" for name in ("header", "footer") for side in ("", "-left")
)
_FIELDS = frozenset(
    f"{TEXT}{name}"
    for name in ("sheet-name", "page-number", "page-count", "date", "time", "title", "file-name")
)
_NOTE = f"{OFFICE}annotation"
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
    pages = _Workbook(document).pages()
    return extraction("ods", _ENDINGS, source, pages, document.title, document.metadata)


class _Workbook:
    """Goes through the sheets once, row by row."""

    def __init__(self, document: OpenDocument) -> None:
        self._package = document.package
        self._story = Story(document)
        self._over: list[Extra] = []  # comments and shapes
        self._left = _MOST_CELLS
        self._margins = _margins(document)  # by their masters; each is told once

    def pages(self) -> Iterator[Page]:
        elements = self._package.stream(
            CONTENT, (_SHEET, _SHAPES, _ROW, _STYLE), ("start", "end"), doctype=True
        )
        hidden: set[str] = set()
        masters: dict[str, str] = {}  # by the style of a sheet
        number = 0
        for event, element in elements:
            if event == "end" and element.tag == _STYLE:
                if any(part.get(f"{TABLE}display") == "false" for part in element):
                    hidden.add(element.get(f"{STYLE}name", ""))
                if element.get(_MASTER):
                    masters[element.get(f"{STYLE}name", "")] = element.get(_MASTER)
                forget(element)
            elif event == "start" and element.tag == _SHEET:
                number += 1
                if number > _MOST_SHEETS:
                    raise self._package.too_large(f"it has more than {_MOST_SHEETS:,} sheets")
                name = element.get(f"{TABLE}name", "") or f"Sheet{number}"
                style = element.get(f"{TABLE}style-name", "")
                sheet = _Sheet(number, name, style in hidden)
                layout = Layout(number, sheet.name, sheet.location, ())
                yield from layout.pages(self._rows(elements, element))
                margins = self._margins.pop(masters.get(style, ""), [])
                over = [*(Extra(1, 1, text) for text in margins), *self._over]
                yield from extras_pages(over, number, name, sheet.location)
                self._over = []

    def _rows(self, elements: Iterator[tuple[str, Element]], sheet: Element) -> Iterator[Row]:
        """The rows of a sheet that hold something, up to its end."""
        number = 0
        inner = 0  # tables within cells, as those of charts in a file that is not zipped
        for event, element in elements:
            if event != "end":
                inner += element.tag == _SHEET
                continue
            if element is sheet:
                forget(element)
                return
            if element.tag == _SHEET:
                inner -= 1
            elif inner:
                continue
            elif element.tag == _SHAPES:
                self._keep(element, 1, 1)
            elif element.tag == _ROW:
                repeated = max(whole(element.get(f"{TABLE}number-rows-repeated"), 1), 1)
                row = self._row(element, number + 1)
                if row.cells:
                    for copy in range(repeated if repeated <= _MOST_COPIES else 1):
                        self._spend(len(row.cells))
                        yield row._replace(number=row.number + copy)
                number += repeated
                number = min(number, _MOST_ROWS - 1)
                forget(element)

    def _row(self, element: Element, number: int) -> Row:
        cells: dict[int, str] = {}
        has_numbers = False
        column = 1
        self._spend(len(element))
        for cell in element:
            if cell.tag not in (_CELL, _COVERED):
                continue
            repeated = max(whole(cell.get(f"{TABLE}number-columns-repeated"), 1), 1)
            text = _shown(cell)
            if text:
                copies = min(repeated, _MOST_COPIES, _MOST_COLUMNS + 1 - column)
                self._spend(copies)
                cells |= dict.fromkeys(range(column, column + copies), text)
                has_numbers = has_numbers or _is_number(cell)
            self._keep(cell, number, column)
            column += repeated
        return Row(number, cells, has_numbers)

    def _keep(self, holder: Element, row: int, column: int) -> None:
        """The words of what hangs on a cell or lies on the sheet. Nearly every cell has none."""
        for hung in holder:
            if hung.tag in _PARAGRAPHS:
                continue
            if hung.tag == _NOTE:
                words = _paragraphs(hung)
                self._over += [Extra(row, column, comment(hung, words))] if words else []
            elif is_drawn(hung):
                items = self._story.items([hung])
                self._over += [Extra(row, column, item.text) for item in items]

    def _spend(self, cells: int) -> None:
        self._left -= cells
        if self._left < 0:
            raise self._package.too_large(f"it has more than {_MOST_CELLS:,} cells")


def _margins(document: OpenDocument) -> dict[str, list[str]]:
    """The words of headers and footers, without what differs on each page."""
    found: dict[str, list[str]] = {}
    pages = () if document.styles is None else document.styles.iter(f"{STYLE}master-page")
    for page in pages:
        paragraphs = (p for part in page if part.tag in _MARGINS for p in part.iter(*_PARAGRAPHS))
        texts = (" ".join(_without_fields(paragraph).split()) for paragraph in paragraphs)
        words = [text for text in dict.fromkeys(texts) if not is_page_count(text)]
        if words:
            found[page.get(f"{STYLE}name", "")] = words
    return found


def _without_fields(element: Element) -> str:
    pieces = [element.text or ""]
    for child in element:
        pieces += ["" if child.tag in _FIELDS else _without_fields(child), child.tail or ""]
    return "".join(pieces)


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
