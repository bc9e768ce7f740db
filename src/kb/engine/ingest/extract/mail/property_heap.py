"""Reads a mail inside a mail of an Outlook mailbox, for which libpff returns only bytes: a heap of
values and a table of their numbers. Values too large for the heap cannot be reached: texts of more
than 3,580 bytes, people, files."""

import struct
from collections.abc import Iterator
from itertools import islice

from kb.engine.ingest.extract.mail.msg_properties import Properties

LARGEST = 2**20
_HEAP, _OF_PROPERTIES, _TABLE = 0xEC, 0xBC, 0xB5
_BLOCK = 8_176  # bytes of the file that hold one part of a heap
_IN_PLACE = {0x0002: 2, 0x0003: 4, 0x0004: 4, 0x000B: 1}  # bytes of a value that needs no heap
_MOST_PROPERTIES, _MOST_PIECES = 2_000, 200


def properties(data: bytes) -> Properties | None:
    """None where it is no heap of properties."""
    if len(data) < 12 or data[2:4] != bytes((_HEAP, _OF_PROPERTIES)):
        return None
    heap = _Heap(data)
    table = heap.value(struct.unpack_from("<I", data, 4)[0])
    if len(table) < 8 or table[0] != _TABLE:
        return None
    values: dict[tuple[int, int], bytes] = {}
    root, levels = struct.unpack_from("<I", table, 4)[0], table[3]
    for record in islice(_records(heap, root, levels), _MOST_PROPERTIES):
        number, kind, where = struct.unpack("<HHI", record)
        size = _IN_PLACE.get(kind)
        values[number, kind] = record[4 : 4 + size] if size else heap.value(where)
    return Properties(values, lambda number, kind: values.get((number, kind), b""))


def _records(heap: "_Heap", root: int, levels: int) -> Iterator[bytes]:
    """Of a table in pieces, with pieces above them that list others; the last piece first."""
    waiting = [(root, levels)]
    for _ in range(_MOST_PIECES):  # for they may lead in circles
        if not waiting:
            return
        where, above = waiting.pop()
        listed, size = heap.value(where), 6 if above else 8
        for start in range(0, len(listed) - size + 1, size):
            record = listed[start : start + size]
            if above:
                waiting.append((struct.unpack_from("<I", record, 2)[0], above - 1))
            else:
                yield record


class _Heap:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def value(self, where: int) -> bytes:
        """Empty where it lies out of reach, or the bytes make no sense."""
        index, block = where >> 5 & 0x7FF, where >> 16
        if where & 0x1F or not index:
            return b""
        data = self._data[block * _BLOCK : (block + 1) * _BLOCK]
        try:
            (places,) = struct.unpack_from("<H", data, 0)
            (count,) = struct.unpack_from("<H", data, places)
            start, end = struct.unpack_from("<HH", data, places + 4 + 2 * (index - 1))
        except struct.error:
            return b""
        return data[start:end] if index <= count else b""
