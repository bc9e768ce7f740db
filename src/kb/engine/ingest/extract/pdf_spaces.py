"""The letters of a line of a PDF in, where a space is missing and which stands within a word out.

pdfium takes spaces from what was drawn, and mostly does well. In what groff has made, the space
between two words may be a distance between two letters, which pdfium overlooks (`anargument`), and
letters are set over a space to bring them together (`neg ative`). Programs that recognise text draw
the last letter of a word by itself (`Towe r`). Where the letters stand tells better. To look at
each takes three times as long, so it is done only where there is a reason.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low

from kb.engine.ingest.extract.pdf_accents import Sides

_WIDE = 0.15  # times the letters' height, more than between the letters beside it
_NARROW = 0.04  # the same for a space that is none
# Small letters that are no word of any language, behind another small letter.
_LONE = re.compile(r"(?<=[a-z]) [b-df-hj-np-tv-xz](?= )")
_MOST_LONE = 0.05  # of the words of a page; formulas have them, too


def is_made_by_groff(creator: str) -> bool:
    return "groff" in creator.lower()


def looks_torn(text: str) -> bool:
    """Whether so many letters of a page stand alone that its spaces may be none."""
    return len(_LONE.findall(text)) > _MOST_LONE * (text.count(" ") + 1)


def missing_and_torn(text: str, boxes: Sequence[Sides | None]) -> tuple[list[int], list[int]]:
    """Before which letters a space is missing, and which spaces stand within a word.

    A distance is held against those between the letters beside it: words may be set wide.
    """
    gaps = [_gap(before, after) for before, after in pairwise(boxes)]
    within = [
        gap
        for gap, pair in zip(gaps, pairwise(text), strict=True)
        if gap is not None and " " not in pair
    ]
    if not within:
        return [], []
    usual = max(median_low(within), 0.0)

    missing = {
        place
        for place in range(1, len(text))
        if text[place - 1].isalnum()
        and text[place].isalnum()
        and (gap := gaps[place - 1]) is not None
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


def _gap(before: Sides | None, after: Sides | None) -> float | None:
    """Times the letters' height; none where a line does not go on to the right."""
    if before is None or after is None or after.left <= before.left:
        return None
    height = min(before.top - before.bottom, after.top - after.bottom)
    return (after.left - before.right) / height if height > 0 else None
