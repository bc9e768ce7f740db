"""A large page on which nothing was read in, what is found on it from nearby out.

An engine looks at a whole page from so far away that the letters of a lone line on a large sheet
are a few pixels high. What is drawn on the sheet is then cut out and looked at in pieces. That is
not done with photographs: there, something is everywhere, and it is seldom text.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image, Resampling

from kb.engine.ingest.ocr.boxes import Box, Engine, Sides, Word

_LARGE = 1_500  # pixels on the longer side; less is looked at from nearby as it is
_PIECE = 1_600  # pixels on the longer side
_MOST_PIECES = 16
_INK = 48  # of 255, from the colour of the ground
_MOST_INK = 0.25  # of the page
_MARGIN = 24  # pixels around what is drawn


def read_finer(engine: Engine, picture: Image) -> list[Box]:
    """The boxes of a page in the order of its pieces; none where there is nothing to look at."""
    if max(picture.size) <= _LARGE:
        return []
    ink = _ink(picture)
    if not ink.any() or ink.mean() > _MOST_INK:
        return []
    found: list[Box] = []
    for number, (left, top, right, bottom) in enumerate(_pieces(ink, *_around(ink))):
        if number == _MOST_PIECES:
            break
        boxes = engine.boxes(picture.crop((left, top, right, bottom)))
        found += [_moved(box, left, top) for box in boxes]
    return found


def _ink(picture: Image) -> NDArray[np.bool_]:
    """Where the page is not as its ground."""
    gray = np.asarray(picture.convert("L"))
    small = np.asarray(picture.convert("L").resize((64, 64), Resampling.BOX))
    ground = int(np.median(small))
    return (gray < ground - _INK) | (gray > ground + _INK)


def _around(ink: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """All that is drawn, with a margin. A speck of dust is not, nor a dark edge of the scan."""
    height, width = ink.shape
    rows, columns = _drawn(ink.sum(axis=1)), _drawn(ink.sum(axis=0))
    return (
        max(columns[0] - _MARGIN, 0),
        max(rows[0] - _MARGIN, 0),
        min(columns[1] + _MARGIN, width),
        min(rows[1] + _MARGIN, height),
    )


def _drawn(counts: NDArray[np.intp]) -> tuple[int, int]:
    """From the first line of pixels to the last that has some ink."""
    drawn = np.flatnonzero(counts > 1)
    return (int(drawn[0]), int(drawn[-1]) + 1) if len(drawn) else (0, len(counts))


def _pieces(
    ink: NDArray[np.bool_], left: int, top: int, right: int, bottom: int
) -> Iterator[tuple[int, int, int, int]]:
    """From top to bottom, cut where there is the least ink. Empty ones are left out."""
    width, height = right - left, bottom - top
    inside = ink[top:bottom, left:right]
    if not inside.any():
        return
    if max(width, height) <= _PIECE:
        yield left, top, right, bottom
    elif height >= width:
        cut = top + _calmest(inside.sum(axis=1))
        yield from _pieces(ink, left, top, right, cut)
        yield from _pieces(ink, left, cut, right, bottom)
    else:
        cut = left + _calmest(inside.sum(axis=0))
        yield from _pieces(ink, left, top, cut, bottom)
        yield from _pieces(ink, cut, top, right, bottom)


def _calmest(counts: NDArray[np.intp]) -> int:
    """A line of pixels with the least ink in the middle half, in the middle of several."""
    start = len(counts) // 4
    middle = counts[start : len(counts) - start]
    calm = np.flatnonzero(middle == middle.min())
    return start + int(calm[len(calm) // 2])


def _moved(box: Box, left: int, top: int) -> Box:
    words = tuple(
        Word(
            word.text,
            Sides(
                word.sides.left + left,
                word.sides.top + top,
                word.sides.right + left,
                word.sides.bottom + top,
            ),
        )
        for word in box.words
    )
    return replace(box, x=box.x + left, y=box.y + top, words=words)
