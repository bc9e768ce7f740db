import zipfile

import pytest
from planted import pages_of, passages, read, text_of

from kb.engine.errors import ContentTooLarge, DamagedFile, NestedTooDeep, PasswordNeeded
from kb.engine.ingest.extract import Extraction, Source, extract


def test_lists_tables_notes_and_comments_have_their_form():
    text = text_of(read("document.odt"))
    assert "- A bullet odtbulletword\n  - Set in odtinnerbulletword\n1. First odtnumberword" in text
    assert "| Ship odttablehead | Tons | Flag \\| port |\n| Aurora odtcellword | 120 |" in text
    assert "| Both odtspannedword |  | SE |" in text
    assert "Footnote: Said at the bottom: odtfootnoteword." in text
    assert "Comment by Jon Vale: Is that odtcommentword true?" in text
    assert "[Image: Crane odtalttitleword. A red crane odtaltdescword]" in text


def test_a_sheet_shows_what_its_program_shows():
    text = text_of(read("budget.ods"))
    assert "| Rope odsrowtwoword | 12.5 | 2024-03-05 |" in text
    assert "| Sum | 19.5 |" in text
    assert read("budget.ods").doc_type == "ods"


def test_slides_have_their_titles_above_them():
    extraction = read("slides.odp")
    assert (extraction.doc_type, extraction.page_count) == ("odp", 2)
    assert extraction.title == "Opening odptitleword"
    assert {chunk.headings for chunk in passages(pages_of(extraction))} == {
        ("Opening odptitleword",),
        ("Unshown odphiddenword",),
    }


NAMES = "office text table draw style presentation"
SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"'
    for name, full in zip(
        NAMES.split(), ["office", "text", "table", "drawing", "style", "presentation"], strict=True
    )
)
KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}


@pytest.fixture
def document(tmp_path):
    def document(
        kind: str,
        body: str,
        before: str = "",
        manifest: str = "",
        styles: str = "",
        masters: str = "",
    ) -> Extraction:
        path = tmp_path / "stored"
        name = KINDS[kind]
        content = (
            f"{before}<office:document-content {SPACES}>{styles}<office:body><office:{name}>{body}"
            f"</office:{name}></office:body></office:document-content>"
        )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("mimetype", f"application/vnd.oasis.opendocument.{name}")
            file.writestr("content.xml", content)
            if masters:
                inside = f"<office:master-styles>{masters}</office:master-styles>"
                whole = f"<office:document-styles {SPACES}>{inside}</office:document-styles>"
                file.writestr("styles.xml", whole)
            if manifest:
                file.writestr("META-INF/manifest.xml", manifest)
        return extract(Source(path, f"file.{kind}"))

    return document


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{p(text)}</table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def sheet(*rows: str, name: str = "S") -> str:
    return f"<table:table table:name='{name}'>{''.join(rows)}</table:table>"


def box(text: str, attributes: str = "") -> str:
    return f"<draw:frame {attributes}><draw:text-box>{p(text)}</draw:text-box></draw:frame>"


def test_without_page_breaks_there_are_no_page_numbers(document):
    (page,) = document("odt", p("one") + p("two")).pages
    assert (page.number, page.location, page.text) == (None, None, "one\n\ntwo")


def test_a_table_that_goes_on_over_pages_has_its_header_again(document):
    rows = [row(cell(f"r{n}"), cell("x")) for n in range(4)]
    rows.insert(2, "<text:soft-page-break/>")
    first, second = document("odt", sheet(*rows)).pages
    assert first.text == "| r0 | x |\n| r1 | x |"
    assert (second.number, second.text) == (2, "| r0 | x |\n| r2 | x |\n| r3 | x |")


def test_repeated_rows_and_cells_do_not_multiply(document):
    needles = cell("needle", 'table:number-columns-repeated="16384"')
    rows = row(needles, attributes='table:number-rows-repeated="1048576"')
    pages = pages_of(document("ods", sheet(rows) * 20))
    assert len(pages) == 20
    assert all("needle" in page.text and len(page.text) < 2_000 for page in pages)


