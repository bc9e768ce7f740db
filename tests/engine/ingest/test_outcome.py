"""What a document and its job say of how the file was read."""

import pytest

from kb.engine.ingest.outcome import Reading, processing_method
from kb.engine.pages import Page, Remark, Unread
from kb.engine.values import Chunk


def warning(unread):
    return Reading(unread=unread).message()


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (["text", "text"], "text_extraction"),
        (["ocr"], "ocr"),
        (["image"], "image_analysis"),
        (["text", "ocr"], "mixed"),
        ([], "text_extraction"),
    ],
)
def test_the_method_is_that_of_all_pages_or_mixed(methods, expected):
    assert processing_method([Page("otters", method=method) for method in methods]) == expected


def test_a_blank_page_has_no_method():
    assert processing_method([Page("otters", method="ocr"), Page(" \n")]) == "ocr"


def test_missing_pages_are_told_as_ranges_and_by_reason():
    unread = [Unread(3, "it is damaged"), *(Unread(n, "it took too long") for n in (9, 7, 8))]
    assert Reading(unread=unread).missing_pages() == {"missing_pages": "3, 7–9"}
    assert warning(unread) == (
        "Not everything could be read. page 3: it is damaged; pages 7–9: it took too long"
    )


def test_nothing_is_said_where_nothing_is_missing():
    assert (Reading().missing_pages(), warning([])) == ({}, "")


def test_a_document_full_of_holes_is_told_of_in_few_words():
    unread = [Unread(number, f"reason {number}") for number in range(1, 2_000, 2)]
    assert len(Reading(unread=unread).missing_pages()["missing_pages"]) <= 200
    assert len(warning(unread)) < 300
    assert warning(unread).endswith("and others for other reasons")


def test_a_missing_page_and_what_a_reader_left_out_lower_the_share():
    reading = Reading()
    for item in (
        Page("ten words " * 5, 1),
        Page("ten words " * 5, 2, method="ocr"),
        Unread(3, "is damaged"),
        Remark(words_left_out=10),
    ):
        reading.add(item)
    found = reading.how_read("pdf", 3, [Chunk("ten words " * 5, seq) for seq in range(2)])
    assert (found.pages, found.pages_by_ocr, found.pages_missing) == (3, 1, 1)
    assert (found.words, found.share) == (20, 0.5)
    assert found.warnings == ("page 3: is damaged",)


def test_what_was_read_whole_has_a_share_of_one_and_no_warning():
    found = Reading([Page("all of it")]).how_read("text", None, [Chunk("all of it", 0)])
    assert (found.pages, found.pages_by_ocr, found.share, found.warnings) == (None, 0, 1.0, ())


def test_nobody_knows_the_share_where_a_part_of_unknown_length_is_missing():
    reading = Reading([Page("a")], remarks=[Remark("b.bin was not read: it is damaged")])
    assert reading.how_read("zip", None, [Chunk("a", 0)]).share is None


def test_what_is_missing_of_a_file_without_pages_is_no_page_and_of_unknown_length():
    reading = Reading([Page("a", location="attachment b.txt")], [Unread(3, "it is torn")])
    found = reading.how_read("eml", None, [Chunk("a", 0)])
    assert (found.pages, found.pages_missing, found.share) == (None, 0, None)
    assert (found.warnings, reading.missing_pages()) == (("it is torn",), {})


def test_a_share_is_never_one_where_something_is_missing():
    reading = Reading([Page("a " * 10**6)], remarks=[Remark(words_left_out=1)])
    assert reading.how_read("text", None, [Chunk("a " * 10**6, 0)]).share < 1


def test_a_reader_that_never_stops_remarking_is_told_of_in_few_words():
    reading = Reading([Page("all")], remarks=[Remark(f"picture {n} is torn") for n in range(100)])
    warnings = reading.how_read("docx", None, [Chunk("all", 0)]).warnings
    assert len(warnings) == 8
    assert warnings[-1] == "and 93 warnings more"
