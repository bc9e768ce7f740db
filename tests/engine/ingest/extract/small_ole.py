"""Small compound files for tests, written by hand, and what Office puts into them."""

import struct
from typing import TypeAlias

Tree: TypeAlias = "dict[str, bytes | Tree]"

_SECTOR, _SMALL_SECTOR, _SMALL = 512, 64, 4_096
_END, _NONE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5


def compound(tree: Tree) -> bytes:
    """A file with these streams, and storages of such."""
    entries: list[dict] = [{"name": "Root Entry", "kind": _ROOT, "data": b""}]
    _list(tree, entries, 0)
    small = b""
    small_next: list[int] = []
    for entry in entries[1:]:
        data = entry["data"]
        if entry["kind"] == _STREAM and 0 < len(data) < _SMALL:
            entry["start"] = len(small) // _SMALL_SECTOR
            count = -(-len(data) // _SMALL_SECTOR)
            small += data.ljust(count * _SMALL_SECTOR, b"\0")
            small_next += [*range(len(small_next) + 1, len(small_next) + count), _END]
    sectors: list[bytes] = []
    following: list[int] = []

    def place(data: bytes) -> int:
        if not data:
            return _END
        start = len(sectors)
        count = -(-len(data) // _SECTOR)
        padded = data.ljust(count * _SECTOR, b"\0")
        sectors.extend(padded[n * _SECTOR : (n + 1) * _SECTOR] for n in range(count))
        following.extend([*range(start + 1, start + count), _END])
        return start

    for entry in entries[1:]:
        if entry["kind"] == _STREAM and len(entry["data"]) >= _SMALL:
            entry["start"] = place(entry["data"])
    entries[0] |= {"data": small, "start": place(small)}
    small_table = b"".join(struct.pack("<I", number) for number in small_next)
    small_start = place(small_table)
    directory = place(b"".join(map(_entry, entries)))
    tables = 1
    while tables * (_SECTOR // 4) < len(sectors) + tables:
        tables += 1
    chain = following + [_TABLE] * tables
    chain += [_NONE] * (tables * (_SECTOR // 4) - len(chain))
    table = struct.pack(f"<{len(chain)}I", *chain)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<4I", 0, tables, directory, 0)
    head += struct.pack("<5I", _SMALL, small_start, -(-len(small_table) // _SECTOR), _END, 0)
    places = [len(sectors) + number for number in range(tables)]
    head += struct.pack("<109I", *places, *[_NONE] * (109 - tables))
    return head + b"".join(sectors) + table


def _list(tree: Tree, entries: list[dict], parent: int) -> None:
    before = None
    for name, inside in tree.items():
        number = len(entries)
        is_stream = isinstance(inside, bytes)
        data = inside if isinstance(inside, bytes) else b""
        entries.append({"name": name, "kind": _STREAM if is_stream else _STORAGE, "data": data})
        if before is None:
            entries[parent]["child"] = number
        else:
            entries[before]["right"] = number
        before = number
        if not isinstance(inside, bytes):
            _list(inside, entries, number)


def _entry(entry: dict) -> bytes:
    name = (entry["name"] + "\0").encode("utf-16-le")
    packed = name.ljust(64, b"\0") + struct.pack("<HBB", len(name), entry["kind"], 1)
    packed += struct.pack("<3I", _NONE, entry.get("right", _NONE), entry.get("child", _NONE))
    packed += bytes(36) + struct.pack("<I", entry.get("start", 0 if entry["data"] == b"" else _END))
    return packed + struct.pack("<Q", len(entry["data"]))


def record(kind: int, data: bytes, instance: int = 0, *, container: bool = False) -> bytes:
    """One of PowerPoint."""
    return struct.pack("<HHI", instance << 4 | (0xF if container else 0), kind, len(data)) + data


def shape(text: str, kind: int = 4, place: tuple[int, int] | None = None) -> bytes:
    """A shape with a text in it: 0 is a title, 1 a list, 2 notes."""
    inside = record(3999, struct.pack("<I", kind)) + record(4000, text.encode("utf-16-le"))
    anchor = record(0xF00F, struct.pack("<4i", *place, 0, 0)) if place else b""
    return record(0xF004, anchor + record(0xF00D, inside), container=True)


def slide(*shapes: bytes, kind: int = 1006, more: bytes = b"") -> bytes:
    group = record(0xF003, b"".join(shapes), container=True)
    drawing = record(1036, record(0xF002, group, container=True), container=True)
    return record(kind, more + drawing, container=True)


def table(rows: list[list[str]]) -> bytes:
    """Which is a group of shapes that says it is a table."""
    said = record(0xF122, struct.pack("<HI", 0x039F, 1), 1)
    cells = [
        shape(text, 4, (100 * column, 50 * number))
        for number, row in enumerate(rows)
        for column, text in enumerate(row)
    ]
    head = record(0xF004, said, container=True)
    return record(0xF003, head + b"".join(cells), container=True)


def ppt(
    slides: list[bytes], notes: list[bytes] = (), *, document: bytes = b"", stored: bytes = b""
) -> bytes:
    """Slides in the order of the list, known to others by 256, 257 and so on. `document` is what
    else is said in it, `stored` an object, whose number comes behind those of slides and notes."""
    parts = [*slides, *notes]
    persists = [
        record(1011, struct.pack("<IIiII", number + 2, 0, 0, 256 + number, 0))
        for number in range(len(parts))
    ]
    lists = record(4080, b"".join(persists[: len(slides)]), 0, container=True)
    lists += record(4080, b"".join(persists[len(slides) :]), 2, container=True)
    stream = record(1000, document + lists, container=True)
    places = [0]
    for part in (*parts, stored):
        places.append(len(stream))
        stream += part
    directory = len(stream)
    stream += record(6002, struct.pack(f"<{len(places) + 1}I", len(places) << 20 | 1, *places))
    edit = len(stream)
    stream += record(4085, struct.pack("<7I", 0, 0, 0, directory, 1, 0, 0))
    user = struct.pack("<8xIII", 20, 0xE391C05F, edit)
    return compound({"Current User": user, "PowerPoint Document": stream.ljust(_SMALL, b"\0")})


def msg(
    texts: dict[int, str],
    *,
    data: dict[int, bytes] | None = None,
    fixed: dict[tuple[int, int], bytes] | None = None,
    parts: "Tree | None" = None,
    head: int = 32,
) -> Tree:
    """A mail of Outlook, or a part of one, by the numbers of its properties."""
    tree: Tree = {f"__substg1.0_{n:04X}001F": text.encode("utf-16-le") for n, text in texts.items()}
    tree |= {f"__substg1.0_{n:04X}0102": value for n, value in (data or {}).items()}
    properties = bytes(head)
    for (number, kind), value in (fixed or {}).items():
        properties += struct.pack("<HHI", kind, number, 6) + value.ljust(8, b"\0")
    tree["__properties_version1.0"] = properties
    return tree | (parts or {})


def wrapped(name: str, data: bytes) -> Tree:
    """A file that was dropped onto a document, as Windows wraps it."""
    called = name.encode() + b"\0"
    inside = struct.pack("<H", 2) + called + called + struct.pack("<II", 0x30000, len(called))
    inside += called + struct.pack("<I", len(data)) + data
    return {"\x01Ole10Native": struct.pack("<I", len(inside)) + inside}
