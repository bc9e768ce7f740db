"""An archive in, the names in it out as they are written, to look for some without unpacking it."""

import struct
from pathlib import Path

_END = b"PK\x05\x06"
_END_WITHIN = 2**16 + 22  # bytes: the end of an archive and its longest comment
_LARGEST_LIST = 8 * 2**20  # bytes


def list_of_contents(path: Path) -> bytes:
    """The names in an archive and what is between them; all else if it is not where it should be:
    its reader says what is wrong with it."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_WITHIN))
        tail = file.read()
        at = tail.rfind(_END)
        if at < 0 or len(tail) < at + 22:
            return b""
        length, start = struct.unpack_from("<II", tail, at + 12)
        file.seek(min(start, size))
        return file.read(min(length, _LARGEST_LIST))
