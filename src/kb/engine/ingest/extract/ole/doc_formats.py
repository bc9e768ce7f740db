"""The formatting of the paragraphs and characters of a Word file."""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from kb.engine.ingest.extract.ole.doc_file import WordFile

_PAGE = 512  # bytes in which formats are kept together
_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}  # of what is set, by the upper bits
_TABLE_ROW = (0xD608, 0xD606)  # their lengths take two bytes
_TABS = 0xC615
_HUGE = (0x6645, 0x6646)
_DEEPEST_BASE = 20  # styles that build on each other
_MOST_STYLES = 5_000
_HEADINGS = range(1, 10)  # the numbers of Word's own styles, in every language
_TITLE = 62
_OF_PARAGRAPHS, _OF_CHARACTERS = 1, 2  # kinds of styles
NO_OUTLINE = 9
_OBJECT = 0x6A03
_HIDDEN, _DELETED = 0x083C, 0x0800  # the latter while changes were kept
_OPPOSITE = b"\x81"  # what the style is not
_ON = (b"\x01", _OPPOSITE)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`level` of a heading from 1, 0 for the title; `list_number` counts from 1, 0 for none."""

    level: int | None = None
    list_number: int = 0
    list_level: int = 0
    in_table: bool = False
    ends_row: bool = False
    new_page: bool = False
    style_hides: bool = False  # which counts only for characters set to the opposite of it


class _Run(NamedTuple):
    """Characters in the file that are not to be seen, or that are signs of a font."""

    start: int
    end: int
    is_opposite: bool  # hidden only where the style of the paragraph does not hide
    symbol: tuple[int, int] | None  # the font's number, and the place in it


class Formats:
    def __init__(self, file: WordFile) -> None:
        self._file = file
        self._styles = _Styles(file.structure(1)) if not file.is_old else None
        self._paragraphs = sorted(self._read_paragraphs(), key=lambda run: run[0])
        self._starts = [run[0] for run in self._paragraphs]
        self._runs = sorted(self._read_runs())
        self._run_starts = [run.start for run in self._runs]

    def paragraph(self, position: int) -> Paragraph:
        """How the paragraph is set that ends at this character."""
        place = self._file.place_of(position)
        index = bisect_right(self._starts, place) - 1
        if place < 0 or index < 0 or place >= self._paragraphs[index][1]:
            return Paragraph()
        return self._paragraphs[index][2]

    def unusual(self, start: int, end: int) -> Iterator[tuple[int, int, tuple[int, int] | None]]:
        """The stretches of a paragraph's text that are hidden (without a sign) or signs."""
        if not self._runs:
            return
        style_hides = self.paragraph(end).style_hides
        for piece in self._file.stretches():
            first, last = max(start, piece.start), min(end, piece.end)
            if first >= last:
                continue
            low = piece.place + (first - piece.start) * piece.width
            high = piece.place + (last - piece.start) * piece.width
            index = max(0, bisect_right(self._run_starts, low) - 1)
            while index < len(self._runs) and self._runs[index].start < high:
                run = self._runs[index]
                index += 1
                if run.end > low and not (run.is_opposite and style_hides):
                    at = first + (max(run.start, low) - low) // piece.width
                    until = first + (min(run.end, high) - low + piece.width - 1) // piece.width
                    yield at, until, run.symbol

    def _read_paragraphs(self) -> Iterator[tuple[int, int, Paragraph]]:
        if self._file.is_old:
            return
        for page in self._pages(13):
            count = page[_PAGE - 1]
            if 4 * (count + 1) + 13 * count > _PAGE - 1:
                continue
            places = struct.unpack_from(f"<{count + 1}I", page)
            for number in range(count):
                at = page[4 * (count + 1) + 13 * number] * 2
                said = _paragraph_bytes(page, at) if at else b""
                yield places[number], places[number + 1], self._paragraph(said)

    def _paragraph(self, said: bytes) -> Paragraph:
        if len(said) < 2 or self._styles is None:
            return Paragraph()
        style = struct.unpack_from("<H", said)[0]
        return _applied(self._styles.paragraph(style), said[2:], self._file.data, self._styles)

    def objects(self) -> Iterator[tuple[int, int]]:
        """The number of each object that other programs set into the text, and where it lies."""
        for start, _, said in self._said_of_characters():
            number = dict(settings(said)).get(_OBJECT, b"")
            if len(number) == 4:
                yield struct.unpack("<I", number)[0], start

    def _read_runs(self) -> Iterator[_Run]:
        if self._styles is None:
            return
        for start, end, said in self._said_of_characters():
            hidden, is_opposite, symbol = _seen(said, self._styles)
            if hidden or symbol is not None:
                yield _Run(start, end, is_opposite, symbol)

    def _said_of_characters(self) -> Iterator[tuple[int, int, bytes]]:
        for page in self._pages(12):
            count = page[_PAGE - 1]
            if 4 * (count + 1) + count > _PAGE - 1:
                continue
            places = struct.unpack_from(f"<{count + 1}I", page)
            for number in range(count):
                at = page[4 * (count + 1) + number] * 2
                if at:
                    yield places[number], places[number + 1], page[at + 1 : at + 1 + page[at]]

    def _pages(self, index: int) -> Iterator[bytes]:
        structure = self._file.structure(index)
        if len(structure) < 12:
            return
        count = (len(structure) - 4) // 8
        numbers = struct.unpack_from(f"<{count}I", structure, 4 * (count + 1))
        for number in numbers:
            at = (number & 0x3FFFFF) * _PAGE
            page = self._file.main[at : at + _PAGE]
            if len(page) == _PAGE:
                yield page


