"""A page of a PDF in, the straight lines that are drawn on it out, across and down.

Going through what is drawn costs .2 ms a page, so it is for pages that may have a table.
"""

from collections.abc import Iterator
from ctypes import CFUNCTYPE, byref, c_float, c_int, c_void_p, cast
from dataclasses import dataclass
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
_object = CFUNCTYPE(c_void_p, c_void_p, c_int)(
    cast(pdfium_c.FPDFPage_GetObject, c_void_p).value or 0
)
_kind = CFUNCTYPE(c_int, c_void_p)(cast(pdfium_c.FPDFPageObj_GetType, c_void_p).value or 0)


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
    across: list[Rule] = []
    down: list[Rule] = []
    for sides in _drawn(page):
        x0, y0, x1, y1 = turned(turn, *sides)
        if len(across) + len(down) > _MOST_RULES:
            return Rules([], [])
        wide, high = x1 - x0, y1 - y0
        if wide < _SHORT and high < _SHORT:
            continue
        if high < _THIN:
            across.append(Rule((y0 + y1) / 2, x0, x1))
        elif wide < _THIN:
            down.append(Rule((x0 + x1) / 2, y0, y1))
        else:
            across += [Rule(y0, x0, x1), Rule(y1, x0, x1)]
            down += [Rule(x0, y0, y1), Rule(x1, y0, y1)]
    return Rules(_joined(across), _joined(down))


def _drawn(page: pdfium.PdfPage) -> Iterator[Sides]:
    """The boxes of lines and rectangles: left, bottom, right, top."""
    sides = c_float(), c_float(), c_float(), c_float()
    address, path = cast(page.raw, c_void_p).value, pdfium_c.FPDF_PAGEOBJ_PATH
    for number in range(min(pdfium_c.FPDFPage_CountObjects(page.raw), _MOST_OBJECTS)):
        if _kind(_object(address, number)) != path:
            continue
        item = pdfium_c.FPDFPage_GetObject(page.raw, number)
        if not pdfium_c.FPDFPageObj_GetBounds(item, *map(byref, sides)) or not _is_seen(item):
            continue
        left, bottom, right, top = (side.value for side in sides)
        segments = pdfium_c.FPDFPath_CountSegments(item)
        if segments <= 5 or min(right - left, top - bottom) < _THIN:
            yield left, bottom, right, top
        elif segments <= _MOST_SEGMENTS:
            yield from _segments(item, segments)


def _is_seen(path: Any) -> bool:
    fill, stroke = c_int(), c_int()
    pdfium_c.FPDFPath_GetDrawMode(path, byref(fill), byref(stroke))
    return bool(fill.value or stroke.value)


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


def _joined(rules: list[Rule]) -> list[Rule]:
    """What was drawn piece by piece, or twice, as one."""
    rules.sort(key=lambda rule: rule.at)
    joined: list[Rule] = []
    start = 0
    for number, rule in enumerate(rules):
        is_last = number + 1 == len(rules)
        if not is_last and rules[number + 1].at - rule.at <= _SAME:
            continue
        whole: list[Rule] = []
        for piece in sorted(rules[start : number + 1], key=lambda rule: rule.start):
            if whole and piece.start <= whole[-1].end + _GAP:
                whole[-1].end = max(whole[-1].end, piece.end)
            else:
                whole.append(Rule(piece.at, piece.start, piece.end))
        joined += whole
        start = number + 1
    return joined
