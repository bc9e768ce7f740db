import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.errors import TextTooLong
from kb.engine.ingest.passages.chunk import chunk, embedding_text
from kb.engine.pages import Grid, Markup, Page
from kb.engine.values import Chunk
from proportion import assert_in_proportion

FIXTURES = Path(__file__).parents[3] / "fixtures"
MARKUPS = st.sampled_from(get_args(Markup))
MARKUP_LINES = """
    # One;## Two ##;####### seven;Title\n===;Title\n---;---;a: b;```;~~~ py;| a | b |;|---|;a | b;
    == Two;== Two ==;** Two;----;#+begin_src;<pre>;
    def f(x):;  class A {;@decorator;# comment;};{;;  ;\f;Two words. And more! 这是。
"""
LINES = st.sampled_from(
    [*MARKUP_LINES.split(";"), "x" * 300, "word " * 80, "中" * 90, "\u0301" * 40, "---", ""]
)
TEXTS = st.one_of(st.text(), st.lists(LINES, max_size=30).map("\n".join))


def count_tokens(text: str) -> int:
    return len(re.findall(r"[\u4e00-\u9fff]|\w+|[^\w\s]", text))


def cut(text: str, markup: str = "plain", max_tokens: int = 40) -> list[Chunk]:
    return chunk([Page(text, markup=markup)], count_tokens, max_tokens)


def fixture(name: str, markup: str, max_tokens: int = 40) -> list[Chunk]:
    return cut((FIXTURES / name).read_text(encoding="utf-8"), markup, max_tokens)


def outline(chunks: list[Chunk]) -> list[tuple[str, tuple[str, ...]]]:
    return [(passage.text.splitlines()[0].strip(), passage.headings) for passage in chunks]


@given(TEXTS, MARKUPS, st.integers(1, 60))
def test_the_chunks_of_a_page_joined_are_the_page(text, markup, max_tokens):
    chunks = cut(text, markup, max_tokens)
    assert "".join(passage.text for passage in chunks) == (text if text.strip() else "")
    for passage in chunks:
        assert text.startswith(passage.text, passage.start)
        assert passage.text.strip()


@given(TEXTS, MARKUPS, st.integers(1, 60))
def test_no_chunk_is_longer_than_allowed(text, markup, max_tokens):
    for passage in cut(text, markup, max_tokens):
        assert count_tokens(passage.text) <= max_tokens
        assert len(passage.text.strip()) <= 2_000


@given(st.lists(TEXTS, max_size=4), MARKUPS)
def test_chunks_are_numbered_through_the_document_and_stay_on_their_page(texts, markup):
    pages = [Page(text, number, markup=markup) for number, text in enumerate(texts, start=1)]
    chunks = chunk(pages, count_tokens, 20)
    assert [passage.seq for passage in chunks] == list(range(len(chunks)))
    for page in pages:
        own = "".join(passage.text for passage in chunks if passage.page == page.number)
        assert own == (page.text if page.text.strip() else "")


def test_markdown_is_cut_at_its_headings_with_their_path_beside_the_text():
    assert outline(fixture("guide.md", "markdown")) == [
        ("---", ("Field guide",)),
        ("## Finches", ("Field guide", "Finches", "Chaffinch")),
        ("### Siskin", ("Field guide", "Finches", "Siskin")),
        ("## Weights", ("Field guide", "Weights")),
        ("| goldfinch | 16 | Europe |", ("Field guide", "Weights")),
        ("Sources", ("Field guide", "Sources")),
    ]


def test_a_table_is_cut_between_rows_and_its_header_stands_beside_the_rest():
    chunks = fixture("guide.md", "markdown")
    assert [passage.table_header for passage in chunks if "finch |" in passage.text] == [
        "",
        "| bird | grams | range |",
    ]


def test_small_sections_share_a_chunk_until_it_is_a_third_full():
    text = "".join(f"### Part {i}\n\nA few words here.\n\n" for i in range(8))
    chunks = cut(text, "markdown", max_tokens=40)
    assert [passage.headings for passage in chunks] == [(f"Part {i}",) for i in (0, 2, 4, 6)]
    chunks = cut(text, "markdown", max_tokens=20)
    assert [passage.headings for passage in chunks] == [(f"Part {i}",) for i in range(8)]


