"""Pages of PDFs in, text as a person reads it out: sentences, headings, tables, accents."""

from dataclasses import replace
from typing import cast

import pytest
from pypdfium2 import PdfDocument
from small_pdf import Rule, Text, column, pdf

from kb.engine.ingest.extract import Ocr, Source, extract
from kb.engine.ingest.extract.pdf.letters import Box, Letters
from kb.engine.ingest.extract.pdf.lines import read_lines
from kb.engine.ingest.extract.pdf.scanned import scan
from kb.engine.ingest.passages.chunk import chunk
from kb.engine.ingest.passages.page_ends import whole_sentences
from kb.engine.ingest.wordlike import FEW, word_share
from kb.engine.pages import Page, Remark

LEFT = [
    "The harbour was built by people who had come",
    "from far away, and who did not know how much",
    "the tide would rise in spring. They set their",
    "walls too low, and so the first storm that was",
]
RIGHT = [
    "strong enough went over all of them and took",
    "the cranes with it. Nobody was hurt, as it was",
    "night, but the ships that lay there were lost.",
]


@pytest.fixture
def read(extracted):
    def read(data: bytes, name: str = "ours.pdf") -> list[Page]:
        pages = list(extracted(data, name, ocr=Ocr(engine="off")).pages)
        assert all(isinstance(page, Page) for page in pages), pages
        return whole_sentences(pages)

    return read


def row_by_row(left: list[str], right: list[str], at: float = 320) -> list[Text]:
    """Two columns, drawn line by line across both."""
    rows = zip(column(left), column(right, at), strict=True)
    return [piece for row in rows for piece in row]


def paragraphs(page: Page) -> list[str]:
    return [" ".join(part.split()) for part in page.text.split("\n\n")]


def test_hyphens_at_the_ends_of_lines_part_no_paragraph(read):
    lines = [
        "All boats were counted by the clerk, who had an eye for infor-",
        "mation that others do not see, and wrote it into the large regis-",
        "ter which has been kept there since the information was first want-",
        "ed by the crown. The register and the tables are wanted no longer.",
    ]
    [page] = read(pdf(column(lines)))
    assert len(paragraphs(page)) == 1
    assert "an eye for information that" in page.text
    assert "the large register which" in page.text


def test_a_sentence_goes_on_in_the_next_column_behind_a_footnote_and_a_caption(read):
    footnote = column(["1 The chronicle gives another year for it.", "It is wrong."], 72, 560, 7)
    number = [Text("17", 290, 40)]
    caption = column(["Figure 3: The harbour before the storm."], 320, 720, 9)
    page = pdf([*column(LEFT), *footnote, *number, *caption, *column(RIGHT, 320)])
    [read_page] = read(page)
    found = paragraphs(read_page)
    assert found[0] == " ".join([*LEFT, *RIGHT])
    assert {"17", "Figure 3: The harbour before the storm."} <= set(found[1:])
    assert any("another year for it. It is wrong." in part for part in found[1:])


@pytest.mark.parametrize(
    ("end", "apart", "rest"),
    [
        ("sum of both is", Text("a = b + c", 200, 644), "where c is the height of the wall."),
        ("height of both walls", Text("x", 300, 650, font="S"), "was not enough for the tide."),
    ],
    ids=["a formula", "a sign without a letter"],
)
def test_a_sentence_goes_on_around(read, end, apart, rest):
    lines = [*LEFT[:3], f"walls too low, and so the {end}"]
    [page] = read(pdf([*column(lines), apart, *column([rest], 72, 623)]))
    assert len(paragraphs(page)) == 1


def test_the_pieces_of_a_formula_stay_together(read):
    lines = [*LEFT[:3], "walls too low, and so the height of both is"]
    over = [Text("height =", 160, 630), Text("Wall", 215, 646)]
    below = column(["The wall was built anew by the people of the town."], 72, 544)
    [page] = read(pdf([*column(lines), *over, *column(["Tide", "Sea"], 215, 614), *below]))
    first, second = paragraphs(page)
    assert first.endswith("is height = Wall Tide Sea")
    assert second.startswith("The wall was built anew")


def test_a_sentence_that_goes_on_on_the_next_page_is_whole_on_the_first(read):
    first = [*column(LEFT), Text("1", 290, 40)]
    second = [Text("The harbour", 72, 800, 8), *column(RIGHT), Text("2", 290, 40)]
    one, two = read(pdf(first, second))
    assert paragraphs(one) == [
        " ".join([*LEFT, *RIGHT[:2]]).removesuffix(" Nobody was hurt, as it was"),
        "1",
    ]
    assert paragraphs(two)[1].startswith("Nobody was hurt, as it was night")
    words = f"{one.text} {two.text}".split()
    assert sorted(words) == sorted(" ".join([*LEFT, "1", "The harbour", *RIGHT, "2"]).split())


