"""PDFs in, pages out; whatever stands on a page, and whatever is wrong with the file."""

import re
from pathlib import Path

import pypdfium2
import pytest
from raising import raising

from kb.engine.errors import ContentTooLarge, DamagedFile, PasswordNeeded, TextTooLong
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.extraction import Ocr, OcrNeeded, Source
from kb.engine.ingest.extract.pdf import by_pypdf, pdf_file
from kb.engine.ingest.extract.pdf.about import author, iso_date, usable_title
from kb.engine.ingest.extract.pdf.text import Words, clean
from kb.engine.ingest.ocr import Recognised
from kb.engine.ingest.paragraphs import Line, paragraphs
from kb.engine.pages import Page, Unread
from proportion import assert_in_proportion

DOCUMENTS = Path(__file__).parents[4] / "fixtures" / "documents"
OFF = Ocr(engine="off")


@pytest.fixture
def reader(reader):
    reader.answer = Recognised("recognised text", 0.99)
    return reader


def source(name: str, **options) -> Source:
    return Source(DOCUMENTS / name, name, **options)


def read(name: str, **options) -> list[Page | Unread]:
    return list(pdf_file.extract(source(name, **options)).pages)


def write(folder: Path, data: bytes) -> Source:
    (folder / "stored").write_bytes(data)
    return Source(folder / "stored", "ours.pdf", OFF)


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("anchorwort", 1),
        ("paragraphwort", 1),
        ("leftwort", 2),
        ("Rightwort", 2),
        ("Tablewort", 3),
        ("formpagewort", 4),
        ("shipwort", 4),
        ("berthwort", 4),
        ("commentwort", 4),
        ("highlightwort", 4),
        ("turnedwort", 5),
        ("attachedwort", None),
    ],
)
def test_every_word_is_on_its_page(word, number):
    assert [page.number for page in read("report.pdf") if word in page.text] == [number]


def test_paragraphs_are_parted_and_a_heading_stays_with_its_text():
    first = read("report.pdf")[0].text
    heading, second = first.split("\n\n")
    assert heading.startswith("Quarterly report on anchorwort\nThe harbour earned")
    assert second.startswith("A second paragraph")


def test_a_hyphen_at_the_end_of_a_line_stays_only_where_it_belongs():
    first = read("report.pdf")[0].text
    assert "the non-audited parts" in first
    assert "the information that was missing" in first


def test_columns_come_one_after_the_other():
    text = read("report.pdf")[1].text
    assert text.index("these words") < text.index("Rightwort")


def test_a_row_is_one_line_and_its_words_are_apart():
    assert read("report.pdf")[2].text.splitlines()[0] == "2.1 Tablewort 17"


def test_fields_have_their_names_and_comments_their_authors():
    text = read("report.pdf")[3].text
    for line in (
        "Name of the ship: shipwort",
        "Is insured: Yes",
        "berth: berthwort",
        "Comment (Grace): commentwort",
        "Comment: highlightwort",
    ):
        assert line in text.split("\n\n")


def test_a_password_in_a_form_is_not_shown():
    assert not any("secretwort" in page.text for page in read("report.pdf"))


def test_bookmarks_are_the_headings_above_a_page():
    assert [page.headings for page in read("report.pdf")[:5]] == [
        ("Overview",),
        ("Overview", "Columns"),
        ("Overview", "Columns"),
        ("Form",),
        ("Form",),
    ]


def test_attached_files_are_named_at_the_end():
    last = read("report.pdf")[-1]
    assert (last.number, last.location) == (None, "attached files")
    assert last.text == "Attached files: attachedwort.csv"


def test_pages_that_are_done_are_left_out():
    assert [page.number for page in read("report.pdf", start=3)] == [4, 5, None]
    assert read("report.pdf", start=6) == []


def test_the_careful_reader_reads_the_next_page_alone():
    [page] = read("report.pdf", start=1, careful=True)
    assert page.number == 2
    assert "Rightwort" in page.text


def test_the_careful_reader_gives_up_a_page_rather_than_the_document(tmp_path):
    broken = write(tmp_path, b"%PDF-1.7\nnothing")
    careful = Source(broken.path, "broken.pdf", start=6, careful=True)
    assert list(pdf_file.extract(careful).pages) == [Unread(7, "is damaged")]


