"""Prints values as lines and tables.

On a terminal there are colours and tables that fit its width. Anywhere else a row is one line of
columns separated by tabs, nothing is cut and nothing is coloured, so grep, cut and awk just work.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kb.cli.terminal.safe_text import clean, count, one_line

_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    A column with a `share` gives way when the terminal is narrow, the more the smaller its share;
    the others are never cut. `least_width` is how wide a terminal must be for it to be shown; one
    that `may_be_empty` is shown only if there is something in it.
    """

    title: str
    style: str = ""
    right: bool = False
    share: int = 0
    from_left: bool = False
    least_width: int = 0
    may_be_empty: bool = False


def is_terminal() -> bool:
    return sys.stdout.isatty()


def console(*, err: bool = False) -> Console:
    """A console that takes every text literally: a document's brackets are not markup."""
    return Console(stderr=err, markup=False, emoji=False, highlight=False)


def print_rows(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
    """A table for people, or lines of tab-separated values for everything else."""
    if is_terminal():
        screen = console()
        screen.print(table(columns, rows, screen.width))
        return
    for row in rows:
        click.echo("\t".join(one_line(_plain(cell)) for cell in row))


def table(columns: Sequence[Column], rows: Iterable[Sequence[Any]], width: int) -> Table:
    """The rows as a table that fits `width`: only flexible columns give way."""
    rows = list(rows)
    shown = [
        number
        for number, column in enumerate(columns)
        if column.least_width <= width
        and not (column.may_be_empty and not any(row[number] for row in rows))
    ]
    cells = [[_cell(row[number]) for number in shown] for row in rows]
    columns = [columns[number] for number in shown]
    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    widths = _widths(columns, cells, width)
    for column, room in zip(columns, widths, strict=True):
        side: Literal["left", "right"] = "right" if column.right else "left"
        drawn.add_column(column.title, style=column.style, justify=side, width=room, no_wrap=True)
    for row in cells:
        drawn.add_row(*map(_fitted, columns, row, widths))
    return drawn


def _widths(columns: Sequence[Column], rows: list[list[Text]], width: int) -> list[int]:
    """How wide each column is: what it needs, or its share of what the fixed ones leave over."""
    needed = [
        max([len(column.title), *(row[number].cell_len for row in rows)])
        for number, column in enumerate(columns)
    ]
    room = width - _GAP * len(columns)
    room -= sum(need for need, column in zip(needed, columns, strict=True) if not column.share)
    flexible = sorted(
        (number for number, column in enumerate(columns) if column.share),
        key=lambda number: needed[number] / columns[number].share,
    )
    # The least demanding first: what it does not need, the others may have.
    shares = sum(columns[number].share for number in flexible)
    for number in flexible:
        share = columns[number].share
        needed[number] = min(needed[number], max(4, room * share // shares))
        room -= needed[number]
        shares -= share
    return needed


def _fitted(column: Column, cell: Text, width: int) -> Text:
    """The cell, cut if it must be; a path loses its beginning, since its end tells more."""
    if cell.cell_len > width and column.from_left:
        while cell.cell_len > width - 1:
            cell = cell[1:]
        return Text("…") + cell
    whole = cell.plain
    cell.truncate(width, overflow="ellipsis")
    shown = len(cell) - 1
    # At a word's end, if one is near: not so in languages without spaces.
    space = whole.rfind(" ", shown // 2, shown + 1)
    return cell if cell.plain == whole or space < 0 else cell[:space] + Text("…")


def cut_middle(text: str, width: int) -> str:
    """The text in at most this many columns; a file name keeps its beginning and its ending."""
    if cell_len(text) <= width:
        return text
    end = set_cell_size(text[::-1], width // 2)[::-1].lstrip()
    return set_cell_size(text, width - 1 - cell_len(end)).rstrip() + "…" + end


def _cell(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(one_line(_plain(cell)))


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else "" if cell is None else str(cell)


def print_text(text: Text, *, indent: int = 0) -> None:
    """A text, wrapped to a terminal's width, or on one line per line of it elsewhere."""
    screen = console()
    if not screen.is_terminal:
        for line in text.plain.split("\n"):
            click.echo(" " * indent + line)
        return
    for wrapped in text.wrap(screen, max(20, screen.width - indent)):
        wrapped.rstrip()
        screen.print(Text(" " * indent) + wrapped)


def print_fields(fields: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one to a line; what has no value is left out."""
    shown = [(name, value) for name, value in fields if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    screen = console()
    for name, value in shown:
        text = value if isinstance(value, Text) else Text(one_line(str(value)))
        if not screen.is_terminal:
            click.echo(f"{name}\t{text.plain}")
            continue
        # What has no spaces, such as an address, stays in one piece: it may be copied.
        room = max(20, screen.width - width - 2)
        lines = text.wrap(screen, room) if " " in text.plain else [text]
        for number, line in enumerate(lines):
            label = name if number == 0 else ""
            screen.print(Text.assemble((f"{label:<{width}}  ", "dim"), line), soft_wrap=True)


def print_rest(page: dict[str, Any], shown: int, noun: str) -> None:
    """How much of a list this was, where it was not all of it."""
    if is_terminal() and shown < page["total"]:
        reached = page["offset"] + shown
        more = f"; --offset {reached} shows more" if reached < page["total"] else ""
        click.echo(f"{shown:,} of {count(page['total'], noun)}{more}")


def print_body(text: str) -> None:
    """A document's own text, unchanged but for what could steer the terminal."""
    click.echo(clean(text.replace("\r\n", "\n")))