@pytest.mark.parametrize(
    ("end", "start", "word"),
    [
        ("the first harvest of infor-", "mation that was", "information"),
        ("the first harvest of non-", "audited sums was", "non-audited"),
    ],
)
def test_a_word_that_two_pages_part_is_one(read, end, start, word):
    known = "Of the information there was, non-audited sums were the most."
    first = column([known.ljust(50), *LEFT[:2], end.ljust(40)])
    second = column([f"{start} brought in that year, and all of it was sold.", *RIGHT[2:]])
    one, two = read(pdf(first, second))
    assert one.text.count(word) == 2
    assert start.split()[0] not in two.text


def test_a_page_that_begins_anew_takes_nothing_from_the_one_before(read):
    whole = [*LEFT[:3], "walls too low."]
    one, two = read(pdf(column(whole), column(RIGHT)))
    assert one.text.endswith("walls too low.")
    assert two.text.startswith("strong enough")


def test_a_footnote_or_a_page_number_below_an_open_sentence_is_no_part_of_it(read):
    short = "They set their walls too low, as the first"
    for below in ("–19", "5 http://www.example.org/harbours"):
        first = [*column([LEFT[2], short]), Text(below, 72, 660, 7)]
        one, _ = read(pdf(first, column(["of the storms has shown. All were lost.", *RIGHT])))
        assert paragraphs(one)[0] == f"{LEFT[2]} {short} of the storms has shown."
        assert below in one.text


def test_code_with_numbers_in_the_middle_of_the_text_is_no_footnote(read):
    code = [Text(f"{row} raise(wall)", 72, 657 - 10 * row, 8) for row in (1, 2)]
    sentence = column([*LEFT[:3], "The walls are raised, as we have seen, by the"])
    [page] = read(pdf([*sentence, *code, *column(RIGHT, 72, 600)]))
    assert "by the 1 raise(wall)" in paragraphs(page)[0]


def test_a_sentence_goes_on_with_what_is_set_apart_from_it(read):
    lines = column([*LEFT[:3], "The walls are raised with"])
    shown = [Text("raise(walls)", 72, 628), Text("lower(tide)", 72, 616)]
    [page] = read(pdf([*lines, *shown]))
    assert paragraphs(page) == [
        " ".join([*LEFT[:3], "The walls are raised with raise(walls) lower(tide)"])
    ]


@pytest.mark.parametrize(
    ("end", "start"),
    [
        (", and so the sum of both was", "(1 m + 2 m) less than what was needed there,"),
        (", and so the sum of both was", "4pt more than the height of all of the walls,"),
        (", and they knew it very well—", "so well that no one had ever talked about it,"),
        (", and so even the newest (High)", "went under, which was the lowest of them all,"),
        (", and nobody has known what to", "do. In the end they were made higher by half,"),
        (". Not so those whom they call The", "Builders of the North, who had known the tides,"),
    ],
)
def test_a_sentence_goes_on_in_the_next_column_whatever_it_goes_on_with(read, end, start):
    lines = [*LEFT[:3], f"walls too low{end}"]
    [page] = read(pdf([*column(lines), *column([start, *RIGHT[1:]], 320)]))
    assert f"{end} {start}" in " ".join(page.text.split())
    assert len(paragraphs(page)) == 1


def test_the_title_of_a_page_is_not_what_a_sentence_goes_on_with(read):
    title = Text("Chapter 2: Harbours and walls of the north 12", 320, 760)
    open_lines = [*LEFT[:3], "walls too low, and so the first storm of the"]
    [page] = read(pdf([*column(open_lines), title, *column(["year", *RIGHT], 320)]))
    found = paragraphs(page)
    assert found[0] == " ".join([*open_lines, "year", *RIGHT])
    assert found[1] == title.text


def test_a_caption_behind_words_of_its_figure_is_not_what_a_sentence_goes_on_with(read):
    caption = column(["Key Figure 2. The harbour before the storm", *RIGHT[1:]], 320, 760)
    open_lines = [*LEFT[:3], "walls too low, and so they were lost in"]
    end = ["a storm that nobody had foreseen."]
    [page] = read(pdf([*column(open_lines), *caption, *column(end, 320)]))
    assert paragraphs(page)[0] == " ".join([*open_lines, *end])


@pytest.mark.parametrize(("left", "lower"), [(300, 6), (400, 20)])
def test_the_number_of_a_page_is_no_word_of_the_last_line(read, left, lower):
    lines = column(LEFT, 320)
    number = Text("12", left, lines[-1].bottom - lower)
    one, _ = read(pdf([*lines, number], column(RIGHT)))
    assert paragraphs(one)[0] == " ".join([*LEFT, *RIGHT]).partition(" Nobody")[0]
    assert "12" in paragraphs(one)[1:]


