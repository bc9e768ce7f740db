"""Pieces of text in, a page of text out."""

from kb.engine.ingest.ocr.boxes import Box
from kb.engine.ingest.ocr.rows import text_of


def box(text: str, left: float, y: float, height: float = 30, angle: float = 0) -> Box:
    width = len(text) * height / 2
    return Box(text, 0.99, left + width / 2, y, width, height, angle)


def test_pieces_of_one_line_are_one_line_whatever_their_order():
    pieces = [box("islands", 325, 101), box("The ferry", 40, 100), box("from the", 190, 99)]
    assert text_of(pieces) == "The ferry from the islands"


def test_cells_of_a_table_are_apart():
    table = [
        *(box("Berth", 40, 100), box("Ships", 400, 102), box("Fee", 700, 99)),
        *(box("North", 40, 140), box("14", 400, 141), box("1,250", 700, 139)),
    ]
    assert text_of(table) == "Berth | Ships | Fee\nNorth | 14 | 1,250"


def test_wider_gaps_begin_paragraphs():
    page = [box(f"Line number {n} of the first one.", 40, 100 + 40 * n) for n in range(3)]
    page += [box(f"Line number {n} of the second.", 40, 280 + 40 * n) for n in range(3)]
    first, second = text_of(page).split("\n\n")
    assert (first.count("\n"), second.count("\n")) == (2, 2)


def test_columns_are_read_one_after_the_other_below_their_title():
    left = [box(f"left line number {n} of this column", 40, 200 + 40 * n) for n in range(6)]
    right = [box(f"right line number {n} of the other", 640, 205 + 40 * n) for n in range(6)]
    title = box("A title that stands across both of the columns below it", 100, 100)
    mixed = [title, *(each for pair in zip(left, right, strict=True) for each in pair)]
    words = text_of(mixed).split("\n")
    assert words[0].startswith("A title")
    assert [line.split()[0] for line in words if line][1:] == ["left"] * 6 + ["right"] * 6


def test_a_table_of_long_cells_is_read_by_its_rows():
    rows = [
        ("The harbour office in the north", 40, "open"),
        ("The harbour office", 80, "closed on Tuesdays and Thursdays"),
        ("Cranes", 120, "repaired"),
        ("A list of fees for ships and boats", 160, "yes"),
        ("Lighthouse", 200, "since 1887, with breaks"),
    ]
    table = [piece for a, y, b in rows for piece in (box(a, 40, y), box(b, 700, y))]
    assert text_of(table).splitlines()[0] == "The harbour office in the north | open"


def test_a_page_that_was_laid_askew_keeps_its_rows():
    slope = 0.035  # two degrees: 50 pixels over a page, more than from line to line
    table = []
    for row in range(5):
        for column in range(4):
            left = 40 + 400 * column
            table.append(
                box(f"r{row}c{column} and so on", left, 100 + 40 * row + left * slope, angle=2)
            )
    lines = text_of(table).splitlines()
    assert [line.count(" | ") for line in lines] == [3] * 5
    assert lines[4].startswith("r4c0")


def test_what_could_not_be_read_leaves_no_trace():
    assert text_of([box("read", 40, 100), Box("", 0.0, 500, 100, 400, 30)]) == "read"
    assert text_of([]) == ""


def test_a_chart_lies_as_its_title_does_and_not_as_the_names_below_its_axis():
    title = box("Scores of the harbours", 400, 40)
    bars = [box("0.8", 60, 140), box("0.91", 300, 142), box("0.82", 600, 141)]
    names = [box("North", 100, 500, 20, -15), box("Old South", 300, 500, 20, -15)]
    axis = box("Share of ships", 20, 300, 20, -90)
    lines = text_of([*names, axis, *bars, title]).split("\n")
    assert lines[0] == "Scores of the harbours"
    assert "0.8 | 0.91 | 0.82" in lines
