"""Finds the position of each word on the original picture, so that the web page can mark it. Code
that turns or flattens a picture converts them back."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from math import cos, radians, sin

from PIL.Image import Transpose

from kb.engine.ingest.ocr.boxes import Box, Sides, Word
from kb.engine.pages import Box as Place
from kb.engine.pages import PlacedWord

MOST = 5_000  # words of a page that are kept
_WORD = re.compile(r"\S+")
# How wide letters are in most fonts; a line is parted into words by it.
_WIDTHS = {**dict.fromkeys("ijlftrI.,:;'|!()[]-`\"", 0.55), **dict.fromkeys("mwMW@%", 1.5)}


def with_words(box: Box) -> Box:
    """The box with its words, each by the share of the line that its letters take."""
    ends = [0.0, *accumulate(map(_width, box.text))]
    whole = max(ends[-1], 1.0)
    words = (
        Word(found[0], _sides(box, ends[found.start()] / whole, ends[found.end()] / whole))
        for found in _WORD.finditer(box.text)
    )
    return replace(box, words=tuple(words))


def turned_back(boxes: Iterable[Box], turn: Transpose, size: tuple[int, int]) -> list[Box]:
    """The boxes with their words where they stood before the picture, of `size`, was turned."""
    return [
        replace(
            box,
            words=tuple(
                Word(word.text, _turned_back(word.sides, turn, size)) for word in box.words
            ),
        )
        for box in boxes
    ]


def placed(boxes: Iterable[Box], size: tuple[int, int]) -> tuple[PlacedWord, ...]:
    """The words in the order of the boxes, their sides as shares of the picture."""
    width, height = size
    words = [word for box in boxes for word in box.words][:MOST]
    return tuple(
        PlacedWord(
            word.text,
            Place(
                _share(word.sides.left / width),
                _share(word.sides.top / height),
                _share(word.sides.right / width),
                _share(word.sides.bottom / height),
            ),
        )
        for word in words
    )


def _share(side: float) -> float:
    return round(min(max(side, 0.0), 1.0), 5)


def _width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 2.0
    return _WIDTHS.get(character) or (1.25 if character.isupper() else 1.0)


def _sides(box: Box, start: float, end: float) -> Sides:
    """What lies between two shares of a box's length, upright around it where the box is askew."""
    across, down = cos(radians(box.angle)), sin(radians(box.angle))
    middle = ((start + end) / 2 - 0.5) * box.width
    x, y = box.x + middle * across, box.y + middle * down
    width = (end - start) * box.width
    wide = abs(width * across) + abs(box.height * down)
    high = abs(width * down) + abs(box.height * across)
    return Sides(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)


def _turned_back(sides: Sides, turn: Transpose, size: tuple[int, int]) -> Sides:
    width, height = size
    left, top, right, bottom = sides
    if turn == Transpose.ROTATE_90:
        return Sides(width - bottom, left, width - top, right)
    if turn == Transpose.ROTATE_180:
        return Sides(width - right, height - bottom, width - left, height - top)
    if turn == Transpose.ROTATE_270:
        return Sides(top, height - right, bottom, height - left)
    raise ValueError(f"{turn} is no turn")
