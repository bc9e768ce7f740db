from contextlib import nullcontext
from pathlib import Path

import pytest
from planted import pages_in, pages_of, passages
from small_office import W, docx, p, table, zipped

from kb.engine.errors import ContentTooLarge, DamagedFile, NestedTooDeep, TextTooLong
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.ooxml import docx_pages, office_file
from kb.engine.ingest.extract.ooxml.docx import extract
from kb.engine.ingest.extract.zip_package import Package
from kb.engine.pages import Page

MARGINS = "headers and footers"
# word → page, or the location of what has no page
PLANTED = {
    "Heron": 1,  # the title
    "Otter": 1,  # a heading
    "badger": 1,
    "dormouse": 1,  # a link
    "gerbil": 1,  # the result of a field
    "hamster": 1,  # of a simple field
    "genet": 1,  # the chosen item of a form
    "beaver": 1,  # a formula
    "Ω": 1,  # a symbol
    "漢字 (かんじ)": 1,
    "controlled vole": 1,  # a content control in a line
    "shrew": 1,  # and around a paragraph
    "hedgehog": 1,  # a tracked insertion
    "Seen.": 1,
    "mole": 1,  # a text box
    "lemming": 1,  # the description of an old drawing
    "WOLVERINE": 1,  # word art
    "tamarin": 1,  # an old text box
    "mongoose": 1,  # a heading by its outline level
    "Civet": 1,  # a heading by the style that its style is based on
    "weasel": 1,
    "stoat": 1,
    "fisher": 2,
    "sable": 3,
    "Marten": 3,  # the header of a table
    "polecat": 3,
    "ferret": 3,  # a table in a cell
    "meerkat": 4,  # a row on the next page
    "reindeer": 4,  # a footnote
    "ibex": 4,  # an endnote
    "chamois": 4,  # a comment
    "marmot": 4,  # the description of a picture
    "Pika": 4,  # the title of a chart
    "Species": 4,  # of its axis
    "hare": 4,  # a series of it
    "rabbit": 4,  # a category of it
    "jerboa": 4,  # SmartArt
    "footnote tapir": "footnotes",  # that nothing refers to
    "endnote tapir": "endnotes",
    "elk": MARGINS,
    "moose": MARGINS,
}
UNSEEN = ("dodo", "moa", "agouti", "nutria", "quagga", "coypu", "AUTHOR")
# The other program drops page ends, formulas, old drawings and notes that nothing refers to.
LOST = ("beaver", "lemming", "WOLVERINE", "footnote tapir", "endnote tapir")


def read(path: Path) -> Extraction:
    return extract(Source(path, path.name))


@pytest.fixture
def report() -> list[Page]:
    return pages_in("report.docx")


@pytest.fixture
def written(tmp_path):
    def written(body: str, **parts: str) -> list[Page]:
        return pages_of(read(docx(tmp_path / "a.docx", body, **parts)))

    return written


@pytest.mark.parametrize(("word", "place"), PLANTED.items(), ids=PLANTED)
def test_everything_a_reader_sees_is_found_once_and_on_its_page(report, word, place):
    places = [page.number or page.location for page in report for _ in range(page.text.count(word))]
    assert places == ([3, 4] if word == "Marten" else [place])


@pytest.mark.parametrize("word", UNSEEN)
def test_what_a_reader_does_not_see_is_not_found(report, word):
    assert not any(word in page.text for page in report)


@pytest.mark.parametrize("word", [word for word in PLANTED if word not in LOST])
def test_the_dialect_of_another_program_is_read_as_well(word):
    (page,) = (page for page in pages_in("report-libreoffice.docx") if word in page.text)
    place = PLANTED[word]
    assert (page.number or page.location) == (min(place, 2) if isinstance(place, int) else place)


def test_the_structure_of_a_page_is_written_as_markdown(report):
    assert all(page.markup == "markdown" and not page.lines_count for page in report)
    assert report[0].text.startswith("# Heron report\n\n# Otter chapter\n\nPlain badger, linked")
    assert report[0].text.endswith(
        "## Outlined mongoose\n\n## Civet section\n\n"
        "- Bulleted weasel\n1. Numbered stoat\n2. Numbered ermine"
    )
    assert "| Marten | Count | Where |\n| polecat \\| pipe | 12 | ferret, inner |" in report[2].text
    assert "Comment by Mara Vole: Remarked chamois" in report[3].text
    assert "|  | hare |\n| rabbit | 3 |\n| cony | 4.5 |" in report[3].text


