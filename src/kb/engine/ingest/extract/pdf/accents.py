"""Puts accents that were drawn separately onto their letters, by position. TeX's older fonts have
no ä, and a page then says `a¨`, `¨a` or `a word ¨`."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol

_COMBINING = {
    "¨": "\u0308",
    "´": "\u0301",
    "`": "\u0300",
    "ˆ": "\u0302",
    "^": "\u0302",
    "˜": "\u0303",
    "~": "\u0303",
    "¯": "\u0304",
    "˘": "\u0306",
    "˙": "\u0307",
    "˚": "\u030a",
    "˝": "\u030b",
    "ˇ": "\u030c",
    "¸": "\u0327",
    "˛": "\u0328",
}
ACCENT = re.compile(f"[{re.escape(''.join(_COMBINING))}]")
_SPACE = 0.1  # times the letters' height; what is further apart is two words
_MOST = 50  # accents of a line
_DOTLESS = {"ı": "i", "ȷ": "j"}


class Sides(Protocol):
    left: float
    right: float
    top: float
    bottom: float


def set_accents(letters: list[str], boxes: Sequence[Sides | None]) -> None:
    """Put the accents of a line onto their letters, in place. pdfium may return an accent words
    before or after its letter, so every letter of the line is checked."""
    marks = [number for number, sign in enumerate(letters) if sign in _COMBINING]
    taken: set[int] = set()
    for mark in marks[:_MOST]:
        base = _below(mark, letters, boxes, taken)
        if base is None:
            continue
        taken.add(base)
        plain = _DOTLESS.get(letters[base], letters[base])
        letters[base] = unicodedata.normalize("NFC", plain + _COMBINING[letters[mark]])
        letters[mark] = ""
        _close(mark, letters, boxes)


def _below(
    mark: int, letters: list[str], boxes: Sequence[Sides | None], taken: set[int]
) -> int | None:
    accent = boxes[mark]
    if accent is None:
        return None
    middle = (accent.left + accent.right) / 2
    for number, side in enumerate(boxes):
        is_letter = letters[number].isalpha() and letters[number] not in _COMBINING
        if is_letter and number not in taken and side and side.left < middle < side.right:
            return number
    return None


def _close(mark: int, letters: list[str], boxes: Sequence[Sides | None]) -> None:
    """Leave one space where the accent was, if what stands around it is that far apart."""
    first, last = mark, mark
    while first > 0 and letters[first - 1] in ("", " "):
        first -= 1
    while last + 1 < len(letters) and letters[last + 1] in ("", " "):
        last += 1
    if first == 0 or last + 1 == len(letters):
        return
    before, after = boxes[first - 1], boxes[last + 1]
    letters[first : last + 1] = [""] * (last + 1 - first)
    if before and after and after.left - before.right > _SPACE * (after.top - after.bottom):
        letters[mark] = " "
