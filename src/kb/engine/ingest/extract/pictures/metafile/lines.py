"""Puts drawn texts together into lines as a person reads them."""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

MOST_RECORDS = 500_000
_MOST_TEXTS = 50_000
_MOST_CHARACTERS = 500_000
_WORDS_APART = 0.25  # of the width of a letter


class Drawn(NamedTuple):
    """A text by where it begins; `width` is 0 where nobody says it."""

    x: int
    y: int
    width: int
    text: str


def in_lines(texts: Iterable[Drawn]) -> str:
    """In the order in which they are drawn. Many programs draw each word, or each letter, by
    itself: what begins where the one before it ends is one word."""
    lines: list[str] = []
    before: Drawn | None = None
    left = _MOST_CHARACTERS
    for drawn in islice(texts, _MOST_TEXTS):
        text = "".join(c if c.isprintable() else " " for c in drawn.text)
        left -= len(text)
        if left < 0:
            break
        if before is not None and (drawn.text, drawn.x, drawn.y) == (before.text, *before[:2]):
            continue  # drawn twice, as bold letters are
        if not text.strip():
            continue
        if before is None or not _go_on(before, drawn):
            lines.append(text)
        elif before.width and drawn.x - before.x - before.width <= _gap(before):
            lines[-1] += text
        else:
            lines[-1] += f" {text}"
        before = drawn
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _go_on(before: Drawn, drawn: Drawn) -> bool:
    """Whether a text is on the line of the one before it, and behind that."""
    letter = before.width // len(before.text) if before.width else 0
    return abs(drawn.y - before.y) <= letter // 2 and drawn.x > before.x


def _gap(before: Drawn) -> float:
    return before.width / len(before.text) * _WORDS_APART