def test_a_table_that_goes_on_over_the_page_has_its_header_there_too(report):
    assert report[3].text.startswith("| Marten | Count | Where |\n| meerkat | 13 | south |")


def test_without_page_breaks_there_are_no_page_numbers_and_headings_tell_the_place(written):
    styles = (
        '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
    )
    heading = '<w:pStyle w:val="H"/>'
    (page,) = written(p("Intro") + p("Methods", heading) + p("We counted."), styles=styles)
    assert (page.number, page.location) == (None, None)
    locations = {part.text.strip(): part.location for part in passages([page])}
    assert locations == {"Intro": None, "# Methods\n\nWe counted.": "section Methods"}


def test_the_title_is_what_is_styled_as_one_where_the_properties_name_none(tmp_path):
    styles = '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
    body = p("Draft") + p("On voles", '<w:pStyle w:val="T"/>')
    assert read(docx(tmp_path / "a.docx", body, styles=styles)).title == "On voles"
    assert read(docx(tmp_path / "b.docx", p("Draft"), styles=styles)).title is None


def test_breaks_of_the_author_tell_pages_where_word_left_none(written):
    section = '<w:sectPr><w:type w:val="{}"/></w:sectPr>'
    pages = written(
        p("one")
        + p("two", "<w:pageBreakBefore/>")
        + p("three", section.format("nextPage"), '<w:r><w:br w:type="page"/></w:r>')
        + p("still three", section.format("continuous"))
        + p("four", '<w:pageBreakBefore w:val="0"/>')
        + section.format("nextPage")
    )
    assert [page.text for page in pages] == ["one", "two", "three\n\nstill three", "four"]
    assert [page.number for page in pages] == [1, 2, 3, 4]


def test_page_numbers_end_where_more_stands_between_breaks_than_fits_on_a_page(written):
    turn = "<w:pageBreakBefore/>"
    pages = written(p("one") + p("long " * 3_000, turn) + p("after", turn) + p("later", turn))
    assert [page.number for page in pages] == [1, None, None]
    assert pages[2].text == "after\n\nlater"


def test_a_row_that_a_page_ends_in_is_counted_once(written):
    end = "<w:r><w:lastRenderedPageBreak/></w:r>"
    pages = written(
        table(
            [p("Name"), p("Note")],
            [p("moved", before=end), p("whole", before=end)],
            [p("cut") + p("in two", before=end), p("as well") + p("here", before=end)],
            [p("after"), p("it")],
        )
    )
    assert [(page.number, page.text) for page in pages] == [
        (1, "| Name | Note |"),
        (2, "| Name | Note |\n| moved | whole |\n| cut in two | as well here |"),
        (3, "| Name | Note |\n| after | it |"),
    ]


def test_cells_that_span_columns_keep_the_others_in_line(written):
    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
    late = '<w:trPr><w:gridBefore w:val="1"/></w:trPr>'
    rows = table([p("a"), p("b"), p("c")], [wide + p("d"), p("e")], [p("f"), p("g")])
    first, second, third = rows.split("<w:tr>")[1:]
    (page,) = written(rows.split("<w:tr>")[0] + f"<w:tr>{first}<w:tr>{second}<w:tr>{late}{third}")
    assert page.text == "| a | b | c |\n| d |  | e |\n|  | f | g |"


def test_a_table_of_one_column_is_a_frame_around_text(written):
    inner = table([p("a"), p("b")])
    (page,) = written(table([p("First.") + p("Second.") + inner]))
    assert page.text == "First.\n\nSecond.\n\n| a | b |"


def test_a_row_that_was_deleted_is_not_read(written):
    deleted = "<w:trPr><w:del/></w:trPr>"
    rows = table([p("a"), p("b")], [deleted + p("c"), p("d")])
    (page,) = written(rows.replace(f"<w:tc>{deleted}", f"{deleted}<w:tc>"))
    assert page.text == "| a | b |"


def test_notes_in_a_table_come_after_it(written):
    mark = '<w:r><w:footnoteReference w:id="7"/></w:r>'
    notes = f'<w:footnote w:id="7">{p("Why.")}</w:footnote>'
    (page,) = written(table([p("a"), p("b")], [p("c", before=mark), p("d")]), footnotes=notes)
    assert page.text == "| a | b |\n| c | d |\n\nFootnote: Why."


