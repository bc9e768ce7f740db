"""A text in, how many of its paragraphs end inside a sentence out."""

import re
from itertools import pairwise

_ENDS = re.compile(r"[.!?:;…。！？；：)\]}”\"'»]\s*\d*[*†‡]?$")
_WORD = re.compile(r"[^\W\d_]{3,}")
_TORN = re.compile(r"[^\W\d]-$")
_ITEM = re.compile(r"(?:[a-z]|[ivx]{1,4})\)\s")  # its label is a small letter, its text begins anew
_WITHIN = re.compile(
    r"(?:^|\s)(?:the|an?|of|and|or|in|to|for|with|by|on|at|from|as|that|which|is|are|was|be"
    r"|der|die|das|und|von|mit|für|den|dem|zu|les?|la|de|et|des|du)$",
    re.IGNORECASE,
)


def breaks(text: str) -> tuple[int, int, tuple[str, ...]]:
    """How many breaks are inside of one, of how many, and what stands around the first of them.

    A sentence goes on where a paragraph ends without a mark, and the next begins with a small
    letter, or where it ends with a word that no sentence ends with. Headings and tables have none.
    """
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    inside = [
        f"{before[-40:]} ¦ {after[:40]}".replace("\n", " ")
        for before, after in pairwise(paragraphs)
        if _goes_on(before, after)
    ]
    return len(inside), max(len(paragraphs) - 1, 0), tuple(inside[:5])


def _goes_on(before: str, after: str) -> bool:
    if after.startswith(("|", "#")) or (before.startswith(("|", "#")) and "\n" not in before):
        return False
    end = before[-30:]
    if _ENDS.search(end):
        return False
    if _TORN.search(end) or _WITHIN.search(end):
        return True
    return after[:1].islower() and not _ITEM.match(after) and _WORD.search(end) is not None
