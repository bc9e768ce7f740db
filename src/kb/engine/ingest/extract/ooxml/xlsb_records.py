"""Reads the records in a binary part of a workbook, and their values."""

import struct
from collections.abc import Iterator

_WIDEST_STRING = 32_767  # characters, as in Excel


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The number of each and what it holds. Ends where the part is cut off."""
    at = 0
    while at < len(data):
        kind = data[at]
        at += 1
        if kind & 0x80:
            if at >= len(data):
                return
            kind = (kind & 0x7F) | (data[at] & 0x7F) << 7
            at += 1
        length = shift = 0
        while at < len(data) and shift < 28:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        yield kind, data[at : at + length]
        at += length


def string(data: bytes, at: int) -> tuple[str, int]:
    """A text after its length, and where it ends; a missing text has no length at all."""
    if at + 4 > len(data):
        return "", len(data)
    length = struct.unpack_from("<I", data, at)[0]
    if length == 0xFFFFFFFF:
        return "", at + 4
    end = at + 4 + 2 * length
    text = data[at + 4 : end]
    text = text[: 2 * _WIDEST_STRING]
    return text[: len(text) & ~1].decode("utf-16-le", "replace"), end


def small_number(data: bytes) -> float:
    """A number in four bytes: whole or not, and in hundredths or not."""
    word = struct.unpack("<i", data)[0]
    if word & 2:
        number = float(word >> 2)
    else:
        number = float(struct.unpack("<d", b"\0\0\0\0" + struct.pack("<i", word & ~3))[0])
    return number / 100 if word & 1 else number
