from html import escape

import pytest
from planted import pages_in, pages_of, passages
from small_office import row, xlsx

from kb.engine.errors import ContentTooLarge, NestedTooDeep, TextTooLong
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.ooxml import office_file, xlsx_cells, xlsx_layout
from kb.engine.ingest.extract.ooxml.xlsx import extract
from kb.engine.pages import Page

# word → sheet and row
PLANTED = {
    "walnut": ("Budget", 1),  # the title above a table
    "Region": ("Budget", 2),
    "almond": ("Budget", 3),  # in a hidden column
    "1,234.50 EUR": ("Budget", 3),
    "25%": ("Budget", 3),
    "31/03/2024": ("Budget", 3),
    "TRUE": ("Budget", 3),
    "brazil\\|nut": ("Budget", 4),  # in a hidden row
    "0.30 EUR": ("Budget", 4),
    "FALSE": ("Budget", 4),
    "pistachio": ("Budget", 5),
    "1,234.80 EUR": ("Budget", 5),  # the result of a formula
    "#DIV/0!": ("Budget", 5),
    "rich macadamia text": ("Budget", 5),  # in several formats
    "Tree": ("Budget", 8),  # the header of a second table
    "chestnut": ("Budget", 9),
    "coco |": ("Budget", 9),
    "pinenut": ("Budget", 10),  # in a merged cell
    "candlenut": ("Budget", 1),  # the header of a printed page
    "Comment on A3 by Hazel Almond: Remarked beechnut": ("Budget", 3),
    "nutmeg": ("Budget", 3),  # a text box
    "Comment on C4 by Olive Stone: Threaded gingko": ("Budget", 4),
    "betel": ("Budget", 4),  # a reply
    "Table Coconuts (D8:E9)": ("Budget", 8),
    "tonka": ("Budget", 10),  # the description of a picture
    "Charted areca": ("Budget", 15),  # the title of a chart
    "Series kola": ("Budget", 15),
    "hickory": ("Secret (hidden)", 1),
    "pecan": ("Far apart", 1),
    "cashew": ("Far apart", 1_048_576),
    "acorn": ("Graph", 1),  # a sheet that is a chart
    "filbert": ("Graph", 1),
}
# The other program knows no threads, and does not write who made a comment.
LOST = (
    "Comment on A3 by Hazel Almond: Remarked beechnut",
    "Comment on C4 by Olive Stone: Threaded gingko",
    "betel",
)


def lines(page: Page) -> list[tuple[int, str]]:
    assert page.grid is not None
    return list(zip(page.grid.rows, page.text.split("\n"), strict=True))


def places(pages: list[Page], word: str) -> list[tuple[str | None, int]]:
    return [
        (page.location, number)
        for page in pages
        for number, line in lines(page)
        for _ in range(line.count(word))
    ]


@pytest.fixture
def budget() -> list[Page]:
    return pages_in("budget.xlsx")


@pytest.fixture
def written(tmp_path):
    def written(*sheets: str, strings: str = "", styles: str = "") -> list[Page]:
        path = xlsx(tmp_path / "a.xlsx", *sheets, strings=strings, styles=styles)
        pages = pages_of(extract(Source(path, path.name)))
        assert all(lines(page) for page in pages)  # each has a row
        return pages

    return written


@pytest.mark.parametrize(("word", "place"), PLANTED.items(), ids=PLANTED)
def test_everything_a_reader_sees_is_found_once_and_in_its_row(budget, word, place):
    assert places(budget, word) == [place]


def test_the_copy_of_a_thread_for_older_programs_is_not_read(budget):
    assert places(budget, "lychee") == []


@pytest.mark.parametrize("word", [word for word in PLANTED if word not in LOST])
def test_the_dialect_of_another_program_is_read_as_well(word):
    assert places(pages_in("budget-libreoffice.xlsx"), word) == [PLANTED[word]]


def test_a_sheet_is_tables_under_its_name(budget):
    assert lines(budget[0]) == [
        (1, "# Budget"),
        (1, "Titled walnut"),
        (2, "| Region | Item | Amount | Share | Due | Paid |"),
        (3, "| north | almond | 1,234.50 EUR | 25% | 31/03/2024 | TRUE |"),
        (4, "| south | brazil\\|nut | 0.30 EUR | 50% | 24/12/2024 | FALSE |"),
        (5, "| Total pistachio |  | 1,234.80 EUR | #DIV/0! | rich macadamia text |  |"),
        (5, ""),
        (8, "| Tree | Height | Palm | Age |"),
        (9, "| chestnut | 30 | coco | 12 |"),
        (10, "| Merged pinenut |  |  |  |"),
    ]
    assert (budget[0].number, budget[0].location, budget[0].markup) == (1, "Budget", "markdown")
    assert budget[0].grid.columns == ("A", "F")