@pytest.mark.parametrize(("left", "bottom"), [(301, 114), (320, 100)])
def test_the_number_of_a_page_that_pdfium_tells_with_the_last_line_is_parted(left, bottom):
    class Drawn:
        text = "computers into 2"
        are_tight = False

        def box(self, place: int) -> Box:
            is_number = self.text[place].isdigit()
            x, y = (left, bottom) if is_number else (313 + 4 * place, 120)
            return Box(x, y + 8, x + 4, y)

        def ends(self, first: int, last: int) -> tuple[float, ...]:
            boxes = self.box(first), self.box(last)
            return tuple(s for box in boxes for s in (box.left, box.top, box.right, box.bottom))

    lines = read_lines(cast(Letters, Drawn()))
    assert [line.text for line in lines] == ["computers into", "2"]
    assert [line.bottom for line in lines] == [120, bottom]


def test_a_paragraph_that_begins_with_the_name_of_a_figure_is_no_caption(read):
    lines = ["Figure 7, showing a wall that others had built,", *LEFT[1:]]
    one, _ = read(pdf(column(lines), column(RIGHT)))
    assert paragraphs(one)[0] == " ".join([*lines, *RIGHT]).partition(" Nobody")[0]


def test_a_column_may_end_with_a_figure_that_a_sentence_goes_on_behind(read):
    lines = [*LEFT[:3], "walls too low, and so they lost no less than 24"]
    rest = ["cranes to the first storm. Nobody was hurt, as", *RIGHT[1:]]
    [page] = read(pdf([*column(lines), *column(rest, 320)]))
    assert paragraphs(page)[0] == " ".join([*lines, *rest])


def test_the_words_in_a_drawing_are_one_paragraph(read):
    labels = [Text("tide", 330, 500, 6), Text("wall", 420, 540, 6), Text("harbour", 380, 450, 6)]
    [page] = read(pdf([*column(LEFT), *labels, *column(RIGHT, 320)]))
    assert paragraphs(page) == [" ".join([*LEFT, *RIGHT]), "tide wall harbour"]


def test_a_formula_that_a_sentence_goes_on_with_may_begin_with_a_capital(read):
    lines = [*LEFT[:3], "walls too low, and so what was needed is"]
    formula = [Text("L = A + B", 160, 622, 9), Text("W = D", 160, 600, 9)]
    [page] = read(pdf([*column(lines), *formula]))
    assert "what was needed is L = A + B" in paragraphs(page)[0]


def test_the_last_line_of_a_page_may_be_stretched(read):
    line = ["This", "file", "shows", "a", "simple", "use", "of"]
    stretched = [Text(word, 72 + 40 * place, 652) for place, word in enumerate(line)]
    one, _ = read(pdf([*column(LEFT[:3]), *stretched], column(RIGHT)))
    assert "a simple use of strong enough" in " ".join(one.text.split())


def test_columns_that_are_not_justified_are_read_one_after_the_other_as_well(read):
    left = [line if row % 3 else line[:35].rstrip() for row, line in enumerate(LEFT * 4)]
    lines = enumerate([*RIGHT, LEFT[1]] * 4)
    right = [line if row % 3 else line[:35].rstrip() for row, line in lines]
    [page] = read(pdf(row_by_row(left, right)))
    words = " ".join(page.text.split())
    assert " ".join(left[:4]) in words
    assert words.index(left[-1]) < words.index(right[0])


def test_accents_are_on_their_letters_in_columns_that_are_drawn_row_by_row(read):
    left = ["and who came from far away, and did not know", *LEFT[1:]] * 4
    rows = row_by_row(left, [*RIGHT, LEFT[1]] * 4)
    [page] = read(pdf([*rows, Text("\xa8", 73.1, 700)]))
    assert page.text.startswith("änd who came from far away")
    assert "\xa8" not in page.text


def test_references_with_numbers_in_brackets_are_no_table(read):
    numbers = [f"[{row + 7}]" for row, _ in enumerate(LEFT)]
    [page] = read(pdf(row_by_row(numbers, LEFT, 100)))
    assert "|" not in page.text


def test_accents_that_are_drawn_by_themselves_are_on_their_letters(read):
    """Before the letter, as TeX does it, and behind it."""
    before = [Text("F\xfcr die K", 72, 700), Text("\xa8", 114.6, 700), Text("ase", 113.3, 700)]
    behind = [Text("Mu", 72, 660), Text("\xa8", 81.5, 660), Text("ller", 86, 660)]
    [page] = read(pdf([*before, *behind]))
    assert "Käse" in page.text
    assert "Müller" in page.text
    [page] = read(pdf(column(["A caret ^ and a tilde ~x and `code` stay."])))
    assert page.text == "A caret ^ and a tilde ~x and `code` stay."


