"""Finds the positions of a passage on its page."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from kb.engine.pages import Box, PlacedWord

_LETTERS = re.compile(r"\w+")
_LONGEST = 4_000  # words of a page that are compared
_PASSAGE = 1_500  # words of a passage; most have 200
# Times a word stands on the page: no match is begun with one that is there more often, or pages
# that repeat a few words would be compared for minutes.
_OFTEN = 100
_GAP = 3  # words in a row that may be missing inside of what is marked


def places(passage: str, words: Sequence[PlacedWord]) -> list[Box]:
    """Boxes around the passage, one for each line; none where the page does not hold it. An
    extractor joins lines, drops hyphens and headers: so both are aligned word by word, and small
    gaps closed."""
    wanted = [_plain(word) for word in _LETTERS.findall(passage)][:_PASSAGE]
    there: list[tuple[str, int]] = []
    for index, word in enumerate(words[:_LONGEST]):
        there += [(_plain(part), index) for part in _LETTERS.findall(word.text)]
    matcher = SequenceMatcher(None, wanted, [text for text, _ in there], autojunk=False)
    found: dict[str, list[int]] = vars(matcher)["b2j"]  # documented, but its type is not known
    for often in [text for text, indexes in found.items() if len(indexes) > _OFTEN]:
        del found[often]
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
    """Neighbours in a line as one box: those at the same height and near each other."""
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
    """Whether a box goes on where the last one ends, in any direction: the page may be turned."""
    across = _shared(last.left, last.right, box.left, box.right)
    along = _shared(last.top, last.bottom, box.top, box.bottom)
    if along > 0.5 * min(last.bottom - last.top, box.bottom - box.top):
        return -0.01 <= -across < 0.05
    # Of equal width, or the first word of a line would go on with the line above.
    same = across > 0.6 * max(last.right - last.left, box.right - box.left)
    return same and -0.01 <= -along < 0.03


def _shared(start: float, end: float, other_start: float, other_end: float) -> float:
    """How much two stretches have in common; less than nothing is the gap between them."""
    return min(end, other_end) - max(start, other_start)