def test_rows_that_are_repeated_a_few_times_and_cells_under_others_are_read(document):
    covered = "<table:covered-table-cell><text:p>under</text:p></table:covered-table-cell>"
    oaks = row(cell("oak"), cell("7"), attributes="table:number-rows-repeated='3'")
    rows = row(cell("name"), cell("sum")), oaks, row(cell("elm"), covered)
    (page,) = document("ods", sheet(*rows)).pages
    assert page.text == "# S\n| name | sum |\n" + "| oak | 7 |\n" * 3 + "| elm | under |"
    assert page.grid.rows == (1, 1, 2, 3, 4, 5)


def test_boxes_that_lie_over_cells_are_read(document):
    anchored = f"<table:table-cell>{p('oak')}{box('at a cell')}</table:table-cell>"
    shapes = f"<table:shapes>{box('on the sheet')}</table:shapes>"
    cells, over = document("ods", sheet(shapes, row(anchored))).pages
    assert "oak" in cells.text
    assert over.text == "# S\non the sheet\n\nat a cell"


def test_cells_far_apart_take_no_room(document):
    far = '<table:table-cell table:number-columns-repeated="16000"/>'
    between = row(attributes="table:number-rows-repeated='1000000'")
    (page,) = document("ods", sheet(row(cell("a")), between, row(far, cell("needle")))).pages
    assert len(page.text) < 100
    assert page.grid.rows[-1] == 1_000_002
    assert page.grid.columns == ("A", "WQK")


def test_a_value_without_its_text_is_shown_all_the_same(document):
    value = "<table:table-cell office:value-type='date' office:date-value='2024-03-05'/>"
    (page,) = document("ods", sheet(row(cell("day"), value))).pages
    assert "2024-03-05" in page.text


def test_a_locked_file_says_that_it_is_locked(document):
    space = 'xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    manifest = f"<m:manifest {space}><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"
    with pytest.raises(PasswordNeeded, match=r"file\.odt is protected by a password"):
        document("odt", p("x"), manifest=manifest)


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_type_that_declares_nothing_does_no_harm(document, kind):
    inside = sheet(row(cell("needle")))
    body = {"odt": p("needle"), "ods": inside, "odp": f"<draw:page>{inside}</draw:page>"}[kind]
    (page,) = document(kind, body, '<!DOCTYPE d PUBLIC "-//O//DTD Office 1.0//EN" "o.dtd">').pages
    assert "needle" in page.text


LEVELS = "".join(
    f'<text:list-level-style-number text:level="{level}" style:num-format="{form}" {more}/>'
    for level, form, more in [
        (1, "1", 'style:num-suffix="."'),
        (2, "a", 'style:num-suffix=")" text:display-levels="2"'),
    ]
)
NUMBERED = f"""<office:automatic-styles><text:list-style style:name="L">{LEVELS}</text:list-style>
    <style:style style:family="paragraph" style:name="P" style:list-style-name="L"/>
    <style:style style:family="paragraph" style:name="Bare" style:list-style-name=""/>
    </office:automatic-styles>"""


def item(*inside: str, attributes: str = "") -> str:
    return f"<text:list-item {attributes}>{''.join(inside)}</text:list-item>"


def numbered(inside: str, attributes: str = 'text:style-name="L"') -> str:
    return f"<text:list {attributes}>{inside}</text:list>"


def test_lists_go_on_counting_where_they_say_so(document):
    name = 'text:style-name="L"'
    body = [
        numbered(
            item(p("one"), numbered(item(p("inner")) + item(p("next")), "")) + item(p("two")),
            f'{name} xml:id="first"',
        ),
        p("between"),
        numbered(item(p("three")), f'{name} text:continue-numbering="true"'),
        numbered(item(p("new")) + item(p("seven"), attributes='text:start-value="7"')),
        numbered(item(p("four")), f'{name} text:continue-list="first"'),
        numbered(item(numbered(item(p("only deep")), "")), name),
        numbered(item('<text:p text:style-name="P">by its paragraphs</text:p>'), ""),
    ]
    (page,) = document("odt", "".join(body), styles=NUMBERED).pages
    assert page.text.split("\n\n") == [
        "1. one\n  1.a) inner\n  1.b) next\n2. two",
        "between",
        "3. three\n1. new\n7. seven\n4. four\n  1.a) only deep\n1. by its paragraphs",
    ]


