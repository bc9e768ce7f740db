"""Reads what xlrd skips in the records of a workbook (BIFF): text boxes, headers and footers, and
the words of charts."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xlrd.book import unpack_SST_table

_BOF = (0x0809, 0x0409, 0x0209, 0x0009)
_EOF, _CONTINUE, _SHEET = 0x000A, 0x003C, 0x0085
_HEADER, _FOOTER = 0x0014, 0x0015
_OBJECT, _TEXT_OBJECT, _NOTE_OBJECT = 0x005D, 0x01B6, 0x0019
_PICTURE_OF_OBJECT = b"\x09\0"
_SERIES_TEXT, _NAME, _TEXTS, _UNKNOWN = 0x100D, 0x0018, 0x00FC, 0x0FFE
_WIDE = 0x0600  # the version whose strings may be in Unicode
_MOST_TEXTS = 10_000


class Record(NamedTuple):
    kind: int
    data: bytes


@dataclass
class Sheet:
    """A sheet by its name; one that holds cells, or a chart alone."""

    name: str
    hidden: bool
    has_cells: bool
    margins: list[str] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=list)  # what is said of them


def sheets(workbook: bytes, codec: str) -> list[Sheet]:
    """In their order."""
    found: list[Sheet] = []
    wide = workbook[4:6] == struct.pack("<H", _WIDE)
    for record in records(workbook, 0):
        if record.kind == _SHEET and len(record.data) > 7:
            position, state, kind = struct.unpack_from("<IBB", record.data)
            # Its name has its length before it, as every string of one or two bytes each.
            name = _string(record.data[6:], 1, wide=wide, codec=codec)
            sheet = Sheet(name, state & 3 != 0, kind == 0)
            if kind in (0, 2):  # others are macros
                found.append(sheet)
                _fill(sheet, workbook, position, wide=wide, codec=codec)
        elif record.kind == _EOF:
            break
    return found


def records(workbook: bytes, position: int) -> Iterator[Record]:
    while position + 4 <= len(workbook):
        kind, length = struct.unpack_from("<HH", workbook, position)
        yield Record(kind, workbook[position + 4 : position + 4 + length])
        position += 4 + length


def without_names(workbook: bytes) -> bytes:
    """The workbook with the formulas of names made unreadable, at the same places. xlrd would work
    them out, gives a file up over one that it does not understand, and nobody sees them."""
    changed = bytearray(workbook)
    position = 0
    for kind, data in records(workbook, 0):
        if kind == _NAME:
            struct.pack_into("<H", changed, position, _UNKNOWN)
        elif kind == _EOF:
            break
        position += 4 + len(data)
    return bytes(changed)


def with_fewer_texts(workbook: bytes) -> bytes:
    """The workbook with the true number of texts: xlrd gives up over one that says it has more."""
    position = 0
    parts: list[bytes] = []
    for kind, data in records(workbook, 0):
        if kind == _TEXTS or (kind == _CONTINUE and parts):
            parts.append(data)
        elif parts or kind == _EOF:
            break
        position += 4 + len(data) if not parts else 0
    if not parts or len(parts[0]) < 8:
        return workbook
    fewest, most = 0, struct.unpack_from("<I", parts[0], 4)[0]
    while fewest < most:
        between = (fewest + most + 1) // 2
        if _has_texts(parts, between):
            fewest = between
        else:
            most = between - 1
    changed = bytearray(workbook)
    struct.pack_into("<I", changed, position + 8, fewest)
    return bytes(changed)


def _has_texts(parts: list[bytes], count: int) -> bool:
    try:
        unpack_SST_table(parts, count)
    except (AssertionError, IndexError, struct.error, UnicodeDecodeError):
        return False
    return True


def _fill(sheet: Sheet, workbook: bytes, position: int, *, wide: bool, codec: str) -> None:
    is_note = False
    expected = 0  # characters of a text box that come in the next record
    for depth, kind, data in _within(workbook, position):
        if kind in (_HEADER, _FOOTER) and depth == 1 and data:
            text = _string(data, 2 if wide else 1, wide=wide, codec=codec)
            sheet.margins += [text] if text else []
        elif kind == _OBJECT and len(data) >= 6:
            is_note = struct.unpack_from("<H", data, 4)[0] == _NOTE_OBJECT
            if _PICTURE_OF_OBJECT in data and len(sheet.objects) < _MOST_TEXTS:
                sheet.objects.append(data)
        elif kind == _TEXT_OBJECT and len(data) >= 12 and not is_note:
            expected = struct.unpack_from("<H", data, 10)[0]
        elif kind == _CONTINUE and expected and data:
            text = data[1:].decode("utf-16-le" if data[0] & 1 else "latin-1", "replace")[:expected]
            sheet.boxes.append(text)
            expected -= len(text)
        elif kind == _SERIES_TEXT and len(data) > 3:
            text = _string(data[2:], 1, wide=wide, codec=codec)
            sheet.charts += [text] if text and text not in sheet.charts else []
        if kind != _CONTINUE and kind != _TEXT_OBJECT:
            expected = 0
        if len(sheet.boxes) + len(sheet.charts) + len(sheet.margins) > _MOST_TEXTS:
            return


def _within(workbook: bytes, position: int) -> Iterator[tuple[int, int, bytes]]:
    """The records of the sheet that begins there, and how deep in it each one is."""
    depth = 0
    for kind, data in records(workbook, position):
        if kind in _BOF:
            depth += 1
        elif kind == _EOF:
            depth -= 1
            if depth <= 0:
                return
        yield depth, kind, data


def _string(data: bytes, width: int, *, wide: bool, codec: str) -> str:
    """A string behind its length, which takes `width` bytes."""
    length = int.from_bytes(data[:width], "little")
    if not wide:
        return data[width : width + length].decode(codec, "replace")
    two_bytes = len(data) > width and data[width] & 1
    text = data[width + 1 :].decode("utf-16-le" if two_bytes else "latin-1", "replace")
    return text[:length]
