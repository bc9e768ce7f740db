"""Divides a long text or table into pages of reasonable length."""

from collections.abc import Iterable, Iterator
from itertools import chain

from kb.engine.ingest.extract.markup import Item, heading, join
from kb.engine.pages import Grid, Page

MAX_PAGE = 1_000_000  # characters


def cut(text: str, most: int = MAX_PAGE) -> Iterator[str]:
    """The text in pieces of at most `most` characters: cut between blocks, else lines, else words,
    always in the second half of a piece."""
    start = 0
    while len(text) - start > most:
        end = start + most
        for mark in ("\n\n", "\n", " "):
            found = text.rfind(mark, start + most // 2, end)
            if found >= 0:
                end = found + len(mark)
                break
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def pages_of(text: str, number: int | None = None, location: str | None = None) -> Iterator[Page]:
    """Markdown as pages; one without words is there, too."""
    for piece in cut(text) if text else [""]:
        yield Page(piece, number, location, markup="markdown", lines_count=False)


def slide_pages(number: int, title: str, items: list[Item], *, is_hidden: bool) -> Iterator[Page]:
    if title or items:
        items = [heading(title or f"Slide {number}"), *items]
    return pages_of(join(items), number, f"slide {number}{' (hidden)' if is_hidden else ''}")


def row_pages(
    lines: Iterable[tuple[int, str]], header: str = "", header_row: int | None = None
) -> Iterator[Page]:
    """Pages of whole lines, each cited by its number. Each begins with the header, since the first
    line of a table is repeated beside its passages; it is cited as `header_row` on the first page,
    and else as the row below it."""
    if len(header) > MAX_PAGE // 2:  # no header but a very long first row
        lines = chain([(header_row or 1, header)], lines)
        header, header_row = "", None
    rows = [header_row] if header_row else []
    texts = [header] if header_row else []
    size = len(header) + 1
    for number, line in lines:
        for text in cut(line) if line else [""]:
            if rows and size + len(text) > MAX_PAGE:
                yield _rows_page(rows, texts)
                rows, texts = [], []
            if not rows:
                rows, texts, size = ([number], [header], len(header) + 1) if header else ([], [], 0)
            rows.append(number)
            texts.append(text)
            size += len(text) + 1
    if rows:
        yield _rows_page(rows, texts)


def _rows_page(rows: list[int], texts: list[str]) -> Page:
    grid = Grid(tuple(rows), None)
    return Page("\n".join(texts), markup="markdown", grid=grid, lines_count=False)
