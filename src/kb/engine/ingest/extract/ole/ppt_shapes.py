"""Reads the texts on a slide in the order in which they were drawn."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kb.engine.ingest.extract.ole.ppt_records import Record, records

_DRAWING, _GROUP, _SHAPE, _TEXT_BOX, _PLACE = 1036, 0xF003, 0xF004, 0xF00D, 0xF00F
_MORE_PROPERTIES, _TABLE_PROPERTY = (0xF122, 0xF121), 0x039F
_TEXT_HEADER, _WIDE_TEXT, _TEXT, _STYLE, _REFERENCE = 3999, 4000, 4008, 4001, 3998
_CLIENT_DATA, _PLACEHOLDER = 0xF011, 3011
_OTHER = 4  # the kind of a text that says nothing of itself
_DEEPEST = 20
_MOST_CELLS = 10_000


@dataclass
class Text:
    """Paragraphs, parted by carriage returns; `kind` tells a title from a list; and how deep each
    paragraph is."""

    words: str = ""
    kind: int = _OTHER
    levels: list[int] = field(default_factory=list)


@dataclass
class Shape:
    text: Text
    rows: list[list[str]] = field(default_factory=list)  # of a table
    is_placeholder: bool = False

    @property
    def kind(self) -> int:
        return self.text.kind


def texts(records: Iterable[Record]) -> Iterator[Text]:
    """What begins with a header is a text; how it is set follows."""
    current: Text | None = None
    for record in records:
        if record.kind == _TEXT_HEADER:
            if current is not None:
                yield current
            kind = struct.unpack_from("<I", record.data.ljust(4, b"\0"))[0]
            current = Text(kind=kind)
        elif record.kind == _WIDE_TEXT and current is not None:
            current.words = record.text
        elif record.kind == _TEXT and current is not None:
            current.words = record.data.decode("latin-1")
        elif record.kind == _STYLE and current is not None:
            current.levels = _levels(record.data, current.words)
    if current is not None:
        yield current


def shapes(slide: Record, outline: list[Text]) -> Iterator[Shape]:
    """`outline` holds the texts of the slide that are kept elsewhere."""
    drawing = slide.first(_DRAWING)
    if drawing is not None:
        for container in drawing.children():
            for group in container.children():
                if group.kind == _GROUP:
                    yield from _in_group(group, outline, 0)
                elif group.kind == _SHAPE:
                    yield from _in_shape(group, outline)


def _in_group(group: Record, outline: list[Text], depth: int) -> Iterator[Shape]:
    members = list(group.children())
    if members and _is_table(members[0]):
        rows = _rows(members[1:], outline)
        if rows:
            yield Shape(Text(), rows)
        return
    for member in members:
        if member.kind == _GROUP and depth < _DEEPEST:
            yield from _in_group(member, outline, depth + 1)
        elif member.kind == _SHAPE:
            yield from _in_shape(member, outline)


def _in_shape(shape: Record, outline: list[Text]) -> Iterator[Shape]:
    box = shape.first(_TEXT_BOX)
    if box is None:
        return
    data = shape.first(_CLIENT_DATA)
    is_placeholder = data is not None and any(r.kind == _PLACEHOLDER for r in records(data.data))
    # A box is not marked as one that holds records, but it does.
    inside = list(records(box.data))
    for record in inside:
        if record.kind == _REFERENCE and len(record.data) >= 4:
            number = struct.unpack_from("<I", record.data)[0]
            if number < len(outline):
                yield Shape(outline[number])
    for text in texts(inside):
        if text.words.strip():
            yield Shape(text, is_placeholder=is_placeholder)


def _is_table(shape: Record) -> bool:
    for properties in shape.children():
        if properties.kind in _MORE_PROPERTIES:
            for at in range(0, min(6 * properties.instance, len(properties.data) - 5), 6):
                number, value = struct.unpack_from("<HI", properties.data, at)
                if number & 0x3FFF == _TABLE_PROPERTY:
                    return bool(value & 1)
    return False


def _rows(members: list[Record], outline: list[Text]) -> list[list[str]]:
    """The cells of a table are drawn like all else: those of a row begin at one height."""
    cells: dict[int, dict[int, str]] = {}
    for member in members[:_MOST_CELLS]:
        place = member.first(_PLACE)
        if place is None or len(place.data) < 16:
            continue
        left, top = struct.unpack_from("<ii", place.data)
        words = [shape.text.words for shape in _in_shape(member, outline)]
        if words or member.first(_TEXT_BOX) is not None:
            cells.setdefault(top, {})[left] = " ".join(" ".join(words).split())
    columns = sorted({left for row in cells.values() for left in row})
    rows = [[cells[top].get(left, "") for left in columns] for top in sorted(cells)]
    return [row for row in rows if any(row)]


def _levels(data: bytes, words: str) -> list[int]:
    """How deep each paragraph is, from runs of characters that begin the record."""
    levels: list[int] = []
    lengths = [len(paragraph) + 1 for paragraph in words.split("\r")]
    at = covered = reached = 0
    total = len(words) + 1
    while covered < total and at + 10 <= len(data):
        count, level, mask = struct.unpack_from("<IHI", data, at)
        at += 10 + _size(mask, data, at + 10)
        covered += count
        while len(levels) < len(lengths) and reached < covered:
            reached += lengths[len(levels)]
            levels.append(min(level, 4))
        if not count:
            break
    return levels


# Bytes that each property of a paragraph takes, by its bit; the order of bits is not that of bytes,
# which does not matter to a sum.
_SIZES = {7: 2, 4: 2, 6: 2, 5: 4, 11: 2, 12: 2, 13: 2, 14: 2, 8: 2, 10: 2, 15: 2, 16: 2, 21: 2}
_FLAGS = 0xF  # four of them share two bytes
_LINE_RULES = 0x000E0000
_TABS = 1 << 20


def _size(mask: int, data: bytes, at: int) -> int:
    size = 2 if mask & _FLAGS else 0
    size += sum(length for bit, length in _SIZES.items() if mask >> bit & 1)
    size += 2 if mask & _LINE_RULES else 0
    if mask & _TABS and at + size + 2 <= len(data):
        size += 2 + 4 * struct.unpack_from("<H", data, at + size)[0]
    return size