HEADED = [
    Text("Harbours of the north", 72, 760, 20),
    *column(LEFT, top=720),
    Text("2.1 Walls and cranes", 72, 650, 10, "B"),
    *column(RIGHT, top=636),
    *column(["# is the sign for a number, as in", "-----", "the lists of the clerk."], top=580),
]


def test_headings_are_told_by_size_and_weight(read):
    pages = read(pdf(HEADED))
    found = {
        line: passage.headings
        for passage in chunk(pages, lambda text: len(text.split()), 60)
        for line in passage.text.split("\n")
    }
    assert found["# Harbours of the north"] == ("Harbours of the north",)
    assert found[LEFT[2]] == ("Harbours of the north",)
    assert found[RIGHT[1]] == ("Harbours of the north", "2.1 Walls and cranes")
    assert found["the lists of the clerk."] == ("Harbours of the north", "2.1 Walls and cranes")


def test_a_heading_right_below_another_is_one_as_well(read):
    heads = [Text("3 Cranes", 72, 730, 16), Text("3.1 Of the north", 72, 714, 10, "B")]
    [page] = read(pdf([*heads, *column(LEFT)]))
    assert page.text.split("\n")[:3] == ["## 3 Cranes", "### 3.1 Of the north", LEFT[0]]


def test_where_there_are_bookmarks_they_are_the_headings(read):
    marks = b"/Outlines<</First %s0/Last %s0/Count 1>>"
    data = pdf(HEADED, catalog=marks, streams=(b"",))
    title = b"<</Title(All of it)/Dest[0/Fit]>>"
    begin = data.index(b"<</Length 0")
    data = data.replace(data[begin : data.index(b"endstream", begin) + 9], title, 1)
    [page] = read(data)
    assert page.headings == ("All of it",)
    assert not page.text.startswith("#")


HEAD = [Text("Harbours of the north 7", 72, 800)]
SECTIONS = [
    *HEAD,
    *column(LEFT, top=760),
    Text("2.1 Walls", 72, 690, 12),
    *column(RIGHT, top=670),
    Text("Cranes", 72, 600, 12),
    *column(LEFT, top=580),
]


def headed(pages: list[Page]) -> dict[str, tuple[str, ...]]:
    """The headings above each line that begins a paragraph, where each is a passage."""
    passages = chunk(pages, lambda text: len(text.split()), max_tokens=45)
    return {passage.text.split("\n")[0]: passage.headings for passage in passages}


def test_each_of_several_bookmarks_heads_what_stands_below_its_title(read):
    marks = (("Tides", 0, 790.0), ("Walls", 1, 705.0), ("Cranes", 1, 615.0))
    second = [*HEAD, *column(RIGHT, top=760)]
    pages = read(pdf(column(LEFT), SECTIONS, second, bookmarks=marks))
    assert [page.headings for page in pages] == [("Tides",), ("Tides",), ("Cranes",)]
    found = headed(pages[1:])
    assert found["Harbours of the north 7"] in {("Tides",), ("Cranes",)}
    assert found["# 2.1 Walls"] == ("2.1 Walls",)
    assert found["# Cranes"] == ("Cranes",)


def test_of_lines_with_the_title_of_a_bookmark_the_nearest_is_its_heading(read):
    page = [*SECTIONS, Text("Walls", 72, 500), *column(RIGHT, top=480)]
    [found] = read(pdf(page, bookmarks=(("Walls", 0, 512.0),)))
    assert "\n# Walls\n" in found.text
    assert "# 2.1" not in found.text


def test_a_heading_below_the_head_of_a_page_stands_above_all_of_it(read):
    page = [*HEAD, Text("Walls", 72, 770, 12), *column(LEFT)]
    [found] = read(pdf(page, bookmarks=(("Walls", 0, 782.0),)))
    assert found.headings == ("Walls",)
    assert "#" not in found.text


def test_what_repeats_at_the_top_of_pages_is_no_heading(read):
    def pages(words: str) -> list[list[Text]]:
        return [[Text(f"{words} {page}", 72, 800, 16), *column(LEFT)] for page in range(3)]

    heads = read(pdf(*pages("Harbours of the north")))
    assert [page.text.startswith("#") for page in heads] == [True, False, False]
    chapters = read(pdf(*pages("Chapter")))
    assert all(page.text.startswith("#") for page in chapters)


