"""Reads the rows of a workbook's sheets, each stored cell as it is shown."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kb.engine.ingest.extract.number_formats.number_format import (
    built_in,
    plain,
    reader_of,
    text_reader_of,
)
from kb.engine.ingest.extract.ooxml.office_file import Office, S, whole
from kb.engine.ingest.extract.zip_package import Element, forget

_ROW, _CELL, _VALUE, _FORMULA, _TEXT = (f"{S}{name}" for name in ("row", "c", "v", "f", "t"))
_MARGINS = f"{S}headerFooter"
# What may be long after the cells: it is read past without being kept.
_PASSED = (
    f"{S}mergeCell",
    f"{S}conditionalFormatting",
    f"{S}dataValidation",
    f"{S}hyperlink",
    f"{S}ignoredError",
)
_MOST_CELLS = 5_000_000
_MOST_STRINGS = 2_000_000
_MOST_ROWS = 1_048_576  # of one sheet, as in Excel
_LONGEST_CELL = 32_767  # characters, as in Excel
_LONGEST_ROW = 2_000_000  # characters; a short file may repeat one long text in every cell
_MOST_COLUMNS = 16_384
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
# In headers and footers: fonts, colours, sizes, and what Excel fills in.
_CODE = re.compile(
    r'&(?:"[^"]*"|K(?:[0-9A-Fa-f]{6}|[0-9]{2}[+-][0-9]{3})|\[[A-Za-z &]{1,20}\]|\d{1,3}|[A-Za-z+-])'
)
_THIRD = re.compile(r"&[LCR]")  # begins the left, the middle or the right of a header
# Around the numbers of pages, in the headers that programs put there by themselves.
_PAGE = "page|seite|página|pagina|strona|sida|side|страница|pág|p"
_OF = "of|von|de|di|sur|van|av|af|z|из"
_PAGE_COUNT = re.compile(rf"\W*(?:(?:{_PAGE})\b\W*)?(?:(?:{_OF})\b\W*)?", re.IGNORECASE)
_TRUTH = {"1": "TRUE", "0": "FALSE"}
_DIGITS = "0123456789"


class Row(NamedTuple):
    """The cells of a row by column, from 1. `has_numbers` where a cell is no text."""

    number: int
    cells: dict[int, str]
    has_numbers: bool


class Cells:
    """Reads the sheets of one workbook, with the strings and formats that they share."""

    def __init__(self, office: Office, since_1904: bool) -> None:
        self._package = office.package
        parts = office.related("sharedStrings")
        self._strings = [text for part in parts for text in self._shared(part)]
        codes = [
            code for part in office.related("styles") for code in _codes(self._package.xml(part))
        ]
        self._shows = {  # by the number of a style, as it is written in a cell
            str(style): reader_of(code, since_1904) or plain for style, code in enumerate(codes)
        }
        self._text_formats = {
            str(style): show
            for style, show in enumerate(map(text_reader_of, codes))
            if show is not None
        }
        self._columns: dict[str, int] = {}
        self._left = _MOST_CELLS
        self.margins: list[str] = []  # the headers and footers of the last sheet read

    def rows(self, part: str) -> Iterator[Row]:
        """Those that hold something."""
        self.margins = []
        number = count = 0
        for _, element in self._package.stream(part, (_ROW, _MARGINS, *_PASSED)):
            if element.tag == _ROW:
                count += 1
                if count > _MOST_ROWS:
                    raise self._package.too_large(f"a sheet has more than {_MOST_ROWS:,} rows")
                number = whole(element.get("r"), number + 1)
                row = self._row(element, number)
                if row.cells:
                    yield row
            elif element.tag == _MARGINS:
                self.margins = list(dict.fromkeys(filter(None, map(_margin, element))))
            forget(element)

    def _row(self, element: Element, number: int) -> Row:
        cells: dict[int, str] = {}
        has_numbers = False
        column = length = 0
        self._left -= len(element)
        if self._left < 0:
            raise self._package.too_large(f"it has more than {_MOST_CELLS:,} cells")
        if len(element) > _MOST_COLUMNS:
            raise self._package.too_large(f"row {number} has more than {_MOST_COLUMNS:,} cells")
        for cell in element:
            reference = cell.get("r")
            column = self._column(reference.rstrip(_DIGITS)) if reference else column + 1
            text, is_number = self._shown(cell)
            if text and not text.isspace() and 0 < column <= _MOST_COLUMNS:
                cells[column] = text
                has_numbers = has_numbers or is_number
                length += len(text)
                if length > _LONGEST_ROW:
                    raise self._package.too_large(f"row {number} of a sheet is too long")
        return Row(number, cells, has_numbers)

    def _shown(self, cell: Element) -> tuple[str, bool]:
        """What a cell shows, and whether that is a number, a date or a truth value."""
        kind = cell.get("t", "n")
        value = None
        for child in cell:
            if child.tag == _VALUE:
                value = child.text
        if value is None:
            return (rich_text(cell) or _formula(cell))[:_LONGEST_CELL], False
        if kind == "s":
            index = whole(value, -1)
            text = self._strings[index] if 0 <= index < len(self._strings) else ""
            return self._words(cell, text), False
        if kind == "n":
            show = self._shows.get(cell.get("s", "0"), plain)
            return show(value[:_LONGEST_CELL]), True
        if kind == "b":
            return _TRUTH.get(value, value[:_LONGEST_CELL]), True
        if kind == "d":
            return value[:_LONGEST_CELL].replace("T00:00:00", "").replace("T", " "), True
        return self._words(cell, _unescaped(value[:_LONGEST_CELL])), False

    def _words(self, cell: Element, text: str) -> str:
        """A text with what its format puts around it, which hardly any does."""
        show = self._text_formats.get(cell.get("s", "")) if self._text_formats else None
        return text if show is None or not text else show(text)

    def _column(self, letters: str) -> int:
        column = self._columns.get(letters)
        if column is None:
            column = column_of(letters)
            if column:
                self._columns[letters] = column
        return column

    def _shared(self, part: str) -> Iterator[str]:
        for count, (_, element) in enumerate(self._package.stream(part, (f"{S}si",))):
            if count >= _MOST_STRINGS:
                raise self._package.too_large(f"it has more than {_MOST_STRINGS:,} texts")
            yield rich_text(element)[:_LONGEST_CELL]
            forget(element)


def letters_of(column: int) -> str:
    letters = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def column_of(letters: str) -> int:
    """`A` is 1; 0 if it is not a column."""
    column = 0
    if letters.isascii() and letters.isalpha() and len(letters) <= 3:
        for letter in letters.upper():
            column = column * 26 + ord(letter) - ord("A") + 1
    return column


def place_of(reference: str) -> tuple[int, int]:
    """Row and column of a cell such as `B7`, or of the first cell of `B7:D9`."""
    first = reference.partition(":")[0].replace("$", "")
    letters = first.rstrip(_DIGITS)
    return whole(first[len(letters) :], 1), column_of(letters) or 1


def rich_text(element: Element) -> str:
    """A text in several formats; how Chinese characters are read aloud is beside it, not in it."""
    if len(element) == 1 and element[0].tag == _TEXT:
        return _unescaped(element[0].text or "")
    texts = (t.text or "" for t in element.iter(_TEXT) if t.getparent().tag != f"{S}rPh")
    return _unescaped("".join(texts))


def _formula(cell: Element) -> str:
    """For a cell that no program has calculated yet, the formula is all that there is to see."""
    formula = cell.findtext(_FORMULA)
    return f"={formula}" if formula else ""


def _unescaped(text: str) -> str:
    """Characters that XML cannot hold are written as `_x000D_`."""
    if "_x" not in text:
        return text
    text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _codes(root: Element) -> list[str]:
    """The codes of number formats, by the number of a cell's style."""
    written = root.iter(f"{S}numFmt")
    codes = {whole(code.get("numFmtId")): code.get("formatCode", "") for code in written}
    numbers = (whole(style.get("numFmtId")) for style in root.iterfind(f"{S}cellXfs/{S}xf"))
    return [codes.get(number) or built_in(number) for number in numbers]


def _margin(element: Element) -> str:
    return without_codes(element.text or "")


def without_codes(margin: str) -> str:
    """A page's header or footer without the codes for fonts, page numbers and dates, and without
    what stands around a page number."""
    thirds = _THIRD.split(margin[:_LONGEST_CELL].replace("&&", "\0"))
    texts = (" ".join(_CODE.sub(" ", third).replace("\0", "&").split()) for third in thirds)
    return " ".join(text for text in texts if not is_page_count(text))


def is_page_count(text: str) -> bool:
    """Whether nothing is left of it without the numbers: `Page of`."""
    return _PAGE_COUNT.fullmatch(text) is not None
