"""Reads the records of a PowerPoint file (97 to 2003), the newest version of each."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from kb.engine.ingest.extract.ole.compound import Compound

_DOCUMENT, _USER = "PowerPoint Document", "Current User"
_BESIDE_95 = "PP97_DUALSTORAGE"  # where they are in a file that PowerPoint 95 can read, too
_LOCKED = 0xF3D1C4DF
_EDIT, _DIRECTORY = 4085, 6002
_MOST_EDITS = 1_000
_CONTAINER = 0xF
_TAGS = 5003  # holds records without being marked so
_DEEPEST = 30  # records within each other


class Record(NamedTuple):
    """`instance` distinguishes records of one kind; `data` is the content."""

    kind: int
    instance: int
    is_container: bool
    data: bytes

    def children(self) -> Iterator["Record"]:
        return records(self.data) if self.is_container or self.kind == _TAGS else iter(())

    def first(self, kind: int) -> "Record | None":
        return next((child for child in self.children() if child.kind == kind), None)

    def within(self, *kinds: int, depth: int = 0) -> Iterator["Record"]:
        """Those of some kinds, however deep, from first to last."""
        for child in self.children():
            if child.kind in kinds:
                yield child
            elif depth < _DEEPEST:
                yield from child.within(*kinds, depth=depth + 1)

    @property
    def text(self) -> str:
        return self.data[: len(self.data) & ~1].decode("utf-16-le", "replace")


def records(data: bytes) -> Iterator[Record]:
    at = 0
    while at + 8 <= len(data):
        head, kind, length = struct.unpack_from("<HHI", data, at)
        inside = data[at + 8 : at + 8 + length]
        yield Record(kind, head >> 4, head & 0xF == _CONTAINER, inside)
        at += 8 + length


class Presentation:
    """The records that are in force, by their numbers. Raises PasswordNeeded and DamagedFile."""

    def __init__(self, compound: Compound) -> None:
        self._stream = compound.stream(f"{_BESIDE_95}/{_DOCUMENT}", _DOCUMENT)
        user = compound.stream(f"{_BESIDE_95}/{_USER}", _USER)
        self._places: dict[int, int] = {}
        self._document = 0
        if len(user) >= 20:
            token, edit = struct.unpack_from("<II", user, 12)
            if token == _LOCKED:
                raise compound.locked()
            self._follow(edit)
        if self._document not in self._places:
            self._follow(self._last_edit())
        document = self.record(self._document)
        if document is None:
            raise compound.damaged("it does not say which of its parts is the document")
        self.document = document

    def record(self, number: int) -> Record | None:
        place = self._places.get(number)
        return None if place is None else self._at(place)

    def _follow(self, edit: int) -> None:
        """From the last save back to the first; newer versions win."""
        seen: set[int] = set()
        while 0 < edit < len(self._stream) and edit not in seen and len(seen) < _MOST_EDITS:
            seen.add(edit)
            record = self._at(edit)
            if record is None or record.kind != _EDIT or len(record.data) < 20:
                return
            _, _, before, directory, document = struct.unpack_from("<5I", record.data)
            self._document = self._document or document
            self._read_directory(self._at(directory))
            edit = before

    def _at(self, place: int) -> Record | None:
        if place + 8 > len(self._stream):
            return None
        length = struct.unpack_from("<I", self._stream, place + 4)[0]
        return next(records(self._stream[place : place + 8 + length]), None)

    def _read_directory(self, record: Record | None) -> None:
        if record is None or record.kind != _DIRECTORY:
            return
        at = 0
        while at + 4 <= len(record.data):
            word = struct.unpack_from("<I", record.data, at)[0]
            first, count = word & 0xFFFFF, word >> 20
            at += 4
            for number in range(min(count, (len(record.data) - at) // 4)):
                place = struct.unpack_from("<I", record.data, at + 4 * number)[0]
                self._places.setdefault(first + number, place)
            at += 4 * count

    def _last_edit(self) -> int:
        """By looking for it, in a file that does not say where it is."""
        at = last = 0
        while at + 8 <= len(self._stream):
            kind, length = struct.unpack_from("<HI", self._stream, at + 2)
            last = at if kind == _EDIT else last
            at += 8 + length
        return last