def test_a_page_that_the_second_reader_does_not_count_is_unread(monkeypatch):
    fails = raising(pypdfium2.PdfiumError("Failed to load page."))
    monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", fails)
    monkeypatch.setattr(by_pypdf, "_count", lambda *_: 3)
    found = read("report.pdf")
    assert [page.number for page in found[:3]] == [1, 2, 3]
    assert found[3:5] == [Unread(4, "is damaged"), Unread(5, "is damaged")]


def test_what_needs_no_password_to_be_read_is_read():
    assert "anchorwort" in read("owner-locked.pdf")[0].text


def test_what_needs_a_password_says_so():
    with pytest.raises(PasswordNeeded, match=r"locked\.pdf is protected by a password"):
        read("locked.pdf")


def test_a_file_whose_table_of_contents_is_wrong_is_read(tmp_path):
    whole = (DOCUMENTS / "report.pdf").read_bytes()
    moved = whole.replace(b"%PDF-1.7\n", b"%PDF-1.7\n% a line that moves everything\n")
    pages = list(pdf_file.extract(write(tmp_path, moved)).pages)
    assert "anchorwort" in pages[0].text


def test_what_only_the_second_reader_can_open_is_read_by_it(monkeypatch):
    refused = raising(pypdfium2.PdfiumError("Failed to load document", err_code=3))
    monkeypatch.setattr(pdf_file.pdfium, "PdfDocument", refused)
    extraction = pdf_file.extract(source("report.pdf"))
    assert (extraction.title, extraction.page_count) == ("Harbour report", 5)
    assert extraction.metadata["author"] == "Ada Lovelace"
    assert [page.number for page in extraction.pages] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("rest", [b"", b"nothing else", bytes(range(256)) * 20])
def test_what_is_no_pdf_but_for_its_first_bytes_is_damaged(tmp_path, rest):
    with pytest.raises(DamagedFile, match=r"ours\.pdf is damaged"):
        list(pdf_file.extract(write(tmp_path, b"%PDF-1.7\n" + rest)).pages)


def test_a_document_of_too_many_pages_is_refused(monkeypatch):
    monkeypatch.setattr(by_pypdf, "MAX_PAGES", 4)
    with pytest.raises(ContentTooLarge, match=r"report\.pdf has 5 pages; more than 4"):
        read("report.pdf")


def test_a_page_of_too_many_characters_is_left_out_alone(monkeypatch):
    monkeypatch.setattr(by_pypdf, "MAX_CHARACTERS", 150)
    first, second, *_ = read("report.pdf")
    assert isinstance(first, Unread)
    assert "150 characters" in first.reason
    assert "leftwort" in second.text


def test_a_document_of_too_much_text_is_refused(monkeypatch):
    monkeypatch.setattr(pdf_file, "MAX_BYTES", 400)
    pages = pdf_file.extract(source("report.pdf")).pages
    assert "anchorwort" in next(pages).text
    with pytest.raises(TextTooLong, match=r"report\.pdf has more than"):
        list(pages)


def test_a_page_that_is_a_picture_asks_for_a_reader_after_those_before_it():
    pages = pdf_file.extract(source("scan.pdf")).pages
    assert "Typedwort" in next(pages).text
    with pytest.raises(OcrNeeded) as caught:
        next(pages)
    assert caught.value.page_number == 2


def test_a_page_that_is_a_picture_is_read_and_a_blank_one_is_not(reader):
    pages = read("scan.pdf")
    assert [page.method for page in pages] == ["text", "ocr", "text"]
    assert [page.text for page in pages[1:]] == ["recognised text", ""]
    assert [picture.size for picture in reader.pictures] == [(1653, 2339)]  # 200 dpi
    assert reader.pages == 2  # of three, one in two has been a picture so far


def test_with_reading_turned_off_a_picture_is_told_and_asks_for_nothing(reader):
    second = read("scan.pdf", ocr=OFF)[1]
    assert second.number == 2
    assert second.reason.endswith("reading pictures is turned off")
    assert reader.pictures == []


