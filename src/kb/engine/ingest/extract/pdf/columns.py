"""Puts the lines of a page in the order of its columns if rows were drawn through all of them.
pdfium then mixes columns: too much text for its width, or lines of prose with a gap at the same
place. Such a page is read word by word, by position."""

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from kb.engine.ingest.extract.pdf.accents import ACCENT, set_accents
from kb.engine.ingest.extract.pdf.letters import Box, Letters
from kb.engine.ingest.extract.pdf.text import LINE_END_HYPHEN
from kb.engine.ingest.paragraphs import Cell, Line, begins_within

_LONG = 60  # characters of a line that is looked at
_LONGEST = 500
_DENSE = 0.3  # width over number of letters and their height; prose has .4 to .5
_FEWEST_DENSE = 2
_FEWEST_ROWS = 8  # of a page in columns
_GAP = 0.8  # times the letters' height; words of one column are nearer
_SAME_ROW = 0.3  # times the letters' height
_CROSSED = 0.12  # of the rows, which go through all columns: titles, heads and feet
_NARROWEST = 12.0  # times the letters' height: a column of prose
_MOST_COLUMNS = 4
_PROSE = 25  # characters of a line, in the middle
_GOES_ON = 0.3  # of the lines of prose begin within a sentence
_FULL = 0.6  # of the lines of prose go to the end of their column
_NEAR_END = 0.85  # times the column's width
# Of lines that are not justified, as long as more of them begin within a sentence.
_RAGGED_GOES_ON = 0.4
_RAGGED_FULL = 0.65
_RAGGED_END = 0.7
_LEADERS = re.compile(r"(?:\.\s?){4,}")  # of an index, or a table of contents
_WORD = re.compile(rf"[^\s{LINE_END_HYPHEN}]+{LINE_END_HYPHEN}?")


def by_column(lines: list[Line], letters: Letters) -> list[Line]:
    """The lines as they are read; the same where they already are."""
    # Upside down, pdfium tells the pieces of a row from the last on. In a mirror it does not.
    is_upside_down = letters.turn == 2 and lines[0].bottom > lines[-1].bottom
    if not is_upside_down and not _may_be_mixed(lines, letters):
        return lines
    parts = _parts(letters)
    gutters = _gutters(parts)
    if not gutters or not _are_prose(parts, gutters):
        return parts if is_upside_down else lines
    return list(_read(parts, gutters))


