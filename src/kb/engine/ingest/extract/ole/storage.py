"""Turns a storage of a compound file into a compound file, so that it can be read like any file."""

import struct

from kb.engine.ingest.extract.ole.compound import Compound

_SECTOR, _SMALL_SECTOR, _SMALL = 4_096, 64, 4_096
_END, _NONE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_MOST_ENTRIES = 300
_LARGEST = 32 * 2**20
_IN_HEAD = 109  # sectors of the table that the head names


class _Entry:
    def __init__(self, name: str, kind: int, data: bytes = b"") -> None:
        self.name, self.kind, self.data = name, kind, data
        self.start, self.right, self.child = _END, _NONE, _NONE


def as_file(compound: Compound, path: list[str]) -> bytes | None:
    """None for one that is too large."""
    entries = [_Entry("Root Entry", _ROOT)]
    last: dict[tuple[str, ...], int] = {}  # the newest entry of each storage
    known = {tuple(path): 0}
    left = _LARGEST
    for full in compound.names():
        if full[: len(path)] != path or len(full) == len(path):
            continue
        is_stream = compound.is_stream(full)
        data = compound.stream("/".join(full)) if is_stream else b""
        left -= len(data)
        if left < 0 or len(entries) > _MOST_ENTRIES:
            return None
        number, around = len(entries), tuple(full[:-1])
        entries.append(_Entry(full[-1], _STREAM if is_stream else _STORAGE, data))
        known[tuple(full)] = number
        if around in last:
            entries[last[around]].right = number
        elif around in known:
            entries[known[around]].child = number
        last[around] = number
    return _written(entries)


def _written(entries: list[_Entry]) -> bytes | None:
    """Small streams share the sectors of the root, as every reader expects."""
    sectors, small = _Sectors(_SECTOR), _Sectors(_SMALL_SECTOR)
    for entry in entries[1:]:
        entry.start = (small if len(entry.data) < _SMALL else sectors).place(entry.data)
    entries[0].data = bytes(small.data)
    entries[0].start = sectors.place(entries[0].data)
    small_table = struct.pack(f"<{len(small.following)}I", *small.following)
    small_start = sectors.place(small_table)
    directory = sectors.place(b"".join(map(_packed, entries)))
    count = len(sectors.following)
    tables = -(-(count + _IN_HEAD) // (_SECTOR // 4))
    if tables > _IN_HEAD:
        return None
    chain = [*sectors.following, *[_TABLE] * tables]
    chain += [_NONE] * (tables * (_SECTOR // 4) - len(chain))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<5H6x", 0x3E, 4, 0xFFFE, 12, 6)
    head += struct.pack("<4I", 1, tables, directory, 0)
    head += struct.pack("<5I", _SMALL, small_start, -(-len(small_table) // _SECTOR), _END, 0)
    head += struct.pack(f"<{tables}I", *range(count, count + tables))
    head += struct.pack(f"<{_IN_HEAD - tables}I", *[_NONE] * (_IN_HEAD - tables))
    return head.ljust(_SECTOR, b"\0") + bytes(sectors.data) + struct.pack(f"<{len(chain)}I", *chain)


class _Sectors:
    """Streams one after the other, and which sector follows each."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.data = bytearray()
        self.following: list[int] = []

    def place(self, data: bytes) -> int:
        """Its position."""
        count = -(-len(data) // self._size)
        if not count:
            return _END
        start = len(self.following)
        self.data += data.ljust(count * self._size, b"\0")
        self.following += [*range(start + 1, start + count), _END]
        return start


def _packed(entry: _Entry) -> bytes:
    name = (entry.name[:31] + "\0").encode("utf-16-le")[:64]
    packed = name.ljust(64, b"\0") + struct.pack("<HBB", len(name), entry.kind, 1)
    packed += struct.pack("<3I", _NONE, entry.right, entry.child) + bytes(36)
    return packed + struct.pack("<IQ", entry.start, len(entry.data))