def test_what_the_reader_doubts_is_not_taken_for_text(reader):
    reader.answer = Recognised("N0pr0Ba9", 0.9, "seems to be in a script that cannot be read")
    assert read("scan.pdf")[1] == Unread(2, "seems to be in a script that cannot be read")


def test_letters_that_stand_for_others_are_read_as_a_picture(reader):
    reader.answer = Recognised("which words the people wrote on this page " * 5, 0.99)
    [page] = read("garbled.pdf")
    assert page.method == "ocr"
    assert page.text.startswith("which words the people wrote")


def test_characters_that_are_none_are_read_as_a_picture(tmp_path, reader):
    data = (DOCUMENTS / "garbled.pdf").read_bytes()
    controls = re.sub(rb"> <00[67].>", b"> <0001>", data)
    assert len(controls) == len(data)
    [page] = pdf_file.extract(Source(write(tmp_path, controls).path, "odd.pdf")).pages
    assert (page.method, page.text) == ("ocr", "recognised text")
    [unread] = pdf_file.extract(write(tmp_path, controls)).pages
    assert "no text layer that can be read" in unread.reason


def test_half_characters_are_none(tmp_path):
    data = (DOCUMENTS / "garbled.pdf").read_bytes().replace(b"<0061>", b"<D800>")
    [page] = pdf_file.extract(write(tmp_path, data)).pages
    assert "\ufffd" in page.text
    assert page.text.encode()
    halves = (DOCUMENTS / "report.pdf").read_bytes().replace(b"(Ada Lovelace)", b"<FEFF0041D800>")
    titles = halves.replace(b"(Overview)", b"<FFFED8D8>")
    extraction = pdf_file.extract(write(tmp_path, titles))
    assert extraction.metadata["author"] == "A"
    assert next(extraction.pages).headings == ()


def test_odd_words_that_look_the_same_in_the_picture_are_kept(reader):
    reader.answer = Recognised("xkcd bzrt wqrtz " * 10, 0.99)
    [page] = read("garbled.pdf")
    assert page.method == "text"


def test_text_is_read_as_a_picture_where_that_is_asked_for(reader):
    pages = read("report.pdf", ocr=Ocr(force=True))
    assert {page.method for page in pages[:5]} == {"ocr"}
    assert "Name of the ship: shipwort" in pages[3].text
    assert reader.pictures[4].size == (2339, 1653)  # as it is shown, turned


def test_a_page_of_any_size_makes_a_picture_of_bearable_size(tmp_path, reader):
    small = (DOCUMENTS / "scan.pdf").read_bytes()
    huge = (
        small.replace(b"[0 0 595 842]", b"[0 0 2000000 1999999]")
        .replace(b"595 0 0 336", b"2000000 0 0 1999999")
        .replace(b"0 460 cm", b"0 0 cm")
    )
    path = write(tmp_path, huge).path
    list(pdf_file.extract(Source(path, "huge.pdf", start=1)).pages)
    width, height = reader.pictures[0].size
    assert width * height <= 16_100_000
    assert max(width, height) <= 4_001


def test_a_sharp_picture_on_a_small_page_keeps_its_sharpness(tmp_path, reader):
    data = (DOCUMENTS / "scan.pdf").read_bytes()
    tiny = data.replace(b"[0 0 595 842]", b"[0 0 120 68]").replace(
        b"595 0 0 336 0 460", b"120 0 0 68 0 0"
    )
    path = write(tmp_path, tiny).path
    list(pdf_file.extract(Source(path, "stamp.pdf", start=1)).pages)
    assert max(reader.pictures[0].size) == 1240


def test_the_page_with_a_scan_is_really_read():
    ocr.hold(ocr.load(Ocr(engine="rapidocr")))
    try:
        text = read("scan.pdf", start=1)[0].text
    finally:
        ocr.hold(None)
    assert "Scannedwort opens this page" in text
    assert "212 passengers" in text
    assert text.splitlines()[-2:] == ["Berth | Ships | Fee", "North | 14 | 1,250"]


