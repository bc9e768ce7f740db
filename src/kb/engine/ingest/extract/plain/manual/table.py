"""A table of a man page: lines that say how it looks, then its rows, cell by cell."""

import re
from collections.abc import Callable

_TAB = re.compile(r"\btab[ \t]*\((.)\)", re.IGNORECASE)
# What stands behind the letter of a column: its width, or a font.
_ASIDE = re.compile(r"\([^)]{0,100}\)|[fFmM](?:\[[^\]]*\]|[A-Z]{1,2}|.)")
_COLUMN = re.compile(r"[LRCNAS^]", re.IGNORECASE)
_RULE = re.compile(r"\\?[_=]|\\R.")


class Table:
    """One that is read line by line. Text between `T{` and `T}` is one cell, whatever is in it."""

    def __init__(self, plain: Callable[[str], str]) -> None:
        self.in_text = False
        self._plain = plain
        self._in_looks = True
        self._tab = "\t"
        self._columns = 0
        self._begun: list[str] = []  # of a line that goes on in the next one
        self._row: list[str] = []

    @property
    def is_frame(self) -> bool:
        """With one column it is there for the lines around it."""
        return self._columns < 2

    def look_anew(self) -> None:
        """The rows that follow look different."""
        self._in_looks = True

    def row_of(self, line: str) -> list[str]:
        """The cells of a row which this line completes; none if it goes on, or is no row."""
        if self._in_looks:
            self._read_looks(line.rstrip())
            return []
        if line.endswith("\\") and not line.endswith("\\\\"):
            self._begun.append(line[:-1])
            return []
        whole, self._begun = "".join([*self._begun, line]), []
        return self._add(whole.split(self._tab))

    def end_text(self, text: str, line: str) -> list[str]:
        """The same for the line behind a cell of text; another may begin in it."""
        self.in_text = False
        self._row.append(text)
        _, *cells = line.split(self._tab)
        return self._add(cells)

    def _read_looks(self, line: str) -> None:
        if tab := _TAB.search(line):
            self._tab = tab[1]
        looks = _ASIDE.sub("", line.rpartition(";")[2])
        self._columns = max(self._columns, *(len(_COLUMN.findall(row)) for row in looks.split(",")))
        self._in_looks = not line.endswith(".")

    def _add(self, cells: list[str]) -> list[str]:
        self.in_text = bool(cells) and cells[-1].strip() == "T{"
        shown = cells[:-1] if self.in_text else cells
        self._row += ["" if _RULE.fullmatch(cell.strip()) else self._plain(cell) for cell in shown]
        if self.in_text:
            return []
        row, self._row = self._row, []
        return row if any(cell.strip() for cell in row) else []