class _Styles:
    """What the styles of a file say of paragraphs, and which of them hide characters."""

    def __init__(self, structure: bytes) -> None:
        self._said: dict[int, tuple[int, int, bytes]] = {}  # base, Word's own number, properties
        self._of_characters: dict[int, bytes] = {}
        self._hiding: dict[int, bool] = {}
        self._known: dict[int, Paragraph] = {}
        if len(structure) < 6:
            return
        head, count, size = struct.unpack_from("<HHH", structure)
        at = 2 + head
        for number in range(min(count, _MOST_STYLES)):
            if at + 2 > len(structure):
                break
            length = struct.unpack_from("<H", structure, at)[0]
            style = structure[at + 2 : at + 2 + length]
            at += 2 + length + (length & 1)
            if len(style) > size >= 8:
                own, base = struct.unpack_from("<HH", style)
                paragraph, self._of_characters[number] = self._properties(style, size)
                self._said[number] = (base >> 4, own & 0xFFF, paragraph)

    def _properties(self, style: bytes, size: int) -> tuple[bytes, bytes]:
        """Of paragraphs, and of characters."""
        kind = style[2] & 0xF
        name = struct.unpack_from("<H", style, size)[0] if size + 2 <= len(style) else 0
        first, behind = _counted(style, size + 2 + 2 * name + 2)
        if kind == _OF_PARAGRAPHS:
            return first[2:], _counted(style, behind)[0]
        return b"", first if kind == _OF_CHARACTERS else b""

    def hides(self, number: int, depth: int = 0) -> bool:
        """Whether the characters are hidden that have this style."""
        if number in self._hiding:
            return self._hiding[number]
        if number not in self._said or depth > _DEEPEST_BASE:
            return False
        said = dict(settings(self._of_characters[number])).get(_HIDDEN)
        base = self.hides(self._said[number][0], depth + 1)
        self._hiding[number] = base if said is None else said[:1] in _ON
        return self._hiding[number]

    def paragraph(self, number: int, depth: int = 0) -> Paragraph:
        known = self._known.get(number)
        if known is not None:
            return known
        if number not in self._said or depth > _DEEPEST_BASE:
            return Paragraph()
        base, own, said = self._said[number]
        paragraph = Paragraph() if base == 0xFFF else self.paragraph(base, depth + 1)
        if own in _HEADINGS:
            paragraph = replace(paragraph, level=own)
        elif own == _TITLE:
            paragraph = replace(paragraph, level=0)
        paragraph = replace(paragraph, style_hides=self.hides(number))
        paragraph = _applied(paragraph, said, b"", self)
        self._known[number] = paragraph
        return paragraph


