"""What stands before the items of lists in old Word files."""

import struct
from types import SimpleNamespace

from kb.engine.ingest.extract.ole.doc_lists import Lists

DIGITS, LETTERS, ORDINAL = 0, 3, 5
OWN_LEVEL, OWN_START = 0x20, 0x10


def level(kind, start=1):
    """One that is written as its number alone."""
    return struct.pack("<iB", start, kind) + bytes(23) + struct.pack("<H", 1) + b"\0\0"


def lists(kind, *uses):
    """One list of one level, and what refers to it: each as it is, or with a level of its own."""
    structure = struct.pack("<h", 1) + struct.pack("<i", 7) + bytes(22) + b"\x01\0"
    heads = b"".join(struct.pack("<i", 7) + bytes(8) + bytes([bool(own), 0, 0, 0]) for own in uses)
    bodies = b"".join(bytes(4) + own for own in uses)
    parts = {73: structure, 74: struct.pack("<I", len(uses)) + heads + bodies}
    file = SimpleNamespace(is_old=False, structure=parts.get, behind=lambda _: level(kind))
    return Lists(file)


def test_ordinals_are_written_as_in_english():
    marks = lists(ORDINAL, b"")
    counted = [marks.mark(1, 0) for _ in range(23)]
    assert counted[:4] == ["1st", "2nd", "3rd", "4th"]
    assert counted[10:13] == ["11th", "12th", "13th"]
    assert counted[20:] == ["21st", "22nd", "23rd"]


def test_a_list_may_be_counted_otherwise_where_it_is_referred_to():
    own = struct.pack("<iI", 0, OWN_LEVEL | OWN_START) + level(LETTERS)
    marks = lists(DIGITS, b"", own)
    assert [marks.mark(1, 0), marks.mark(1, 0)] == ["1", "2"]
    assert [marks.mark(2, 0), marks.mark(2, 0)] == ["A", "B"]
