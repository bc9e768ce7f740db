"""Looks closer at a large picture for text that was missed, because an engine scales it down so far
that a lone line is only a few pixels high. Drawn areas that gave no text are read in pieces.
Photographs are not: they have details everywhere that are seldom text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

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
_AROUND = 0.3  # of the height of a word that is painted over, on each side
# Changes between ground and ink, across or down, whichever are fewer: a rule has many one way only.
# A short line of letters that are 12 pixels high has some 300.
_EDGES = 250
_MUCH = 0.3  # of all edges
_LETTERS = 1 / 80  # of the longer side: lines that are higher are read as well from afar


class _Piece(NamedTuple):
    """A part of a picture, in pixels."""

    left: int
    top: int
    right: int
    bottom: int


def read_finer(engine: Engine, picture: Image, read: Sequence[Box] = ()) -> list[Box]:
    """The boxes that were `read`, and what else there is; all anew where that is much."""
    unturned = all(map(_is_as_the_picture_lies, read))
    if max(picture.size) <= _LARGE or not unturned:
        return list(read)
    ink = _ink(picture)
    if ink.mean() > _MOST_INK:
        return list(read)
    all_edges = _edges(ink)
    left_edges = _edges(_without(ink, read))
    if left_edges < (_EDGES if read else 1):
        return list(read)
    if left_edges > _MUCH * all_edges:
        read = [box for box in read if box.height >= _LETTERS * max(picture.size)]
    ink, left = _without(ink, read), _painted_over(picture, read)
    pieces = (
        piece
        for piece in _pieces(ink, *_around(ink))
        if not read or _edges(ink[piece.top : piece.bottom, piece.left : piece.right]) >= _EDGES
    )
    found = list(read)
    for piece in islice(pieces, _MOST_PIECES):
        found += [_moved(box, piece.left, piece.top) for box in engine.boxes(left.crop(piece))]
    return found


def _is_as_the_picture_lies(box: Box) -> bool:
    """Not where the engine has turned the picture: then boxes stand elsewhere than their words."""
    return any(
        word.sides.left <= box.right
        and word.sides.right >= box.left
        and word.sides.top <= box.y <= word.sides.bottom
        for word in box.words
    )


def _without(ink: NDArray[np.bool_], boxes: Iterable[Box]) -> NDArray[np.bool_]:
    left = ink.copy()
    for piece in map(_of, boxes):
        left[piece.top : piece.bottom, piece.left : piece.right] = False
    return left


def _painted_over(picture: Image, boxes: Iterable[Box]) -> Image:
    """The picture, with boxes looking like what is around them."""
    left = picture.copy()
    for piece in map(_of, boxes):
        around = left.getpixel((piece.left, piece.top))
        assert around is not None  # which it is outside of the picture
        left.paste(around, piece)
    return left


def _of(box: Box) -> _Piece:
    """The part of a picture that a box covers, with some of what is around it."""
    around = _AROUND * box.height
    lefts, tops, rights, bottoms = zip(*(word.sides for word in box.words), strict=True)
    return _Piece(
        max(int(min(lefts) - around), 0),
        max(int(min(tops) - around), 0),
        int(max(rights) + around) + 1,
        int(max(bottoms) + around) + 1,
    )


def _edges(ink: NDArray[np.bool_]) -> int:
    across = np.count_nonzero(ink[:, 1:] != ink[:, :-1])
    down = np.count_nonzero(ink[1:] != ink[:-1])
    return int(min(across, down))


def _ink(picture: Image) -> NDArray[np.bool_]:
    """Where the page is not as its ground."""
    gray = np.asarray(picture.convert("L"))
    small = np.asarray(picture.convert("L").resize((64, 64), Resampling.BOX))
    ground = int(np.median(small))
    return (gray < ground - _INK) | (gray > ground + _INK)


def _around(ink: NDArray[np.bool_]) -> _Piece:
    """All that is drawn, with a margin. A speck of dust is not, nor a dark edge of the scan."""
    height, width = ink.shape
    rows, columns = _drawn(ink.sum(axis=1)), _drawn(ink.sum(axis=0))
    return _Piece(
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
) -> Iterator[_Piece]:
    """From top to bottom, cut where there is the least ink. Empty ones are left out."""
    width, height = right - left, bottom - top
    inside = ink[top:bottom, left:right]
    if not inside.any():
        return
    if max(width, height) <= _PIECE:
        yield _Piece(left, top, right, bottom)
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
