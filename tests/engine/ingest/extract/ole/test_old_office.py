"""Files of Office 97 to 2003, as LibreOffice wrote them and as they were put together by hand."""

import struct

import olefile
import planted
import pytest
import small_ole
from planted import DOCUMENTS

from kb.engine.errors import DamagedFile, NoTextFound, PasswordNeeded


@pytest.fixture(scope="module")
def document():
    extraction = planted.read("document.doc")
    return extraction, list(extraction.pages)


def test_a_word_file_says_what_it_is_about(document):
    extraction, _ = document
    assert (extraction.doc_type, extraction.format) == ("docx", "doc")
    assert extraction.title == "Harbour report"
    assert extraction.metadata["author"] == "Mara Lind"
    assert extraction.metadata["created"] == "2024-03-05T09:30:00Z"


@pytest.mark.parametrize(
    "line",
    [
        "# Quays odtheadingword",
        "## Tables odtsubheadingword",
        "- A bullet odtbulletword",
        "  - Set in odtinnerbulletword",
        "2. Second odtsecondword",
        "Footnote: Said at the bottom: odtfootnoteword.",
        "Comment by Jon Vale: Is that odtcommentword true?",
        "Endnote: At the very end: odtendnoteword.",
        "In a box: odtboxword",
        "| Aurora odtcellword | 120 | NO Bergen |",
        "Running odtheaderword",
    ],
)
def test_what_word_shows_is_found(document, line):
    assert line in "\n".join(page.text for page in document[1]).splitlines()


def test_what_was_deleted_in_a_word_file_is_left_out(document):
    assert "odtdeletedword" not in "".join(page.text for page in document[1])


def test_pages_of_a_word_file_are_counted_by_its_breaks(document):
    numbers = {page.number: page.text for page in document[1]}
    assert "odtheadingword" in numbers[1]
    assert "odtpagetwoword" in numbers[2]


def test_a_summary_that_says_it_holds_billions_of_values_costs_nothing(extracted):
    said = bytes(44) + struct.pack("<I", 48) + struct.pack("<II", 2**31, 2**32 - 1)
    said += struct.pack("<II", 2, 16) + struct.pack("<III", 30, 6, 0) + b"no title"
    said += struct.pack("<II", 4, 0x101E) * 5 + struct.pack("<III", 0x101E, 2**32 - 1, 2**31)
    [page] = extracted(word("words\r", summary=said), "billions.doc").pages
    assert page.text == "words"


def test_the_code_of_a_field_is_left_out_and_its_result_read(extracted):
    text = 'before \x13 HYPERLINK "http://x.test" \x14shown\x15 after\r'
    [page] = extracted(word(text), "field.doc").pages
    assert page.text == "before shown after"


def test_a_word_file_behind_a_password_is_refused(extracted):
    with pytest.raises(PasswordNeeded):
        extracted(word("secret\r", flags=0x0100), "locked.doc")


def test_a_word_file_whose_pieces_lie_outside_of_it_holds_no_text(extracted):
    data = bytearray(word("text\r"))
    with pytest.raises((NoTextFound, DamagedFile)):
        extracted(
            bytes(data).replace(struct.pack("<I", 0x600), struct.pack("<I", 0x3FFFFFF0)), "a.doc"
        )


def word(text: str, flags: int = 0, summary: bytes = b"") -> bytes:
    """The least that Word would open: one piece of text, and nothing said of it."""
    main = bytearray(0x600)
    struct.pack_into("<6H", main, 0, 0xA5EC, 0xC1, 0, 0x409, 0, flags)
    struct.pack_into("<i", main, 0x4C, len(text))
    struct.pack_into("<H", main, 0x98, 0x5D)
    pieces = struct.pack("<2I", 0, len(text)) + struct.pack("<HIH", 0, 0x600, 0)
    table = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    struct.pack_into("<2I", main, 0x9A + 8 * 33, 0, len(table))
    main += text.encode("utf-16-le")
    return small_ole.compound(
        {
            "WordDocument": bytes(main).ljust(4_096, b"\0"),
            "0Table": table.ljust(64, b"\0"),
            "\x05SummaryInformation": summary,
        }
    )


@pytest.fixture(scope="module")
def budget():
    extraction = planted.read("budget.xls")
    return extraction, list(extraction.pages)


def test_a_workbook_is_read_as_it_is_shown(budget):
    extraction, pages = budget
    assert (extraction.doc_type, extraction.format) == ("xlsx", "xls")
    assert "| Rope odsrowtwoword | 12.5 | 2024-03-05 |" in pages[0].text
    assert (pages[0].location, pages[0].grid.columns) == ("Budget", ("A", "AC"))
    assert "Comment on A3 by Jon Vale: Why odscommentword?" in pages[1].text


def test_a_hidden_sheet_is_read_and_said_to_be_hidden(budget):
    hidden = [page for page in budget[1] if page.location == "Secret plan (hidden)"]
    assert "odshiddenword" in hidden[0].text