def _may_be_mixed(lines: list[Line], letters: Letters) -> bool:
    dense = gaps = 0
    whole: list[Line] = []  # lines that would be prose, if they had no gap
    for above, line in pairwise(lines):
        if above.height and abs(above.bottom - line.bottom) < _SAME_ROW * line.height:
            gaps += line.left > above.right and _is_prose(above.text) and _is_prose(line.text)
        if len(line.text) <= _LONG or not _is_prose(line.text):
            continue
        if 0 < line.right - line.left < _DENSE * len(line.text) * line.height:
            dense += 1
        else:
            whole.append(line)
    if dense >= _FEWEST_DENSE or gaps >= _FEWEST_ROWS:
        return True
    if len(whole) < _FEWEST_ROWS:
        return False
    some = [whole[len(whole) * quarter // 4] for quarter in (1, 2, 3)]
    return _has_gap(some[0], letters) and (_has_gap(some[1], letters) or _has_gap(some[2], letters))


def _has_gap(line: Line, letters: Letters) -> bool:
    """Whether two parts of it, each long enough for prose, stand apart."""
    if len(line.text) > _LONGEST:
        return False
    place = line.text.find(" ", _PROSE)
    while 0 <= place < len(line.text) - _PROSE:
        if letters.gap(line.start + place - 1, line.start + place + 1) > _GAP * line.height:
            return True
        place = line.text.find(" ", place + 1)
    return False


def _is_prose(text: str) -> bool:
    return len(text) > _PROSE and _LEADERS.search(text) is None


def _parts(letters: Letters) -> list[Line]:
    """The words of each row that stand near each other, from top to bottom."""
    words = [word for word in _words(letters) if word.height]
    words.sort(key=lambda word: -word.bottom)
    rows: list[list[Line]] = []
    for word in words:
        if rows and rows[-1][0].bottom - word.bottom < _SAME_ROW * word.height:
            rows[-1].append(word)
        else:
            rows.append([word])
    parts: list[Line] = []
    for row in rows:
        near: list[Line] = []
        right = 0.0  # of what is near, where the last of it may be an accent above the others
        for word in sorted(row, key=lambda word: word.left):
            if near and word.left - right >= _GAP * word.height:
                parts.append(_one(near, letters))
                near = []
            right = max(right, word.right) if near else word.right
            near.append(word)
        parts.append(_one(near, letters))
    return parts


def _one(words: list[Line], letters: Letters) -> Line:
    """Words beside each other as one line."""
    first = words[0]
    text, right = " ".join(word.text for word in words), max(word.right for word in words)
    if ACCENT.search(text):
        signs, boxes = list(text), [box for word in words for box in _boxes(word, letters)]
        set_accents(signs, boxes[:-1])
        text = "".join(signs).strip()
    cells = [Cell(0, first.left, right)]
    return Line(text, first.left, right, first.bottom, first.height, first.start, cells)


def _boxes(word: Line, letters: Letters) -> Iterator[Box | None]:
    """Of its letters, and of the space behind it, which stands nowhere."""
    yield from (letters.box(word.start + number) for number in range(len(word.text)))
    yield None


def _words(letters: Letters) -> Iterator[Line]:
    for match in _WORD.finditer(letters.text):
        start, end = match.span()
        first, last = letters.box(start), letters.box(end - 1)
        if first and last:
            height = max(first.top - first.bottom, 0.0)
            yield Line(match[0], first.left, last.right, first.bottom, height, start)


def _gutters(parts: list[Line]) -> list[float]:
    """Places between columns where hardly any row has a word."""
    if len(parts) < 2 * _FEWEST_ROWS:
        return []
    heights = sorted(part.height for part in parts)
    height = heights[len(heights) // 2]
    edges = sorted(
        [(part.left, 1) for part in parts if part.right > part.left]
        + [(part.right, -1) for part in parts if part.right > part.left]
    )
    most = _CROSSED * len({round(part.bottom / height) for part in parts})
    gutters: list[float] = []
    begin: float | None = None
    left, right = edges[0][0], edges[-1][0]
    covered = 0
    for place, step in edges:
        covered += step
        if covered > most:
            if begin is not None and place - begin > _GAP * height:
                gutters.append((begin + place) / 2)
            begin = None
        elif begin is None:
            begin = place
    gutters = [one for one in gutters if left < one < right]
    columns = [left, *gutters, right]
    narrow = any(after - before < _NARROWEST * height for before, after in pairwise(columns))
    return [] if narrow or len(gutters) >= _MOST_COLUMNS else gutters


def _are_prose(parts: list[Line], gutters: list[float]) -> bool:
    """Whether the columns contain sentences, and not the cells of a table."""
    for _, column in groupby(
        sorted(parts, key=lambda part: _column(part, gutters)), lambda part: _column(part, gutters)
    ):
        lines = list(column)
        if _column(lines[0], gutters) < 0:
            continue
        left = min(line.left for line in lines)
        width = max(line.right for line in lines) - left
        lengths = sorted(len(line.text) for line in lines)
        ends = [line.right - left for line in lines]
        full = sum(end > _NEAR_END * width for end in ends) >= _FULL * len(lines)
        goes_on = sum(begins_within(line.text) for line in lines)
        if (
            len(lines) < _FEWEST_ROWS
            or lengths[len(lengths) // 2] < _PROSE
            or goes_on < (_GOES_ON if full else _RAGGED_GOES_ON) * len(lines)
        ):
            return False
        ragged = sum(end > _RAGGED_END * width for end in ends) >= _RAGGED_FULL * len(lines)
        if not full and not ragged:
            return False
    return True


def _column(part: Line, gutters: list[float]) -> int:
    """The column it is in; below 0 if it spans all of them."""
    if any(part.left < gutter < part.right for gutter in gutters):
        return -1
    return sum(part.left > gutter for gutter in gutters)


def _read(parts: list[Line], gutters: list[float]) -> Iterator[Line]:
    """Column by column, down to what goes through all of them."""
    waiting: list[Line] = []
    for part in [*parts, None]:
        if part is not None and _column(part, gutters) >= 0:
            waiting.append(part)
            continue
        yield from sorted(waiting, key=lambda one: _column(one, gutters))
        waiting = []
        if part is not None:
            yield part
