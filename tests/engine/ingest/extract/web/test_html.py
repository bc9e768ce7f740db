import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import DOCUMENTS, pages_of, places, read, text_of

from kb.engine.errors import ContentTooLarge, KbError, NoTextFound
from kb.engine.ingest.extract import Source, extract
from kb.engine.ingest.extract.web import page as page_module
from kb.engine.ingest.extract.web.html_blocks import Flow
from kb.engine.ingest.extract.web.page import read_page
from kb.engine.ingest.extract.web.tag_scanner import scan
from proportion import assert_in_proportion

TOP = "section Cranes of the harbour htmlheadingword"
KEPT = "section How they are kept htmlsubheadingword"
PLANTED = {
    "htmlheadingword": TOP,
    "htmlparagraphword": TOP,
    "htmlboldword": TOP,
    "htmllinkword": TOP,
    "htmlaltword": TOP,  # what is said about a picture
    "htmlcaptionword": TOP,
    "htmlsubheadingword": KEPT,
    "htmlitemword": KEPT,
    "htmlinneritemword": KEPT,
    "htmlnumberword": KEPT,
    "htmltablecaption": KEPT,
    "htmltablehead": KEPT,
    "htmlcellword": KEPT,
    "htmlrowspanword": KEPT,
    "htmlcodeword": KEPT,
    "htmlquoteword": KEPT,
    "htmltermword": KEPT,
    "htmldefinitionword": KEPT,
}
UNSEEN = ("htmlscriptword", "htmlstyleword")
AROUND = ("htmlnavword", "htmlfooterword")  # menus are no content


@pytest.mark.parametrize(("word", "location"), PLANTED.items())
def test_every_word_of_a_page_is_found_where_it_stands(word, location):
    assert places(pages_of(read("page.html")))[word] == (None, location)


def test_scripts_styles_and_menus_are_left_out():
    text = text_of(read("page.html"))
    assert not [word for word in (*UNSEEN, *AROUND) if word in text]


def test_a_page_tells_its_title_and_what_its_head_says():
    extraction = read("page.html")
    assert (extraction.doc_type, extraction.format) == ("html", "html")
    assert extraction.title == "Cranes of the harbour"
    assert extraction.metadata == {
        "author": "Mara Lind",
        "created": "2024-03-05T09:30:00+01:00",
        "description": "How the cranes are kept",
        "keywords": "crane, harbour",
        "language": "en-GB",
    }


def test_a_table_keeps_its_header_first_and_its_columns_in_line():
    text = text_of(read("page.html"))
    assert (
        "| Crane htmltablehead | Tons | Built \\| moved |\n"
        "| Aurora htmlcellword | 12 | 1890 |\n"
        "| Borea | 7 | 1901 |\n"
        "|  | 9 htmlrowspanword | 1950 |\n"
    ) in text


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("", "<h1>Cranes <b>stand</b></h1><p>still</p>", "Cranes stand"),
        ("<title> </title>", "<h1>Cranes</h1><p>still</p>", "Cranes"),
        ("<title>Harbour</title>", "<h1>Cranes</h1><p>still</p>", "Harbour"),
        ("", "<h1>Cranes</h1><h1>Ships</h1><p>still</p>", None),
    ],
)
def test_a_page_without_a_title_is_called_by_its_only_first_heading(head, body, title):
    assert read_page(f"<html><head>{head}</head><body>{body}</body></html>").title == title


def test_the_careful_reader_finds_every_word_and_the_title():
    source = Source(DOCUMENTS / "page.html", "page.html", careful=True)
    extraction = extract(source)
    text = text_of(extraction)
    assert [word for word in (*PLANTED, *AROUND) if word not in text] == []
    assert not [word for word in UNSEEN if word in text]
    assert extraction.title == "Cranes of the harbour | Example Site"


@pytest.fixture
def page(tmp_path):
    def page(markup: str | bytes, **options: bool) -> str:
        path = tmp_path / "stored"
        path.write_bytes(markup.encode() if isinstance(markup, str) else markup)
        return text_of(extract(Source(path, "page.html", **options)))

    return page


def test_a_page_of_next_to_no_prose_is_taken_whole(page):
    links = "".join(f"<li><a href='{n}'>Place {n}</a></li>" for n in range(300))
    assert "Place 250" in page(f"<html><body><ul>{links}</ul></body></html>")


def test_a_charset_that_lies_is_not_believed(page):
    markup = b"<html><meta charset=utf-16><body><p>needle caf\xe9</p>"
    assert page(markup) == "needle café"


def test_a_layout_table_is_text_and_a_table_in_it_a_table():
    cell = "<td><h2>News</h2><p>Today.</p><table><tr><td>a</td><td>b</td></tr></table></td>"
    text = read_page(f"<table><tr>{cell}<td>Aside</td></tr></table>", whole=True).markdown
    assert text == "## News\n\nToday.\n\n| a | b |\n\nAside"


