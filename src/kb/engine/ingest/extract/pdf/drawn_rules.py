"""A page of a PDF in, the straight lines that are drawn on it out, across and down.

Going through what is drawn costs .2 ms a page, so it is for pages that may have a table.
"""

from collections.abc import Iterator
from ctypes import CFUNCTYPE, addressof, byref, c_float, c_int, c_void_p, cast
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf.letters import Sides, turned

_MOST_OBJECTS = 5_000  # of a page that are looked at
_MOST_SEGMENTS = 400  # of one path
_MOST_RULES = 2_000
_THIN = 3.0  # points; what is broader is an area, whose sides are rules
_SHORT = 4.0  # points; what is shorter is a letter's stroke or a dash
_SAME = 2.0  # points from rule to rule that are drawn as one
_GAP = 3.0  # points between the pieces of one


# Called with addresses, which ctypes need not turn into pointers: a page has many objects.
def _by_address(function: Any, *kinds: Any) -> Any:
    return CFUNCTYPE(*kinds)(cast(function, c_void_p).value or 0)


_object = _by_address(pdfium_c.FPDFPage_GetObject, c_void_p, c_void_p, c_int)
_kind = _by_address(pdfium_c.FPDFPageObj_GetType, c_int, c_void_p)
_bounds = _by_address(pdfium_c.FPDFPageObj_GetBounds, c_int, *[c_void_p] * 5)
_draw_mode = _by_address(pdfium_c.FPDFPath_GetDrawMode, c_int, *[c_void_p] * 3)
_count_segments = _by_address(pdfium_c.FPDFPath_CountSegments, c_int, c_void_p)


_Piece = tuple[float, float, float]  # as of a rule


@dataclass(slots=True)
class Rule:
    """Where it is, and from where to where it goes."""

    at: float
    start: float
    end: float

    def covers(self, place: float) -> bool:
        return self.start - _GAP <= place <= self.end + _GAP

    def covered(self, places: list[float]) -> list[int]:
        """The numbers of those places that it covers."""
        start, end = self.start - _GAP, self.end + _GAP
        return [number for number, place in enumerate(places) if start <= place <= end]


@dataclass(frozen=True, slots=True)
class Rules:
    across: list[Rule]
    down: list[Rule]


def rules(page: pdfium.PdfPage, turn: int) -> Rules:
    """Those of the page, turned by so many quarters to the right."""
    across: list[_Piece] = []
    down: list[_Piece] = []
    for sides in _drawn(page):
        x0, y0, x1, y1 = turned(turn, *sides) if turn else sides
        if len(across) + len(down) > _MOST_RULES:
            return Rules([], [])
        wide, high = x1 - x0, y1 - y0
        if wide < _SHORT and high < _SHORT:
            continue
        if high < _THIN:
            across.append(((y0 + y1) / 2, x0, x1))
        elif wide < _THIN:
            down.append(((x0 + x1) / 2, y0, y1))
        else:
            across += [(y0, x0, x1), (y1, x0, x1)]
            down += [(x0, y0, y1), (x1, y0, y1)]
    return Rules(_joined(across), _joined(down))


def _drawn(page: pdfium.PdfPage) -> Iterator[Sides]:
    """The boxes of lines and rectangles: left, bottom, right, top."""
    bounds, mode = (c_float * 4)(), (c_int * 2)()  # the latter: whether it is filled, and stroked
    sides = [addressof(bounds) + 4 * number for number in range(4)]
    fill, stroke = addressof(mode), addressof(mode) + 4
    address, path = cast(page.raw, c_void_p).value, pdfium_c.FPDF_PAGEOBJ_PATH
    for number in range(min(pdfium_c.FPDFPage_CountObjects(page.raw), _MOST_OBJECTS)):
        item = _object(address, number)
        if _kind(item) != path or not _bounds(item, *sides):
            continue
        _draw_mode(item, fill, stroke)
        if not any(mode):
            continue
        left, bottom, right, top = bounds
        segments = _count_segments(item)
        if segments <= 5 or min(right - left, top - bottom) < _THIN:
            yield left, bottom, right, top
        elif segments <= _MOST_SEGMENTS:
            yield from _segments(pdfium_c.FPDFPage_GetObject(page.raw, number), segments)


def _segments(path: Any, count: int) -> Iterator[Sides]:
    """Those lines of a path that go straight across or down."""
    matrix = pdfium_c.FS_MATRIX()
    pdfium_c.FPDFPageObj_GetMatrix(path, byref(matrix))
    before: tuple[float, float] | None = None
    begun: tuple[float, float] | None = None
    x, y = c_float(), c_float()
    for number in range(count):
        segment = pdfium_c.FPDFPath_GetPathSegment(path, number)
        pdfium_c.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
        place = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_LINETO and before is not None:
            yield from _straight(before, place)
        elif kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            begun = place
        if pdfium_c.FPDFPathSegment_GetClose(segment) and begun is not None:
            yield from _straight(place, begun)
        before = place


def _straight(one: tuple[float, float], other: tuple[float, float]) -> Iterator[Sides]:
    (x0, x1), (y0, y1) = sorted((one[0], other[0])), sorted((one[1], other[1]))
    if x1 - x0 < 1 or y1 - y0 < 1:
        yield x0, y0, x1, y1


def _joined(pieces: list[_Piece]) -> list[Rule]:
    """What was drawn piece by piece, or twice, as one."""
    pieces.sort()
    joined: list[Rule] = []
    start = 0
    for number, (at, _, _) in enumerate(pieces):
        is_last = number + 1 == len(pieces)
        if not is_last and pieces[number + 1][0] - at <= _SAME:
            continue
        first = len(joined)
        for place, begin, end in sorted(pieces[start : number + 1], key=itemgetter(1)):
            if len(joined) > first and begin <= joined[-1].end + _GAP:
                joined[-1].end = max(joined[-1].end, end)
            else:
                joined.append(Rule(place, begin, end))
        start = number + 1
    return joined
