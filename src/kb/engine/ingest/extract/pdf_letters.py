"""A page of a PDF in, its text as one string and where each of its letters stands out.

A place in the text is an offset, counted as pdfium does, in UTF-16. Asking for a letter costs about
a microsecond, so a page is not gone through letter by letter.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from ctypes import byref, c_double, c_ushort
from functools import cached_property
from itertools import accumulate
from math import pi
from typing import TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

Box: TypeAlias = pdfium_c.FS_RECTF
Sides = tuple[float, float, float, float]  # left, bottom, right, top

# Times the size of a font.
_ASCENT = 0.75
_DESCENT = 0.25


class Letters:
    def __init__(self, page: pdfium.PdfTextPage) -> None:
        self._page = page.raw  # the helper around it costs as much as a call
        first, count = self._range(page.count_chars())
        self.text = self._read(first, count)
        # Where every character is text, and one unit long, a place is the number of a character.
        self._is_plain = len(self.text) == units(self.text) == page.count_chars()
        self.turn = self._turned()

    def _range(self, count: int) -> tuple[int, int]:
        """From where on, and how many. At both ends may be what is no text; pdfium trips on it.

        pypdfium2 steps over it with one nested call each, which a page can make too many.
        """
        first, last = 0, count - 1
        while first <= last and pdfium_c.FPDFText_GetTextIndexFromCharIndex(self._page, first) < 0:
            first += 1
        while last >= first and pdfium_c.FPDFText_GetTextIndexFromCharIndex(self._page, last) < 0:
            last -= 1
        return first, last - first + 1

    def _read(self, first: int, count: int) -> str:
        if count <= 0:
            return ""
        buffer = (c_ushort * (count + 1))()
        written = pdfium_c.FPDFText_GetText(self._page, first, count, buffer)
        return bytes(memoryview(buffer)[: max(written - 1, 0)]).decode("utf-16-le", "surrogatepass")

    def number(self, offset: int) -> int:
        """Which of pdfium's characters stands there; below 0 for none."""
        if self._is_plain:
            return offset
        return int(pdfium_c.FPDFText_GetCharIndexFromTextIndex(self._page, offset))

    def _turned(self) -> int:
        """By how many quarters the page is to be turned to the right, so that it can be read."""
        count = len(self.text)
        quarters = Counter[int]()
        for eighth in range(1, 8, 2):
            number = self.number(count * eighth // 8)
            angle = pdfium_c.FPDFText_GetCharAngle(self._page, number) if number >= 0 else -1.0
            if angle >= 0:
                quarters[-round(angle / (pi / 2)) % 4] += 1
        return quarters.most_common(1)[0][0] if quarters else 0

    def box(self, offset: int) -> Box | None:
        """The room a letter takes, as high as its font, on the page as it is read."""
        number = self.number(offset)
        if number < 0:
            return None
        if self.turn:
            return self._turned_box(number)
        box = Box()
        found = pdfium_c.FPDFText_GetLooseCharBox(self._page, number, byref(box))
        return box if found else None

    def _turned_box(self, number: int) -> Box | None:
        """pdfium does not know how high letters are that do not stand upright: their size does."""
        left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
        x, y, matrix = c_double(), c_double(), pdfium_c.FS_MATRIX()
        if not (
            pdfium_c.FPDFText_GetCharBox(self._page, number, left, right, bottom, top)
            and pdfium_c.FPDFText_GetCharOrigin(self._page, number, x, y)
            and pdfium_c.FPDFText_GetMatrix(self._page, number, byref(matrix))
        ):
            return None
        sides = turned(self.turn, left.value, bottom.value, right.value, top.value)
        base = turned(self.turn, x.value, y.value, x.value, y.value)[1]
        scale = max(abs(matrix.a), abs(matrix.b))
        size = scale * pdfium_c.FPDFText_GetFontSize(self._page, number)
        return Box(sides[0], base + _ASCENT * size, sides[2], base - _DESCENT * size)

    def placed(self, offset: int, count: int) -> Iterator[tuple[str, Box | None]]:
        """So many characters from there on, and where they stand."""
        start = self._index(offset)
        for sign in self.text[start : start + count]:
            yield sign, self.box(offset)
            offset += units(sign)

    def _index(self, offset: int) -> int:
        if len(self.text) == units(self.text):
            return offset
        return bisect_left(self._offsets, offset)

    @cached_property
    def _offsets(self) -> list[int]:
        """Where each character of a text begins that has some of two units."""
        return list(accumulate(map(units, self.text), initial=0))


def turned(quarters: int, left: float, bottom: float, right: float, top: float) -> Sides:
    """A box on a page that is turned to the right."""
    for _ in range(quarters):
        left, bottom, right, top = bottom, -right, top, -left
    return left, bottom, right, top


def units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
