"""Objects in RTF files, which are written as digits."""

import binascii
import re
import struct
from collections.abc import Iterator
from functools import partial

from kb.engine.ingest.extract.embedded.found import File, Found
from kb.engine.ingest.extract.embedded.object import file_of, packaged
from kb.engine.ingest.extract.extraction import Source

_MAX_BYTES = 64 * 2**20
_DATA = re.compile(rb"\\objdata\b([0-9A-Fa-f\s]{40,})")
_EMBEDDED = 2


def found(source: Source) -> Iterator[Found]:
    with source.path.open("rb") as file:
        text = file.read(_MAX_BYTES)
    for number, match in enumerate(_DATA.finditer(text), start=1):
        yield Found(f"object {number}", partial(_file, match[1]))


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
