"""What a document and its job say of how the file was read."""

import pytest

from kb.engine.ingest.outcome import missing_pages, processing_method, warning
from kb.engine.models import Page, Unread


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
    assert missing_pages(unread) == {"missing_pages": "3, 7–9"}
    assert warning(unread) == (
        "Not everything could be read. page 3: it is damaged; pages 7–9: it took too long"
    )


def test_nothing_is_said_where_nothing_is_missing():
    assert (missing_pages([]), warning([])) == ({}, "")


def test_a_document_full_of_holes_is_told_of_in_few_words():
    unread = [Unread(number, f"reason {number}") for number in range(1, 2_000, 2)]
    assert len(missing_pages(unread)["missing_pages"]) <= 200
    assert len(warning(unread)) < 300
    assert warning(unread).endswith("and others for other reasons")
