"""Values in, lines on the terminal out.

On a terminal there are colours and tables that fit its width. Anywhere else a row is one line of
columns separated by tabs, nothing is cut and nothing is coloured, so grep, cut and awk just work.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kb.cli.text import clean, one_line


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `least_width`: the terminal must be this wide for it to be shown there."""

    title: str
    style: str = ""
    right: bool = False
    keep: bool = False
    ratio: int | None = None
    least_width: int = 0


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
    """The rows as a table that fits `width`."""
    shown = [column.least_width <= width for column in columns]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column, there in zip(columns, shown, strict=True):
        if there:
            table.add_column(
                column.title,
                style=column.style,
                justify="right" if column.right else "left",
                no_wrap=True,
                overflow="fold" if column.keep else "ellipsis",
                min_width=4 if not column.keep else None,
                ratio=column.ratio,
            )
    for row in rows:
        cells = [_cell(cell) for cell, there in zip(row, shown, strict=True) if there]
        table.add_row(*cells)
    return table


def _cell(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(one_line(_plain(cell)))


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else "" if cell is None else str(cell)


def print_text(text: Text, *, indent: int = 0, err: bool = False) -> None:
    """A text, wrapped to a terminal's width, or on one line per line of it elsewhere."""
    screen = console(err=err)
    if not screen.is_terminal:
        for line in text.plain.split("\n"):
            click.echo(" " * indent + line, err=err)
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
        if screen.is_terminal:
            screen.print(Text(f"{name:<{width}}  ", style="dim") + text, soft_wrap=True)
        else:
            click.echo(f"{name}\t{text.plain}")


def print_body(text: str) -> None:
    """A document's own text, unchanged but for what could steer the terminal."""
    click.echo(clean(text.replace("\r\n", "\n")))