def test_days_are_counted_from_1904_where_the_workbook_says_so():
    (page,) = pages_in("since1904.xlsx")
    assert page.text.endswith("| 2013-07-07 | 2013-07-07 18:00 | 12:00:00 | 30:00 |")


def test_two_cells_far_apart_make_no_rows_between_them(written):
    (page,) = written(row(1, "near") + '<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>')
    assert lines(page) == [(1, "# Sheet 1"), (1, "near"), (1, ""), (1_048_576, "7")]
    assert page.grid.columns == ("A", "XFD")


def test_rows_with_few_cells_in_many_columns_are_not_filled_up(written):
    def cell(column: int, number: int) -> str:
        return f'<c r="{xlsx_cells.letters_of(column)}{number}"><v>{column}</v></c>'

    diagonal = (f'<row r="{n}">{cell(n, n)}{cell(n + 1, n)}</row>' for n in range(1, 1_000))
    (page,) = written("".join(diagonal))
    assert len(page.text) < 20_000


def test_every_passage_of_a_long_table_has_its_header_and_its_cells(written):
    rows = [row(1, "Species", "Count"), *(row(n, f"kind {n}", n) for n in range(2, 300))]
    chunks = passages(written("".join(rows)))
    assert len(chunks) > 10
    assert chunks[0].location.startswith("Sheet 1!A1:B")
    assert {part.table_header for part in chunks[1:]} == {"| Species | Count |"}
    first = int(chunks[1].text.split()[2])
    last = int(chunks[1].text.rstrip().split("\n")[-1].split()[2])
    assert chunks[1].location == f"Sheet 1!A{first}:B{last}"
    assert {part.headings for part in chunks} == {("Sheet 1",)}


def test_a_second_table_after_an_empty_row_has_a_header_of_its_own(written):
    first = [row(1, "Tree", "Height"), *(row(n, f"tree {n}", n) for n in range(2, 60))]
    second = [row(70, "Bird", "Eggs"), *(row(n, f"bird {n}", n) for n in range(71, 130))]
    chunks = passages(written("".join([*first, *second])))
    headers = {part.table_header for part in chunks if part.text.startswith("| bird")}
    assert headers == {"| Bird | Eggs |"}


def test_numbers_after_an_empty_row_belong_to_the_table_above(written):
    rows = [row(1, "Tree", "Height"), row(2, "oak", 30), row(5, "South"), row(6, "elm", 20)]
    (page,) = written("".join(rows))
    below = [(2, "| oak | 30 |"), (5, "| South |  |"), (6, "| elm | 20 |")]
    assert lines(page)[1:] == [(1, "| Tree | Height |"), *below]


def test_titles_above_a_table_are_not_its_header(written):
    rows = [row(1, "Report"), row(2, "Draft"), row(3, "Tree", "Height"), row(4, "oak", 30)]
    (page,) = written("".join(rows))
    assert page.text == "# Sheet 1\nReport\nDraft\n| Tree | Height |\n| oak | 30 |"


def test_a_column_of_long_texts_is_prose_and_one_of_short_texts_a_table(written):
    long, short = written(
        row(1, "long " * 60) + row(2, "b"), row(1, "Name") + row(2, "b") + row(3, "c")
    )
    assert "|" not in long.text
    assert short.text == "# Sheet 2\n| Name |\n| b |\n| c |"


def test_a_sheet_that_is_too_long_for_a_page_goes_on_under_its_header(written, monkeypatch):
    monkeypatch.setattr(xlsx_layout, "MAX_PAGE", 50)
    rows = [row(1, "Species", "Count"), *(row(n, f"kind {n}", n) for n in range(2, 7))]
    pages = written("".join(rows))
    assert [lines(page) for page in pages] == [
        [(1, "# Sheet 1"), (1, "| Species | Count |"), (2, "| kind 2 | 2 |")],
        [(3, "| Species | Count |"), (3, "| kind 3 | 3 |"), (4, "| kind 4 | 4 |")],
        [(5, "| Species | Count |"), (5, "| kind 5 | 5 |"), (6, "| kind 6 | 6 |")],
    ]


def test_columns_that_come_late_get_a_header_that_has_them(written, monkeypatch):
    monkeypatch.setattr(xlsx_layout, "_MOST_IN_A_BLOCK", 10)
    rows = [row(1, "Tree", "Height"), row(2, "oak", 30), row(3, "elm", 20, "new")]
    (page,) = written("".join(rows))
    assert lines(page)[1:] == [
        (1, "| Tree | Height |"),
        (2, "| oak | 30 |"),
        (2, ""),
        (3, "| Tree | Height |  |"),
        (3, "| elm | 20 | new |"),
    ]


