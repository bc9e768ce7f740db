"""Reads the texts in the records of an EMF drawing."""

import struct
from collections.abc import Iterator

from kb.engine.ingest.extract.pictures.metafile.lines import MOST_RECORDS, Drawn

_OLD_TEXT, _TEXT, _SMALL_TEXT, _COMMENT, _END = 83, 84, 108, 70, 14
_GLYPHS = 0x10  # numbers of a font's drawings instead of letters
_NO_FRAME, _NARROW = 0x100, 0x200
_PLUS = b"EMF+"
_STRING, _DRIVER_STRING, _LETTERS = 0x401C, 0x4036, 1
_MOST_LETTERS = 10_000


def is_emf(data: bytes) -> bool:
    return data[:4] == b"\1\0\0\0" and data[40:44] == b" EMF"


def texts(data: bytes) -> Iterator[Drawn]:
    """Newer programs draw twice, for those who know the newer records and for all others."""
    newer: list[Drawn] = []
    found = False
    for kind, record in _records(data):
        try:
            if kind in (_TEXT, _OLD_TEXT):
                drawn = _text(record, wide=kind == _TEXT)
            elif kind == _SMALL_TEXT:
                drawn = _small_text(record)
            elif kind == _COMMENT and record[12:16] == _PLUS and not found:
                newer += _plus(record[16:])
                continue
            else:
                continue
        except struct.error:
            continue
        if drawn is not None:
            found = True
            yield drawn
    if not found:
        yield from newer


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    for _ in range(MOST_RECORDS):
        if at + 8 > len(data):
            return
        kind, size = struct.unpack_from("<II", data, at)
        if size < 8 or kind == _END:
            return
        yield kind, data[at : at + size]
        at += size


def _text(record: bytes, *, wide: bool) -> Drawn | None:
    x, y, count, at, options = struct.unpack_from("<iiIII", record, 36)
    if options & _GLYPHS or not 0 < count <= _MOST_LETTERS:
        return None
    widths = struct.unpack_from("<I", record, 72)[0]
    width = 0
    if widths and widths + 4 * count <= len(record):
        width = sum(struct.unpack_from(f"<{count}I", record, widths)) & 0x7FFFFFFF
    letters = record[at : at + count * (2 if wide else 1)]
    return Drawn(x, y, width, _decoded(letters, wide=wide))


def _small_text(record: bytes) -> Drawn | None:
    x, y, count, options = struct.unpack_from("<iiII", record, 8)
    if options & _GLYPHS or not 0 < count <= _MOST_LETTERS:
        return None
    at = 36 if options & _NO_FRAME else 52
    wide = not options & _NARROW
    return Drawn(x, y, 0, _decoded(record[at : at + count * (2 if wide else 1)], wide=wide))


def _plus(data: bytes) -> Iterator[Drawn]:
    """Those of the newer records, which stand in comments for older programs."""
    at = 0
    while at + 12 <= len(data):
        kind, _, size, length = struct.unpack_from("<HHII", data, at)
        inside = data[at + 12 : at + 12 + length]
        if kind == _STRING and len(inside) >= 28:
            count, x, y = struct.unpack_from("<Iff", inside, 8)
            letters = inside[28 : 28 + 2 * min(count, _MOST_LETTERS)]
            yield Drawn(_whole(x), _whole(y), 0, _decoded(letters, wide=True))
        elif kind == _DRIVER_STRING and len(inside) >= 16:
            _, options, _, count = struct.unpack_from("<IIII", inside)
            letters = inside[16 : 16 + 2 * min(count, _MOST_LETTERS)]
            if options & _LETTERS and len(inside) >= 24 + len(letters):
                x, y = struct.unpack_from("<ff", inside, 16 + len(letters))
                yield Drawn(_whole(x), _whole(y), 0, _decoded(letters, wide=True))
        at += max(size, 12)


def _whole(value: float) -> int:
    return int(value) if abs(value) < 2**31 else 0  # not so for what is no number, too


def _decoded(letters: bytes, *, wide: bool) -> str:
    return letters.decode("utf-16-le" if wide else "cp1252", "replace")
