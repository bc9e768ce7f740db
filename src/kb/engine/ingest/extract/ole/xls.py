"""Workbooks of Excel up to 2003: cells as shown, read by xlrd, then what lies over them."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import xlrd

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.number_formats.number_format import Show, built_in, plain, reader_of
from kb.engine.ingest.extract.ole import biff_texts
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.ingest.extract.ooxml.xlsx_cells import Row, letters_of, without_codes
from kb.engine.ingest.extract.ooxml.xlsx_extras import Extra, extras_pages
from kb.engine.ingest.extract.ooxml.xlsx_layout import Layout
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_ENDINGS = ("xls", "xlt", "xlw", "xla")
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MOST_BYTES = 128 * 2**20
_LOCKED = "encrypted"  # in what xlrd says of such a file


def extract(source: Source) -> Extraction:
    compound = Compound(source) if _is_compound(source) else None
    with making_sense(source):
        data = source.path.read_bytes() if compound is None else _stream(compound)
        book = _opened(biff_texts.without_names(data), source)
        listed = _listed(book, data)
    pages = _Reading(book, source).pages(listed)
    title, metadata = (None, {}) if compound is None else (compound.title, compound.metadata)
    return extraction("xlsx", _ENDINGS, source, pages, title, metadata)


def _is_compound(source: Source) -> bool:
    """Excel 4 and those before it wrote their records as they are."""
    with source.path.open("rb") as file:
        return file.read(len(_COMPOUND)) == _COMPOUND


def _stream(compound: Compound) -> bytes:
    data = compound.stream("Workbook", "Book")
    if not data:
        raise compound.damaged("it holds no workbook")
    if len(data) > _MOST_BYTES:
        raise compound.too_large(f"its workbook has more than {_MOST_BYTES // 2**20} MB")
    return data


def _opened(data: bytes, source: Source) -> Any:
    try:
        return _read(data, source)
    except AssertionError:
        return _read(biff_texts.with_fewer_texts(data), source)


def _read(data: bytes, source: Source) -> Any:
    """With formats if they can be made out, which files by other programs may get wrong."""
    for formatting in (True, False):
        try:
            return xlrd.open_workbook(
                file_contents=data, formatting_info=formatting, logfile=StringIO()
            )
        except xlrd.XLRDError as error:
            if _LOCKED in str(error).lower():
                raise Compound(source).locked() from error
            raise ValueError(str(error)) from error
        except Exception:
            if not formatting:
                raise
    raise AssertionError


def _listed(book: Any, data: bytes) -> list[biff_texts.Sheet]:
    """All sheets in their order. Those of the oldest versions are files of their own."""
    found = biff_texts.sheets(data, book.encoding or "cp1252")
    if [sheet.name for sheet in found if sheet.has_cells] == book.sheet_names():
        return found
    return [biff_texts.Sheet(sheet.name, sheet.visibility != 0, True) for sheet in book.sheets()]


class _Reading:
    """One workbook, and how its formats show numbers."""

    def __init__(self, book: Any, source: Source) -> None:
        self._book = book
        self._source = source
        self._shows: dict[int, Show] = {}

    def pages(self, listed: list[biff_texts.Sheet]) -> Iterator[Page]:
        cells = iter(self._book.sheets())
        empty = True
        for number, sheet in enumerate(listed, start=1):
            location = f"{sheet.name} (hidden)" if sheet.hidden else sheet.name
            extras = [Extra(1, 1, without_codes(text)) for text in dict.fromkeys(sheet.margins)]
            if sheet.has_cells:
                read = next(cells)
                for page in Layout(number, sheet.name, location, ()).pages(self._rows(read)):
                    empty = False
                    yield page
                extras += _notes(read)
            extras += [Extra(1, 1, text) for text in sheet.boxes if text.strip()]
            extras += [Extra(1, 1, f"Chart: {', '.join(sheet.charts)}")] if sheet.charts else []
            for page in extras_pages([e for e in extras if e.text], number, sheet.name, location):
                empty = False
                yield page
        if empty:
            filename = self._source.filename
            raise Refusals(filename).no_text()

    def _rows(self, sheet: Any) -> Iterator[Row]:
        for number in range(sheet.nrows):
            cells: dict[int, str] = {}
            has_numbers = False
            kinds, values = sheet.row_types(number), sheet.row_values(number)
            for column, (kind, value) in enumerate(zip(kinds, values, strict=True)):
                text, is_number = self._shown(sheet, number, column, kind, value)
                if text and not text.isspace():
                    cells[column + 1] = text
                    has_numbers = has_numbers or is_number
            if cells:
                yield Row(number + 1, cells, has_numbers)

    def _shown(self, sheet: Any, row: int, column: int, kind: int, value: Any) -> tuple[str, bool]:
        """What a cell shows, and whether that is a number, a date or a truth value."""
        if kind == xlrd.XL_CELL_TEXT:
            return value, False
        if kind in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
            raw = repr(value).removesuffix(".0")
            if not self._book.formatting_info:
                return plain(raw), True
            return self._show(sheet.cell_xf_index(row, column))(raw), True
        if kind == xlrd.XL_CELL_BOOLEAN:
            return ("TRUE" if value else "FALSE"), True
        if kind == xlrd.XL_CELL_ERROR:
            return xlrd.error_text_from_code.get(value, ""), False
        return "", False

    def _show(self, style: int) -> Show:
        show = self._shows.get(style)
        if show is None:
            show = self._shows[style] = self._made(style)
        return show

    def _made(self, style: int) -> Show:
        styles = self._book.xf_list
        key = styles[style].format_key if style < len(styles) else 0
        written = self._book.format_map.get(key)
        code = built_in(key) or ("" if written is None else written.format_str)
        return reader_of(code, self._book.datemode == 1) or plain


def _notes(sheet: Any) -> Iterator[Extra]:
    """Comments on cells, from the top to the bottom."""
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        if note.text.strip():
            by = f" by {note.author}" if note.author.strip() else ""
            place = f"{letters_of(column + 1)}{row + 1}"
            yield Extra(row + 1, column + 1, f"Comment on {place}{by}: {note.text}")
