"""Marks the headings that bookmarks point to: by page, usually height, and the text of a line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kb.engine.ingest.extract.pdf.headings import Heading
from kb.engine.ingest.extract.pdf.sentences import Paragraph
from kb.engine.ingest.paragraphs import Line

_MOST_LINES = 3  # of a heading
_MORE = 20  # characters that a heading may have beside its bookmark's: a number, spaces
_MOST_MARKS = 100  # on a page
# What stands above the first heading of a page is the page's own head, up to so much of it.
_HEAD_LINES = 2
_HEAD = 160  # characters
_NUMBER = re.compile(r"(?:[A-Z]?[\d.]+|[A-Z]\.|[IVXL]+\.?)\s+")
_NO_LETTERS = re.compile(r"[\W_]+")

Place = tuple[int, int]  # which paragraph, and which of its lines


@dataclass(frozen=True, slots=True)
class Bookmark:
    path: tuple[str, ...]  # its title last, behind those that it stands below
    top: float | None  # where it points to, upwards from the lower edge of the page


@dataclass(frozen=True, slots=True)
class Placed:
    paragraphs: list[Paragraph]  # each heading begins one
    headings: list[list[Heading]]
    path: tuple[str, ...] | None  # of the page's top; None where that belongs to the page before


def placed(paragraphs: list[Paragraph], bookmarks: Sequence[Bookmark]) -> Placed:
    """Not marked are headings right below the page's head and a first bookmark without a line: they
    stand above the whole page."""
    found = _found(paragraphs, bookmarks[:_MOST_MARKS])
    path = bookmarks[0].path if 0 not in found else None
    marks: dict[Place, Heading] = {}
    above = [0, 0]  # lines and characters that are no headings
    places = {place: (number, count) for number, (place, count) in found.items()}
    skip = 0
    for place, line in _lines(paragraphs):
        if place in places:
            number, count = places[place]
            if above[0] <= _HEAD_LINES and above[1] <= _HEAD:
                path = bookmarks[number].path
            else:
                marks[place] = (count, len(bookmarks[number].path))
            skip = count
        skip -= 1
        if skip < 0:
            above[0] += 1
            above[1] += len(line.text)
    return _parted(paragraphs, marks, path)


def _found(
    paragraphs: list[Paragraph], bookmarks: Sequence[Bookmark]
) -> dict[int, tuple[Place, int]]:
    """By the number of the bookmark: where its heading begins, and how many lines it has."""
    titles = tuple({_key(bookmark.path[-1]) for bookmark in bookmarks})
    longest = max(len(bookmark.path[-1]) for bookmark in bookmarks) + _MORE
    named: dict[str, list[tuple[Place, int]]] = {}
    for place, line in _lines(paragraphs):
        if len(line.text) > longest:
            continue
        paragraph = paragraphs[place[0]][place[1] :]
        for count in range(1, min(len(paragraph), _MOST_LINES) + 1):
            text = " ".join(line.text for line in paragraph[:count])
            key = _key(text) if len(text) <= longest else ""
            if not key or not any(title.startswith(key) for title in titles):
                break
            if key in titles:
                named.setdefault(key, []).append((place, count))
    found: dict[int, tuple[Place, int]] = {}
    taken: set[Place] = set()
    for number, bookmark in enumerate(bookmarks):
        free = [one for one in named.get(_key(bookmark.path[-1]), []) if one[0] not in taken]
        if not free:
            continue
        top = bookmark.top
        best = free[0] if top is None else min(free, key=lambda one: _off(paragraphs, one[0], top))
        found[number] = best
        taken.add(best[0])
    return found


def _off(paragraphs: list[Paragraph], place: Place, top: float) -> float:
    line = paragraphs[place[0]][place[1]]
    return abs(line.bottom + line.height - top)


def _key(text: str) -> str:
    """The common form of a bookmark and its heading: no numbers, no punctuation."""
    text = text.strip()
    number = _NUMBER.match(text)
    return _NO_LETTERS.sub("", text[number.end() :] if number else text).casefold()


def _lines(paragraphs: list[Paragraph]) -> list[tuple[Place, Line]]:
    return [
        ((number, at), line)
        for number, paragraph in enumerate(paragraphs)
        if not paragraph[0].is_row
        for at, line in enumerate(paragraph)
        if line.text.strip()
    ]


def _parted(
    paragraphs: list[Paragraph], marks: dict[Place, Heading], path: tuple[str, ...] | None
) -> Placed:
    done: list[Paragraph] = []
    headings: list[list[Heading]] = []
    for number, paragraph in enumerate(paragraphs):
        begins = sorted(at for other, at in marks if other == number)
        for start, end in zip([0, *begins], [*begins, len(paragraph)], strict=True):
            if start < end:
                done.append(paragraph[start:end])
                mark = marks.get((number, start))
                headings.append([mark] if mark else [])
    return Placed(done, headings, path)