ROWS = [
    ("Berth", "Ships", "Fee", "Tax"),
    ("North", "14", "1,250", "9"),
    ("South", "", "800", "7"),
    ("West", "3", "", "1"),
]


def table(rows, top: float = 700) -> list[Text]:
    return [
        Text(cell, 72 + 110 * place, top - 14 * number)
        for number, row in enumerate(rows)
        for place, cell in enumerate(row)
        if cell
    ]


def test_the_cells_of_a_table_are_apart_and_empty_ones_stay(read):
    [page] = read(pdf([*table(ROWS), *column(LEFT, top=600)]))
    rows, prose = page.text.split("\n\n")
    assert rows.split("\n") == [
        "| Berth | Ships | Fee | Tax |",
        "| North | 14 | 1,250 | 9 |",
        "| South |  | 800 | 7 |",
        "| West | 3 |  | 1 |",
    ]
    assert prose == "\n".join(LEFT)
    [first, *_] = chunk([page], lambda text: len(text.split()), 60)
    assert first.text.startswith("| Berth")


def test_years_above_the_columns_are_a_row_of_their_table(read):
    heads = [Text("2023", 250, 712), Text("2022", 350, 712), Text("Income:", 72, 700)]
    rows = [(72, "Fees", 250, "1,250", 350, "1,100"), (72, "Rents", 250, "800", 350, "720")]
    cells = [
        Text(text, left, 688 - 12 * number)
        for number, row in enumerate(rows)
        for left, text in zip(row[::2], row[1::2], strict=True)
    ]
    [page] = read(pdf([*heads, *cells]))
    assert page.text.split("\n") == [
        "|  | 2023 | 2022 |",
        "| Income: |  |  |",
        "| Fees | 1,250 | 1,100 |",
        "| Rents | 800 | 720 |",
    ]


def test_a_head_over_two_columns_makes_no_column_of_them(read):
    head = [("Where", 72), ("All that came in these years", 182), ("Due", 402)]
    rows = [row for row in ROWS if all(row)] * 2
    pieces = [*(Text(text, left, 714) for text, left in head), *table(rows)]
    [page] = read(pdf(pieces))
    assert page.text.split("\n")[0] == "| Where | All that came in these years |  | Due |"
    assert "| North | 14 | 1,250 | 9 |" in page.text


def test_prose_below_a_row_is_no_part_of_a_table(read):
    rows = [Text("name", 72, 712), Text("value", 320, 712)]
    below = table(ROWS, top=700 - 12 * len(LEFT))
    [page] = read(pdf([*rows, *column(LEFT), *below]))
    assert "\n".join(LEFT) in page.text


def test_a_cell_of_two_lines_is_one_cell(read):
    rows = [
        ("Name", "What it is"),
        ("north", "the berth at which"),
        ("", "all ferries lie"),
        ("south", "the one for ships"),
        ("west", "nobody knows"),
    ]
    [page] = read(pdf(table(rows)))
    assert "| north | the berth at which all ferries lie |" in page.text.split("\n")


def grid(xs: list[float], ys: list[float]) -> list[Rule]:
    across = [Rule(xs[0], y, xs[-1], y) for y in ys]
    return across + [Rule(x, ys[-1], x, ys[0]) for x in xs]


WRAPPED = [
    Text("Berth", 75, 690),
    Text("Who may lie there", 125, 690),
    Text("North pier,", 75, 670),
    Text("outer wall", 75, 658),
    Text("ferries that come by", 125, 670),
    Text("night, and tugs", 125, 658),
    Text("South", 75, 640),
    Text("West", 75, 620),
    Text("ships with fish", 125, 620),
]
RULED = [
    "| Berth | Who may lie there |",
    "| North pier, outer wall | ferries that come by night, and tugs |",
    "| South |  |",
    "| West | ships with fish |",
]


def test_rules_tell_which_lines_are_one_cell(read):
    rules = grid([72, 122, 250], [702, 682, 652, 632, 612])
    prose = column(LEFT, top=580)
    [page] = read(pdf([*rules, *WRAPPED, *prose]))
    assert page.text == "\n".join(RULED) + "\n\n" + "\n".join(LEFT)


@pytest.mark.parametrize("rules", [[], grid([40, 140, 380, 450], [712, 698, 684, 670, 656])])
def test_a_hyphen_before_words_on_its_own_line_of_a_cell_stays(read, rules):
    north = [Text("North", 50, 701), Text("12", 400, 701)]
    torn = [Text("pre-", 150, 701), Text("and post-test", 185, 701)]
    others = [("South", "no test yet", "13"), ("West", "one test", "14"), ("East", "none", "15")]
    rows = [
        Text(cell, left, 687 - 14 * number)
        for number, row in enumerate(others)
        for left, cell in zip((50, 150, 400), row, strict=True)
    ]
    [page] = read(pdf([*rules, *north, *torn, *rows]))
    assert page.text.split("\n")[0] == "| North | pre- and post-test | 12 |"


