"""Finds the straight lines drawn on a page. It costs .2 ms a page, so only where a table may be."""

from collections.abc import Iterator
from ctypes import addressof, c_float, c_int, c_longlong, c_void_p, cast, sizeof
from dataclasses import dataclass
from itertools import compress, repeat
from operator import itemgetter

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf.letters import Sides, by_address, turned

_MOST_OBJECTS = 5_000  # of a page that are looked at
_MOST_SEGMENTS = 400  # of one path
_MOST_RULES = 2_000
_THIN = 3.0  # points; what is broader is an area, whose sides are rules
_SHORT = 4.0  # points; what is shorter is a letter's stroke or a dash
_SAME = 2.0  # points from rule to rule that are drawn as one
_GAP = 3.0  # points between the pieces of one


# Its number goes as an address does, which ctypes is quicker with.
_object = by_address(pdfium_c.FPDFPage_GetObject, *[c_void_p] * 3)
_kind = by_address(pdfium_c.FPDFPageObj_GetType, c_int, c_void_p)
_bounds = by_address(pdfium_c.FPDFPageObj_GetBounds, c_int, *[c_void_p] * 5)
_draw_mode = by_address(pdfium_c.FPDFPath_GetDrawMode, c_int, *[c_void_p] * 3)
_count_segments = by_address(pdfium_c.FPDFPath_CountSegments, c_int, c_void_p)
_segment = by_address(pdfium_c.FPDFPath_GetPathSegment, *[c_void_p] * 3)
_point = by_address(pdfium_c.FPDFPathSegment_GetPoint, c_int, *[c_void_p] * 3)
_segment_kind = by_address(pdfium_c.FPDFPathSegment_GetType, c_int, c_void_p)
_closes = by_address(pdfium_c.FPDFPathSegment_GetClose, c_int, c_void_p)
_matrix = by_address(pdfium_c.FPDFPageObj_GetMatrix, c_int, *[c_void_p] * 2)

_Piece = tuple[float, float, float]  # as of a rule


@dataclass(slots=True)
class Rule:
    """Its position, and where it begins and ends."""

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
    """Those of the page, turned by this many quarters to the right."""
    across: list[_Piece] = []
    down: list[_Piece] = []
    for sides in _drawn(page):
        x0, y0, x1, y1 = turned(turn, *sides) if turn else sides
        if len(across) + len(down) > _MOST_RULES:
            return Rules([], [])
        if y1 - y0 < _THIN:
            across.append(((y0 + y1) / 2, x0, x1))
        elif x1 - x0 < _THIN:
            down.append(((x0 + x1) / 2, y0, y1))
        else:
            across += [(y0, x0, x1), (y1, x0, x1)]
            down += [(x0, y0, y1), (x1, y0, y1)]
    return Rules(_joined(across), _joined(down))


def _drawn(page: pdfium.PdfPage) -> Iterator[Sides]:
    """The boxes of lines and rectangles that are not too short: left, bottom, right, top. Of
    thousands of objects on a page, each is asked as little as can be."""
    bounds, mode = (c_float * 4)(), c_longlong()  # the latter: whether it is filled, and stroked
    sides = [addressof(bounds) + 4 * number for number in range(4)]
    fill, stroke = addressof(mode), addressof(mode) + sizeof(c_int)
    address = cast(page.raw, c_void_p).value
    count = min(pdfium_c.FPDFPage_CountObjects(page.raw), _MOST_OBJECTS)
    items = list(map(_object, repeat(address), range(count)))
    for path in compress(items, map(pdfium_c.FPDF_PAGEOBJ_PATH.__eq__, map(_kind, items))):
        if not _bounds(path, *sides):
            continue
        left, bottom, right, top = bounds
        wide, high = right - left, top - bottom
        if wide < _SHORT and high < _SHORT:
            continue
        _draw_mode(path, fill, stroke)
        if not mode.value:
            continue
        segments = 0 if wide < _THIN or high < _THIN else _count_segments(path)
        if segments <= 5:
            yield left, bottom, right, top
        elif segments <= _MOST_SEGMENTS:
            yield from _segments(path, segments)


def _segments(path: int, count: int) -> Iterator[Sides]:
    """Those lines of a path that go straight across or down."""
    items = list(map(_segment, repeat(path), range(count)))
    kinds = list(map(_segment_kind, items))
    if pdfium_c.FPDF_SEGMENT_LINETO not in kinds:
        return
    matrix, point = (c_float * 6)(), (c_float * 2)()
    _matrix(path, addressof(matrix))
    a, b, c, d, e, f = matrix
    x_address, y_address = addressof(point), addressof(point) + sizeof(c_float)
    before: tuple[float, float] | None = None
    begun: tuple[float, float] | None = None
    for segment, kind in zip(items, kinds, strict=True):
        _point(segment, x_address, y_address)
        x, y = point
        place = a * x + c * y + e, b * x + d * y + f
        if kind == pdfium_c.FPDF_SEGMENT_LINETO and before is not None:
            yield from _straight(before, place)
        elif kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            begun = place
        if begun is not None and _closes(segment):
            yield from _straight(place, begun)
        before = place


def _straight(one: tuple[float, float], other: tuple[float, float]) -> Iterator[Sides]:
    (x0, y0), (x1, y1) = one, other
    wide, high = abs(x1 - x0), abs(y1 - y0)
    if (wide < 1 or high < 1) and (wide >= _SHORT or high >= _SHORT):
        yield min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _joined(pieces: list[_Piece]) -> list[Rule]:
    """Lines drawn piece by piece, or twice, as one."""
    pieces.sort()
    joined: list[Rule] = []
    start = 0
    for number, (at, _, _) in enumerate(pieces, start=1):
        if number < len(pieces) and pieces[number][0] - at <= _SAME:
            continue
        last: Rule | None = None
        for place, begin, end in sorted(pieces[start:number], key=itemgetter(1)):
            if last is not None and begin <= last.end + _GAP:
                if end > last.end:
                    last.end = end
            else:
                last = Rule(place, begin, end)
                joined.append(last)
        start = number
    return joined