def test_the_paragraphs_of_a_cell_that_is_a_whole_row_stay_together():
    rows = "".join(
        f"<tr><td><p>{name} <code>bool</code></p><p>True if {name}</p></td></tr>"
        for name in ("populated", "indexed")
    )
    head = "<tr><th><p>Column Type</p><p>Description</p></th></tr>"
    text = read_page(f"<table>{head}{rows}</table><p>after", whole=True).markdown
    assert text == (
        "Column Type\nDescription\n\npopulated bool\nTrue if populated\n\n"
        "indexed bool\nTrue if indexed\n\nafter"
    )


def test_code_with_fences_in_it_gets_a_longer_fence():
    text = read_page("<pre>a\n```\nb</pre>", whole=True).markdown
    assert text == "````\na\n```\nb\n````"


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 20_000 + "needle" + "</div>" * 20_000,
        "<b><i>" * 10_000 + "needle",
        "<p>before</p>" + "<div>" * 300 + "</div>" * 300 + "<p>needle</p>",
        f"<p {' '.join(f'a{n}=1' for n in range(50_000))}>needle</p>",
        f"<img src='data:image/png;base64,{'A' * 11_000_000}'><p>needle</p>",
        "<table><tr><td rowspan=99999 colspan=99999>needle</td></tr></table>" * 1_100,
        "<table><tr><td>" * 5_000 + "needle",
        "<select>" * 20_000 + "</template>" * 20_000 + "<p></select><p>needle",
        "<!-- never closed " + "<p>needle",
        "<p title='never closed>needle</p>",
        "<head><title>x</title><p>needle",
        "<p><b'>needle</b'></p>",
    ],
    ids=lambda markup: markup[:14],
)
def test_hostile_markup_is_read_in_time(page, markup, careful):
    began = time.process_time()
    assert "needle" in page(f"<html><body>{markup}", careful=careful)
    assert time.process_time() - began < 15


PIECES = """
    < <!-- <a <![ <![CDATA[ <! </ <a_b=" <a_b=' & &# <? <script> <style></STYLE <a_"> = <a_ <a/
"""


@pytest.mark.parametrize("piece", PIECES.split())
def test_scanning_takes_time_in_proportion_to_the_text(piece):
    unit = piece.replace("_", " ")
    assert_in_proportion(lambda size: scan(unit * (size // len(unit)), Flow()), 20_000)


def test_a_page_of_too_many_tags_is_refused(page, monkeypatch):
    monkeypatch.setattr(page_module, "_MOST_SCANNED", 1_000)
    with pytest.raises(ContentTooLarge, match=r"page\.html has more than 1,000 tags"):
        page("<b>" * 1_001)


@pytest.mark.parametrize("markup", ["   ", "<html><body></body></html>", "<script>x</script>"])
def test_a_page_without_words_has_no_text(page, markup):
    with pytest.raises(NoTextFound, match=r"page\.html has no text"):
        page(markup)


@given(st.text(alphabet="<>/!-=\"' abptdhrul1&;#\n", max_size=300))
def test_any_markup_is_read_or_refused(tmp_path_factory, markup):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_text(markup)
    for careful in (False, True):
        try:
            outcome = text_of(extract(Source(path, "a.html", careful=careful)))
        except KbError as error:
            outcome = error.message if "a.html" in error.message else ""
        assert outcome


def test_pages_that_are_done_are_skipped(tmp_path):
    path = tmp_path / "stored"
    path.write_text("<p>word" + " word" * 300_000 + "</p>")
    whole = pages_of(extract(Source(path, "long.html")))
    rest = pages_of(extract(Source(path, "long.html", start=1)))
    assert len(whole) == 2
    assert rest == whole[1:]
    assert all(len(page.text) <= 1_000_000 for page in whole)


def test_text_that_looks_like_markdown_is_no_heading(extracted):
    html = "<h1>Server</h1><p>Turn it on<br># enable it<br>======<br>```<br>on</p><p># Off</p>"
    [page] = extracted(f"<html><body>{html}".encode(), "server.html").pages
    assert page.text.split("\n") == [
        "# Server",
        "",
        "Turn it on",
        "    # enable it",
        "    ======",
        "    ```",
        "on",
        "",
        "    # Off",
    ]


@pytest.mark.parametrize(
    ("heads", "title"),
    [
        ("<h1>One<br>Two <style>.a{}</style><svg><title>icon</title></svg></h1>", "One Two"),
        ("<h1>Install<a class='headerlink' href='#x'>¶</a></h1>", "Install"),
        ("<h1 style='display:none'>Hidden</h1>", None),
        ("<h1>One</h1><p>It goes on.</p><h1>Two</h1>", None),
    ],
)
def test_a_page_without_a_title_is_called_by_its_only_heading_as_people_see_it(heads, title):
    assert read_page(f"<html><body>{heads}<p>The cranes stand.</p></body></html>").title == title