@pytest.mark.parametrize(
    ("told", "title"),
    [
        ("Annual report", "Annual report"),
        ("Microsoft Word - Minutes of the meeting", "Minutes of the meeting"),
        ("Microsoft Word - minutes_v3.doc", None),
        ("PowerPoint Presentation", None),
        ("untitled", None),
        ("(Untitled)", None),
        ("Adobe Photoshop PDF", None),
        ("", None),
        ("0000764478-23-000006", None),
        ("C:\\jobs\\out.ps", None),
        ("file:///tmp/x", None),
        ("  Two\nlines\x00 ", "Two lines"),
        ("年度报告", "年度报告"),
    ],
)
def test_a_title_that_a_program_made_up_is_none(told, title):
    assert usable_title(told) == title


@pytest.mark.parametrize(
    ("told", "date"),
    [
        ("D:20230815234220Z", "2023-08-15T23:42:20Z"),
        ("D:20230816095237+10'00'", "2023-08-15T23:52:37Z"),
        ("D:20230816095237-05'30", "2023-08-16T15:22:37Z"),
        ("D:20230816095237", "2023-08-16T09:52:37"),
        ("2023", "2023-01-01"),
        ("D:20230231000000Z", None),
        ("D:20230101000000+99'00'", None),
        ("yesterday", None),
    ],
)
def test_a_date_is_written_as_everywhere(told, date):
    assert iso_date(told) == date


def test_nobody_is_no_author():
    assert (author("anonymous"), author("Ada Lovelace")) == (None, "Ada Lovelace")


@pytest.mark.parametrize(
    ("seen", "broken", "mended"),
    [
        ("a non-GAAP measure", "the non\ufffeGAAP view", "the non-GAAP view"),
        ("all information", "the infor\ufffemation here", "the information here"),
        ("a fixed price", "a fixed\ufffeprice contract", "a fixed-price contract"),
        ("nothing of it", "the mar\ufffevel of it", "the marvel of it"),
        ("nothing of it", "in mid\ufffeJuly", "in mid-July"),
        ("nothing of it", "COVID\ufffe19 and so on", "COVID-19 and so on"),
        ("nothing of it", "a dash \ufffe alone", "a dash - alone"),
    ],
)
def test_words_that_were_seen_decide_about_a_hyphen(seen, broken, mended):
    words = Words()
    words.learn(seen)
    assert clean(broken, words) == mended


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("o\ufb03ce of\ufb02ine", "office offline"),
        ("\uf0b7 item\r\n\uf0fc done", "• item\n✓ done"),
        ("soft\u00adhyphen", "softhyphen"),
        ("x² and ½", "x² and ½"),
        ("a\x00b\x02c\x0cd  \r\ne", "abc d\ne"),
    ],
)
def test_characters_become_what_a_person_would_copy(raw, text):
    assert clean(raw, Words()) == text


def lines(*rows: tuple[str, float, float]) -> list[Line]:
    """Text, left edge and height above the lower edge, of letters 10 high."""
    return [Line(text, left, left + 5 * len(text), bottom, 10.0) for text, left, bottom in rows]


def test_rows_of_a_table_stay_together_however_far_apart():
    table = lines(("Name Fee", 0, 700), ("North 14", 0, 676), ("South 3", 0, 652))
    assert "\n\n" not in paragraphs(table)


def test_a_first_line_that_is_set_in_begins_a_paragraph():
    book = lines(
        ("It was late when he came", 0, 700),
        ("and nobody was there.", 0, 688),
        ("Then she opened the", 15, 676),
        ("door of the house.", 0, 664),
    )
    assert paragraphs(book).split("\n\n")[1].startswith("Then she")


@pytest.mark.parametrize("unit", ["a", "a\ufffe", "1a", "\r\n", "-", "A a", "\u0301"])
def test_cleaning_takes_time_in_proportion_to_its_length(unit):
    assert_in_proportion(lambda size: clean(unit * size, Words()), 30_000)


@pytest.mark.parametrize("error", [AssertionError, NotImplementedError, RecursionError])
def test_whatever_pypdf_stumbles_over_is_damage(monkeypatch, error):
    monkeypatch.setattr(by_pypdf, "PdfReader", raising(error()))
    with pytest.raises(DamagedFile, match=r"report\.pdf"):
        by_pypdf.extract(Source(DOCUMENTS / "report.pdf", "report.pdf"))
