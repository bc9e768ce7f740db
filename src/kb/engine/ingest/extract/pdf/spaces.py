"""Finds spaces that are missing between words, or stand inside one, by the positions of letters. In
files made by groff, a space may be a mere distance (`anargument`, `-o,can`), and letters are moved
together over a space (`neg ative`). OCR programs draw the last letter of a word separately (`Towe
r`). It doubles the time a page takes, so it is done only if there is a reason."""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low

from kb.engine.ingest.extract.pdf.accents import Sides

_WIDE = 0.15  # times the letters' height, more than between the letters beside it
_NARROW = 0.04  # the same for a space that is none
# Small letters that are no word of any language, behind another small letter.
_LONE = re.compile(r" [b-df-hj-np-tv-xz](?= )(?<=[a-z]..)")
_MOST_LONE = 0.05  # of the words of a page


def is_made_by_groff(creator: str) -> bool:
    return "groff" in creator.lower()


def lone_letters(text: str) -> list[int]:
    """Before which letters of a page a space may be wrong; empty where too few stand alone."""
    found = [match.start() + 1 for match in _LONE.finditer(text)]
    return found if len(found) > _MOST_LONE * (text.count(" ") + 1) else []


def is_torn(boxes: Sequence[Sides | None]) -> bool:
    """Whether the last of three letters is as near as the first two: no sign of a formula."""
    within, gap = (_gap(before, after) for before, after in pairwise(boxes))
    return gap is not None and within is not None and gap < within + _NARROW


def missing_and_torn(text: str, boxes: Sequence[Sides | None]) -> tuple[list[int], list[int]]:
    """Before which letters a space is missing, and which spaces stand within a word, by the
    distances between the letters beside it: words may be set wide."""
    gaps = _gaps(boxes)
    within = [
        gap
        for gap, before, after in zip(gaps, text, text[1:], strict=False)
        if gap is not None and before != " " != after
    ]
    if not within:
        return [], []
    usual = max(median_low(within), 0.0)

    missing = {
        place
        for place in range(1, len(text))
        if (gap := gaps[place - 1]) is not None
        and gap > usual + _WIDE
        and text[place - 1] != " " != text[place]
        and gap > max(usual, min(_beside(text, gaps, place - 1, place), default=usual)) + _WIDE
    }
    for place in missing:
        gaps[place - 1] = None
    torn = []
    for place in range(1, len(text) - 1):
        if text[place] == " " and text[place - 1].isalpha() and text[place + 1].isalpha():
            gap = _gap(boxes[place - 1], boxes[place + 1])
            most = min(_beside(text, gaps, place - 1, place + 1), default=usual) + _NARROW
            if gap is not None and gap < most:
                torn.append(place)
    return sorted(missing), torn


def _beside(text: str, gaps: list[float | None], left: int, right: int) -> list[float]:
    """How far off the letter before `left` and the one behind `right` are, within their words."""
    found = []
    if left > 0 and text[left - 1] != " ":
        found.append(gaps[left - 1])
    if right + 1 < len(text) and text[right + 1] != " ":
        found.append(gaps[right])
    return [gap for gap in found if gap is not None]


def _gaps(boxes: Sequence[Sides | None]) -> list[float | None]:
    """Those between letters that follow each other; each letter is asked once where it stands."""
    gaps: list[float | None] = []
    left = right = height = 0.0  # of the letter before; 0 high where it is nowhere
    for box in boxes:
        if box is None:
            gap, height = None, 0.0
        else:
            start, high = box.left, box.top - box.bottom
            least = min(height, high)
            gap = (start - right) / least if least > 0 and start > left else None
            left, right, height = start, box.right, high
        gaps.append(gap)
    return gaps[1:]


def _gap(before: Sides | None, after: Sides | None) -> float | None:
    """Times the letters' height; none where a line does not go on to the right."""
    if before is None or after is None or after.left <= before.left:
        return None
    height = min(before.top - before.bottom, after.top - after.bottom)
    return (after.left - before.right) / height if height > 0 else None
