"""Workbooks in binary form (xlsb): like xlsx, with records instead of XML."""

import struct
from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.number_formats.number_format import Show, built_in, plain, reader_of
from kb.engine.ingest.extract.ole.compound import making_sense
from kb.engine.ingest.extract.ooxml.office_file import Office, extraction, open_office, targets
from kb.engine.ingest.extract.ooxml.xlsb_records import records, small_number, string
from kb.engine.ingest.extract.ooxml.xlsx_cells import Row, letters_of, without_codes
from kb.engine.ingest.extract.ooxml.xlsx_extras import Extra, drawings, extras_pages
from kb.engine.ingest.extract.ooxml.xlsx_layout import Layout, Sheet
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_ROW, _RICH, _SHARED, _SHEET, _WORKBOOK = 0, 62, 19, 156, 153
_SMALL, _ERROR, _TRUTH, _REAL, _TEXT, _SHARED_TEXT = 2, 3, 4, 5, 6, 7
_MADE_TEXT, _MADE_REAL, _MADE_TRUTH, _MADE_ERROR = 8, 9, 10, 11
_BLANK, _SHORT = 1, 11  # the same as a blank to a shared text, without its column
_FORMAT, _STYLE, _STYLES, _STYLES_END, _MARGINS = 44, 47, 617, 618, 479
_AUTHOR, _COMMENT, _COMMENT_TEXT = 632, 635, 637
_ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
}
_MOST_SHEETS = 5_000
_MOST_CELLS = 5_000_000
_MOST_STRINGS = 2_000_000
_MOST_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_LONGEST_ROW = 2_000_000


def extract(source: Source) -> Extraction:
    office = open_office(source)
    with making_sense(source):
        book = _Book(office)
    pages = _pages(book, source)
    return extraction("xlsx", ("xlsb",), source, pages, office.title, office.metadata)


def _pages(book: "_Book", source: Source) -> Iterator[Page]:
    empty = True
    with making_sense(source):
        for page in book.pages():
            empty = False
            yield page
    if empty:
        raise Refusals(source.filename).no_text()


