"""Lays out the rows of a sheet as tables, the header of each first. The chunker takes the first
line after a blank one for a header, so rows after a gap begin a table only if they begin with
words."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kb.engine.ingest.extract.ooxml.xlsx_cells import Row, letters_of
from kb.engine.ingest.extract.paging import MAX_PAGE
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.pages import Grid, Page

_MOST_IN_A_BLOCK = 500_000  # characters that are held until it is known which columns they need
_PROSE = 200  # characters; a single column with cells as long as that is text, not a table


@dataclass(slots=True)
class _Block:
    """Rows without an empty one between them."""

    rows: list[Row] = field(default_factory=list)
    goes_on: bool = False  # with the block before, which was only too much to hold
    length: int = 0

    @property
    def columns(self) -> list[int]:
        return sorted({column for row in self.rows for column in row.cells})


@dataclass(slots=True)
class _Table:
    """The table that is being written: its first row, and the columns that its lines have."""

    header: Row
    columns: list[int]
    known: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.known = set(self.columns)


class Sheet(NamedTuple):
    number: int
    name: str
    location: str
    part: str
    has_cells: bool  # a sheet may be a single chart


class Layout:
    """Writes one sheet, its pages called `location`; tables begin at the rows in `starts`."""

    def __init__(self, number: int, name: str, location: str, starts: Collection[int]) -> None:
        self._number = number
        self._name = name
        self._location = location
        self._starts = starts
        self._lines: list[str] = []
        self._rows: list[int] = []
        self._length = 0
        self._used: set[int] = set()
        self._table: _Table | None = None

    def pages(self, rows: Iterable[Row]) -> Iterator[Page]:
        for block in self._blocks(rows):
            if not self._rows and self._table is None:
                self._put(f"# {' '.join(self._name.split())}", block.rows[0].number)
            yield from self._write(block)
        yield from self._page()

    def _blocks(self, rows: Iterable[Row]) -> Iterator[_Block]:
        block = _Block()
        for row in rows:
            if block.rows:
                apart = row.number != block.rows[-1].number + 1 or row.number in self._starts
                if apart or block.length > _MOST_IN_A_BLOCK:
                    yield block
                    block = _Block(goes_on=not apart)
            block.rows.append(row)
            block.length += sum(map(len, row.cells.values())) + 3 * len(row.cells)
        if block.rows:
            yield block

    def _write(self, block: _Block) -> Iterator[Page]:
        rows, columns = block.rows, block.columns
        if self._table is None or not (block.goes_on or self._belongs(block, self._table)):
            if len(self._lines) > 1:
                self._put("", self._rows[-1])
            self._table = None
            titles = _titles(rows)
            for row in rows[:titles]:
                yield from self._line(" ".join(" ".join(row.cells.values()).split()), row)
            rows = rows[titles:]
            if not rows:
                return
            self._table = _Table(rows[0], columns)
        elif not self._table.known.issuperset(columns):
            # Columns that the first rows did not have: the lines from here on need a new header.
            self._table = _Table(self._table.header, sorted(self._table.known.union(columns)))
            self._put("", self._rows[-1])
            yield from self._line(_written(self._table.header, self._table.columns), rows[0])
        padded = len(rows) * len(self._table.columns)
        is_sparse = padded > 4 * sum(len(row.cells) for row in rows) + 1_000
        for row in rows:
            yield from self._line(_written(row, None if is_sparse else self._table.columns), row)

    def _belongs(self, block: _Block, table: _Table) -> bool:
        """Whether rows after an empty one go on with the table above."""
        first = next((row for row in block.rows if len(row.cells) > 1), block.rows[0])
        begins = not first.has_numbers or block.rows[0].number in self._starts
        return not begins and table.known.issuperset(block.columns)

    def _line(self, text: str, row: Row) -> Iterator[Page]:
        """Where a page is full the next one goes on with the header of the table, which counts as
        the row that follows, so that the place of a passage is the place of what is new in it."""
        if self._lines and self._length + len(text) >= MAX_PAGE:
            yield from self._page()
            header = _written(self._table.header, self._table.columns) if self._table else ""
            if header and len(header) + len(text) < MAX_PAGE:
                self._put(header, row.number)
        for start in range(0, len(text), MAX_PAGE):
            self._put(text[start : start + MAX_PAGE], row.number)
        self._used.update(row.cells)

    def _put(self, line: str, row: int) -> None:
        self._lines.append(line)
        self._rows.append(row)
        self._length += len(line) + 1

    def _page(self) -> Iterator[Page]:
        if self._used:
            columns = letters_of(min(self._used)), letters_of(max(self._used))
            grid = Grid(tuple(self._rows), columns)
            text = "\n".join(self._lines)
            yield Page(text, self._number, self._location, "markdown", grid=grid, lines_count=False)
        self._lines, self._rows, self._length, self._used = [], [], 0, set()


def _titles(rows: Sequence[Row]) -> int:
    """How many rows stand above the table, with a single text each."""
    for number, row in enumerate(rows):
        if len(row.cells) > 1:
            return number
    is_prose = any(len(text) > _PROSE for row in rows for text in row.cells.values())
    return len(rows) if is_prose or len(rows) == 1 else 0


def _written(row: Row, columns: Sequence[int] | None) -> str:
    """A row of a sheet with few cells in many columns is written without the empty ones."""
    if columns is None:
        return pipe_row(text for _, text in sorted(row.cells.items()))
    return pipe_row(row.cells.get(column, "") for column in columns)
