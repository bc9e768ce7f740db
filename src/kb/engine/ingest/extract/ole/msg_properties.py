"""A folder of an Outlook file in, its properties by their numbers out."""

import struct
from datetime import UTC, datetime, timedelta

from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.ole.compound import Compound
from kb.engine.ingest.extract.rtf_codepages import of_page

_TEXT, _OLD_TEXT, _BYTES, _TIME, _NUMBER, _TRUTH = 0x001F, 0x001E, 0x0102, 0x0040, 0x0003, 0x000B
_PAGES = (0x3FDE, 0x3FFD)  # of a web page, and of old texts
_CLASS = 0x001A
_HEADS = (32, 24, 8)  # bytes before the properties: of a mail, of one within, of anything else
_LARGEST = 64 * 2**20


class Properties:
    def __init__(self, compound: Compound, folder: list[str]) -> None:
        self._compound = compound
        self._folder = folder
        self._fixed = self._read()

    def text(self, number: int) -> str:
        wide = self._stream(number, _TEXT)
        if wide:
            return wide[: len(wide) & ~1].decode("utf-16-le", "replace").rstrip("\0")
        old = self._stream(number, _OLD_TEXT)
        page = self.number(_PAGES[1]) or self.number(_PAGES[0])
        return decode(old, of_page(page) if page else None).rstrip("\0") if old else ""

    def binary(self, number: int) -> bytes:
        return self._stream(number, _BYTES)

    def number(self, number: int) -> int:
        value = self._fixed.get((number, _NUMBER), self._fixed.get((number, _TRUTH), b"\0" * 8))
        return int(struct.unpack("<i", value[:4])[0])

    def date(self, number: int) -> datetime | None:
        value = self._fixed.get((number, _TIME))
        if value is None:
            return None
        ticks = struct.unpack("<Q", value)[0]  # of a tenth of a microsecond
        try:
            return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
        except OverflowError:
            return None

    @property
    def charset(self) -> str:
        """Of the web page, as mails write it behind its kind."""
        page = self.number(_PAGES[0])
        return f"; charset={of_page(page)}" if page else ""

    @property
    def message_class(self) -> str:
        return self.text(_CLASS)

    def _stream(self, number: int, kind: int) -> bytes:
        path = "/".join([*self._folder, f"__substg1.0_{number:04X}{kind:04X}"])
        return self._compound.stream(path)[:_LARGEST]

    def _read(self) -> dict[tuple[int, int], bytes]:
        data = self._compound.stream("/".join([*self._folder, "__properties_version1.0"]))
        is_mail = not self._folder or self._folder[-1].endswith("3701000D")
        head = _HEADS[0] if not self._folder else _HEADS[1] if is_mail else _HEADS[2]
        found = {}
        for at in range(head, len(data) - 15, 16):
            kind, number = struct.unpack_from("<HH", data, at)
            found[number, kind] = data[at + 8 : at + 16]
        return found
