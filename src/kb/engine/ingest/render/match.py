"""A passage and the words of a page in, the places of that passage on the page out."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_LETTERS = re.compile(r"\w+")
_LONGEST = 4_000  # words of a passage or a page that are compared
_GAP = 3  # words in a row that may be missing inside of what is marked


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a line; the sides are shares of the page's width and height."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PlacedWord:
    text: str
    box: Box


def places(passage: str, words: Sequence[PlacedWord]) -> list[Box]:
    """Boxes around the passage, one for each line; none where the page does not hold it.

    A passage is what an extractor made of the page: hyphens are gone, lines are joined, headers may
    be left out. So the two are aligned word by word, and small gaps are closed.
    """
    wanted = [_plain(word) for word in _LETTERS.findall(passage)][:_LONGEST]
    there: list[tuple[str, int]] = []
    for index, word in enumerate(words[:_LONGEST]):
        there += [(_plain(part), index) for part in _LETTERS.findall(word.text)]
    matcher = SequenceMatcher(None, wanted, [text for text, _ in there], autojunk=False)
    marked: list[int] = []
    for block in matcher.get_matching_blocks():
        if block.size >= min(2, len(wanted)):
            marked += [there[block.b + step][1] for step in range(block.size)]
    return _lines([words[index].box for index in _closed(sorted(set(marked)))])


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _closed(indexes: list[int]) -> list[int]:
    closed: list[int] = []
    for index in indexes:
        if closed and 1 < index - closed[-1] <= _GAP + 1:
            closed += range(closed[-1] + 1, index)
        closed.append(index)
    return closed


def _lines(boxes: list[Box]) -> list[Box]:
    """Neighbours in a line as one box: what stands at the same height, and near."""
    lines: list[Box] = []
    for box in boxes:
        last = lines[-1] if lines else None
        if last is not None and _beside(last, box):
            lines[-1] = Box(
                min(last.left, box.left),
                min(last.top, box.top),
                max(last.right, box.right),
                max(last.bottom, box.bottom),
            )
        else:
            lines.append(box)
    return lines


def _beside(last: Box, box: Box) -> bool:
    shared = min(last.bottom, box.bottom) - max(last.top, box.top)
    lower = min(last.bottom - last.top, box.bottom - box.top)
    return shared > 0.5 * lower and -0.01 <= box.left - last.right < 0.05
