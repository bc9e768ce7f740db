"""Reads the texts in the records of a WMF drawing, in the charset of each one's font."""

import struct
from collections.abc import Iterator
from heapq import heappop, heappush

from kb.engine.ingest.extract.pictures.metafile.lines import MOST_RECORDS, Drawn
from kb.engine.ingest.extract.rtf.codepages import DEFAULT, SIGN_FONTS, of_charset
from kb.engine.ingest.extract.symbols import symbol

_PLACED = b"\xd7\xcd\xc6\x9a"
_TEXT, _EXTENDED_TEXT = 0x0521, 0x0A32
_FONT, _SELECT, _DELETE = 0x02FB, 0x012D, 0x01F0
_MADE = frozenset({0x00F7, 0x0142, 0x01F9, 0x02FA, _FONT, 0x02FC, 0x06FF})  # what is drawn with
_FRAMED = 6
_MOST_OBJECTS = 10_000


def texts(data: bytes) -> Iterator[Drawn]:
    fonts: dict[int, tuple[int, str] | None] = {}  # by its number; None: something else
    free: list[int] = []  # numbers that are given again, the lowest first
    font: tuple[int, str] | None = None
    for kind, record in _records(data):
        if kind in _MADE:
            if len(fonts) < _MOST_OBJECTS:
                number = heappop(free) if free else len(fonts)
                fonts[number] = _font(record) if kind == _FONT else None
        elif kind in (_SELECT, _DELETE) and len(record) >= 2:
            number = struct.unpack_from("<H", record)[0]
            if kind == _DELETE and number in fonts:
                del fonts[number]
                heappush(free, number)
            elif kind == _SELECT:
                font = fonts.get(number) or font
        elif kind in (_TEXT, _EXTENDED_TEXT):
            try:
                yield _drawn(record, font, extended=kind == _EXTENDED_TEXT)
            except struct.error:
                continue


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 40 if data[:4] == _PLACED else 18
    for _ in range(MOST_RECORDS):
        if at + 6 > len(data):
            return
        size, kind = struct.unpack_from("<IH", data, at)
        if size < 3 or not kind:
            return
        yield kind, data[at + 6 : at + 2 * size]
        at += 2 * size


def _font(record: bytes) -> tuple[int, str] | None:
    """Its charset and its name."""
    name = record[18:50].partition(b"\0")[0].decode("latin-1")
    return (record[13], name) if len(record) > 18 else None


def _drawn(record: bytes, font: tuple[int, str] | None, *, extended: bool) -> Drawn:
    if not extended:
        count = struct.unpack_from("<H", record)[0]
        y, x = struct.unpack_from("<hh", record, 2 + count + count % 2)
        return Drawn(x, y, 0, _decoded(record[2 : 2 + count], font))
    y, x, count, options = struct.unpack_from("<hhHH", record)
    start = 16 if options & _FRAMED else 8
    letters = record[start : start + count]
    widths = record[start + count + count % 2 :]
    width = sum(struct.unpack_from(f"<{count}h", widths)) if len(widths) >= 2 * count else 0
    return Drawn(x, y, max(width, 0), _decoded(letters, font))


def _decoded(letters: bytes, font: tuple[int, str] | None) -> str:
    charset, name = font or (0, "")
    if charset == SIGN_FONTS:
        return "".join(symbol(name, f"{byte:x}") for byte in letters)
    return letters.decode(of_charset(charset) or DEFAULT, "replace")
