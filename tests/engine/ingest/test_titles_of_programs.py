"""Titles that a program made up give way to the first heading, else to the file's name."""

import pytest
from small_pdf import Text, column, pdf

from kb.engine.ingest.extract import extract
from kb.engine.ingest.extract.extraction import Source


def rtf(title: str, body: str) -> bytes:
    styles = "{\\stylesheet{\\s1\\outlinelevel0 Heading;}}"
    return f"{{\\rtf1{styles}{{\\info{{\\title {title}}}}}{body}}}".encode()


HEADED = "\\pard\\s1 Slide 1\\par\\pard\\s1 Cranes of the harbour\\par\\pard They stand still.\\par"
PLAIN = "They stand still.\\par"


@pytest.mark.parametrize(
    "title",
    [
        "Slide 1",
        "(anonymous)",
        "Presentation",
        "Presentation1",
        "PowerPoint-Presentation",
        "Adobe Photoshop PDF",
        "Adobe InDesign CS5.5",
        "Microsoft Word - cranes.doc",
        "LibreOffice 7.4",
        "Untitled-2",
        "No Slide Title",
        "???????",
        "P",
        "Name............................",
        "Name________",
    ],
)
def test_the_first_heading_that_says_something_is_the_title(api, title):
    job = api.add_file(rtf(title, HEADED), "cranes_v3.rtf")
    assert api.document(job["document_id"])["title"] == "Cranes of the harbour"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Slide 1", "cranes_v3"),
        ("Dia 3", "cranes_v3"),
        ("Dia", "Dia"),  # the manual of a program
        ("Microsoft Word - Minutes of May", "Minutes of May"),
        ("Presentation of the new crane", "Presentation of the new crane"),
    ],
)
def test_without_headings_the_name_of_the_file_is_the_title(api, said, title):
    job = api.add_file(rtf(said, PLAIN), "cranes_v3.rtf")
    assert api.document(job["document_id"])["title"] == title


def test_what_people_call_a_mail_is_its_title(api):
    job = api.add_file(b"From: a@example.org\nSubject: Presentation\n\nSee you.\n", "mail-7.eml")
    assert api.document(job["document_id"])["title"] == "Presentation"


def test_a_title_that_the_file_states_is_kept_whole(api):
    stated = "Cranes of the harbour and all that they have lifted " * 4
    page = f"<title>{stated}</title><p>They stand still.".encode()
    assert api.document(api.add_file(page, "a.html")["document_id"])["title"] == stated.strip()
    page = f"<title>{stated * 4}</title><p>They still stand.".encode()
    longer = api.document(api.add_file(page, "b.html")["document_id"])["title"]
    assert 480 < len(longer) <= 500


PAPER = pdf(
    [
        Text("Cranes of the harbour,", 72, 760, 17),
        Text("and what they lifted *", 72, 738, 17),
        Text("Anna Example", 72, 700, 12),
        *column(["They stand still, as they have for many years.", "Nobody knows why."], top=660),
    ]
)


@pytest.mark.parametrize(
    ("filename", "title"),
    [
        ("2301.04567v2.pdf", "Cranes of the harbour, and what they lifted"),
        ("3f2a1b9c-12ab-4c3d-8e77-0123456789ab.pdf", "Cranes of the harbour, and what they lifted"),
        ("paper_final (1).pdf", "Cranes of the harbour, and what they lifted"),
        ("cranes.pdf", "Cranes of the harbour, and what they lifted"),
        ("harbour-cranes.pdf", "harbour-cranes"),
        ("CRANES_2023_10K.pdf", "CRANES_2023_10K"),
        ("起重机.pdf", "起重机"),
    ],
)
def test_a_pdf_whose_name_says_little_is_called_by_its_largest_text(api, filename, title):
    job = api.add_file(PAPER, filename)
    assert api.document(job["document_id"])["title"] == title


def test_who_goes_on_after_the_first_page_of_a_pdf_does_not_look_at_it_for_a_title(tmp_path):
    """It may have killed the one before."""
    path = tmp_path / "stored"
    path.write_bytes(PAPER)
    assert extract(Source(path, "42.pdf")).title == "Cranes of the harbour, and what they lifted"
    assert extract(Source(path, "42.pdf", start=1)).title is None


def test_one_large_word_is_no_title(api):
    job = api.add_file(pdf([Text("DRAFT", 72, 760, 30), *column(["They stand still."])]), "42.pdf")
    assert api.document(job["document_id"])["title"] == "42"


def test_a_pdf_of_figures_alone_is_called_by_its_name(api):
    figures = pdf([Text("2023 2024", 72, 760, 30), *column(["1,250 1,100", "800 720"])])
    assert api.document(api.add_file(figures, "42.pdf")["document_id"])["title"] == "42"


def test_a_pdf_in_letters_of_one_size_is_called_by_its_name(api):
    job = api.add_file(pdf(column(["They stand still.", "Nobody knows why."])), "42.pdf")
    assert api.document(job["document_id"])["title"] == "42"