def test_headings_have_their_numbers(document):
    outline = "".join(
        f'<text:outline-level-style text:level="{level}" style:num-format="1" '
        f'text:display-levels="{level}"/>'
        for level in (1, 2)
    )
    styles = NUMBERED.replace(
        "</office:automatic-styles>",
        f"<text:outline-style>{outline}</text:outline-style></office:automatic-styles>",
    )

    def h(text: str, level: int, more: str = "") -> str:
        return f'<text:h text:outline-level="{level}" {more}>{text}</text:h>'

    body = [
        h("Oak", 1),
        h("Bark", 2),
        h("Leaf", 2),
        h("Foreword", 1, 'text:is-list-header="true"'),
        h("Bare", 1, 'text:style-name="Bare"'),
        h("Elm", 1),
        h("Root", 2),
        h("Deep", 3),
        h("Ash", 1, 'text:restart-numbering="true" text:start-value="9"'),
        h("Yew", 1, 'text:restart-numbering="true" text:start-value="-1"'),
    ]
    (page,) = document("odt", "".join(body), styles=styles).pages
    assert page.text.split("\n\n") == [
        "# 1 Oak",
        "## 1.1 Bark",
        "## 1.2 Leaf",
        "# Foreword",
        "# Bare",
        "# 2 Elm",
        "## 2.1 Root",
        "### Deep",
        "# 9 Ash",
        "# 1 Yew",
    ]


def test_an_id_that_is_there_twice_does_not_stop_the_reading(document):
    twice = '<text:p xml:id="a">oak</text:p><text:p xml:id="a">elm</text:p>'
    with pytest.raises(DamagedFile):  # of which lxml remembers the error
        document("odt", "<text:p>never closed")
    (page,) = document("odt", twice).pages
    assert page.text == "oak\n\nelm"


def test_a_list_of_parts_of_old_does_not_stop_the_reading(document):
    listed = '<!DOCTYPE m:manifest PUBLIC "-//O//DTD Manifest 1.0//EN" "Manifest.dtd"><m:manifest/>'
    (page,) = document("odt", p("needle"), manifest=listed).pages
    assert page.text == "needle"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("body", "before", "error"),
    [
        (p("&x;"), '<!DOCTYPE d [<!ENTITY x "y">]>', DamagedFile),
        (p("never closed").removesuffix("</text:p>"), "", DamagedFile),
        ("<text:section>" * 5_000 + "</text:section>" * 5_000, "", NestedTooDeep),
        ("<text:p text:style-name='x'/>" * 800_000, "", ContentTooLarge),
    ],
    ids=["entities", "broken", "deep", "many"],
)
def test_hostile_files_are_refused_by_name(document, kind, body, before, error):
    with pytest.raises(error, match=rf"file\.{kind}"):
        list(document(kind, sheet(row(body)) if kind == "ods" else body, before).pages)


def test_as_deep_as_the_parser_goes_the_text_is_read(document):
    spans = p("<text:span>" * 200 + "needle" + "</text:span>" * 200)
    lists = (
        "<text:list><text:list-item>" * 110 + p("needle") + "</text:list-item></text:list>" * 110
    )
    boxes = "<text:p><draw:frame><draw:text-box>" * 70 + p("needle")
    boxes += "</draw:text-box></draw:frame></text:p>" * 70
    for body in (spans, lists, boxes):
        (page,) = document("odt", body).pages
        assert page.text.strip(" -") == "needle"


