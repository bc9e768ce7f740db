"""Finds tables, consecutive lines with several cells in shared columns, and writes their rows: `| a
| b | |`. Empty cells stay, so that each figure keeps its column."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

from kb.engine.ingest.extract.pdf.text import continued
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.ingest.paragraphs import Cell, Line

_FEWEST_ROWS = 3
_ENOUGH_ROWS = 9  # to know the columns
_MOST_COLUMNS = 60
_APART = (0.3, 4.5)  # times the letters' height, from row to row
_SHARED = 0.5  # of the rows have so many cells as make the columns
_NEAR = 0.3  # times the letters' height, from edge to edge
_ALIGNED = 0.7  # of the cells
_WIDE = 0.6  # of the width of a table
_MOST_WIDE = 2  # a title within it has no more lines; what has is prose
_MOST_STRAY = 1  # what has more is the title of the next table
_INDENT = 3.0  # times the letters' height, of a label
# A bullet, or the number of an item or a line.
_LABEL = re.compile(r"[^\w]|[(\[]?(?:\d{1,5}|[a-zA-Z]|[ivx]{1,4})[.):\]]?")
_PROSE = 40  # characters
_LEADERS = re.compile(r"(?:\.\s?){4,}")  # of a table of contents

Edges = tuple[list[float], list[float]]  # of the cells of a row: left and right


def tables(lines: list[Line], is_code: Callable[[Line], bool]) -> Iterator[list[Line]]:
    """The lines in stretches, each all of a table or all of none."""
    rest = 0
    number = 0
    while number < len(lines):
        if len(lines[number].cells) < 2:
            number += 1
            continue
        end = _end(lines, number)
        if end - number > 1:
            rows = _rows(lines[number:end])
            if rows and not is_code(lines[number]):
                if number > rest:
                    yield lines[rest:number]
                yield rows
                rest = end
        number = max(end, number + 1)
    if rest < len(lines):
        yield lines[rest:]


def _end(lines: list[Line], start: int) -> int:
    """Behind the last line of what may be a table from `start` on."""
    if not _has_cells(lines[start]):
        return start
    end = start + 1
    left, right = lines[start].left, lines[start].right
    # Lines of one cell, behind the last row, that go through most columns or stand in none.
    wide = stray = 0
    for number in range(start + 1, len(lines)):
        above, line = lines[number - 1], lines[number]
        if not line.height:
            break
        left, right = min(left, line.left), max(right, line.right)
        is_wide = len(line.cells) == 1 and line.right - line.left > _WIDE * (right - left)
        wide = wide + 1 if is_wide else 0
        if len(line.cells) > 1:
            stray = 0
        elif line.left - left > _INDENT * line.height and not _in_column(line, lines[end - 1]):
            stray += 1
        if wide > _MOST_WIDE or stray > _MOST_STRAY:
            break
        least, most = (times * line.height for times in _APART)
        if not least < above.bottom - line.bottom < most:
            break
        if _has_cells(line):
            end = number + 1
        elif not _is_wrapped(line, lines[start]):
            break
    return end


def _has_cells(line: Line) -> bool:
    count = len(line.cells)
    if count < 2 or not line.height or _LEADERS.search(line.text):
        return False
    if count > 2:
        return True
    label, text = _texts(line)
    return _LABEL.fullmatch(label) is None or _LABEL.fullmatch(text) is not None  # two years


def _in_column(line: Line, row: Line) -> bool:
    """Whether it begins, ends or has its middle where a cell of the row has."""
    near = _NEAR * line.height
    return any(
        abs(line.left - cell.left) < near
        or abs(line.right - cell.right) < near
        or abs(line.left + line.right - cell.left - cell.right) < 2 * near
        for cell in row.cells
    )


def _is_wrapped(line: Line, first: Line) -> bool:
    """Whether a line of one cell may go on with a cell of the row above, or is the label of rows
    below a head that stands over the other columns."""
    if len(line.cells) > 1:
        return False
    return line.left > first.left - line.height or line.right < first.left


def _rows(lines: list[Line]) -> list[Line]:
    """The rows, each with a cell for every column; none where there are no columns."""
    filled = [line for line in lines if _has_cells(line)]
    if len(filled) < _FEWEST_ROWS or not _are_aligned(filled):
        return []
    columns = _columns(filled)
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return []
    rows: list[list[str]] = []
    kept: list[Line] = []
    through = 0  # lines that go on with a sentence that goes through columns
    for line in lines:
        places = [_column(columns, cell.left, cell.right) for cell in line.cells]
        texts = _texts(line)
        if len(places) == 1 and places[0] > 0 and rows and line.height < 1.3 * kept[-1].height:
            place = _continued(rows[-1], columns, kept[-1], line, places[0])
            through += place != places[0]
            rows[-1][place] = continued(rows[-1][place], texts[0])
            continue
        row = [""] * len(columns)
        for place, text in zip(places, texts, strict=True):
            row[place] = f"{row[place]} {text}".strip()
        rows.append(row)
        kept.append(line)
    several = sum(sum(map(bool, row)) > 1 for row in rows)
    if several < 2 or (through and 2 * several < len(rows)):
        return []
    return [
        Line(
            pipe_row(row), line.left, line.right, line.bottom, line.height, line.start, is_row=True
        )
        for row, line in zip(rows, kept, strict=True)
    ]


def _continued(
    row: list[str], columns: list[tuple[float, float]], first: Line, line: Line, place: int
) -> int:
    """Which cell of a row a line below it goes on with: the one above it, unless that is empty
    because a sentence goes through its column."""
    label = first.cells[0]
    if row[place] or not label.left < line.left < label.right - line.height:
        return place
    is_prose = len(row[0]) > _PROSE and any(map(str.isalpha, line.text))
    return 0 if is_prose and _column(columns, label.left, label.right) == 0 else place


def _are_aligned(lines: list[Line]) -> bool:
    """Whether cells begin or end where those of other rows do, as the words of prose do not.

    The first and the last edge of a line are at the margins of any text, so they tell nothing.
    """
    lefts = [cell.left for line in lines for cell in line.cells[1:]]
    rights = [cell.right for line in lines for cell in line.cells[:-1]]
    near = _NEAR * lines[0].height
    aligned = _shared(lefts, near) | {place + len(lefts) for place in _shared(rights, near)}
    pairs = [place in aligned or place + len(lefts) in aligned for place in range(len(lefts))]
    return sum(pairs) >= _ALIGNED * len(pairs)


def _shared(edges: list[float], near: float) -> set[int]:
    """Which of the edges have another one beside them."""
    order = sorted(range(len(edges)), key=edges.__getitem__)
    return {
        place
        for one, other in pairwise(order)
        if edges[other] - edges[one] < near
        for place in (one, other)
    }


def _columns(lines: list[Line]) -> list[tuple[float, float]]:
    """From where to where: what the cells of the fuller rows cover, one behind the other."""
    most = max(len(line.cells) for line in lines)
    full = [line for line in lines if len(line.cells) > _SHARED * most]
    fullest = [
        ([cell.left for cell in line.cells], [cell.right for cell in line.cells])
        for line in lines
        if len(line.cells) == most
    ][:_ENOUGH_ROWS]
    columns: list[tuple[float, float]] = []
    for left, right in sorted(
        (cell.left, cell.right)
        for line in full
        for cell in line.cells
        if len(fullest) < _FEWEST_ROWS or not _spans(cell, fullest)
    ):
        if columns and left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    return columns


def _spans(cell: Cell, rows: list[Edges]) -> bool:
    """Whether a cell, of a head mostly, stands over several cells of most of these rows."""
    over = 0
    for lefts, rights in rows:
        second = bisect_right(rights, cell.left) + 1
        over += second < len(lefts) and lefts[second] < cell.right
    return 2 * over > len(rows)


def _column(columns: list[tuple[float, float]], left: float, right: float) -> int:
    """Which one has most of a cell, or is nearest; of one over several columns the first."""
    for place in range(max(bisect_left(columns, (left,)) - 1, 0), len(columns)):
        begin, end = columns[place]
        if begin >= right:
            break
        if min(right, end) - max(left, begin) > 0.5 * min(right - left, end - begin):
            return place
    shared = [min(right, end) - max(left, begin) for begin, end in columns]
    return max(range(len(columns)), key=shared.__getitem__)


def _texts(line: Line) -> list[str]:
    starts = [cell.start for cell in line.cells[1:]]
    return [
        line.text[start:end].strip()
        for start, end in zip([0, *starts], [*starts, None], strict=True)
    ]
