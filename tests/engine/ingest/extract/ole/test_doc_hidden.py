"""Which characters of old Word files are hidden, by themselves or as their style has it."""

import struct
from types import SimpleNamespace

import pytest

from kb.engine.ingest.extract.ole.doc_file import Piece
from kb.engine.ingest.extract.ole.doc_formats import Formats

PLAIN, HIDING, BUILT_ON_IT, SHOWN_AGAIN, OF_CHARACTERS = range(5)
OFF, ON, AS_STYLE, OPPOSITE = 0, 1, 0x80, 0x81
TEXT = "word\r"
NO_BASE = 0xFFF


def hidden(value):
    return struct.pack("<HB", 0x083C, value)


def style(number, kind, base, characters):
    said = struct.pack("<5H", 0xFFE, base << 4 | kind, 0, 0, 0) + struct.pack("<H2sH", 1, b"S\0", 0)
    if kind == 1:
        said += struct.pack("<HH", 2, number)
    said += struct.pack("<H", len(characters)) + characters
    said += bytes(len(said) & 1)
    return struct.pack("<H", len(said)) + said


def is_hidden(paragraph_style, characters):
    """A file of one paragraph, whose characters are set in one way."""
    styles = [
        style(PLAIN, 1, NO_BASE, b""),
        style(HIDING, 1, PLAIN, hidden(OPPOSITE)),
        style(BUILT_ON_IT, 1, HIDING, b""),
        style(SHOWN_AGAIN, 1, HIDING, hidden(OFF)),
        style(OF_CHARACTERS, 2, NO_BASE, hidden(OPPOSITE)),
    ]
    parts = {
        1: struct.pack("<HHH", 4, len(styles), 10) + b"".join(styles),
        12: struct.pack("<3I", 0, len(TEXT), 0),
        13: struct.pack("<3I", 0, len(TEXT), 1),
    }
    ends = struct.pack("<2I", 0, len(TEXT))
    of_characters = (ends + b"\x10").ljust(32, b"\0") + bytes([len(characters)]) + characters
    of_paragraphs = (ends + b"\x10").ljust(32, b"\0") + struct.pack("<BBH", 0, 1, paragraph_style)
    file = SimpleNamespace(
        is_old=False,
        structure=lambda index: parts.get(index, b""),
        main=of_characters.ljust(511, b"\0") + b"\x01" + of_paragraphs.ljust(511, b"\0") + b"\x01",
        data=b"",
        place_of=lambda position: position,
        stretches=lambda: [Piece(0, len(TEXT), 0, 1)],
    )
    return list(Formats(file).unusual(0, 4)) == [(0, 4, None)]


@pytest.mark.parametrize(
    ("paragraph_style", "value", "expected"),
    [
        (PLAIN, OFF, False),
        (PLAIN, ON, True),
        (PLAIN, AS_STYLE, False),
        (PLAIN, OPPOSITE, True),
        (HIDING, OFF, False),
        (HIDING, ON, True),
        (HIDING, OPPOSITE, False),
        (BUILT_ON_IT, OPPOSITE, False),
        (SHOWN_AGAIN, OPPOSITE, True),
    ],
)
def test_characters_that_undo_a_hiding_style_are_shown(paragraph_style, value, expected):
    assert is_hidden(paragraph_style, hidden(value)) is expected


def test_the_style_of_characters_may_be_what_they_are_the_opposite_of():
    assert not is_hidden(PLAIN, struct.pack("<HH", 0x4A30, OF_CHARACTERS) + hidden(OPPOSITE))


def test_the_last_that_is_said_of_characters_counts():
    assert not is_hidden(PLAIN, hidden(ON) + hidden(OFF))


def test_deleted_characters_are_hidden_whatever_their_style():
    assert is_hidden(HIDING, struct.pack("<HB", 0x0800, OPPOSITE))