def test_rules_part_cells_that_touch(read):
    rows = [("Berth", "Ships"), ("outer north", "fourteen"), ("inner south", "thirty-two")] * 2
    words = [
        Text(cell, left, 690 - 20 * number)
        for number, row in enumerate(rows)
        for left, cell in zip((73, 125), row, strict=True)
    ]
    rules = grid([72, 124, 180], [702 - 20 * number for number in range(7)])
    [page] = read(pdf([*words, *rules]))
    assert page.text.split("\n") == [f"| {one} | {other} |" for one, other in rows]


def test_a_word_that_runs_over_a_rule_stays_whole_in_the_cell_it_begins_in(read):
    rows = [("package", "used"), ("developers-reference", "V:0, I:6"), ("debmake", "I:0")]
    words = [
        Text(cell, left, 690 - 20 * number)
        for number, row in enumerate(rows)
        for left, cell in zip((75, 150), row, strict=True)
    ]
    rules = grid([72, 147, 220], [702 - 20 * number for number in range(4)])
    [page] = read(pdf([*words, *rules]))
    assert page.text.split("\n") == [f"| {one} | {other} |" for one, other in rows]


@pytest.mark.parametrize("apart", [-1, 1])
def test_a_word_stays_whole_over_a_rule_however_near_its_letters_are(read, apart):
    rows = [("harbour", "ships"), ("transformationally", ""), ("berths", "many"), ("tugs", "few")]
    words = [
        Text(cell, left, 690 - 20 * number, apart=apart)
        for number, row in enumerate(rows)
        for left, cell in zip((75, 130), row, strict=True)
    ]
    rules = grid([72, 127, 220], [702 - 20 * number for number in range(5)])
    [page] = read(pdf([*words, *rules]))
    assert page.text.split("\n") == [f"| {one} | {other} |" for one, other in rows]


def test_words_of_two_cells_that_touch_are_two_if_their_letters_differ(read):
    rows = [("command", "does"), ("secrettool", "store secrets"), ("tool", "more")]
    words = [
        Text(cell, left, 690 - 20 * number, font=font)
        for number, row in enumerate(rows)
        for left, font, cell in zip((75, 134.3), "CF", row, strict=True)
    ]
    rules = grid([72, 131, 220], [702 - 20 * number for number in range(4)])
    [page] = read(pdf([*words, *rules]))
    assert page.text.split("\n") == [f"| {one} | {other} |" for one, other in rows]


def test_a_cell_over_several_columns_is_in_the_first_of_them(read):
    rules = [*grid([72, 122, 172, 222], [702, 682, 662]), Rule(72, 722, 222, 722)]
    rules += [Rule(72, 702, 72, 722), Rule(122, 702, 122, 722), Rule(222, 702, 222, 722)]
    words = [Text("Ships of both sizes", 128, 706)]
    words += [Text(str(9 * x * y), 80 + 50 * x, 686 - 20 * y) for x in range(3) for y in range(2)]
    [page] = read(pdf([*rules, *words]))
    assert page.text.split("\n") == [
        "|  | Ships of both sizes |  |",
        "| 0 | 0 | 0 |",
        "| 0 | 9 | 18 |",
    ]


def test_a_page_that_lies_on_its_side_is_read_as_one_that_stands(read):
    rules = grid([72, 122, 250], [702, 682, 652, 632, 612])
    turned = pdf([*rules, *WRAPPED], drawn_with=b"0 1 -1 0 900 0 cm")
    [page] = read(turned)
    assert page.text.split("\n") == RULED


def test_a_page_that_is_drawn_upside_down_is_read_as_one_that_stands(read):
    [page] = read(pdf([*column(LEFT, top=760), *table(ROWS)]))
    turned = pdf([*column(LEFT, top=760), *table(ROWS)], drawn_with=b"-1 0 0 -1 612 792 cm")
    [same] = read(turned)
    assert "| South |  | 800 | 7 |" in page.text
    assert same.text == page.text


def test_a_frame_around_prose_is_no_table(read):
    rules = grid([60, 300, 560], [720, 500])
    [page] = read(pdf([*rules, *column(LEFT * 12, top=710)]))
    assert "|" not in page.text


def test_a_page_in_a_frame_is_no_table(read):
    frame = grid([60, 80, 560], [720, 705, 415, 400])
    head = [Text("Printed on Monday", 90, 708), Text("1 of 9", 400, 708)]
    foot = [Text("1", 70, 404), Text("North", 90, 404), Text("South", 400, 404)]
    [page] = read(pdf([*frame, *head, *column(LEFT * 5, left=90, top=690), *foot]))
    assert "|" not in page.text
    assert "\n".join(LEFT) in page.text


