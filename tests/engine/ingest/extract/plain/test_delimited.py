import csv

import pytest
from planted import pages_of, passages, places_in, read, text_of

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract import Extraction
from kb.engine.ingest.extract import paging as paging_module

PLANTED = {
    "Ship": 1,
    "csvcellword": 10,
    "csvlinebreakword": 10,  # on the second line of a cell
    "csvumlautword": 30,  # after an empty row, in Windows-1252
    "csvlateword": 51,
}


@pytest.mark.parametrize(("word", "row"), PLANTED.items())
def test_every_word_is_cited_by_the_rows_a_spreadsheet_shows(word, row):
    page, location = places_in("ships.csv")[word]
    first, last = location.removeprefix("rows ").split("–")
    assert page is None
    assert int(first) <= row <= int(last)
    assert int(last) - int(first) < 20


def test_each_row_has_its_own_number():
    (page,) = read("ships.csv").pages
    lines = page.text.split("\n")
    assert len(lines) == len(page.grid.rows)
    numbers = dict(zip(lines, page.grid.rows, strict=True))
    for word, row in PLANTED.items():
        assert next(number for line, number in numbers.items() if word in line) == row
    assert 20 not in page.grid.rows  # an empty row


def test_the_header_stands_beside_every_passage_but_the_first():
    first, *others = passages(pages_of(read("ships.csv")))
    assert first.text.startswith("| Ship | Berth | Cargo; kind |")
    assert {passage.table_header for passage in others} == {"| Ship | Berth | Cargo; kind |"}


def test_a_table_is_a_spreadsheet():
    extraction = read("ships.csv")
    assert (extraction.doc_type, extraction.format) == ("csv", "csv")


@pytest.fixture
def table(extracted):
    def table(text: str, filename: str = "table.csv", **options: int) -> Extraction:
        return extracted(text, filename, **options)

    return table


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a,b\n1,2\n", "| a | b |"),
        ("a;b\n1,5;2\n", "| a | b |"),
        ("a\tb, c\n1\t2\n", "| a | b, c |"),
        ("a|b\n1|2\n", "| a | b |"),
        ("name;text\nx;one, two, three\ny;one, two, three\n", "| name | text |"),
        ('"a, x";b\n1;2\n', "| a, x | b |"),
        ("sep=;\na;b\n", "| a | b |"),
        ("only\none\ncolumn\n", "| only |"),
        ('a,"b ""c"" | d"\n1,2\n', '| a | b "c" \\| d |'),
    ],
)
def test_the_delimiter_is_the_one_that_fits(table, text, first):
    assert text_of(table(text)).split("\n")[0] == first


def test_a_tsv_goes_by_tabs(table):
    extraction = table("a,x\tb,y\n1,5\t2,5\n", "table.tsv")
    assert extraction.format == "tsv"
    assert text_of(extraction) == "| a,x | b,y |\n| 1,5 | 2,5 |"


def test_the_line_that_names_the_delimiter_counts_as_a_row(table):
    (page,) = table("sep=;\na;b\n1;2\n").pages
    assert page.grid.rows == (2, 3)


def test_a_quotation_mark_that_nobody_closed_costs_no_rows(table):
    text = 'size,name\n"5 inch,pipe\n' + "6,rope\n" * 3_000
    (page,) = table(text).pages
    assert len(page.grid.rows) == 3_002


def test_a_long_table_is_several_pages_each_with_its_header(table, monkeypatch):
    monkeypatch.setattr(paging_module, "MAX_PAGE", 2_000)
    text = "name,value\n" + "".join(f"row{n},{n}\n" for n in range(2, 500))
    pages = pages_of(table(text))
    assert len(pages) > 3
    assert all(page.text.startswith("| name | value |\n") for page in pages)
    assert all(len(page.text) <= 2_000 for page in pages)
    assert pages[0].grid.rows[:3] == (1, 2, 3)
    assert pages[1].grid.rows[0] == pages[1].grid.rows[1] == pages[0].grid.rows[-1] + 1
    assert [row for page in pages for row in page.grid.rows[1:]] == list(range(2, 500))
    assert pages_of(table(text, start=2)) == pages[2:]


def test_a_row_of_any_width_is_read_in_bearable_pages(table):
    pages = pages_of(table("needle," * 200_000 + "\n"))
    assert all(len(page.text) <= 1_000_000 for page in pages)
    assert sum(page.text.count("needle") for page in pages) == 200_000


def test_a_cell_of_any_length_is_read(table):
    text = text_of(table(f'a,b\n1,"needle{"x" * 300_000}"\n'))
    assert csv.field_size_limit() >= 20 * 2**20
    assert "needle" in text


def test_a_table_of_empty_cells_has_no_text(table):
    with pytest.raises(NoTextFound, match=r"table\.csv has no text"):
        table(",,,\n,,,\n")
