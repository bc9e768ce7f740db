"""An engine and a picture in, the boxes of the picture as it is meant to be read out."""

from collections.abc import Sequence

from PIL.Image import Image

from kb.engine.ingest.ocr.bend import flattened
from kb.engine.ingest.ocr.boxes import Box, Engine, mean_score

_LONG = 10.0  # times as wide as high: a line that is long enough to leave its rectangle
_FAILED = 0.93  # of the score; long lines on flat pages have .96 and more, bad scans among them


def upright(engine: Engine, picture: Image) -> list[Box]:
    """The boxes, after laying the picture flat and turning it where that helps.

    A picture without a letter is not turned: it would have none on its head either.
    """
    best = engine.boxes(picture)
    if _a_long_line_fails(best) and (flat := flattened(picture)) is not None:
        laid = engine.boxes(flat)
        if _read(laid) > _read(best):
            best, picture = laid, flat
    for turn in engine.turns:
        if not 0 < mean_score(best) < engine.sure:
            break
        turned = engine.boxes(picture.transpose(turn))
        best = max(best, turned, key=mean_score)
    return best


def _a_long_line_fails(boxes: Sequence[Box]) -> bool:
    return any(box.width > _LONG * box.height and box.score < _FAILED for box in boxes)


def _read(boxes: Sequence[Box]) -> float:
    """How many letters were read, each by how sure that is."""
    return sum(box.score * len(box.text) for box in boxes)
