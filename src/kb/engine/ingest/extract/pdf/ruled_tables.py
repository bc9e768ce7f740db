"""Finds the rows of tables drawn with rules, which show what gaps cannot: columns that touch, and
cells of several lines. Without rules between rows, lines side by side in most columns are rows."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from operator import neg
from statistics import median_low

from kb.engine.ingest.extract.pdf.drawn_rules import Rule, Rules
from kb.engine.ingest.extract.pdf.headings import font
from kb.engine.ingest.extract.pdf.letters import Box, Letters
from kb.engine.ingest.extract.pdf.text import continued
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.ingest.paragraphs import Line

_TOUCH = 3.0  # points
_MOST = 400  # rules of a page, across or down
_MOST_COLUMNS = 60
_MOST_TABLES = 30  # of a page
_MOST_LINES = 5_000  # of a page that is looked at
_MOST_CELLS = 5_000
_FILLED = 0.35  # of the cells of a table
# Characters; what is longer is a page in a frame, also where it has most of the page and the table.
_LONGEST_CELL = 1_500
_LONG_CELL = 500
_MOST_OF_PAGE = 0.5
_MOST_OF_TABLE = 0.7
_SIDE_BY_SIDE = 0.75  # of the places in a band, where its lines are rows
_FEWEST_LINES = 3  # of such a band
_ROW = 0.5  # times the letters' height
# Times the letters' height, than the letters of a word usually are.
_NEARER = 0.15
_FARTHER = 0.1
_ELSEWHERE = 0.02  # the same, behind a letter of another font


Place = tuple[int, int]  # row and column


@dataclass(slots=True)
class Piece:
    """The part of a line that is in one cell."""

    text: str
    left: float
    right: float
    bottom: float
    height: float


Cells = dict[Place, list[Piece]]
_Word = tuple[str, float, float]  # with the spaces behind it, and from where to where it goes


def ruled_tables(lines: list[Line], rules: Rules, letters: Letters) -> list[list[Line]]:
    """The lines in stretches: each all of one table, whose rows it is, or all of none."""
    stretches: list[list[Line]] = [[]]
    placed: dict[int, list[Line]] = {}  # by the line they stand in place of
    taken: set[int] = set()
    for grid in _grids(rules) if len(lines) <= _MOST_LINES else []:
        inside = [
            number for number, line in enumerate(lines) if number not in taken and grid.holds(line)
        ]
        rows = grid.rows([lines[number] for number in inside], letters)
        if rows:
            taken.update(inside)
            placed[inside[0]] = rows
    for number, line in enumerate(lines):
        if number in placed:
            stretches += [placed[number], []]
        elif number not in taken:
            stretches[-1].append(line)
    return [stretch for stretch in stretches if stretch]


class _Grid:
    """Rules that meet: between which places the rows and columns are, and where walls are."""

    def __init__(self, across: list[Rule], down: list[Rule]) -> None:
        self._across, self._down = across, down
        ends = [end for rule in across for end in (rule.start, rule.end)]
        sides = [end for rule in down for end in (rule.start, rule.end)]
        # A table may be open at its sides.
        self.xs = _places([rule.at for rule in down], min(ends), max(ends))
        self.ys = _places([rule.at for rule in across], min(sides), max(sides))[::-1]

    def is_table(self) -> bool:
        columns, rows = len(self.xs) - 1, len(self.ys) - 1
        return 2 <= columns <= _MOST_COLUMNS and rows >= 1 and columns * rows <= _MOST_CELLS

    def holds(self, line: Line) -> bool:
        if not line.height:
            return False
        middle = line.bottom + line.height / 2
        width = min(line.right, self.xs[-1]) - max(line.left, self.xs[0])
        return self.ys[-1] < middle < self.ys[0] and width > 0.5 * (line.right - line.left)

    def rows(self, lines: list[Line], letters: Letters) -> list[Line]:
        """None if there is no table inside."""
        drawn: defaultdict[Place, list[Piece]] = defaultdict(list)
        for line in lines:
            row = _between(self.ys, line.bottom + line.height / 2, falling=True)
            for column, piece in self._pieces(line, row, letters):
                drawn[self._ceiling(row, column), column].append(piece)
        cells = self._merged(drawn)
        if not self._are_cells(cells, _MOST_OF_PAGE * len(letters.text)):
            return []
        columns = sorted({column for _, column in cells})
        found: list[Line] = []
        for row in range(len(self.ys) - 1):
            band = {column: cells[row, column] for column in columns if (row, column) in cells}
            for texts in _rows(band):
                first = next(iter(texts.values()))[0]
                text = pipe_row(_joined(texts.get(column, [])) for column in columns)
                sides = self.xs[0], self.xs[-1], first.bottom, first.height
                found.append(Line(text, *sides, is_row=True))
        return found

    def _merged(self, cells: Cells) -> Cells:
        """Of cells that no rule parts, the first has what stands alone in them, or stands over
        several columns; what fits into its column stays there."""
        found: Cells = {}
        filled = Counter((row, self._first(row, column)) for row, column in cells)
        for (row, column), pieces in sorted(cells.items()):
            first = self._first(row, column)
            left, right = self.xs[column] - _TOUCH, self.xs[column + 1] + _TOUCH
            for piece in pieces:
                fits = left < piece.left and piece.right < right
                place = column if fits and filled[row, first] > 1 else first
                found.setdefault((row, place), []).append(piece)
        return found

    def _are_cells(self, cells: Cells, most: float) -> bool:
        filled = [place for place, pieces in cells.items() if pieces]
        rows, columns = ({place[side] for place in filled} for side in (0, 1))
        lines = {round(piece.bottom) for pieces in cells.values() for piece in pieces}
        if len(columns) < 2 or len(lines) < 2 or len(filled) < _FILLED * len(rows) * len(columns):
            return False
        lengths = [sum(len(piece.text) for piece in pieces) for pieces in cells.values()]
        longest, most = max(lengths), max(most, _MOST_OF_TABLE * sum(lengths))
        return longest <= _LONG_CELL or (
            longest <= most and (longest <= _LONGEST_CELL or len(columns) > 2)
        )

    def _ceiling(self, row: int, column: int) -> int:
        """The uppermost row of the cells above each other that are one."""
        while row > 0 and (row - 1, column) not in self._floors:
            row -= 1
        return row

    def _first(self, row: int, column: int) -> int:
        """The first column of the cells side by side that are one."""
        while column > 0 and not self._has_wall(row, column - 1):
            column -= 1
        return column

    def _has_wall(self, row: int, column: int) -> bool:
        """Whether there is a rule at the right of a cell."""
        return (column, row) in self._walls

    @cached_property
    def _walls(self) -> set[Place]:
        return _crossed(self._down, self.xs, _middles(self.ys))

    @cached_property
    def _floors(self) -> set[Place]:
        return _crossed(self._across, self.ys, _middles(self.xs))

    def _pieces(self, line: Line, row: int, letters: Letters) -> Iterator[tuple[int, Piece]]:
        """The line, cut at gaps and where a rule goes through it."""
        starts = [cell.start for cell in line.cells[1:]]
        for cell, end in zip(line.cells, [*starts, len(line.text)], strict=True):
            text = line.text[cell.start : end].strip()
            first = _between(self.xs, cell.left + _TOUCH)
            last = _between(self.xs, cell.right - _TOUCH)
            if any(self._has_wall(row, column) for column in range(first, last)):
                words = _words(letters, line.start + cell.start, len(text), line.height)
                yield from self._cut(words, row, line)
            else:
                column = _between(self.xs, (cell.left + cell.right) / 2)
                yield column, Piece(text, cell.left, cell.right, line.bottom, line.height)

    def _cut(self, words: Iterator[_Word], row: int, line: Line) -> Iterator[tuple[int, Piece]]:
        parts: dict[int, Piece] = {}
        texts: dict[int, list[str]] = {}
        for text, left, right in words:
            begin = min(left + _TOUCH, (left + right) / 2)
            column = self._first(row, _between(self.xs, begin))
            part = parts.setdefault(column, Piece("", left, right, line.bottom, line.height))
            part.right = max(part.right, right)
            texts.setdefault(column, []).append(text)
        for column, part in parts.items():
            part.text = "".join(texts[column])
            yield column, part


def _words(letters: Letters, place: int, count: int, height: float) -> Iterator[_Word]:
    """So many characters from there on. What begins in the next cell is a word of its own, even
    where the one before runs into it."""
    word: list[tuple[str, Box, int]] = []
    for number, (sign, box) in enumerate(letters.placed(place, count), start=place):
        if box is None or sign.isspace():
            if word:
                text, *where = word[-1]
                word[-1] = (text + sign, *where)
            continue
        if word and word[-1][0][-1].isspace():
            yield from _parted(letters, word, height)
            word = []
        word.append((sign, box, number))
    if word:
        yield from _parted(letters, word, height)


def _parted(letters: Letters, word: list[tuple[str, Box, int]], height: float) -> Iterator[_Word]:
    """Where a letter is not where it would be within a word, which may be set wide: much off, as
    no pair of letters is, or a little and of another font."""
    gaps = [after.left - before.right for (_, before, _), (_, after, _) in pairwise(word)]
    usual = median_low(gaps) if len(gaps) > 1 else 0.0
    starts = [0]
    for at, gap in enumerate(gaps, start=1):
        (_, _, before), (sign, _, number) = word[at - 1 : at + 1]
        # Letters that are each drawn for itself may be as near as those beside them, or nearer.
        off = (gap - sorted((0.0, gap, usual))[1]) / height
        is_other = abs(off) > _ELSEWHERE and sign[0].isalnum()
        if not -_NEARER < off < _FARTHER or (is_other and _fonts_differ(letters, before, number)):
            starts.append(at)
    for start, end in pairwise([*starts, len(word)]):
        part = word[start:end]
        right = max(box.right for _, box, _ in part)
        yield "".join(text for text, _, _ in part), part[0][1].left, right


def _fonts_differ(letters: Letters, one: int, other: int) -> bool:
    return font(letters, letters.number(one)) != font(letters, letters.number(other))


def _grids(rules: Rules) -> list[_Grid]:
    """The rules that cross, in groups, from top to bottom."""
    across, down = rules.across, rules.down
    if not (2 <= len(across) <= _MOST and 1 <= len(down) <= _MOST):
        return []
    group = list(range(len(across)))  # each with the first of its group
    heights = [rule.at for rule in across]
    meets: list[list[int]] = []
    for rule in down:
        crossed = [one for one in rule.covered(heights) if across[one].covers(rule.at)]
        meets.append(crossed)
        groups = {group[number] for number in crossed}
        if len(groups) > 1:
            lowest = min(groups)
            group = [lowest if one in groups else one for one in group]
    found: defaultdict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for number, rule in enumerate(across):
        found[group[number]][0].append(rule)
    for rule, crossed in zip(down, meets, strict=True):
        if crossed:
            found[group[crossed[0]]][1].append(rule)
    grids = [_Grid(*parts) for parts in found.values() if len(parts[0]) > 1 and parts[1]]
    found_tables = sorted((one for one in grids if one.is_table()), key=lambda one: -one.ys[0])
    return found_tables[:_MOST_TABLES]


def _places(places: list[float], lowest: float, highest: float) -> list[float]:
    """Places in order, each once, and the ends where they lie beyond."""
    found: list[float] = []
    for place in sorted([*places, lowest, highest]):
        if not found or place - found[-1] > 2 * _TOUCH:
            found.append(place)
    return found


def _middles(places: list[float]) -> list[float]:
    return [(one + other) / 2 for one, other in pairwise(places)]


def _crossed(rules: list[Rule], places: list[float], middles: list[float]) -> set[Place]:
    """Between which two cells a rule stands: the number of the first, and of the row or column."""
    found: set[Place] = set()
    for rule in rules:
        near = [at for at, place in enumerate(places[1:-1]) if abs(rule.at - place) <= _TOUCH]
        if near:
            found.update(product(near, rule.covered(middles)))
    return found


def _between(places: list[float], place: float, falling: bool = False) -> int:
    """Between which two of the places it is: by the first."""
    if falling:
        return bisect_left(places, -place, 1, len(places) - 1, key=neg) - 1
    return bisect_right(places, place, 1, len(places) - 1) - 1


def _rows(band: dict[int, list[Piece]]) -> list[dict[int, list[Piece]]]:
    """The text between two rules: one row, or several without a rule between them."""
    if not band:
        return []
    placed = [(column, piece) for column, pieces in band.items() for piece in pieces]
    placed.sort(key=lambda one: -one[1].bottom)
    near = _ROW * max(piece.height for _, piece in placed)
    rows: list[dict[int, list[Piece]]] = []
    line = 0.0
    for column, piece in placed:
        if not rows or line - piece.bottom > near:
            rows.append({})
            line = piece.bottom
        rows[-1].setdefault(column, []).append(piece)
    filled = sum(map(len, rows))
    if len(rows) < _FEWEST_LINES or len(band) < 2 or filled < _SIDE_BY_SIDE * len(rows) * len(band):
        return [band]
    return rows


def _joined(pieces: list[Piece]) -> str:
    """The text of a cell, as one line: from top to bottom, from left to right."""
    near = _ROW * max((piece.height for piece in pieces), default=0)
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: -piece.bottom):
        if not rows or rows[-1][0].bottom - piece.bottom >= near:
            rows.append([])
        rows[-1].append(piece)
    text = ""
    for row in rows:
        line = " ".join(piece.text for piece in sorted(row, key=lambda piece: piece.left))
        text = continued(text, line)
    return text
