import zipfile

import pytest
from planted import DOCUMENTS, pages_of, passages, places, read, text_of

from kb.engine.errors import ContentTooLarge, DamagedFile, KbError, NestedTooDeep, PasswordNeeded
from kb.engine.ingest.extract import Extraction, Source, extract

ONE, TWO, THREE = (1, "page 1"), (2, "page 2"), (3, "page 3")
MARGINS = (None, "headers and footers")
TEXT = {
    "odtheadingword": ONE,
    "odtspanword": ONE,
    "odttabword": ONE,
    "odtlinkword": ONE,
    "odtfootnoteword": ONE,
    "odtcommentword": ONE,
    "odtendnoteword": ONE,
    "odtbulletword": ONE,
    "odtinnerbulletword": ONE,
    "odtnumberword": ONE,
    "odtboxword": ONE,
    "odtalttitleword": ONE,
    "odtaltdescword": ONE,
    "odtpagetwoword": TWO,  # after a page break
    "odtsubheadingword": TWO,
    "odttablehead": TWO,
    "odtcellword": TWO,
    "odtspannedword": TWO,
    "odtsectionword": TWO,
    "odtlastword": THREE,  # where LibreOffice ended a page
    "odtheaderword": MARGINS,
    "odtfooterword": MARGINS,
}
SHEETS = {
    "odsheadword": (1, "Budget!A1:AC999"),
    "odsrowtwoword": (1, "Budget!A1:AC999"),
    "odssecondlineword": (1, "Budget!A1:AC999"),
    "odsfarword": (1, "Budget!A1:AC999"),
    "odscommentword": (1, "Budget!A3:A3"),
    "odshiddenword": (2, "Secret plan (hidden)!A1:A1"),
}
SLIDES = {
    "odptitleword": (1, "slide 1"),
    "odppointword": (1, "slide 1"),
    "odpsubpointword": (1, "slide 1"),
    "odpshapeword": (1, "slide 1"),  # in a group
    "odpaltword": (1, "slide 1"),
    "odpnotesword": (1, "slide 1"),
    "odphiddenword": (2, "slide 2 (hidden)"),
    "odptableword": (2, "slide 2 (hidden)"),
    "odpcellword": (2, "slide 2 (hidden)"),
}


@pytest.mark.parametrize(
    ("name", "word", "place"),
    [
        *(("document.odt", word, place) for word, place in TEXT.items()),
        *(("budget.ods", word, place) for word, place in SHEETS.items()),
        *(("slides.odp", word, place) for word, place in SLIDES.items()),
    ],
)
def test_every_word_is_found_where_it_stands(name, word, place):
    assert places(pages_of(read(name)))[word] == place


def test_what_was_deleted_is_not_found():
    assert "odtdeletedword" not in text_of(read("document.odt"))


def test_a_text_tells_its_title_and_its_metadata():
    extraction = read("document.odt")
    assert (extraction.doc_type, extraction.format) == ("odt", "odt")
    assert extraction.title == "Harbour report"
    assert extraction.metadata == {
        "author": "Mara Lind",
        "subject": "Quays and cranes",
        "description": "Words about the harbour",
        "keywords": "harbour, crane",
        "language": "en-GB",
        "created": "2024-03-05T09:30:00",
    }


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


@pytest.mark.parametrize("name", ["document.odt", "budget.ods", "slides.odp"])
def test_pages_that_are_done_are_skipped(name):
    whole = pages_of(read(name))
    assert pages_of(extract(Source(DOCUMENTS / name, name, start=1))) == whole[1:]


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
    def document(kind: str, body: str, before: str = "", manifest: str = "") -> Extraction:
        path = tmp_path / "stored"
        name = KINDS[kind]
        content = (
            f"{before}<office:document-content {SPACES}><office:body><office:{name}>{body}"
            f"</office:{name}></office:body></office:document-content>"
        )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("mimetype", f"application/vnd.oasis.opendocument.{name}")
            file.writestr("content.xml", content)
            if manifest:
                file.writestr("META-INF/manifest.xml", manifest)
        return extract(Source(path, f"file.{kind}"))

    return document


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{p(text)}</table:table-cell>"


def test_without_page_breaks_there_are_no_page_numbers(document):
    (page,) = document("odt", p("one") + p("two")).pages
    assert (page.number, page.location, page.text) == (None, None, "one\n\ntwo")


def test_a_table_that_goes_on_over_pages_has_its_header_again(document):
    rows = [f"<table:table-row>{cell(f'r{n}')}{cell('x')}</table:table-row>" for n in range(4)]
    rows.insert(2, "<text:soft-page-break/>")
    first, second = document("odt", f"<table:table>{''.join(rows)}</table:table>").pages
    assert first.text == "| r0 | x |\n| r1 | x |"
    assert (second.number, second.text) == (2, "| r0 | x |\n| r2 | x |\n| r3 | x |")


def test_repeated_rows_and_cells_do_not_multiply(document):
    repeat = 'table:number-columns-repeated="16384"'
    row = f"<table:table-row table:number-rows-repeated='1048576'>{cell('needle', repeat)}"
    sheets = f"<table:table table:name='S'>{row}</table:table-row></table:table>" * 20
    pages = pages_of(document("ods", sheets))
    assert len(pages) == 20
    assert all("needle" in page.text and len(page.text) < 2_000 for page in pages)


def test_cells_far_apart_take_no_room(document):
    far = 'table:number-columns-repeated="16000"'
    rows = (
        f"<table:table-row>{cell('a')}</table:table-row>"
        "<table:table-row table:number-rows-repeated='1000000'/>"
        f"<table:table-row><table:table-cell {far}/>{cell('needle')}</table:table-row>"
    )
    (page,) = document("ods", f"<table:table table:name='S'>{rows}</table:table>").pages
    assert len(page.text) < 100
    assert page.grid.rows[-1] == 1_000_002
    assert page.grid.columns == ("A", "WQK")


def test_a_value_without_its_text_is_shown_all_the_same(document):
    value = "<table:table-cell office:value-type='date' office:date-value='2024-03-05'/>"
    row = f"<table:table-row>{cell('day')}{value}</table:table-row>"
    (page,) = document("ods", f"<table:table table:name='S'>{row}</table:table>").pages
    assert "2024-03-05" in page.text


def test_a_locked_file_says_that_it_is_locked(document):
    space = 'xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    manifest = f"<m:manifest {space}><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"
    with pytest.raises(PasswordNeeded, match=r"file\.odt is protected by a password"):
        document("odt", p("x"), manifest=manifest)


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
    if kind == "ods":
        body = (
            f"<table:table table:name='S'><table:table-row>{body}</table:table-row></table:table>"
        )
    with pytest.raises(KbError) as caught:
        list(document(kind, body, before).pages)
    assert f"file.{kind}" in caught.value.message
    assert isinstance(caught.value, error)


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
