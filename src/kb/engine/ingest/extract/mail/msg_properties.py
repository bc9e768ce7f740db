"""The numbered properties that Outlook stores for a mail, a person or a file."""

import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.ole.compound import Compound
from kb.engine.ingest.extract.rtf.codepages import of_page

_TEXT, _OLD_TEXT, _BYTES, _TIME, _NUMBER, _TRUTH = 0x001F, 0x001E, 0x0102, 0x0040, 0x0003, 0x000B
_DOUBLE = 0x0005
_PAGES = (0x3FDE, 0x3FFD)  # of a web page, and of old texts
_CLASS = 0x001A
_HEADS = (32, 24, 8)  # bytes before the properties: of a mail, of one within, of anything else
_FIRST_NAMED = 0x8000
_LARGEST = 64 * 2**20


Fixed = Mapping[tuple[int, int], bytes]  # by number and kind


class Properties:
    """`fixed` are those of a few bytes; `stream` reads others by number and kind. `names` are the
    numbers that this file gives to what has none, such as the times of a meeting; `page` is the
    charset of the mail around, in which people and files are written."""

    def __init__(
        self,
        fixed: Fixed,
        stream: Callable[[int, int], bytes],
        names: Mapping[int, int] | None = None,
        page: int = 0,
    ) -> None:
        self._fixed = fixed
        self._stream = stream
        self._names = names or {}
        self.page = self.number(_PAGES[1]) or self.number(_PAGES[0]) or page

    def text(self, number: int) -> str:
        wide = self._stream(number, _TEXT)
        if wide:
            return wide[: len(wide) & ~1].decode("utf-16-le", "replace").rstrip("\0")
        old = self._stream(number, _OLD_TEXT)
        return decode(old, of_page(self.page) if self.page else None).rstrip("\0") if old else ""

    def binary(self, number: int) -> bytes:
        return self._stream(number, _BYTES)

    def number(self, number: int) -> int:
        value = self._fixed.get((number, _NUMBER), self._fixed.get((number, _TRUTH), b""))
        return int.from_bytes(value[:4], "little", signed=len(value) >= 4)

    def date(self, number: int) -> datetime | None:
        value = self._fixed.get((number, _TIME))
        if value is None or len(value) != 8:
            return None
        ticks = struct.unpack("<Q", value)[0]  # of a tenth of a microsecond
        try:
            return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
        except OverflowError:
            return None

    def named(self, name: int) -> int:
        """The number of a property that has a name; 0, which no property has, if it is missing."""
        return self._names.get(name, 0)

    def decimal(self, number: int) -> float:
        value = self._fixed.get((number, _DOUBLE), b"")
        return float(struct.unpack("<d", value)[0]) if len(value) == 8 else 0.0

    @property
    def charset(self) -> str:
        """Of the web page, as mails write it behind its kind."""
        page = self.number(_PAGES[0])
        return f"; charset={of_page(page)}" if page else ""

    @property
    def message_class(self) -> str:
        return self.text(_CLASS)


def names_in(compound: Compound) -> dict[int, int]:
    """The numbers of this file by the names that Outlook knows them by, which are numbers, too."""
    data = compound.stream("__nameid_version1.0/__substg1.0_00030102")
    found = {}
    for at in range(0, len(data) - 7, 8):
        name, kind, index = struct.unpack_from("<IHH", data, at)
        if not kind & 1:  # else its name is a word
            found[name] = _FIRST_NAMED + index
    return found


def of_folder(
    compound: Compound, folder: list[str], names: Mapping[int, int] | None = None, page: int = 0
) -> Properties:
    """Those of a folder of an Outlook file."""

    def stream(number: int, kind: int) -> bytes:
        path = "/".join([*folder, f"__substg1.0_{number:04X}{kind:04X}"])
        return compound.stream(path)[:_LARGEST]

    return Properties(_fixed(compound, folder), stream, names, page)


def _fixed(compound: Compound, folder: list[str]) -> Fixed:
    data = compound.stream("/".join([*folder, "__properties_version1.0"]))
    is_mail = not folder or folder[-1].endswith("3701000D")
    head = _HEADS[0] if not folder else _HEADS[1] if is_mail else _HEADS[2]
    found = {}
    for at in range(head, len(data) - 15, 16):
        kind, number = struct.unpack_from("<HH", data, at)
        found[number, kind] = data[at + 8 : at + 16]
    return found