def test_a_section_that_does_not_fit_into_the_rest_of_a_chunk_begins_the_next_one():
    text = (
        "### First\n\n" + "word " * 9 + "\n\n### Second\n\n" + "more " * 20 + "\n\n" + "end " * 12
    )
    assert [(one.headings, len(one.text.split())) for one in cut(text, "markdown", 40)] == [
        (("First",), 11),
        (("Second",), 34),
    ]


def test_the_end_of_a_section_stays_with_it_rather_than_with_the_next():
    text = (
        "### open()\n\n" + "word " * 20 + "\n\n#### Returns\n\na file\n\n"
        "### close()\n\n" + "more " * 20 + "\n\n#### Returns\n\nnothing\n\n"
        "### next()\n\n" + "next " * 8
    )
    assert [(one.headings, one.text.split()[-1]) for one in cut(text, "markdown", 40)] == [
        (("open()",), "file"),
        (("close()",), "nothing"),
        (("next()",), "next"),
    ]


def test_the_end_of_a_section_that_does_not_fit_to_it_stands_alone():
    text = (
        "### open()\n\n" + "word " * 32 + "\n\n#### Returns\n\na file\n\n"
        "### close()\n\n" + "more " * 20
    )
    assert [one.headings for one in cut(text, "markdown", 40)] == [
        ("open()",),
        ("open()", "Returns"),
        ("close()",),
    ]


def test_a_section_that_fits_into_no_chunk_goes_on_where_the_last_one_ends():
    text = (
        "### First\n\n" + "word " * 9 + "\n\n### Second\n\n" + "more " * 15 + "\n\n" + "end " * 35
    )
    assert [len(one.text.split()) for one in cut(text, "markdown", 40)] == [28, 35]


def test_a_running_head_above_a_heading_does_not_hide_it():
    text = "# Birds\n\n" + "word " * 30 + "\n\n"
    pages = [
        Page(text, 1, markup="markdown"),
        Page("Page 2\n\n### Finches\nSmall.", 2, markup="markdown"),
    ]
    assert chunk(pages, count_tokens, 40)[-1].headings == ("Birds", "Finches")
    pages[1] = Page("Page 2 goes on about birds.\n\n### Finches\nSmall.", 2, markup="markdown")
    assert chunk(pages, count_tokens, 40)[-1].headings == ("Birds",)


def test_a_heading_is_never_left_behind_by_its_text():
    text = "word " * 30 + "\n\n### Next\n\n" + "more " * 39
    chunks = cut(text, "markdown", 40)
    assert [passage.text.split()[0] for passage in chunks][1] == "###"
    assert all(not passage.text.rstrip().endswith("Next") for passage in chunks)


def test_underlined_lines_of_a_text_are_headings_as_deep_as_their_signs_come():
    text = """
Boats
=====
All float.

Oars
----

Of ash.

Sails
-----
Of hemp.

===
End
===
Ask."""
    assert outline(cut(text.lstrip(), "text", max_tokens=10)) == [
        ("Boats", ("Boats",)),
        ("Oars", ("Boats", "Oars")),
        ("Sails", ("Boats", "Sails")),
        ("===", ("Boats", "Sails", "End")),
    ]


def test_a_heading_of_a_text_may_be_underlined_beyond_its_end():
    text = 'Boats\n========\nAll float.\n\nOars\n""""""""\nOf ash.'
    headings = [passage.headings for passage in cut(text, "text", max_tokens=10)]
    assert list(dict.fromkeys(headings)) == [("Boats",), ("Boats", "Oars")]


def test_lines_in_capitals_over_indented_lines_are_headings_as_in_a_saved_man_page():
    text = """
MOOR(8)          Sea Manual          MOOR(8)

NAME
       moor - ties ships

SEE ALSO
       tides, and
       the
       HARBOUR
       master

OFF
on"""
    assert outline(cut(text.lstrip(), "text", max_tokens=20)) == [
        ("MOOR(8)          Sea Manual          MOOR(8)", ()),
        ("NAME", ("NAME",)),
        ("SEE ALSO", ("SEE ALSO",)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Port   Depth\n------------\nBergen   9 m",  # the head of a table
        "| Port |\n--------\n",
        "A long sentence about boats.\n---\nAnd more.",
        "Kind regards\nJon Vale\n--------\n",
        "1234\n----\n",
        "=====\n-----\n",
    ],
)
def test_a_rule_below_anything_but_a_heading_makes_none(text):
    assert all(passage.headings == () for passage in cut(text, "text"))


def test_plain_text_has_no_headings():
    assert cut("# not a heading\n\ntext", "plain")[0].headings == ()