DEFINED = [
    [Text("tide", 72, 0), Text("how high the water is,", 150, 0)],
    [Text("measured at noon.", 150, 0)],
    [Text("numberofships a count of all that are in the harbour when it is made, also", 72, 0)],
    [Text("those that were only towed there.", 150, 0)],
    [Text("kindofships what the owner calls them, of which the first four let-", 72, 0)],
    [Text("ters count.", 150, 0)],
    [Text("night", 72, 0), Text("how many came after dark", 150, 0)],
    [Text("crew", 72, 0), Text("how many people are on them", 150, 0)],
]


def defined(*rows: int) -> list[Text]:
    return [
        replace(piece, bottom=700 - 12 * number)
        for number, row in enumerate(rows)
        for piece in DEFINED[row]
    ]


def test_a_sentence_that_goes_through_a_column_goes_on_where_it_began(read):
    [page] = read(pdf(defined(0, 1, 6, 2, 3, 4, 5, 7)))
    rows = page.text.split("\n")
    assert rows[0].startswith("| tide | how high the water")
    assert "in the harbour when it is made, also those that were only towed there. |" in page.text
    assert "the first four letters count. |" in page.text


def test_where_most_sentences_go_through_a_gap_it_parts_no_columns(read):
    [page] = read(pdf(defined(6, 2, 3, 4, 5, 2, 3, 4, 5, 7, 2, 3, 0)))
    assert "|" not in page.text
    assert "the first four letters count." in page.text


def test_two_numbered_headings_below_each_other_are_two(read):
    heads = [Text("1. Call to order", 72, 740, 14), Text("2. Comments on ships", 72, 724, 14)]
    [page] = read(pdf([*heads, *column(LEFT)]))
    assert "## 1. Call to order\n## 2. Comments on ships\n" in page.text


def test_a_large_sentence_above_a_caption_is_no_heading(read):
    large = [Text("of the ships that came by night", 72, 740, 14)]
    large += [Text("Table 7.5 Ships by night", 72, 724, 14)]
    [page] = read(pdf([*large, *column(LEFT)]))
    assert "night Table" not in page.text


def test_columns_that_are_drawn_row_by_row_are_read_one_after_the_other(read):
    left, right = LEFT * 3, [*RIGHT, LEFT[1]] * 3
    title = Text("Harbours of the north", 72, 740, 20)
    [page] = read(pdf([title, *row_by_row(left, right)]))
    assert "|" not in page.text
    words = " ".join(page.text.split())
    assert " ".join(left[:4]) in words
    assert " ".join(right[:3]) in words
    assert words.index(left[-1]) < words.index(right[0])


@pytest.mark.parametrize(
    "lines",
    [
        [
            Text(word, 72 + at, 700 - 12 * row)
            for row, line in enumerate(LEFT)
            for at, word in zip(range(0, 500, 43 + 7 * row), line.split(), strict=False)
        ],
        [
            piece
            for row, line in enumerate(LEFT)
            for piece in (Text("•", 72, 700 - 12 * row), Text(line, 90, 700 - 12 * row))
        ],
        [Text(f"{row}   x = {row};   # note", 72, 700 - 12 * row, font="C") for row in range(6)],
    ],
    ids=["wide prose", "a list", "code"],
)
def test_what_is_no_table_is_not_taken_for_one(read, lines):
    [page] = read(pdf(lines))
    assert "|" not in page.text


def test_signs_that_stand_alone_make_no_garbled_text_of_words():
    page = PdfDocument(pdf(column(LEFT)))[0]
    words = "\n".join(LEFT)
    assert scan(words + "\n\x01" * 90, words, page) == ""
    assert scan(words + "\n\x01\x02\x03" * 30, words, page) == "garbled"


def widget(name: bytes, more: bytes) -> bytes:
    return b"<</Type/Annot/Subtype/Widget/FT/Tx/T(%s)/Rect[72 500 272 520]/F 4%s>>" % (name, more)


def test_a_field_whose_value_is_only_drawn_is_read(read):
    drawn = b"BT /F 10 Tf 2 5 Td (drawnwort here) Tj ET"
    data = pdf(
        column(LEFT),
        annotations=(widget(b"captain", b"/AP<</N %s0>>"), widget(b"empty", b"")),
        streams=(drawn,),
        catalog=b"/AcroForm<</Fields[]>>",
    )
    [page] = read(data)
    assert paragraphs(page)[-1] == "captain: drawnwort here"


