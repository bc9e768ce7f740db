"""Chooses the part of a passage that is worth showing, by its highlights."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rich.cells import cell_len, get_character_cell_size

from kb.cli.terminal.safe_text import clean

Spans = list[tuple[int, int]]

_TAB = 4
_MOST_OF_A_MARK = 20  # has to fit: what is marked may be longer than there is room for
# A line that begins so is not part of a paragraph: an item of a list, a row of a table, a
# quotation, a heading.
_BEGINS_ANEW = re.compile(r"\s*(?:[-*+•‣·]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|[|>]|#{1,6}\s)")
_ENDS_ITSELF = re.compile(r"\s*(?:[|]|#{1,6}\s)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_INDENTED = re.compile(r"(?: {4}| *\t)")


def snippet(
    text: str, highlights: Sequence[Sequence[int]], width: int, rows: int, code: bool = False
) -> tuple[str, Spans]:
    """As much of the text as fits into so many rows, where most of the marked words are.

    Returns the snippet and the spans to mark in it. Paragraphs flow; lists, tables and code keep
    their lines, as everything does where `code` says that the text is nothing else.
    """
    inside = _inside(len(text), highlights)
    letters, marked = _joined(_lines(text, code), text, inside)
    start, end = _window(letters, marked, width, rows)
    shown, spans = letters[start:end].rstrip(), marked[start:end]
    before, after = "… " if start > 0 else "", " …" if end < len(letters) else ""
    return clean(before + shown + after), _spans([False] * len(before) + spans[: len(shown)])


def flowing(text: str, highlights: Sequence[Sequence[int]]) -> tuple[str, Spans]:
    """The whole text on one line, and the spans to mark in it."""
    letters, marked = _joined([[(0, len(text))]], text, _inside(len(text), highlights))
    return clean(letters), _spans(marked)


def _inside(length: int, highlights: Sequence[Sequence[int]]) -> list[bool]:
    inside = [False] * length
    for start, end in highlights:
        for position in range(max(0, start), min(end, length)):
            inside[position] = True
    return inside


def _lines(text: str, code: bool) -> Iterator[Spans]:
    """The lines to show, each as the stretches of the text that flow together in it."""
    line: Spans = []
    fenced = closed = False
    for match in re.finditer(r"[^\n]*\n?", text):
        bare = match[0].strip()
        if not code and _FENCE.match(bare):
            fenced, closed = not fenced, True
        elif not bare:
            closed = True
        else:
            follows_item = bool(line) and _BEGINS_ANEW.match(text, *line[0]) and not closed
            is_code = code or fenced or (_INDENTED.match(match[0]) and not follows_item)
            if line and (closed or is_code or _BEGINS_ANEW.match(match[0])):
                yield line
                line = []
            line.append((match.start(), match.end()))
            closed = bool(is_code or _ENDS_ITSELF.match(match[0]))
    if line:
        yield line


def _joined(lines: Iterable[Spans], text: str, inside: list[bool]) -> tuple[str, list[bool]]:
    """The lines as one text. What begins a line is kept, white space elsewhere is one space."""
    letters: list[str] = []
    marked: list[bool] = []
    indents: list[tuple[int, int]] = []
    for line in lines:
        if letters:
            _append(letters, marked, "\n", False)
        indents.append((len(letters), _indent(text, *line[0])))
        for start, end in line:
            _append(letters, marked, " ", False)
            for letter, mark in zip(text[start:end], inside[start:end], strict=True):
                _append(letters, marked, " " if letter.isspace() else letter, mark)
    while letters and letters[-1] in " \n":
        letters.pop()
        marked.pop()
    common = min((indent for _, indent in indents), default=0)
    for at, indent in reversed(indents):
        letters[at:at] = " " * (indent - common)
        marked[at:at] = [False] * (indent - common)
    return "".join(letters), marked


def _append(letters: list[str], marked: list[bool], letter: str, mark: bool) -> None:
    """White space after white space, and at the very beginning, is left out."""
    if letter == " " and (not letters or letters[-1] in " \n"):
        return
    if letter == "\n" and letters[-1] == " ":
        letters.pop()
        marked.pop()
    letters.append(letter)
    marked.append(mark)


def _indent(text: str, start: int, end: int) -> int:
    line = text[start:end].expandtabs(_TAB)
    return len(line) - len(line.lstrip())


def _window(letters: str, marked: list[bool], width: int, rows: int) -> tuple[int, int]:
    """From where to where as much fits as there is room for, with the most words that are marked,
    and the most marks, in its middle."""
    taken = [0, *accumulate(_room(letters, width))]
    room = width * rows
    if taken[-1] <= room:
        return 0, len(letters)
    room -= len("… ") + len(" …")
    last = bisect_left(taken, taken[-1] - room)
    ends = [bisect_right(taken, taken[start] + room) - 1 for start in range(last + 1)]
    spans = [(first, min(last, first + _MOST_OF_A_MARK)) for first, last in _spans(marked)]
    start = _middle(_worth(letters, spans, ends))
    within = [span for span in spans if start <= span[0] and span[1] <= ends[start]]
    if within:
        beginning = letters.rfind("\n", 0, start) + 1
        if taken[within[-1][1]] - taken[beginning] <= room:  # rather from the line's beginning
            start = beginning
    end = bisect_right(taken, taken[start] + room) - 1
    line = letters.rfind("\n", within[-1][1] if within else start, end)
    is_cut = end < len(letters) and letters[end] != "\n"
    if is_cut and line > start and taken[end] - taken[line + 1] < width:
        end = line  # rather without a part of a line
    return _to_words(letters, start, end)


def _worth(letters: str, spans: Spans, ends: list[int]) -> list[tuple[int, int]]:
    """How many different words, and how many marks, are whole between each start and its end."""
    words = [letters[first:last].casefold() for first, last in spans]
    inside: Counter[str] = Counter()
    worth, gone, come = [], 0, 0
    for start, end in enumerate(ends):
        while come < len(spans) and spans[come][1] <= end:
            inside[words[come]] += 1
            come += 1
        while gone < come and spans[gone][0] < start:
            inside[words[gone]] -= 1
            gone += 1
        worth.append((sum(number > 0 for number in inside.values()), come - gone))
    return worth


def _room(letters: str, width: int) -> Iterator[int]:
    """How much of a row each letter takes; the end of a line takes the rest of it."""
    first, *others = letters.split("\n")
    yield from map(get_character_cell_size, first)
    for before, line in zip([first, *others], others, strict=False):
        yield -cell_len(before) % width
        yield from map(get_character_cell_size, line)


def _middle(worth: list[tuple[int, int]]) -> int:
    """The middle of the first run of the best; the beginning where nothing is marked."""
    best = max(worth)
    if best == (0, 0):
        return 0
    first = through = worth.index(best)
    while through + 1 < len(worth) and worth[through + 1] == best:
        through += 1
    return (first + through) // 2


def _to_words(letters: str, start: int, end: int, reach: int = 20) -> tuple[int, int]:
    """The window without the halves of words at its ends, if words are of a usual length."""
    if start > 0 and not letters[start - 1].isspace():
        space = re.compile(r"\s").search(letters, start, start + reach)
        start = space.end() if space else start
    if end < len(letters) and not letters[end].isspace():
        spaces = [at for at in range(max(start, end - reach), end) if letters[at].isspace()]
        end = spaces[-1] if spaces and spaces[-1] > start else end
    return start, end


def _spans(marked: list[bool]) -> Spans:
    spans: Spans = []
    for position, mark in enumerate(marked):
        if not mark:
            continue
        if spans and spans[-1][1] == position:
            spans[-1] = (spans[-1][0], position + 1)
        else:
            spans.append((position, position + 1))
    return spans
