"""Reads the text of a page as one string, and the position of each letter, by its place in that
string. Asking for one takes half a microsecond, so we do not ask for every letter."""

from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import (
    PYFUNCTYPE,
    Array,
    addressof,
    byref,
    c_double,
    c_float,
    c_int,
    c_ushort,
    c_void_p,
    cast,
    sizeof,
)
from functools import cached_property
from itertools import accumulate
from math import pi
from typing import Any, TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

Box: TypeAlias = pdfium_c.FS_RECTF
Sides = tuple[float, float, float, float]  # left, bottom, right, top

_SOME_LETTERS = 16  # of a page, to know its fonts
_TIGHT = 0.01  # points
_ONE_UNIT = "\uffff"  # the last character that takes one in UTF-16
# Times the size of a font.
_ASCENT = 0.75
_DESCENT = 0.25


def by_address(function: Any, *kinds: Any) -> Any:
    """One of pdfium's quick functions, called thousands of times for a page: with addresses, which
    ctypes need not turn into pointers, and without letting other threads run meanwhile."""
    return PYFUNCTYPE(*kinds)(cast(function, c_void_p).value or 0)


_loose_box = by_address(pdfium_c.FPDFText_GetLooseCharBox, c_int, *[c_void_p] * 3)
_number = by_address(pdfium_c.FPDFText_GetCharIndexFromTextIndex, c_int, c_void_p, c_int)


class Letters:
    def __init__(self, page: pdfium.PdfTextPage) -> None:
        self.page = page.raw  # the helper around it costs as much as a call
        self._address = cast(self.page, c_void_p).value
        total = page.count_chars()
        first, count = self._range(total)
        self.text = self._read(first, count)
        self._is_wide = not self.text.isascii() and len(self.text) != _units(self.text)
        # Where every character is text, and one unit long, a place is pdfium's number for it.
        self._is_plain = len(self.text) == total and not self._is_wide
        self.turn = self._turned()
        # Room for the boxes of two letters, of which most are asked for in pairs.
        self._pair = (c_float * 8)()
        self._first = addressof(self._pair)
        self._second = self._first + sizeof(Box)

    def _range(self, count: int) -> tuple[int, int]:
        """The start and the count. pdfium fails if both ends are no text; pypdfium2 skips them by
        nested calls, and a page can cause too many of those."""
        first, last = 0, count - 1
        while first <= last and pdfium_c.FPDFText_GetTextIndexFromCharIndex(self.page, first) < 0:
            first += 1
        while last >= first and pdfium_c.FPDFText_GetTextIndexFromCharIndex(self.page, last) < 0:
            last -= 1
        return first, last - first + 1

    def _read(self, first: int, count: int) -> str:
        if count <= 0:
            return ""
        buffer = (c_ushort * (1 << count.bit_length()))()  # ctypes makes a type of each length
        written = pdfium_c.FPDFText_GetText(self.page, first, count, buffer)
        return bytes(memoryview(buffer)[: max(written - 1, 0)]).decode("utf-16-le", "surrogatepass")

    def number(self, place: int) -> int:
        """The number of pdfium's character there; below 0 for none."""
        if self._is_plain:
            return place
        if self._is_wide:
            place = self._offsets[place] if 0 <= place < len(self._offsets) else -1
        number: int = _number(self._address, place)
        return number

    def _turned(self) -> int:
        """By how many quarters the page is to be turned to the right, so that it can be read."""
        count = len(self.text)
        quarters = Counter[int]()
        for eighth in range(1, 8, 2):
            number = self.number(count * eighth // 8)
            angle = pdfium_c.FPDFText_GetCharAngle(self.page, number) if number >= 0 else -1.0
            if angle >= 0:
                quarters[-round(angle / (pi / 2)) % 4] += 1
        return quarters.most_common(1)[0][0] if quarters else 0

    @cached_property
    def are_tight(self) -> bool:
        """Whether most letters are only as high as they are drawn: the fonts of old LaTeX do not
        say how high they are."""
        left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
        seen = tight = 0
        for place in range(0, len(self.text), len(self.text) // _SOME_LETTERS + 1):
            box = self.box(place) if self.text[place].isalpha() else None
            if box is None:
                continue
            number = self.number(place)
            seen += 1
            tight += (
                bool(pdfium_c.FPDFText_GetCharBox(self.page, number, left, right, bottom, top))
                and abs(top.value - bottom.value - box.top + box.bottom) < _TIGHT
            )
        return 2 * tight > seen

    def box(self, place: int) -> Box | None:
        """The room a letter takes, as high as its font, on the page as it is read."""
        number = place if self._is_plain else self.number(place)
        if number < 0:
            return None
        if self.turn:
            return self._turned_box(number)
        box = Box()
        return box if _loose_box(self._address, number, addressof(box)) else None

    def ends(self, first: int, last: int) -> Sequence[float] | Array[c_float] | None:
        """Left, top, right and bottom of two letters, until others are asked for; None where one is
        nowhere."""
        if self._is_plain and not self.turn:
            found = _loose_box(self._address, first, self._first)
            return self._pair if found and _loose_box(self._address, last, self._second) else None
        one, other = self.box(first), self.box(last)
        if one is None or other is None:
            return None
        sides = one.left, one.top, one.right, one.bottom
        return *sides, other.left, other.top, other.right, other.bottom

    def gap(self, before: int, after: int) -> float:
        """From the right side of one letter to the left side of another; 0 where one is nowhere."""
        ends = self.ends(before, after)
        return 0.0 if ends is None else ends[4] - ends[2]

    def _turned_box(self, number: int) -> Box | None:
        """pdfium does not know how high letters are that do not stand upright: their size does."""
        left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
        x, y, matrix = c_double(), c_double(), pdfium_c.FS_MATRIX()
        if not (
            pdfium_c.FPDFText_GetCharBox(self.page, number, left, right, bottom, top)
            and pdfium_c.FPDFText_GetCharOrigin(self.page, number, x, y)
            and pdfium_c.FPDFText_GetMatrix(self.page, number, byref(matrix))
        ):
            return None
        sides = turned(self.turn, left.value, bottom.value, right.value, top.value)
        base = turned(self.turn, x.value, y.value, x.value, y.value)[1]
        scale = max(abs(matrix.a), abs(matrix.b))
        size = scale * pdfium_c.FPDFText_GetFontSize(self.page, number)
        return Box(sides[0], base + _ASCENT * size, sides[2], base - _DESCENT * size)

    def placed(self, place: int, count: int) -> Iterator[tuple[str, Box | None]]:
        """This many characters from there on, with their positions."""
        for number, sign in enumerate(self.text[place : place + count], start=place):
            yield sign, self.box(number)

    @cached_property
    def _offsets(self) -> list[int]:
        """Where each character begins, counted as pdfium does: in UTF-16."""
        return list(accumulate((2 if sign > _ONE_UNIT else 1 for sign in self.text), initial=0))


def turned(quarters: int, left: float, bottom: float, right: float, top: float) -> Sides:
    """A box on a page that is turned to the right."""
    for _ in range(quarters):
        left, bottom, right, top = bottom, -right, top, -left
    return left, bottom, right, top


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
