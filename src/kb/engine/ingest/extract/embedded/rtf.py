"""Objects in RTF files, which are written as hex digits."""

import binascii
import re
import struct
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, islice

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.embedded.found import File, Found, told_apart
from kb.engine.ingest.extract.embedded.object import file_of, packaged
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.markup import Item, join
from kb.engine.ingest.extract.rtf.reader import Reader, TooDeep

_MAX_BYTES = 64 * 2**20
_DATA = re.compile(rb"\\objdata\b([0-9A-Fa-f\s]{40,})")
_OBJECT = rb"{\object"
_MARK, _MARKED = rb"\u10214?\u10215?\u10214?", "⟦⟧⟦"
_EMBEDDED = 2


def found(source: Source) -> Iterator[Found]:
    with source.path.open("rb") as file:
        text = file.read(_MAX_BYTES)
    objects = list(_DATA.finditer(text))
    places = _places(text, objects) or [str(number + 1) for number in range(len(objects))]
    yield from told_apart(
        Found(f"object {place}", partial(_file, match[1]))
        for match, place in zip(objects, places, strict=True)
    )


def _places(text: bytes, objects: list[re.Match[bytes]]) -> list[str]:
    """By the text before them, which is read once more with a mark in the place of each."""
    pieces, end = [], 0
    for match in objects:
        start = max(text.rfind(_OBJECT, end, match.start()), end)
        pieces.append(text[end:start])
        end = start
    marked = _MARK.join([*pieces, text[end:]])
    try:
        items = Reader().read(marked.decode("latin-1"))
    except TooDeep:
        return []
    before = join(item for item in items if isinstance(item, Item)).split(_MARKED)[:-1]
    if len(before) != len(objects):  # one stands where nothing is shown
        return []
    lines = accumulate(before, lambda last, told: next(_with_words(told), last), initial="")
    return [beside(line) for line in islice(lines, 1, None)]


def _with_words(text: str) -> Iterator[str]:
    """The last line first."""
    return (line for line in reversed(text.splitlines()) if line.strip())


def _file(digits: bytes) -> File:
    """As programs handed objects to each other before there were compound files: the program and
    two more names, then the object."""
    written = b"".join(digits.split())
    try:
        data = binascii.unhexlify(written[: len(written) & ~1])
        kind = struct.unpack_from("<I", data, 4)[0]
        at, names = 8, []
        for _ in range(3):
            length = struct.unpack_from("<I", data, at)[0]
            names.append(data[at + 4 : at + 4 + length].rstrip(b"\0").decode("cp1252", "replace"))
            at += 4 + length
        size = struct.unpack_from("<I", data, at)[0]
    except (binascii.Error, struct.error):
        return "damaged ones are not"
    if kind != _EMBEDDED:
        return "links to other files are not"
    inside = data[at + 4 : at + 4 + size]
    return packaged(inside, "object") if names[0] == "Package" else file_of("object", inside)
