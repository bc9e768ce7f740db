import pytest
from planted import places_in, read, text_of

from kb.engine.ingest.extract import Extraction

TITLE = "section Map of the harbour svgtitleword"
PLANTED = (
    "svgtitleword",
    "svgdescword",
    "svglabelword",  # for those who cannot see it
    "svghoverword",  # the title of a part
    "svgspanword",  # spans inside a word
    "svglineone",
    "svglinetwo",
    "svgkern",  # letters set one by one
    "svgforeignword",  # a web page inside the drawing
    "svglinkword",
)


@pytest.mark.parametrize("word", PLANTED)
def test_every_word_of_a_drawing_is_found(word):
    assert places_in("drawing.svg")[word] == (None, TITLE)


def test_lines_of_a_text_stay_lines_and_styles_stay_out():
    text = text_of(read("drawing.svg"))
    assert "First line svglineone\nsecond line svglinetwo" in text
    assert "svgstyleword" not in text


def test_the_careful_reader_finds_the_same_words():
    extraction = read("drawing.svg", careful=True)
    text = text_of(extraction)
    assert [word for word in PLANTED if word not in text] == []
    assert extraction.title == "Map of the harbour svgtitleword"


@pytest.fixture
def drawing(extracted):
    def drawing(inside: str, before: str = "", attributes: str = "") -> Extraction:
        root = f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{inside}</svg>'
        return extracted(f'<?xml version="1.0"?>{before}{root}', "drawing.svg")

    return drawing


def test_a_drawing_without_words_is_described(drawing):
    shapes = '<rect fill="#00f"/>' * 12 + '<path style="stroke:#ff0000;fill:none"/>' * 3
    (page,) = drawing(shapes + "<circle fill='gold'/>", attributes='viewBox="0 0 30 40"').pages
    assert page.method == "image"
    assert page.text == (
        "SVG drawing, 30 × 40. Shapes: 12 rectangles, 3 paths, 1 circle. Colours: blue, red, gold."
    )


ENTITIES = '<!ENTITY l0 "lol">' + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("before", "inside", "text"),
    [
        ('<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "needle &x;", "needle &x;"),
        (f"<!DOCTYPE s [{ENTITIES}]>", "needle &l9;", "needle &l9;"),
        ('<!DOCTYPE svg PUBLIC "a" "b">', "needle", "needle"),
        ("", "needle &nbsp; here", "needle here"),
    ],
)
def test_entities_are_neither_expanded_nor_fetched(drawing, before, inside, text):
    assert text_of(drawing(f"<text>{inside}</text>", before)) == text


def test_references_that_multiply_are_not_followed(drawing):
    uses = {n: f"<use href='#a{n - 1}'/>" * 10 for n in range(1, 10)}
    groups = "".join(f'<g id="a{n}">{inside}</g>' for n, inside in uses.items())
    (page,) = drawing(f'<g id="a0"><rect/></g>{groups}<use href="#a9"/>').pages
    assert page.text == "SVG drawing. Shapes: 1 rectangle."


def test_deep_nesting_costs_no_words(drawing):
    assert text_of(drawing("<g>" * 5_000 + "<text>needle</text>" + "</g>" * 5_000)) == "needle"