def settings(said: bytes) -> Iterator[tuple[int, bytes]]:
    """The settings, one after the other: number and value."""
    at = 0
    while at + 2 < len(said):
        number = struct.unpack_from("<H", said, at)[0]
        at += 2
        size = _SIZES.get(number >> 13)
        if size is None:
            if number in _TABLE_ROW:
                size = 1 + struct.unpack_from("<H", said.ljust(at + 2, b"\0"), at)[0]
            elif number == _TABS and said[at] == 255:
                return  # longer than it can say; nothing after it matters here
            else:
                size = 1 + said[at]
        yield number, said[at : at + size]
        at += size


_SWITCHES = {0x2416: "in_table", 0x2417: "ends_row", 0x2407: "new_page"}


def _applied(paragraph: Paragraph, said: bytes, data: bytes, styles: _Styles) -> Paragraph:
    for number, value in settings(said):
        if not value:
            continue
        if number in _SWITCHES:
            paragraph = replace(paragraph, **{_SWITCHES[number]: value[0] != 0})
        elif number == 0x6649:  # how many tables it is in
            paragraph = replace(paragraph, in_table=value != b"\0\0\0\0")
        elif number == 0x2640:
            level = value[0] + 1 if value[0] < NO_OUTLINE else None
            paragraph = replace(paragraph, level=level)
        elif number == 0x260A:
            paragraph = replace(paragraph, list_level=min(value[0], 8))
        elif number == 0x460B and len(value) == 2:
            paragraph = replace(paragraph, list_number=struct.unpack("<h", value)[0])
        elif number == 0x4600 and len(value) == 2:
            paragraph = styles.paragraph(struct.unpack("<H", value)[0])
        elif number in _HUGE and len(value) == 4 and data:
            at = struct.unpack("<I", value)[0]
            length = int.from_bytes(data[at : at + 2], "little")
            paragraph = _applied(paragraph, data[at + 2 : at + 2 + length], b"", styles)
    return paragraph


def _paragraph_bytes(page: bytes, at: int) -> bytes:
    if page[at]:
        return page[at + 1 : at + 2 * page[at]]
    return page[at + 2 : at + 2 + 2 * page[at + 1]] if at + 1 < len(page) else b""


def _counted(style: bytes, at: int) -> tuple[bytes, int]:
    """The data after its length, and where it continues."""
    at += at & 1
    if at + 2 > len(style):
        return b"", at
    end = at + 2 + int(struct.unpack_from("<H", style, at)[0])
    return style[at + 2 : end], end


def _seen(said: bytes, styles: _Styles) -> tuple[bool, bool, tuple[int, int] | None]:
    """Whether it is hidden, whether that is the opposite of its style, and its sign."""
    hidden = deleted = b""
    style_hides = False
    symbol = None
    for number, value in settings(said):
        if number == _HIDDEN:
            hidden = value[:1]
        elif number == _DELETED:
            deleted = value[:1]
        elif number == 0x4A30 and len(value) == 2:
            style_hides = styles.hides(struct.unpack("<H", value)[0])
        elif number == 0x6A09 and len(value) == 4:
            font, place = struct.unpack("<HH", value)
            symbol = (font, place)
    if deleted in _ON:
        return True, False, symbol
    is_opposite = hidden == _OPPOSITE and symbol is None
    return hidden in _ON and not (is_opposite and style_hides), is_opposite, symbol