def test_a_workbook_that_has_fewer_texts_than_it_says_is_read(extracted, budget):
    data = bytearray(DOCUMENTS.joinpath("budget.xls").read_bytes())
    texts = data.index(b"\xfc\0", data.index(b"\x85\0"))  # behind the names of its sheets
    (said,) = struct.unpack_from("<I", data, texts + 8)
    struct.pack_into("<I", data, texts + 8, said + 5)
    pages = extracted(bytes(data), "budget.xls").pages
    assert [page.text for page in pages] == [page.text for page in budget[1]]


def test_a_workbook_with_a_word_file_in_it_is_a_workbook(extracted):
    inner: small_ole.Tree = {"MBD0001": {"WordDocument": b"x" * 5_000}}
    stream = DOCUMENTS.joinpath("budget.xls").read_bytes()
    with pytest.raises(DamagedFile):
        extracted(small_ole.compound({**inner, "Workbook": stream[:5_000]}), "mixed.doc")


def test_slides_are_read_with_lists_tables_notes_and_comments(extracted):
    comment = small_ole.record(4026, "Jon".encode("utf-16-le"), 0)
    comment += small_ole.record(4026, "Is it true?".encode("utf-16-le"), 1)
    comment = small_ole.record(12_000, comment, container=True)
    hidden = small_ole.record(1017, bytes(10) + struct.pack("<HI", 4, 0))
    first = small_ole.slide(
        small_ole.shape("Tides", 0),
        small_ole.shape("ebb\rflow", 1),
        small_ole.table([["Port", "Depth"], ["Bergen", "9 m"]]),
        more=comment,
    )
    second = small_ole.slide(small_ole.shape("Unshown"), more=hidden)
    notes = small_ole.slide(
        small_ole.shape("Say this", 2),
        kind=1008,
        more=small_ole.record(1009, struct.pack("<II", 256, 0)),
    )
    extraction = extracted(small_ole.ppt([first, second], [notes]), "deck.ppt")
    pages = list(extraction.pages)
    assert (extraction.doc_type, extraction.format, extraction.title) == ("pptx", "ppt", "Tides")
    assert pages[0].text == (
        "# Tides\n\n- ebb\n- flow\n\n| Port | Depth |\n| Bergen | 9 m |\n\n"
        "Notes: Say this\n\nComment by Jon: Is it true?"
    )
    assert [page.location for page in pages] == ["slide 1", "slide 2 (hidden)"]


def test_a_presentation_behind_a_password_is_refused(extracted):
    user = struct.pack("<8xIII", 20, 0xF3D1C4DF, 0)
    tree: small_ole.Tree = {"Current User": user, "PowerPoint Document": b"x" * 5_000}
    with pytest.raises(PasswordNeeded):
        extracted(small_ole.compound(tree), "locked.ppt")


def test_what_stands_beside_a_presentation_for_powerpoint_95_is_read(extracted):
    whole = olefile.OleFileIO(small_ole.ppt([small_ole.slide(small_ole.shape("Ebb"))]))
    tree: small_ole.Tree = {
        name: whole.openstream(name).read() for name in ("Current User", "PowerPoint Document")
    }
    older = {"PowerPoint Document": b"x" * 5_000, "PersistentStorage Directory": b"x" * 5_000}
    (page,) = extracted(small_ole.compound({"PP97_DUALSTORAGE": tree, **older}), "both.ppt").pages
    assert "Ebb" in page.text


@pytest.mark.parametrize("name", ["WordDocument", "Workbook", "PowerPoint Document"])
def test_streams_full_of_nonsense_are_damaged_files(extracted, name):
    with pytest.raises(DamagedFile):
        extracted(small_ole.compound({name: bytes(range(256)) * 40}), "nonsense")


@pytest.mark.parametrize(
    ("stream", "advice"),
    [("VisioDocument", "save it as vsdx"), ("Quill", "save it as pdf"), ("Other", "unknown type")],
)
def test_what_cannot_be_read_is_named(extracted, stream, advice):
    with pytest.raises(Exception, match=advice):
        extracted(small_ole.compound({stream: b"x" * 5_000}), "file.bin")


def test_a_document_that_is_restricted_to_some_people_says_so(extracted):
    data = small_ole.compound({"WordDocument": bytes(5_000), "\tDRMContent": b"x"})
    with pytest.raises(PasswordNeeded, match="restricted to some people"):
        extracted(data, "plan.doc")


def test_a_letter_of_an_old_macintosh_keeps_its_accents(extracted):
    text = "La stratégie a été choisie à l’aube.\r".encode("mac_roman")
    head = bytearray(0x200)
    struct.pack_into("<H", head, 0, 0xA5DC)
    struct.pack_into("<H", head, 0x14, 256)
    struct.pack_into("<II", head, 0x18, len(head), len(head) + len(text))
    struct.pack_into("<i", head, 0x34, len(text))
    file = small_ole.compound({"WordDocument": bytes(head) + text.ljust(0x1000, b"\0")})
    (page,) = extracted(file, "lettre.doc").pages
    assert page.text.strip() == "La stratégie a été choisie à l’aube."