def test_what_all_slides_show_is_told_once(document):
    master = box("Harbour office") + box("Click to add", 'presentation:class="title"')
    slide = 'draw:master-page-name="M" presentation:use-footer-name="f"'
    body = "<presentation:footer-decl presentation:name='f'>Draft of May</presentation:footer-decl>"
    for text in ("cranes", "ships"):
        body += f"<draw:page {slide}>{box(text)}</draw:page>"
    masters = f'<style:master-page style:name="M">{master}</style:master-page>'
    first, second = document("odp", body, masters=masters).pages
    assert first.text == "# Slide 1\n\ncranes\n\nDraft of May\n\nHarbour office"
    assert second.text == "# Slide 2\n\nships"


FLAT = {"odt": p("A heron."), "ods": sheet(row(cell("heron")), name="Birds")}


@pytest.fixture
def unzipped(extracted):
    """The same in one file of XML."""

    def unzipped(kind: str, body: str, before: str = "") -> Extraction:
        name = KINDS[kind]
        return extracted(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {SPACES}'
            f' office:mimetype="application/vnd.oasis.opendocument.{name}">{before}<office:body>'
            f"<office:{name}>{body}</office:{name}></office:body></office:document>",
            f"file.f{kind}",
        )

    return unzipped


@pytest.mark.parametrize("kind", FLAT)
def test_a_file_that_is_not_zipped_is_read_by_the_same_reader(unzipped, kind):
    title = '<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">Birds of May</dc:title>'
    extraction = unzipped(kind, FLAT[kind], f"<office:meta>{title}</office:meta>")
    assert (extraction.doc_type, extraction.format) == (kind, f"f{kind}")
    assert extraction.title == "Birds of May"
    assert "heron" in text_of(extraction)


def test_the_parts_of_a_file_that_is_not_zipped_may_be_whole(extracted):
    extraction = extracted(
        f"<office:document {SPACES}"
        ' office:mimetype="application/vnd.oasis.opendocument.text"><office:document-content>'
        f"<office:body><office:text>{p('A heron.')}</office:text></office:body>"
        "</office:document-content></office:document>",
        "file.fodt",
    )
    assert text_of(extraction).strip() == "A heron."


def test_the_table_of_a_chart_in_a_sheet_that_is_not_zipped_adds_no_rows(unzipped):
    table = f"<table:table>{row(cell('inner'))}</table:table>"
    chart = (
        "<table:table-cell><draw:frame><draw:object><office:document><office:body>"
        f"<office:chart>{table}</office:chart></office:body>"
        "</office:document></draw:object></draw:frame></table:table-cell>"
    )
    rows = row(cell("first")), row(chart), row(cell("third"))
    pages = pages_of(unzipped("ods", sheet(*rows, name="A")))
    assert [(page.text, page.grid.rows) for page in pages][1] == ("# A\n| inner |", (2, 2))
    assert "third" in pages[0].text
    assert "inner" not in pages[0].text


def test_the_footer_of_a_master_is_told_once(document):
    footer = "presentation:class='footer'"
    shown = box("Harbour office", footer) + box("&lt;footer&gt;", footer)
    masters = f"<style:master-page style:name='M'>{shown}</style:master-page>"
    slides = "<draw:page draw:master-page-name='M'/>" * 2
    assert text_of(document("odp", slides, masters=masters)).count("Harbour office") == 1
    assert "footer>" not in text_of(document("odp", slides, masters=masters))


def test_headers_of_sheets_are_told_once_without_what_changes(document):
    styles = (
        "<office:automatic-styles><style:style style:name='t' style:family='table'"
        " style:master-page-name='M'/></office:automatic-styles>"
    )
    masters = (
        "<style:master-page style:name='M'><style:header>"
        f"{p('<text:sheet-name>???</text:sheet-name>')}</style:header><style:footer>"
        f"{p('Harbour office <text:page-number>1</text:page-number>')}"
        f"</style:footer></style:master-page><style:master-page style:name='N'><style:footer>"
        f"{p('Nowhere')}</style:footer></style:master-page>"
    )
    sheet = "<table:table table:name='{}' table:style-name='t'/>"
    text = text_of(
        document("ods", sheet.format("A") + sheet.format("B"), styles=styles, masters=masters)
    )
    assert text == "# A\nHarbour office"