def test_strings_are_read_in_every_form(written):
    strings = (
        "<si><t>shared</t></si><si><r><t>in </t></r><r><t>parts</t></r></si>"
        '<si><t>漢字</t><rPh sb="0" eb="2"><t>かんじ</t></rPh></si>'
        "<si><t>a_x000D_\nb_xD83D__xDE00_</t></si>"
    )
    cells = "".join(f'<c t="s"><v>{n}</v></c>' for n in range(4))
    cells += '<c t="str"><f>A1</f><v>result</v></c><c><f>SUM(A1)</f></c>'
    cells += '<c t="d"><v>2024-03-01T00:00:00</v></c>'
    (page,) = written(f"<row>{cells}</row>", strings=strings)
    assert page.text.split("\n")[1].split(" | ") == [
        *("| shared", "in parts", "漢字", "a b😀", "result", "=SUM(A1)", "2024-03-01 |")
    ]


@pytest.mark.parametrize(
    "cell",
    [
        '<c t="s"><v>99</v></c>',
        '<c t="s"><v>-1</v></c>',
        '<c t="s"><v>word</v></c>',
        '<c r="ÄÖ1"><v>1</v></c>',
        '<c r="AAAA1"><v>1</v></c>',
        '<c r="1"><v>1</v></c>',
        '<c s="1"/>',
        '<c t="inlineStr"><is/></c>',
        "<c><v>   </v></c>",
    ],
)
def test_cells_that_point_nowhere_are_left_out(written, cell):
    (page,) = written(row(1, "a", "b") + f'<row r="x">{cell}</row>')
    assert page.text == "# Sheet 1\n| a | b |"


def test_a_style_that_is_not_there_changes_nothing(written):
    (page,) = written('<row r="1"><c r="A1" s="77"><v>5</v></c><c r="B1"><v>6</v></c></row>')
    assert page.text.endswith("| 5 | 6 |")


def test_a_workbook_without_words_has_no_pages(written):
    assert written("") == []


def test_a_long_text_that_is_repeated_in_a_row_is_refused_in_time(written):
    strings = f"<si><t>{'x' * 30_000}</t></si>"
    with pytest.raises(ContentTooLarge, match="row 1"):
        written("<row>" + '<c t="s"><v>0</v></c>' * 16_000 + "</row>", strings=strings)


def test_too_many_cells_are_refused(written, monkeypatch):
    monkeypatch.setattr(xlsx_cells, "_MOST_CELLS", 100)
    with pytest.raises(ContentTooLarge, match="more than 100 cells"):
        written("<row><c/><c/></row>" * 51)


def test_a_text_is_too_long_before_it_is_all_read(written, monkeypatch):
    monkeypatch.setattr(office_file, "MAX_BYTES", 1_000)
    with pytest.raises(TextTooLong, match=r"a\.xlsx"):
        written("".join(row(n, "word " * 10) for n in range(1, 50)))


def test_deep_nesting_is_refused(written):
    with pytest.raises(NestedTooDeep):
        written("<row>" * 20_000 + "</row>" * 20_000)


def test_codes_in_headers_and_footers_are_not_read(written):
    said = escape('&L&"-,Bold"&K01+049Draft && plan&CPage &P&R&[Date] &D&K00B050end')
    header = f"<headerFooter><oddHeader>{said}</oddHeader></headerFooter>"
    _, margins = written(f"{row(1, 'oak')}</sheetData>{header}<sheetData>")
    assert margins.text == "# Sheet 1\nDraft & plan end"


@pytest.mark.parametrize(
    ("header", "footer"),
    [
        ("&C&A", "&CPage &P"),
        ('&C&"Times New Roman,Regular"&12&A', '&C&"Times New Roman,Regular"&12Page &P'),
        ("&L&F&R&D &T", "&LSeite &P von &N&R&P / &N"),
    ],
)
def test_a_header_that_only_counts_pages_and_names_the_sheet_is_no_content(written, header, footer):
    margins = f"<oddHeader>{escape(header)}</oddHeader><oddFooter>{escape(footer)}</oddFooter>"
    assert written(f"</sheetData><headerFooter>{margins}</headerFooter><sheetData>") == []


def test_words_beside_the_number_of_a_page_are_content(written):
    margins = "<oddFooter>&amp;LPage Harbour &amp;P&amp;RPages to be kept</oddFooter>"
    (page,) = written(f"</sheetData><headerFooter>{margins}</headerFooter><sheetData>")
    assert page.text == "# Sheet 1\nPage Harbour Pages to be kept"
