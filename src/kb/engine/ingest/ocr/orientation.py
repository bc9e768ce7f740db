"""Reads a picture the right way up."""

from collections.abc import Sequence

from PIL.Image import Image

from kb.engine.ingest.ocr.boxes import Box, Engine, mean_score
from kb.engine.ingest.ocr.dewarp import flattened
from kb.engine.ingest.ocr.finer import read_finer
from kb.engine.ingest.ocr.word_boxes import turned_back

_LONG = 10.0  # times as wide as high: a line that is long enough to leave its rectangle
_FAILED = 0.93  # of the score; long lines on flat pages have .96 and more, bad scans among them


def upright(engine: Engine, picture: Image) -> list[Box]:
    """The boxes, after turning the picture and laying it flat where that helps: flat only once it
    is the right way up. A picture without a letter is not turned."""
    best = engine.boxes(picture)
    if not any(box.text for box in best):
        finer = read_finer(engine, picture)
        best = finer if any(box.text for box in finer) else best
    seen, kept = picture, None
    for turn in engine.turns:
        if not 0 < mean_score(best) < engine.sure:
            break
        turned = picture.transpose(turn)
        boxes = engine.boxes(turned)
        if mean_score(boxes) > mean_score(best):
            best, seen, kept = boxes, turned, turn
    best = _with_finer(best, engine, seen)
    if _a_long_line_fails(best) and (flat := flattened(seen)) is not None:
        best = max(best, flat.bent_back(engine.boxes(flat.picture)), key=_read)
    return best if kept is None else turned_back(best, kept, picture.size)


def _with_finer(boxes: list[Box], engine: Engine, picture: Image) -> list[Box]:
    """The boxes, and what is read from nearby beside them, in place of what could not be."""
    read = [box for box in boxes if box.text]
    if not read or not engine.shrinks:
        return boxes
    return max(boxes, read_finer(engine, picture, read), key=_read)


def _a_long_line_fails(boxes: Sequence[Box]) -> bool:
    return any(box.width > _LONG * box.height and box.score < _FAILED for box in boxes)


def _read(boxes: Sequence[Box]) -> float:
    """How many letters were read, each by how sure that is."""
    return sum(box.score * len(box.text) for box in boxes)