def test_plain_text_is_cut_between_paragraphs_then_between_sentences():
    sentence = "One two three four five six seven eight nine. "
    text = "Short paragraph here.\n\n" + sentence * 8
    assert [len(passage.text.split()) for passage in cut(text, max_tokens=40)] == [30, 36, 9]
    assert cut(text, max_tokens=40)[1].text.startswith("One two")


def test_wrapped_lines_are_not_taken_for_sentences():
    text = "Here a sentence is wrapped\nover two lines. Here begins\nanother one of them. " * 6
    for passage in cut(text, max_tokens=20):
        assert passage.text.startswith("Here")


def test_a_heading_path_goes_on_over_pages():
    pages = [Page("# A\n\none", 1, markup="markdown"), Page("two", 2, markup="markdown")]
    assert [passage.headings for passage in chunk(pages, count_tokens)] == [("A",), ("A",)]


def test_headings_that_stand_above_a_page_alone_are_outside_its_own():
    pages = [
        Page("# Method\n\ntext", 3, markup="markdown", headings=("Part one", "Chapter two")),
        Page("plain text", 4, headings=("Part two",)),
    ]
    first, second = chunk(pages, count_tokens)
    assert first.headings == ("Part one", "Chapter two", "Method")
    assert second.headings[0] == "Part two"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "shapes.py",
            [
                ('"""Shapes with an area."""', ()),
                ("class Circle:", ("class Circle",)),
                ("# Cached by hand: the radius never changes.", ("class Circle", "def area")),
                ("def total(shapes):", ("def total",)),
            ],
        ),
        (
            "server.go",
            [
                ("package main", ()),
                ("// Handle adds a route.", ("func Handle",)),
                ("func main() {", ("func main",)),
            ],
        ),
        (
            "store.ts",
            [
                ('import { open } from "./db";', ()),
                ("export default class Store extends Base {", ("class Store",)),
                ("async get(id: number): Promise<Row> {", ("class Store", "get()")),
                ("export async function load(path: string): Promise<Store> {", ("function load",)),
            ],
        ),
        (
            "ring.c",
            [
                ("#include <stdlib.h>", ()),
                ("/* Frees the ring. */", ("drop()",)),
                ("int main(int argc, char **argv)", ("main()",)),
            ],
        ),
    ],
)
def test_code_is_cut_before_definitions_with_their_comments(name, expected):
    assert outline(fixture(name, "code")) == expected


def test_the_middle_of_a_long_function_knows_where_it_is():
    body = "".join(f"        step({i})\n" for i in range(30))
    chunks = cut(f"class Foo(Base):\n    def bar(self):\n{body}\nx = 1\n", "code")
    assert {passage.headings for passage in chunks[1:-1]} == {("class Foo", "def bar")}
    assert cut("def f():\n    pass\nx = 1\n\n" + "y = 2\n" * 30, "code")[-1].headings == ()


def test_a_signature_is_not_left_behind_by_its_body():
    first = "    def first(self):\n" + "        step()\n" * 17
    second = "    def second(\n        self,\n    ):\n" + "        go(fast)\n" * 30
    chunks = cut(f"class Foo:\n{first}\n{second}", "code", max_tokens=80)
    assert [passage.text.split()[:2] for passage in chunks[:2]] == [
        ["class", "Foo:"],
        ["def", "second("],
    ]
    assert "go(fast)" in chunks[1].text


def test_a_sentence_in_a_comment_is_no_definition():
    text = 'x = """\nclass of things\nfunction is what it does\n"""\n' + "y = 1\n" * 40
    assert {passage.headings for passage in cut(text, "code")} == {()}


def test_lines_are_the_location_of_a_page_that_has_no_place_of_its_own():
    text = "\n\nfirst\n\n" + "word " * 40 + "\nlast"
    assert [passage.location for passage in cut(text)] == ["line 3", "line 5", "line 6"]
    assert cut("a\nb\nc\n\n")[0].location == "lines 1–3"
    named = chunk([Page("a\nb", None, "Sheet1!A1:B2")], count_tokens)
    assert named[0].location == "Sheet1!A1:B2"
    assert chunk([Page("a\nb", 7)], count_tokens)[0].location == "page 7"


def test_a_page_whose_lines_are_not_those_of_the_file_is_located_by_its_headings():
    page = Page("# Intro\n\ntext", markup="markdown", lines_count=False)
    assert chunk([page], count_tokens)[0].location == "section Intro"
    assert chunk([Page("text", lines_count=False)], count_tokens)[0].location is None


