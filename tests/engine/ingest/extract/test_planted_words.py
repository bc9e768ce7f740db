"""Words planted in one file of each format: each is cited by the page or part where it stands."""

import os

import pytest
from planted import HARBOUR, pages_of, places_in, read, text_of

SHEET, FIRST, HIDDEN = (1, "Budget!A1:AC999"), (1, "slide 1"), (2, "slide 2 (hidden)")
MORNING, EVENING = (1, "Morning epubnavword"), (2, "Evening")
MAIL = (None, None)
PLANTED = {
    "document.odt": {**HARBOUR, "odtlastword": (3, "page 3")},  # where LibreOffice ended a page
    "document.rtf": HARBOUR,
    "budget.ods": {
        "odsheadword": SHEET,
        "odsrowtwoword": SHEET,
        "odssecondlineword": SHEET,
        "odsfarword": SHEET,
        "odscommentword": (1, "Budget!A3:A3"),
        "odshiddenword": (2, "Secret plan (hidden)!A1:A1"),
    },
    "slides.odp": {
        "odptitleword": FIRST,
        "odppointword": FIRST,
        "odpsubpointword": FIRST,
        "odpshapeword": FIRST,  # in a group
        "odpaltword": FIRST,
        "odpnotesword": FIRST,
        "odphiddenword": HIDDEN,
        "odptableword": HIDDEN,
        "odpcellword": HIDDEN,
    },
    "book.epub": {
        "epubfirstword": MORNING,
        "epubaltword": MORNING,
        "epubcellword": MORNING,
        "epublastword": EVENING,
        "epubitemword": EVENING,
    },
    "mail.eml": {
        "emlsubjectword": MAIL,
        "emlfromword": MAIL,
        "emltoword": MAIL,
        "emlccword@example.org": MAIL,
        "emlplainword": MAIL,
        "emlbinaryname.bin": MAIL,  # an attachment that nothing can read is named
        "emlcsvword": (None, "attachment Schäden.csv, rows 1–2"),
        "odsrowtwoword": (None, "attachment budget.ods, Budget!A1:AC999"),
        "odscommentword": (None, "attachment budget.ods, Budget!A3:A3"),
        "emlinnerword": (None, "attachment Earlier emlinnersubject.eml"),
    },
}


@pytest.fixture(autouse=True)
def can_read_attachments(request):
    name = request.getfixturevalue("name")
    if name == "mail.eml" and not hasattr(os, "memfd_create"):
        pytest.skip("attachments are read on Linux")


@pytest.mark.parametrize(
    ("name", "word"), [(name, word) for name, words in PLANTED.items() for word in words]
)
def test_every_word_is_found_where_it_stands(name, word):
    assert places_in(name)[word] == PLANTED[name][word]


@pytest.mark.parametrize("name", [*PLANTED, "report.docx", "budget.xlsx", "deck.pptx"])
def test_pages_that_are_done_are_skipped(name):
    whole = pages_of(read(name))
    for start in (1, 2):
        assert pages_of(read(name, start=start)) == whole[start:]


@pytest.mark.parametrize("name", ["document.odt", "document.rtf"])
def test_what_was_deleted_is_not_found(name):
    assert "odtdeletedword" not in text_of(read(name))