def numbering(*levels: tuple[str, str]) -> str:
    """One list, `1`, whose levels have these ways to count and labels; and `2`, which starts it
    anew at 5."""
    written = "".join(
        f'<w:lvl w:ilvl="{number}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{label}"/></w:lvl>'
        for number, (kind, label) in enumerate(levels)
    )
    return (
        f'<w:abstractNum w:abstractNumId="9">{written}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="9"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="9"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>'
    )


def listed(text: str, level: int = 0, number: int = 1, more: str = "") -> str:
    numbered = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return p(text, f"{numbered}{more}")


def test_numbers_of_headings_and_lists_are_counted_as_word_does(written):
    levels = numbering(("decimal", "%1."), ("decimal", "%1.%2"), ("lowerRoman", "(%3)"))
    (page,) = written(
        listed("Scope", more='<w:outlineLvl w:val="0"/>')
        + listed("a", 1)
        + listed("b", 1)
        + listed("c", 2)
        + listed("d", 2)
        + listed("Terms", more='<w:outlineLvl w:val="0"/>')
        + listed("e", 1)
        + listed("anew", number=2)
        + listed("on", number=2)
        + listed("none", number=0),
        numbering=levels,
    )
    assert page.text.split("\n") == [
        *("# 1. Scope", "", "  1.1 a", "  1.2 b", "    (i) c", "    (ii) d", ""),
        *("# 2. Terms", "", "  2.1 e", "5. anew", "6. on", "", "none"),
    ]


def test_a_style_numbers_the_paragraphs_that_have_it(written):
    styles = (
        '<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/>'
        '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Sub"><w:basedOn w:val="Clause"/></w:style>'
    )
    kinds = numbering(("upperLetter", "Part %1"), ("bullet", "\uf0b7"))
    levels = kinds.replace('<w:lvl w:ilvl="1">', '<w:lvl w:ilvl="1"><w:pStyle w:val="Sub"/>')
    clause, sub = '<w:pStyle w:val="Clause"/>', '<w:pStyle w:val="Sub"/>'
    body = p("x", clause) + p("y", sub) + p("z", clause)
    (page,) = written(body, styles=styles, numbering=levels)
    assert page.text == "Part A x\n  - y\nPart B z"


def test_styles_that_are_based_on_each_other_end(written):
    styles = (
        '<w:style w:type="paragraph" w:styleId="A"><w:basedOn w:val="B"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="B"><w:basedOn w:val="A"/></w:style>'
    )
    (page,) = written(p("text", '<w:pStyle w:val="A"/>'), styles=styles)
    assert page.text == "text"


def test_a_note_that_refers_to_itself_is_told_once(written):
    mark = '<w:r><w:footnoteReference w:id="7"/></w:r>'
    notes = f'<w:footnote w:id="7">{p("Again.", before=mark)}</w:footnote>'
    (page,) = written(p("Text", before=mark), footnotes=notes)
    assert page.text == "Text\n\nFootnote: Again."


def test_a_chain_of_notes_that_is_too_long_is_nested_too_deep(written):
    def mark(number: int) -> str:
        return f'<w:r><w:footnoteReference w:id="{number}"/></w:r>'

    notes = "".join(
        f'<w:footnote w:id="{number}">{p("x", before=mark(number + 1))}</w:footnote>'
        for number in range(1, 3_000)
    )
    with pytest.raises(NestedTooDeep):
        written(p("Text", before=mark(1)), footnotes=notes)


@pytest.mark.parametrize(
    ("depth", "most"), [(20, None), (40, NestedTooDeep), (20_000, NestedTooDeep)]
)
def test_tables_in_tables_are_read_as_deep_as_anybody_nests_them(written, depth, most):
    opening = "<w:tbl><w:tblGrid/><w:tr><w:tc>"
    body = opening * depth + p("needle") + "</w:tc></w:tr></w:tbl>" * depth
    with pytest.raises(most) if most else nullcontext():
        assert "needle" in written(body)[0].text


def test_many_nested_runs_are_no_danger(written):
    body = f"<w:p>{'<w:ins>' * 200}<w:r><w:t>needle</w:t></w:r>{'</w:ins>' * 200}</w:p>"
    assert written(body)[0].text == "needle"


def test_a_field_that_never_ends_hides_no_more_than_its_paragraph(written):
    begun = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:t>instruction</w:t></w:r>'
    (page,) = written(f"<w:p>{begun}</w:p>" + p("needle"))
    assert page.text == "needle"