def test_a_heading_on_a_page_ends_those_of_its_level_that_stand_open_above_it():
    above = ("guide.zip", "Part", "Chapter")
    first = Page("a\n\n## Next\nb\n\n# Last\nc", headings=above, open_headings=2, markup="markdown")
    second = Page("d", headings=(*above[:1], "Last"), open_headings=1)
    assert outline(chunk([first, second], count_tokens)) == [
        ("a", above),
        ("## Next", ("guide.zip", "Part", "Next")),
        ("# Last", ("guide.zip", "Last")),
        ("d", ("guide.zip", "Last")),
    ]


def test_a_sheet_is_located_by_its_cells():
    rows = "| a | b |\n" + "| word | word |\n" * 30
    sheet = Page(rows, 1, "Budget", "markdown", grid=Grid((1, *range(11, 41)), ("A", "B")))
    places = [str(passage.location) for passage in chunk([sheet], count_tokens, 50)]
    assert places[0].startswith("Budget!A1:B")
    assert places[-1].endswith(":B40")
    listed = Page("a\nb\nc", grid=Grid((2, 3, 9)))
    assert chunk([listed], count_tokens)[0].location == "rows 2–9"


def test_a_blob_without_spaces_is_cut_by_length():
    chunks = chunk([Page("QUJD" * 5_000)], lambda text: 1, 200)
    assert max(len(passage.text) for passage in chunks) <= 2_000
    assert len(chunks) < 50


def test_accents_stay_with_their_letter_where_a_word_is_torn():
    text = "e\u0301" * 500
    assert all(not passage.text.startswith("\u0301") for passage in cut(text, max_tokens=7))


def test_headings_and_title_come_before_what_is_embedded():
    passage = Chunk("| 1 | 2 |\n", 0, headings=("A", "B"), table_header="| x | y |")
    assert embedding_text("T", passage, count_tokens) == "T | A | B\n| x | y |\n| 1 | 2 |"


def test_a_title_is_not_said_twice():
    assert embedding_text("Buy milk", Chunk("# Buy  milk\nand bread", 0), count_tokens) == (
        "# Buy  milk\nand bread"
    )
    assert embedding_text("Guide", Chunk("text", 0, headings=("Guide", "One")), count_tokens) == (
        "Guide | One\ntext"
    )


def test_of_long_headings_the_innermost_are_embedded():
    passage = Chunk("text", 0, headings=("outer " * 45, "inner " * 30))
    context = embedding_text("Title", passage, count_tokens).splitlines()[0]
    assert count_tokens(context) <= 50
    assert context.count("inner") == 30
    assert 0 < context.count("outer") < 45
    assert "Title" not in context


def test_a_text_of_countless_tiny_sections_is_refused(monkeypatch):
    monkeypatch.setattr("kb.engine.ingest.passages.chunk.MOST_CHUNKS", 10)
    sections = Page("# a\nb\n" * 5, markup="markdown")
    assert len(chunk([sections, sections], count_tokens)) == 10
    with pytest.raises(TextTooLong, match="more than 10 passages"):
        chunk([sections, sections, sections], count_tokens)


@given(st.text(), st.lists(st.text(), max_size=5), TEXTS)
def test_the_context_of_an_embedded_text_is_bounded(title, headings, text):
    passage = Chunk(text, 0, headings=tuple(headings))
    embedded = embedding_text(title, passage, count_tokens)
    assert embedded.endswith(text.strip())
    assert count_tokens(embedded.removesuffix(text.strip())) <= 50


@pytest.mark.parametrize(
    ("markup", "unit"),
    [
        ("plain", "a"),
        ("plain", ". "),
        ("plain", '."'),
        ("plain", "a\n"),
        ("plain", "中"),
        ("plain", "\u0301"),
        ("plain", "a" + " " * 500),
        ("markdown", "#"),
        ("markdown", "# a\n"),
        ("markdown", "|"),
        ("markdown", "```\n"),
        ("markdown", "\n"),
        ("code", "def f(a):\n  x\n"),
        ("code", "# c\n"),
        ("code", "a( "),
    ],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(markup, unit):
    def cut(length: int) -> None:
        text = (unit * (length // len(unit) + 1))[:length]
        chunk([Page(text, markup=markup)], count_tokens)

    assert_in_proportion(cut, 4_000)
