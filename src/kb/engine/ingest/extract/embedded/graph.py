"""Turns a Microsoft Graph chart into the table it was drawn from, as a file of its own."""

import csv
import io
import struct

from kb.engine.ingest.extract.embedded.found import File
from kb.engine.ingest.extract.number_formats.number_format import built_in, plain, reader_of

_BEGIN, _VERSION = 0x0809, 0x0680
_NUMBER, _LABEL, _WORDS = 0x0003, 0x0004, 0x100D
_MOST_COLUMNS = 4_000
_MOST_CELLS = 200_000


def is_graph(workbook: bytes) -> bool:
    """Whether what looks like a workbook is such a chart: its records are nearly the same."""
    return struct.unpack_from("<HHH", workbook.ljust(6, b"\0"))[::2] == (_BEGIN, _VERSION)


def table_of(workbook: bytes) -> File:
    cells: dict[int, dict[int, str]] = {}
    words: dict[str, None] = {}
    at = count = 0
    while at + 4 <= len(workbook) and count < _MOST_CELLS:
        kind, length = struct.unpack_from("<HH", workbook, at)
        data = workbook[at + 4 : at + 4 + length]
        at += 4 + length
        if kind in (_NUMBER, _LABEL) and len(data) >= 9:
            row, column = struct.unpack_from("<HH", data)
            text = _text(data[7:]) if kind == _LABEL else _shown(data)
            if column < _MOST_COLUMNS:
                cells.setdefault(row, {})[column] = text
                count += 1
        elif kind == _WORDS and len(data) > 3:
            words[_text(data[2:])] = None
    known = {text for row in cells.values() for text in row.values()}
    out = io.StringIO()
    table = csv.writer(out)
    for _, row in sorted(cells.items()):
        table.writerow([row.get(column, "") for column in range(max(row) + 1)])
    table.writerows([each] for each in words if each.strip() and each not in known)
    return ("chart.csv", out.getvalue().encode()) if out.getvalue() else "empty ones are not"


def _text(data: bytes) -> str:
    length, is_wide = data[0], data[1] & 1
    inside = data[2 : 2 + length * (2 if is_wide else 1)]
    return inside.decode("utf-16-le" if is_wide else "latin-1", "replace")


def _shown(data: bytes) -> str:
    if len(data) < 15:
        return ""
    raw = repr(struct.unpack_from("<d", data, 7)[0]).removesuffix(".0")
    code = built_in(data[5])
    return ((reader_of(code) if code else None) or plain)(raw)
