"""Flattens the picture of a bent page, as in an open book: engines cut lines out as rectangles,
which long ones leave. The bend can be seen without reading: from one narrow upright strip to the
next, the rows of ink move up or down."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image, Resampling, Transform
from PIL.ImageFilter import GaussianBlur

from kb.engine.ingest.ocr.boxes import Box, Sides, Word

Floats = NDArray[np.float64]

_WIDTH = 1_000  # pixels of the copy that is looked at
_STRIPS = 25
_BANDS = 5  # from top to bottom: a page bends differently above and below
_REACH = 8  # pixels up or down, from one strip to the next
_LIKE = 0.3  # correlation of two strips that show the same lines
_BEND = 4.0  # pixels, of 1,000 across; less is nothing


@dataclass(frozen=True, slots=True)
class Flat:
    """A page laid flat, and by how many pixels its lines had sunk in each band and strip."""

    picture: Image
    rises: Floats

    def bent_back(self, boxes: Iterable[Box]) -> list[Box]:
        """The boxes with their words where they stood on the bent page."""
        return [replace(box, words=tuple(map(self._bent_back, box.words))) for box in boxes]

    def _bent_back(self, word: Word) -> Word:
        left, top, right, bottom = word.sides
        sunk = self._sunk((left + right) / 2, (top + bottom) / 2)
        return Word(word.text, Sides(left, top + sunk, right, bottom + sunk))

    def _sunk(self, x: float, y: float) -> float:
        columns = np.linspace(0, self.picture.width, _STRIPS)
        here = [float(np.interp(x, columns, rise)) for rise in self.rises]
        return float(np.interp(y, _middles(self.picture), here))


def flattened(picture: Image) -> Flat | None:
    """The page with straight lines; None where they are straight already."""
    ink = _ink(picture)
    rises = np.array([_rise(band) for band in np.array_split(ink, _BANDS)])
    if np.ptp(rises - _chords(rises), axis=1).max() < _BEND:
        return None
    rises *= picture.width / _WIDTH
    return Flat(_moved(picture, rises), rises)


def _ink(picture: Image) -> Floats:
    """How much darker than its surroundings each pixel is: a shadow is no ink."""
    height = max(_BANDS, round(picture.height * _WIDTH / picture.width))
    small = picture.convert("L").resize((_WIDTH, height), Resampling.BOX)
    ground = small.filter(GaussianBlur(20))
    return np.clip(np.asarray(ground, np.float64) - np.asarray(small, np.float64) - 8, 0, None)


def _rise(band: Floats) -> Floats:
    """By how many pixels the lines of a band have sunk at each strip: a smooth curve, since a page
    does not bend abruptly, and over empty strips the others say how it goes on."""
    profiles = [strip.sum(axis=1) for strip in np.array_split(band, _STRIPS, axis=1)]
    steps, weights = zip(*(_step(a, b) for a, b in pairwise(profiles)), strict=True)
    if sum(weight > 0 for weight in weights) < _STRIPS // 3:
        return np.zeros(_STRIPS)
    places = np.linspace(-1, 1, _STRIPS)
    between = (places[1:] + places[:-1]) / 2
    slope = np.polynomial.Polynomial.fit(between, steps, 3, w=np.sqrt(weights), domain=[-1, 1])
    rise = slope.integ() * (_STRIPS - 1) / 2
    return np.asarray(rise(places) - rise(-1), np.float64)


def _step(left: Floats, right: Floats) -> tuple[float, float]:
    """How far the rows of ink sink from one strip to the next, and how sure that is."""
    best = []
    for shift in range(-_REACH, _REACH + 1):
        a = left[max(0, -shift) : len(left) - max(0, shift)]
        b = right[max(0, shift) : len(right) - max(0, -shift)]
        best.append(_correlation(a, b))
    place = int(np.argmax(best))
    if best[place] < _LIKE:
        return 0.0, 0.0
    finer = 0.0
    if 0 < place < len(best) - 1:  # the top of a parabola through the best and its neighbours
        before, top, after = best[place - 1 : place + 2]
        curve = before - 2 * top + after
        finer = 0.5 * (before - after) / curve if curve < 0 else 0.0
    return place - _REACH + finer, best[place]


def _correlation(a: Floats, b: Floats) -> float:
    if len(a) < 2 or not a.any() or not b.any():
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0


def _chords(rises: Floats) -> Floats:
    """The straight lines from the first to the last strip: a page that is only turned a little."""
    return rises[:, :1] + (rises[:, -1:] - rises[:, :1]) * np.linspace(0, 1, rises.shape[1])


def _middles(picture: Image) -> Floats:
    """Of the bands, from the top."""
    return (np.arange(_BANDS) + 0.5) * picture.height / _BANDS


def _moved(picture: Image, rises: Floats) -> Image:
    """The picture with each piece moved up by what it has sunk."""
    middles = _middles(picture)
    rows = np.linspace(0, picture.height, 2 * _BANDS + 1)
    columns = np.linspace(0, picture.width, _STRIPS)
    sunk = np.array([np.interp(rows, middles, rise) for rise in rises.T]).T
    mesh = []
    for row, (top, bottom) in enumerate(pairwise(rows)):
        for column, (left, right) in enumerate(pairwise(columns)):
            (a, d), (b, c) = sunk[row : row + 2, column : column + 2]
            target = (round(left), round(top), round(right), round(bottom))
            corners = (left, top + a, left, bottom + b, right, bottom + c, right, top + d)
            mesh.append((target, tuple(float(corner) for corner in corners)))
    return picture.transform(picture.size, Transform.MESH, mesh, Resampling.BICUBIC)
