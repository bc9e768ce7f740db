"""Reads a few values of Office's summary information. olefile reads it, too, but believes the
number of values: a file may claim billions."""

import codecs
import struct
from datetime import UTC, datetime, timedelta

_MOST_VALUES = 200
_CODEPAGE, PAGES = 1, 14
TITLE, SUBJECT, AUTHOR, KEYWORDS, COMMENTS, CREATED, SAVED = 2, 3, 4, 5, 6, 12, 13
_SMALL, _NUMBER, _TEXT, _WIDE_TEXT, _TIME = 2, 3, 30, 31, 64
_NO_DATE = 1_601  # the year that an empty one is in


class Summary:
    """Empty where the stream is none, or cut off."""

    def __init__(self, stream: bytes) -> None:
        self._values: dict[int, bytes] = {}  # with their kinds before them
        if len(stream) < 48:
            return
        start = struct.unpack_from("<I", stream, 44)[0]
        section = stream[start:]
        count = struct.unpack_from("<I", section, 4)[0] if len(section) >= 8 else 0
        for number in range(min(count, _MOST_VALUES, max(0, len(section) - 8) // 8)):
            which, place = struct.unpack_from("<II", section, 8 + 8 * number)
            if place + 8 <= len(section):
                self._values.setdefault(which, section[place:])

    def text(self, which: int) -> str:
        kind, value = self._value(which)
        length = int.from_bytes(value[:4], "little")
        if kind == _TEXT:
            return value[4 : 4 + length].decode(self._codec, "replace").partition("\0")[0]
        if kind == _WIDE_TEXT:
            return value[4 : 4 + 2 * length].decode("utf-16-le", "replace").partition("\0")[0]
        return ""

    def number(self, which: int) -> int:
        kind, value = self._value(which)
        if kind == _SMALL:
            return int.from_bytes(value[:2], "little")
        return int.from_bytes(value[:4], "little", signed=True) if kind == _NUMBER else 0

    def date(self, which: int) -> str | None:
        kind, value = self._value(which)
        if kind != _TIME or len(value) < 8:
            return None
        ticks = struct.unpack_from("<Q", value)[0]  # of a tenth of a microsecond
        try:
            moment = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
        except OverflowError:
            return None
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year > _NO_DATE else None

    def _value(self, which: int) -> tuple[int, bytes]:
        value = self._values.get(which, b"")
        return (struct.unpack_from("<I", value)[0] & 0xFFFF, value[4:]) if value else (0, b"")

    @property
    def _codec(self) -> str:
        page = self.number(_CODEPAGE)
        name = {65001: "utf-8", 10000: "mac_roman", 1200: "utf-16-le"}.get(page, f"cp{page}")
        try:
            codecs.lookup(name)
        except LookupError:
            return "cp1252"
        return name
