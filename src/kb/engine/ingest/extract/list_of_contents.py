"""Lists the names in an archive quickly; a broken list is left to the code that unpacks it."""

import struct
from typing import BinaryIO

_END = b"PK\x05\x06"
_END_WITHIN = 2**16 + 22  # bytes: the end of an archive and its longest comment
_LARGEST_LIST = 8 * 2**20  # bytes
_ENTRY = struct.Struct("<4s24x3H12x")  # how long are the name, what is beside it, and a comment
_FIRST = b"PK\x01\x02"


def list_of_contents(file: BinaryIO) -> bytes:
    """The names in an archive and the bytes between them; empty if not found at once."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_WITHIN))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        return b""
    length, start = struct.unpack_from("<II", tail, at + 12)
    file.seek(min(start, size))
    return file.read(min(length, _LARGEST_LIST))


def names_in(contents: bytes) -> list[str]:
    """Names of plain letters as they are, others in some way; none of a list that is odd."""
    names: list[str] = []
    at = 0
    while at + _ENTRY.size <= len(contents):
        mark, name, beside, comment = _ENTRY.unpack_from(contents, at)
        if mark != _FIRST:
            return []
        at += _ENTRY.size
        names.append(contents[at : at + name].decode("latin-1"))
        at += name + beside + comment
    return names if at == len(contents) else []
