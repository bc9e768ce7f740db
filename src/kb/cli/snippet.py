"""A passage and its highlights in, the part worth showing out."""

from collections.abc import Sequence
from itertools import accumulate

from kb.cli.text import clean


def snippet(
    text: str, highlights: Sequence[Sequence[int]], length: int
) -> tuple[str, list[tuple[int, int]]]:
    """About `length` characters of the text on one line, where most of the marks are.

    Returns the snippet and the spans to mark in it. Runs of white space become one space.
    """
    letters, marked = _squeeze(text, highlights)
    if len(letters) > length:
        start = _best_start(marked, length)
        start, end = _to_words(letters, start, start + length)
        before, after = "… " if start > 0 else "", " …" if end < len(letters) else ""
        letters = before + letters[start:end] + after
        marked = [False] * len(before) + marked[start:end] + [False] * len(after)
    return letters, _spans(marked)


def _squeeze(text: str, highlights: Sequence[Sequence[int]]) -> tuple[str, list[bool]]:
    inside = [False] * len(text)
    for start, end in highlights:
        for position in range(max(0, start), min(end, len(text))):
            inside[position] = True
    letters: list[str] = []
    marked: list[bool] = []
    for letter, mark in zip(text, inside, strict=True):
        if letter.isspace():
            if not letters or letters[-1] == " ":
                continue
            letter = " "
        letters.append(letter)
        marked.append(mark)
    if letters and letters[-1] == " ":
        letters.pop()
        marked.pop()
    return clean("".join(letters)), marked


def _best_start(marked: list[bool], length: int) -> int:
    """Where a window of `length` holds the most marks; the marks stand in its middle."""
    sums = [0, *accumulate(marked)]
    last = len(marked) - length
    counts = [sums[start + length] - sums[start] for start in range(last + 1)]
    best = max(counts)
    if best == 0:
        return 0
    first = counts.index(best)
    through = first
    while through < last and counts[through + 1] == best:
        through += 1
    return (first + through) // 2


def _to_words(letters: str, start: int, end: int, reach: int = 20) -> tuple[int, int]:
    """The window without the halves of words at its ends, if words are of a usual length."""
    if start > 0 and letters[start - 1] != " ":
        space = letters.find(" ", start, start + reach)
        start = space + 1 if space >= 0 else start
    if end < len(letters) and letters[end] != " ":
        space = letters.rfind(" ", end - reach, end)
        end = space if space > start else end
    return start, end


def _spans(marked: list[bool]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for position, mark in enumerate(marked):
        if not mark:
            continue
        if spans and spans[-1][1] == position:
            spans[-1] = (spans[-1][0], position + 1)
        else:
            spans.append((position, position + 1))
    return spans