@pytest.mark.parametrize(
    ("state", "shown"), [("<w:checked/>", "☒"), ('<w:checked w:val="0"/>', "☐"), ("", "☐")]
)
def test_a_box_in_a_form_shows_whether_it_is_ticked(written, state, shown):
    data = f"<w:ffData><w:checkBox>{state}</w:checkBox></w:ffData>"
    box = f'<w:r><w:fldChar w:fldCharType="begin">{data}</w:fldChar></w:r>'
    assert written(p(before=box))[0].text == shown


def test_a_text_is_too_long_before_it_is_all_read(written, monkeypatch):
    monkeypatch.setattr(office_file, "MAX_BYTES", 1_000)
    with pytest.raises(TextTooLong, match=r"a\.docx"):
        written(p("word " * 1_000))


def test_a_page_is_never_longer_than_pages_may_be(written, monkeypatch):
    monkeypatch.setattr(docx_pages, "MAX_PAGE", 70)
    pages = written(table(*([p(f"name {n}"), p(f"value {n}")] for n in range(6))))
    assert [page.text for page in pages] == [
        "| name 0 | value 0 |\n| name 1 | value 1 |\n| name 2 | value 2 |",
        "| name 0 | value 0 |\n| name 3 | value 3 |\n| name 4 | value 4 |",
        "| name 0 | value 0 |\n| name 5 | value 5 |",
    ]


def test_more_pages_than_a_document_can_have_are_refused(written, monkeypatch):
    monkeypatch.setattr(docx_pages, "_MOST_PAGES", 10)
    turn = "<w:r><w:lastRenderedPageBreak/></w:r>"
    with pytest.raises(ContentTooLarge, match="more than 10 pages"):
        written("".join(p("x", before=turn) for _ in range(12)))


def test_every_passage_of_a_long_table_has_its_header_and_its_page(written):
    rows = [[p("Species"), p("Count")], *([p(f"kind {n}"), p(str(n))] for n in range(200))]
    marks = "<w:r><w:lastRenderedPageBreak/></w:r>"
    chunks = passages(written(p("Table") + table(*rows) + p("End", before=marks)))
    inside = [part for part in chunks if "kind" in part.text and "| Species" not in part.text]
    assert len(inside) > 5
    assert {part.table_header for part in inside} == {"| Species | Count |"}
    assert {part.location for part in inside} == {"page 1"}
    assert chunks[-1].location == "page 2"


def test_a_footer_that_is_a_page_number_says_nothing(written):
    field = '<w:p><w:fldSimple w:instr="PAGE"><w:r><w:t>12</w:t></w:r></w:fldSimple></w:p>'
    _, margins = written(p("text"), footer=field + p("– 3 –") + p("Page 4"))
    assert margins.text == "# Headers and footers\n\nPage 4"


def test_a_number_that_an_author_wrote_into_a_header_is_read(written):
    _, margins = written(p("text"), footer=p("12"))
    assert margins.text == "# Headers and footers\n\n12"


def test_the_strict_form_of_a_document_is_read_too(tmp_path):
    path = docx(tmp_path / "a.docx", p("needle") + table([p("a"), p("b")]))
    package, strict = Package(path, "a.docx"), b"http://purl.oclc.org/ooxml/wordprocessingml/main"
    parts = {name: package.read(name).replace(W.encode(), strict) for name in package.names}
    (page,) = pages_of(read(zipped(tmp_path / "strict.docx", parts)))
    assert page.text == "needle\n\n| a | b |"


def test_an_archive_without_a_document_is_damaged(tmp_path):
    with pytest.raises(DamagedFile, match="which of its parts"):
        read(zipped(tmp_path / "a.docx", {"word/document.xml": "<a/>"}))


def test_the_ending_is_one_of_words_own(tmp_path):
    path = docx(tmp_path / "stored", p("x"))
    assert extract(Source(path, "Form.DOTX")).format == "dotx"
    assert extract(Source(path, "letter.bin")).format == "docx"


def test_a_document_without_words_has_no_pages(written):
    assert written("") == []
    assert written(p() + p()) == []


def test_text_that_looks_like_markdown_is_no_heading(tmp_path):
    path = docx(tmp_path / "server.docx", p("# enable the module") + p("---"))
    assert [page.text for page in extract(Source(path, path.name)).pages] == [
        "    # enable the module\n\n    ---"
    ]
