"""Shortens answers to what a model can afford.

A token is counted as four characters of the JSON that is sent, which is close for English and on
the safe side for code. Text is never changed: it is shown whole or as an excerpt, and then the
answer says which.
"""

from collections.abc import Sequence
from itertools import pairwise

from kb.mcp.contract import Json, as_json

CHARACTERS = 4  # of JSON, to a token
MOST_TOKENS = 20_000  # of any answer
SHORTEST = 160  # characters of a passage: less says nothing
_REACH = 20
_MARKS = 200

Span = tuple[int, int]


def size(content: object) -> int:
    """How many characters it takes as JSON."""
    return len(as_json(content))


def fit(items: list[Json], room: int) -> list[Json]:
    """As many of the first ones as fit into this many characters; at least one."""
    shown: list[Json] = []
    for item in items:
        room -= size(item) + 1
        if shown and room < 0:
            break
        shown.append(item)
    return shown


def shorten(hit: Json, highlights: Sequence[Sequence[int]], room: int) -> Json:
    """The hit with the part of its text that says most, if its text takes more than `room`.

    `room` is in characters of JSON, where a line break or a quote takes two.
    """
    text = hit["text"]
    if size(text) <= room:
        return hit
    length = min(room, len(text))
    while True:
        start, end = window(text, highlights, length)
        over = size(text[start:end]) - room
        if over <= 0 or length <= 1:
            break
        length = max(1, min(length - over, length * 9 // 10))
    return {**hit, "text": text[start:end], "excerpt": f"{start}-{end} of {len(text)} characters"}


def window(text: str, highlights: Sequence[Sequence[int]], length: int) -> Span:
    """Where to cut about `length` characters so that they hold as many marks as possible."""
    if length >= len(text):
        return 0, len(text)
    marks = [(start, end) for start, end in highlights[:_MARKS] if 0 <= start < end <= len(text)]
    start = _best_start(marks, length)
    start = max(0, min(start, len(text) - length))
    return _to_words(text, start, start + length)


def _best_start(marks: list[Span], length: int) -> int:
    """The marks that a window holds best begin at one of them; it leaves as much on both sides."""
    best, found = 0, 0
    for first, (start, _) in enumerate(marks):
        inside = [mark for mark in marks[first:] if mark[1] <= start + length]
        held = sum(end - begin for begin, end in inside)
        if held > found:
            found = held
            best = start - (length - (inside[-1][1] - start)) // 2
    return best


def _to_words(text: str, start: int, end: int) -> Span:
    """The window without half words at its ends, where words are of a usual length."""
    if start > 0 and not text[start - 1].isspace():
        start = next(iter(_after_spaces(text, start, min(start + _REACH, end))), start)
    if end < len(text) and not text[end].isspace():
        end = next(
            (at for at in range(end, max(start, end - _REACH), -1) if text[at - 1].isspace()), end
        )
    return start, end


def _after_spaces(text: str, start: int, end: int) -> Sequence[int]:
    places = range(start, min(end, len(text)))
    return [after for at, after in pairwise(places) if text[at].isspace()]


def share(sizes: Sequence[int], room: int) -> list[int]:
    """Room for each, fairly: what the small ones leave over goes to the large ones."""
    shares = [0] * len(sizes)
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, index in enumerate(by_size):
        shares[index] = min(sizes[index], max(room, 0) // (len(sizes) - done))
        room -= shares[index]
    return shares


def fit_hits(
    hits: list[Json], marks: Sequence[Sequence[Sequence[int]]], room: int
) -> tuple[list[Json], int]:
    """The hits that fit into `room` characters, shortened where they must be, and how many were.

    The best come first, so it is the last that are left out; one is always shown.
    """
    if sum(size(hit) + 1 for hit in hits) <= room:
        return hits, 0
    texts = [size(hit["text"]) for hit in hits]
    bare = [
        size({**hit, "text": "", "excerpt": "00000-00000 of 00000 characters"}) + 1 for hit in hits
    ]
    kept, used = 0, 0
    for text, other in zip(texts, bare, strict=True):
        used += other + min(text, SHORTEST)
        if used > room and kept:
            break
        kept += 1
    shares = share(texts[:kept], room - sum(bare[:kept]))
    shown = [
        shorten(hit, mark, max(part, SHORTEST))
        for hit, mark, part in zip(hits, marks, shares, strict=False)
    ]
    return shown, sum("excerpt" in hit for hit in shown)
