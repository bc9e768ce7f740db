"""CSV, TSV and similar files: one table, each line cited by the row that a spreadsheet shows: a
cell with a line break is still one row, and an empty line counts."""

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.paging import row_pages
from kb.engine.ingest.extract.plain.text import MAX_BYTES, read_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.rows import pipe_row

_DELIMITERS = ",;\t|"
_NAMED_DELIMITERS = {"tsv": "\t", "tab": "\t", "psv": "|"}
_SAMPLE = 65_536  # characters
_SAMPLE_ROWS = 200
_LONGEST_QUOTE = 1_000  # lines in one cell; more is a quotation mark that nobody closed

# The default of 131,072 characters refuses files that spreadsheets open.
csv.field_size_limit(MAX_BYTES)


def extract(source: Source) -> Extraction:
    text = read_text(source)
    named = ending(source.filename)
    first_row = 1
    if text[:4].lower() == "sep=" and text[5:6] == "\n":  # what Excel takes as an order
        delimiter, text, first_row = text[4], text[6:], 2
    else:
        delimiter = _delimiter(text[:_SAMPLE], _NAMED_DELIMITERS.get(named))
    lines = _lines(_records(text, delimiter), first_row)
    first = next(lines, None)
    if first is None:
        raise Refusals(source.filename).no_text()
    return Extraction(
        "csv",
        named if named in ("csv", "psv", "tab", "tsv") else "csv",
        islice(row_pages(lines, first[1], first[0]), source.start, None),
    )


def _delimiter(sample: str, named: str | None) -> str:
    """The one that the file's name stands for, if it fits; else the one that fits best."""
    if named is not None and _fit(sample, named) > 0.8:
        return named
    return max(_DELIMITERS, key=lambda delimiter: _fit(sample, delimiter))


def _fit(sample: str, delimiter: str) -> float:
    """The share of rows that have the same number of cells, more than one, and a little for more
    of them: a comma within each text makes two of one."""
    rows = islice(_rows(sample, delimiter, csv.QUOTE_MINIMAL), _SAMPLE_ROWS)
    widths = Counter(len(row) for row in rows if row)
    width, count = max(widths.items(), key=lambda item: item[1], default=(0, 0))
    return count / sum(widths.values()) + min(width, 20) / 100 if width > 1 else 0.0


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows; quotation marks are letters where taking them for quotes would swallow the file."""
    quotes = csv.QUOTE_MINIMAL
    if '"' in text and any(
        cell.count("\n") > _LONGEST_QUOTE for row in _rows(text, delimiter, quotes) for cell in row
    ):
        quotes = csv.QUOTE_NONE
    return _rows(text, delimiter, quotes)


def _rows(text: str, delimiter: str, quotes: int) -> Iterator[list[str]]:
    return csv.reader(
        StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=quotes,  # type: ignore[arg-type]
        skipinitialspace=True,
    )


def _lines(records: Iterator[list[str]], first_row: int) -> Iterator[tuple[int, str]]:
    """Rows with something in them, and their numbers."""
    for number, record in enumerate(records, start=first_row):
        cells = [cell.strip() for cell in record]
        if any(cells):
            yield number, pipe_row(cells)
