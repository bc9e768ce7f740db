"""Groups the boxes of a page in reading order: columns, and what spans them. A table has columns
too, but is read by its rows: only in running text nearly all lines end at the column's edge."""

from collections.abc import Sequence
from statistics import median

from kb.engine.ingest.ocr.boxes import Box

_LINES = 4  # at least, on either side
_CHARACTERS = 20  # of a line in the middle
_FULL = 0.6  # of the column's width, for a line in the middle
_CROSSING = 0.25  # of the boxes at most: titles and captions span columns
_PLACES = 100  # over the width, at which a gutter is looked for, but for a fifth at either side
_DEEPEST = 4  # times a column is parted again


def columns(boxes: Sequence[Box], depth: int = 0) -> list[list[Box]]:
    """The boxes in groups, each to be read by its rows."""
    gutter = _gutter(boxes) if depth < _DEEPEST else None
    if gutter is None:
        return [list(boxes)]
    groups: list[list[Box]] = []
    sides: tuple[list[Box], list[Box]] = ([], [])
    for box in sorted(boxes, key=lambda box: box.y):
        if box.left < gutter < box.right:
            groups += _both(sides, depth)
            groups.append([box])
            sides = ([], [])
        else:
            sides[box.x > gutter].append(box)
    return [group for group in groups + _both(sides, depth) if group]


def _both(sides: tuple[list[Box], list[Box]], depth: int) -> list[list[Box]]:
    """The left column and then the right one, each parted again where it has columns itself."""
    return [group for side in sides if side for group in columns(side, depth + 1)]


def _gutter(boxes: Sequence[Box]) -> float | None:
    """Where a page of running text is parted from top to bottom, if it is."""
    if len(boxes) < 2 * _LINES:
        return None
    left, right = min(box.left for box in boxes), max(box.right for box in boxes)
    places = [left + (right - left) * part / _PLACES for part in range(_PLACES)]
    fewest, place = min(
        (sum(box.left < place < box.right for box in boxes), place)
        for place in places[_PLACES // 5 : -_PLACES // 5]
    )
    sides = (
        [box for box in boxes if box.right <= place],
        [box for box in boxes if box.left >= place],
    )
    parted = fewest <= _CROSSING * len(boxes) and all(map(_is_running_text, sides))
    return place if parted else None


def _is_running_text(boxes: Sequence[Box]) -> bool:
    if len(boxes) < _LINES:
        return False
    width = max(box.right for box in boxes) - min(box.left for box in boxes)
    characters = median(len(box.text) for box in boxes)
    return characters >= _CHARACTERS and median(box.width for box in boxes) >= _FULL * width