def choice(name: bytes, more: bytes) -> bytes:
    options = b"/Opt[[(N)(North quay)][(S)(South quay)][(E)(East quay)]]"
    return widget(name, options + more).replace(b"/FT/Tx", b"/FT/Ch")


def test_what_was_chosen_is_read_as_people_see_it(read):
    fields = (
        choice(b"berth", b"/Ff 131072/V(S)"),
        choice(b"typed", b"/Ff 393216/V(West quay)"),
        choice(b"several", b"/Ff 2097152/V[(N)(E)]"),
    )
    data = pdf(column(LEFT), annotations=fields, catalog=b"/AcroForm<</Fields[]>>")
    [page] = read(data)
    assert paragraphs(page)[1:] == [
        "berth: South quay",
        "typed: West quay",
        "several: North quay, East quay",
    ]


def test_attached_files_are_parts_of_the_document(read):
    inner = pdf(column(["innerwort is on a page of its own"]), files=(("deep.txt", b"deepwort"),))
    data = pdf(column(LEFT), files=(("list.csv", b"ship;fee\nalpha;listwort\n"), ("in.pdf", inner)))
    found = {
        word: page.location
        for page in read(data)
        for word in ("listwort", "innerwort", "deepwort")
        if word in page.text
    }
    assert found == {
        "listwort": "attachment list.csv, rows 1–2",
        "innerwort": "attachment in.pdf, page 1",
        "deepwort": "attachment in.pdf, attachment deep.txt",
    }


def test_a_file_that_is_pinned_to_a_page_is_read_like_an_attached_one(read):
    pin = (
        b"<</Type/Annot/Subtype/FileAttachment/Rect[10 10 30 30]"
        b"/FS<</Type/Filespec/F(pinned.txt)/UF(pinned.txt)/EF<</F %s0>>>>>>"
    )
    pinned = pdf(column(LEFT), annotations=(pin,), streams=(b"pinwort is in a file",))
    *_, named, last = read(pinned)
    assert named.text == "Attached files: pinned.txt"
    assert (last.location, last.text) == ("attachment pinned.txt", "pinwort is in a file")


def test_an_attached_file_is_read_whose_name_has_another_key_than_its_content(read):
    data = pdf(column(LEFT), files=(("list.txt", b"listwort"),))
    renamed = data.replace(b"/F(list.txt)/UF(list.txt)", b"            /UF(list.txt)")
    assert renamed != data
    assert "listwort" in [page.text for page in read(renamed)]


def test_files_in_files_in_files_come_to_an_end(tmp_path):
    data = b"bottomwort"
    name = "bottom.txt"
    for depth in range(6):
        data = pdf(column([f"level{depth}wort"]), files=((name, data),))
        name = f"level{depth}.pdf"
    path = tmp_path / "stored"
    path.write_bytes(data)
    pages = list(extract(Source(path, "ours.pdf", Ocr(engine="off"))).pages)
    texts = [page.text for page in pages if isinstance(page, Page)]
    assert any("level2wort" in text for text in texts)
    assert not any("bottomwort" in text for text in texts)
    assert [page.text for page in pages if isinstance(page, Remark)] == [
        "attachment level4.pdf: attachment level3.pdf: attachment level2.pdf: attachment level1.pdf"
        " was not read: it is inside too many other files"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "7KLV LV D WHVW RI WKH HPHUJHQFB EURDGFDVW VBVWHP",
        "T h e h a r b o u r w a s b u i l t b y p e o p l e",
        "zvrn qcth wbkx ntlp bcdfg",
        "Пржвтт мрр ттсст ткстк прст",
        "\u3400\u3512\u4db0\u3a1f \u3777\u3b2c\u4011",
    ],
    ids=["shifted", "spaced", "few", "cyrillic", "rare chinese"],
)
def test_text_that_is_none_is_noticed(text):
    assert word_share(text, FEW) < 0.75


@pytest.mark.parametrize(
    "text",
    [
        "REPORT ON THE HARBOUR AND ITS CRANES",
        "Greetings to all",
        "Привет, мир! Это текст о порте",
        "\u4e00\u4e2a\u6e2f\u53e3\u548c\u5b83\u7684\u8d77\u91cd\u673a",
        "x + y = z where a b c are the sides of the wall, as p q r",
    ],
)
def test_text_that_is_one_is_not_doubted(text):
    assert word_share(text, FEW) >= 0.75


def test_the_dots_of_a_table_of_contents_are_short(read):
    lines = ["1 Cranes . . . . . . . . . . . . . . . . 7", "2 Ropes..........................9"]
    [page] = read(pdf(column([*lines, "And so on... until the end."])))
    assert page.text.split("\n")[:2] == ["1 Cranes … 7", "2 Ropes … 9"]
    assert page.text.endswith("And so on... until the end.")
