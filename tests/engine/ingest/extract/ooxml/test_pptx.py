import pytest
from planted import pages_in, pages_of
from small_office import pptx

from kb.engine.errors import ContentTooLarge, NestedTooDeep
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.ooxml import pptx as pptx_module
from kb.engine.ingest.extract.ooxml.pptx import extract
from kb.engine.ingest.passages.chunk import chunk
from kb.engine.pages import Page

# word → slide, in the order in which they are shown
PLANTED = {
    "Toucan": 1,  # the title
    "lory": 1,  # the subtitle
    "flamingo": 1,  # a text of the layout that is no placeholder
    "dunlin": 2,  # a text box on a hidden slide
    "gannet": 2,  # a footer, which stands on slide 3 as well
    "pelican": 2,  # SmartArt
    "ibis": 2,  # a comment
    "Parrot": 3,
    "macaw": 3,
    "cockatoo": 3,
    "kakapo": 3,
    "Hornbill": 3,  # the header of a table
    "left \\| right": 3,
    "kiwi": 3,  # in a group in a group
    "emu": 3,  # the description of a picture
    "Rhea": 3,  # the title of a chart
    "cassowary": 3,  # a series of it
    "ostrich": 3,  # a category of it
    "grebe": 3,  # a formula, stored in two forms
    "puffin": 3,  # in the speaker's notes
    "egret": 3,  # a comment of the new form
    "bittern": 3,  # and a reply to it
}
UNSEEN = ("Click to", "edit Master", "987654", "‹#›")
LOST = ("grebe", "egret", "bittern")  # by the other program


@pytest.fixture
def deck() -> list[Page]:
    return pages_in("deck.pptx")


@pytest.fixture
def written(tmp_path):
    def written(*slides: str) -> list[Page]:
        path = pptx(tmp_path / "a.pptx", *slides)
        return pages_of(extract(Source(path, path.name)))

    return written


def shape(paragraphs: str, placeholder: str = "") -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="n"/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>'
        f"<p:txBody>{paragraphs}</p:txBody></p:sp>"
    )


def a(text: str, properties: str = "") -> str:
    return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"


@pytest.mark.parametrize(("word", "slide"), PLANTED.items(), ids=PLANTED)
def test_everything_a_reader_sees_is_found_once_and_on_its_slide(deck, word, slide):
    assert [page.number for page in deck for _ in range(page.text.count(word))] == [slide]


@pytest.mark.parametrize("word", UNSEEN)
def test_prompts_and_slide_numbers_are_not_read(deck, word):
    assert not any(word in page.text for page in deck)


@pytest.mark.parametrize("word", [word for word in PLANTED if word not in LOST])
def test_the_dialect_of_another_program_is_read_as_well(word):
    other_deck = pages_in("deck-libreoffice.pptx")
    assert [page.number for page in other_deck if word in page.text] == [PLANTED[word]]


def test_slides_are_called_by_their_number_and_hidden_ones_are_marked(deck):
    assert [page.location for page in deck] == ["slide 1", "slide 2 (hidden)", "slide 3"]
    chunks = chunk(deck, lambda text: len(text.split()))
    assert [(part.page, part.location, part.headings) for part in chunks] == [
        (1, "slide 1", ("Toucan talk",)),
        (2, "slide 2 (hidden)", ("Slide 2",)),  # it has no title, and not that of slide 1
        (3, "slide 3", ("Parrot facts",)),
    ]


def test_the_structure_of_a_slide_is_written_as_markdown(deck):
    assert all(page.markup == "markdown" and not page.lines_count for page in deck)
    text = deck[2].text
    assert text.startswith(
        "# Parrot facts\n\n- Bulleted macaw\n  - Deeper cockatoo\n3. Numbered kakapo\n\n"
        "| Hornbill | Count |\n| left \\| right | 7 |\n\n"
    )
    assert "Chart: Rhea chart\n\n|  | cassowary |\n| ostrich | 1.5 |\n| nandu | 2 |" in text
    assert "\n\nNotes: Noted puffin\n\nComment by Crane Smith: Threaded egret" in text


def test_the_title_comes_first_wherever_it_stands(written):
    title = shape(a("Top") + a("of all"), '<p:ph type="ctrTitle"/>')
    (page,) = written(shape(a("one") + a("two")) + title)
    assert page.text == "# Top of all\n\none\ntwo"


def test_bullets_and_numbers_are_those_that_are_shown(written):
    bullet, none = "<a:pPr><a:buChar char='x'/></a:pPr>", "<a:pPr><a:buNone/></a:pPr>"
    letter = '<a:pPr lvl="1"><a:buAutoNum type="alphaLcParenR"/></a:pPr>'
    number = '<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>'
    (page,) = written(
        shape(a("plain") + a("bulleted", bullet))
        + shape(a("item") + a("text", none), '<p:ph idx="1"/>')
        + shape(a("x", number) + a("y", letter) + a("z", letter) + a("w", number))
    )
    assert page.text.split("\n") == [
        *("# Slide 1", "", "plain", "", "- bulleted", "- item", "", "text", ""),
        *("1. x", "  a) y", "  b) z", "2. w"),
    ]


def test_an_empty_slide_keeps_its_place(written):
    first, empty, last = written(shape(a("one")), shape("<a:p/>"), shape(a("three")))
    assert (first.number, first.text) == (1, "# Slide 1\n\none")
    assert (empty.number, empty.text) == (2, "")
    assert (last.number, last.text) == (3, "# Slide 3\n\nthree")


def test_groups_are_read_as_deep_as_xml_may_nest(written):
    def nested(depth: int) -> str:
        return "<p:grpSp>" * depth + shape(a("needle")) + "</p:grpSp>" * depth

    assert "needle" in written(nested(200))[0].text
    with pytest.raises(NestedTooDeep):
        written(nested(20_000))


def test_more_slides_than_anybody_shows_are_refused(written, monkeypatch):
    monkeypatch.setattr(pptx_module, "_MOST_SLIDES", 2)
    with pytest.raises(ContentTooLarge, match="more than 2 slides"):
        written("", "", "")
