"""Puts recognised boxes together into text: lines, table cells, paragraphs."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from kb.engine.ingest.ocr.boxes import Box, straightened
from kb.engine.ingest.ocr.columns import columns
from kb.engine.ingest.paragraphs import Line, paragraphs

CELLS = " | "
_SAME_ROW = 0.5  # of a box's height, from middle to middle
_APART = 0.9  # times the height; words of one line are nearer to each other
# Of a box's height: engines draw boxes wider than letters, and lines may be set close.
_LETTERS = 0.7


def text_of(boxes: Sequence[Box]) -> str:
    """The text of a page in reading order."""
    return "\n\n".join(paragraphs([_line(row) for row in _rows(group)]) for group in _groups(boxes))


def in_order(boxes: Sequence[Box]) -> list[Box]:
    """The boxes in the order of their text in `text_of`."""
    return [box for group in _groups(boxes) for row in _rows(group) for box in row]


def _groups(boxes: Sequence[Box]) -> list[list[Box]]:
    return columns(straightened([box for box in boxes if box.text.strip()]))


def _rows(boxes: Iterable[Box]) -> list[list[Box]]:
    """The boxes that are side by side, from the top and each from the left."""
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.y):
        if rows and box.y - _middle(rows[-1]) < _SAME_ROW * min(box.height, rows[-1][0].height):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [sorted(row, key=lambda box: box.left) for row in rows]


def _middle(row: Sequence[Box]) -> float:
    last = row[-8:]  # enough to follow a line that climbs or falls, and quick for a long one
    return sum(box.y for box in last) / len(last)


def _line(row: Sequence[Box]) -> Line:
    parts = [row[0].text.strip()]
    for before, box in pairwise(row):
        apart = box.left - before.right > _APART * min(before.height, box.height)
        parts += [CELLS if apart else " ", box.text.strip()]
    height = _LETTERS * max(box.height for box in row)
    return Line("".join(parts), row[0].left, row[-1].right, -_middle(row), height)