class _Book:
    """One workbook, with the texts and formats that its sheets share."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._package = office.package
        self._since_1904 = False
        self._sheets: list[Sheet] = []
        self._read_workbook()
        parts = office.related("sharedStrings")
        self._strings = [text for part in parts for text in self._shared(part)]
        self._shows = [show for part in office.related("styles") for show in self._formats(part)]
        self._left = _MOST_CELLS
        self._margins: list[str] = []  # the headers and footers of the last sheet read

    def pages(self) -> Iterator[Page]:
        for sheet in self._sheets:
            relations = self._package.relations(sheet.part)
            extras: list[Extra] = []
            if sheet.has_cells:
                layout = Layout(sheet.number, sheet.name, sheet.location, ())
                yield from layout.pages(self._rows(sheet.part))
                extras += [Extra(1, 1, text) for text in self._margins if text]
            for part in targets(self._package, relations, "comments"):
                extras += self._comments(part)
            for part in targets(self._package, relations, "drawing"):
                root = self._package.xml(part)
                extras += drawings(self._package, root, self._package.relations(part))
            yield from extras_pages(extras, sheet.number, sheet.name, sheet.location)

    def _read_workbook(self) -> None:
        for kind, data in records(self._package.read(self._office.main)):
            if kind == _WORKBOOK and data:
                self._since_1904 = bool(data[0] & 1)
            elif kind == _SHEET and len(data) > 12:
                state = struct.unpack_from("<I", data)[0]
                reference, at = string(data, 8)
                name, _ = string(data, at)
                relation = self._office.relations.get(reference)
                number = len(self._sheets) + 1
                if number > _MOST_SHEETS:
                    raise self._package.too_large(f"it has more than {_MOST_SHEETS:,} sheets")
                if relation is not None and relation.target in self._package:
                    location = f"{name} (hidden)" if state else name
                    has_cells = relation.kind == "worksheet"
                    self._sheets.append(Sheet(number, name, location, relation.target, has_cells))

    def _shared(self, part: str) -> Iterator[str]:
        count = 0
        for kind, data in records(self._package.read(part)):
            if kind == _SHARED:
                count += 1
                if count > _MOST_STRINGS:
                    raise self._package.too_large(f"it has more than {_MOST_STRINGS:,} texts")
                yield string(data, 1)[0]

    def _formats(self, part: str) -> Iterator[Show]:
        """By the number of a cell's style."""
        codes: dict[int, str] = {}
        within = False
        for kind, data in records(self._package.read(part)):
            if kind == _FORMAT and len(data) > 2:
                codes[struct.unpack_from("<H", data)[0]] = string(data, 2)[0]
            elif kind in (_STYLES, _STYLES_END):
                within = kind == _STYLES
            elif kind == _STYLE and within and len(data) >= 4:
                number = struct.unpack_from("<H", data, 2)[0]
                code = codes.get(number) or built_in(number)
                yield reader_of(code, self._since_1904) or plain

    def _rows(self, part: str) -> Iterator[Row]:
        self._margins = []
        number = -1
        cells: dict[int, str] = {}
        has_numbers = False
        length = rows = 0
        column = -1
        for kind, data in records(self._package.read(part)):
            if _BLANK <= kind - _SHORT <= _SHARED_TEXT:  # it is the next one
                kind, data = kind - _SHORT, struct.pack("<I", column + 1) + data
            if (_BLANK <= kind <= _MADE_ERROR or kind == _RICH) and len(data) >= 4:
                column = struct.unpack_from("<I", data)[0]
            if kind == _ROW and len(data) >= 4:
                column = -1
                if cells:
                    yield Row(number + 1, cells, has_numbers)
                number = struct.unpack_from("<I", data)[0]
                cells, has_numbers, length = {}, False, 0
                rows += 1
                if rows > _MOST_ROWS or number >= _MOST_ROWS:
                    raise self._package.too_large(f"a sheet has more than {_MOST_ROWS:,} rows")
            elif (_SMALL <= kind <= _MADE_ERROR or kind == _RICH) and len(data) > 8:
                text, is_number = self._cell(kind, data)
                if text and not text.isspace() and column < _MOST_COLUMNS:
                    cells[column + 1] = text
                    has_numbers = has_numbers or is_number
                    length += len(text)
                    if length > _LONGEST_ROW:
                        raise self._package.too_large(f"row {number + 1} of a sheet is too long")
            elif kind == _MARGINS:
                self._margins = _margins(data)
        if cells:
            yield Row(number + 1, cells, has_numbers)

    def _cell(self, kind: int, data: bytes) -> tuple[str, bool]:
        self._left -= 1
        if self._left < 0:
            raise self._package.too_large(f"it has more than {_MOST_CELLS:,} cells")
        style = struct.unpack_from("<I", data, 4)[0]
        return self._shown(kind, style & 0xFFFFFF, data[8:])

    def _shown(self, kind: int, style: int, value: bytes) -> tuple[str, bool]:
        """What a cell shows, and whether that is a number, a date or a truth value."""
        if kind in (_REAL, _MADE_REAL) and len(value) >= 8:
            return self._number(struct.unpack_from("<d", value)[0], style), True
        if kind == _SMALL and len(value) >= 4:
            return self._number(small_number(value[:4]), style), True
        if kind == _SHARED_TEXT and len(value) >= 4:
            index = struct.unpack_from("<I", value)[0]
            return self._strings[index] if index < len(self._strings) else "", False
        if kind in (_TEXT, _MADE_TEXT):
            return string(value, 0)[0], False
        if kind == _RICH:
            return string(value, 1)[0], False
        if kind in (_TRUTH, _MADE_TRUTH):
            return ("TRUE" if value[0] else "FALSE"), True
        return _ERRORS.get(value[0], ""), False

    def _number(self, number: float, style: int) -> str:
        show = self._shows[style] if style < len(self._shows) else plain
        return show(repr(number).removesuffix(".0"))

    def _comments(self, part: str) -> Iterator[Extra]:
        authors: list[str] = []
        author = row = column = 0
        for kind, data in records(self._package.read(part)):
            if kind == _AUTHOR:
                authors.append(string(data, 0)[0])
            elif kind == _COMMENT and len(data) >= 20:
                author, row, _, column = struct.unpack_from("<4I", data)
            elif kind == _COMMENT_TEXT:
                text = string(data, 1)[0]
                name = authors[author].strip() if author < len(authors) else ""
                by = f" by {name}" if name else ""
                place = f"{letters_of(min(column, _MOST_COLUMNS) + 1)}{row + 1}"
                if text.strip():
                    yield Extra(row + 1, column + 1, f"Comment on {place}{by}: {text}")


def _margins(data: bytes) -> list[str]:
    """The headers and footers of a sheet, each once."""
    found = []
    at = 2
    for _ in range(6):
        text, at = string(data, at)
        found.append(without_codes(text))
    return list(dict.fromkeys(filter(None, found)))
