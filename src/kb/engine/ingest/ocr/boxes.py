"""What an engine finds in a picture: pieces of text and their positions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cos, radians, sin
from typing import NamedTuple, Protocol

from PIL.Image import Image, Transpose

_ON_END = 45.0  # degrees


class Sides(NamedTuple):
    """In pixels from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    sides: Sides


@dataclass(frozen=True, slots=True)
class Box:
    """A piece of a line, its middle at `x` and `y` in pixels from the upper left corner. `width`
    runs along the text, which falls by `angle` degrees to the right and is empty where the engine
    cannot read it. This is as it was read, maybe turned; `words` stand in the picture as it
    came."""

    text: str
    score: float
    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0
    words: tuple[Word, ...] = ()

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


class Engine(Protocol):
    """Finds and reads text. `dpi` is how large it wants pages to be. A picture whose score is less
    than `sure` is read again with each of `turns`. One that `shrinks` looks at large ones from
    afar."""

    @property
    def dpi(self) -> int: ...

    @property
    def sure(self) -> float: ...

    @property
    def shrinks(self) -> bool: ...

    @property
    def turns(self) -> tuple[Transpose, ...]: ...

    def boxes(self, picture: Image) -> list[Box]: ...


def mean_score(boxes: Sequence[Box]) -> float:
    """How sure the engine is of the letters it has read; 0 where it has read none."""
    letters = sum(len(box.text) for box in boxes)
    return sum(box.score * len(box.text) for box in boxes) / letters if letters else 0.0


def _usual_angle(boxes: Sequence[Box]) -> float:
    """Of half of the text: a few words may be set aslant, below the axis of a chart."""
    left = sum(box.width for box in boxes) / 2
    ordered = sorted(boxes, key=lambda box: box.angle)
    for box in ordered:
        left -= box.width
        if left <= 0:
            break
    return box.angle


def straightened(boxes: Sequence[Box]) -> list[Box]:
    """The boxes as they would stand if the page had been laid straight."""
    wide = [box for box in boxes if box.width > 3 * box.height and abs(box.angle) < _ON_END]
    if not wide:
        return list(boxes)
    turn = radians(-_usual_angle(wide))
    across, down = cos(turn), sin(turn)
    return [
        replace(box, x=box.x * across - box.y * down, y=box.x * down + box.y * across)
        for box in boxes
    ]
