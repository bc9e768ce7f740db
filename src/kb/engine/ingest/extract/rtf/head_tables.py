"""Reads the tables at the head of an RTF file: fonts, styles, and document information."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.rtf.codepages import DEFAULT, SIGN_FONTS, of_charset, of_page
from kb.engine.ingest.extract.symbols import symbol

_HEADING = re.compile(r"heading ([1-9])")
_LOWEST_HEADING = 9
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}


@dataclass(slots=True)
class _Font:
    name: str = ""
    charset: int | None = None
    page: str | None = None


class Tables:
    """Filled while the head is read, and asked from then on."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self.page_count: int | None = None
        self._dates: dict[str, dict[str, int]] = {}
        self._fonts: dict[int, _Font] = {}
        self._levels: dict[int, int] = {}  # of headings, by style
        self._page = DEFAULT
        self._defined = 0  # the font or style that is being described

    @property
    def title(self) -> str | None:
        return line(self.said.get("title", "")) or None

    @property
    def metadata(self) -> dict[str, Any]:
        return about(
            {
                "author": self.said.get("author"),
                "subject": self.said.get("subject"),
                "keywords": self.said.get("keywords"),
                "description": self.said.get("doccomm"),
                "created": _date(self._dates.get("creatim", {})),
                "modified": _date(self._dates.get("revtim", {})),
            }
        )

    def level(self, style: int) -> int | None:
        """Of a heading, from 1."""
        return self._levels.get(style)

    def decoded(self, data: bytes, font: int | None) -> str:
        """Bytes as text, by the charset of their font."""
        found = self._fonts.get(-1 if font is None else font, _Font())
        if found.charset == SIGN_FONTS:
            return "".join(symbol(found.name, f"{byte:x}") for byte in data)
        page = found.page or of_charset(found.charset) or self._page
        return data.decode(page, "replace").replace("\0", "")

    def character(self, code: int, font: int | None) -> str:
        found = self._fonts.get(-1 if font is None else font, _Font())
        return symbol(found.name, f"{code:x}")

    def set_page(self, word: str, number: int) -> None:
        self._page = _PAGES.get(word) or of_page(number)

    def describe(self, table: str, word: str, number: int) -> None:
        """A control word in one of the tables."""
        if table == "fonttbl":
            if word == "f":
                self._defined = number
            font = self._fonts.setdefault(self._defined, _Font())
            if word == "fcharset":
                font.charset = number
            elif word == "cpg":
                font.page = of_page(number)
        elif table == "stylesheet":
            if word == "s":
                self._defined = number
            elif word == "outlinelevel" and number < _LOWEST_HEADING:
                self._levels[self._defined] = number + 1
        elif table == "info":
            self.page_count = (number or None) if word == "nofpages" else self.page_count
        else:
            self._dates.setdefault(table, {})[word] = number

    def name(self, table: str, text: str) -> None:
        """Text in one of the tables: the name of a font or style."""
        if table == "fonttbl":
            font = self._fonts.setdefault(self._defined, _Font())
            font.name = (font.name + text)[:100].rstrip(";")
        elif table == "stylesheet":
            named = _HEADING.match(text.strip().lower())
            if named:
                self._levels.setdefault(self._defined, int(named[1]))


def _date(parts: dict[str, int]) -> str | None:
    year, month, day = (parts.get(name, 0) for name in ("yr", "mo", "dy"))
    try:
        moment = datetime(year, month, day, parts.get("hr", 0), parts.get("min", 0))
    except (ValueError, OverflowError):
        return None
    return moment.isoformat()
