"""Files of every format in by the API, and each planted word found again where it stands."""

from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[3] / "fixtures" / "documents"

# file → word → page and location, as a search cites them
PLANTED = {
    "report.docx": {
        "heron": (1, "page 1"),
        "hedgehog": (1, "page 1"),  # a tracked insertion
        "mole": (1, "page 1"),  # a text box
        "ferret": (3, "page 3"),  # a table in a cell
        "reindeer": (4, "page 4"),  # a footnote
        "chamois": (4, "page 4"),  # a comment
        "jerboa": (4, "page 4"),  # SmartArt
        "elk": (None, "headers and footers"),
    },
    "deck.pptx": {
        "toucan": (1, "slide 1"),
        "dunlin": (2, "slide 2 (hidden)"),
        "hornbill": (3, "slide 3"),  # the header of a table
        "puffin": (3, "slide 3"),  # in the speaker's notes
        "cassowary": (3, "slide 3"),  # a series of a chart
    },
    "budget.xlsx": {
        "pistachio": (1, "Budget!"),
        "beechnut": (1, "Budget!"),  # a comment
        "hickory": (2, "Secret (hidden)!"),
        "cashew": (3, "Far apart!"),
    },
    "page.html": {
        "htmlparagraphword": (None, "section Cranes of the harbour"),
        "htmlaltword": (None, "section Cranes of the harbour"),
        "htmlcellword": (None, "section How they are kept"),
    },
    "drawing.svg": {"svgtitleword": (None, None)},
    "book.epub": {"epubfirstword": (1, "Morning epubnavword"), "epublastword": (2, "Evening")},
    "document.odt": {"odtcommentword": (1, "page 1"), "odtlastword": (3, "page 3")},
    "budget.ods": {"odshiddenword": (2, "Secret plan (hidden)!A1")},
    "slides.odp": {"odpnotesword": (1, "slide 1"), "odphiddenword": (2, "slide 2 (hidden)")},
    "document.rtf": {"odtfootnoteword": (1, "page 1"), "odtpagetwoword": (2, "page 2")},
    "document.doc": {
        "odtcellword": (2, "page 2"),
        "odtfootnoteword": (1, "page 1"),
        "odtheaderword": (None, "headers and footers"),
    },
    "budget.xls": {
        "odshiddenword": (2, "Secret plan (hidden)!A1"),
        "odscommentword": (1, "Budget!"),
    },
    "mail.eml": {
        "emlplainword": (None, None),
        "emlcsvword": (None, "attachment Schäden.csv, rows 1–2"),
    },
    "ships.csv": {"csvlateword": (None, "rows ")},
}


@pytest.fixture(scope="module")
def library(open_api, tmp_path_factory):
    """One engine with all the files in it, each tagged with its name."""
    with open_api(tmp_path_factory.mktemp("formats") / "data") as api:
        for name in PLANTED:
            job = api.add_file((DOCUMENTS / name).read_bytes(), name, tags=name)
            warned = "emlbinaryname.bin was not read" in job["message"]
            assert (job["status"], warned or job["message"]) == ("done", name == "mail.eml" or "")
        yield api


@pytest.mark.parametrize(
    ("name", "word"), [(name, word) for name, words in PLANTED.items() for word in words]
)
def test_a_word_is_found_and_cited_where_it_stands(library, name, word):
    page, location = PLANTED[name][word]
    hits = library.search(word, tags=[name], fts_only=True)
    assert hits, f"{word} was not found in {name}"
    cited = [(hit["page"], hit["location"] or "") for hit in hits]
    assert any(at == page and place.startswith(location or "") for at, place in cited), cited
    assert word in hits[0]["text"].lower()


def test_a_document_says_what_it_is(library):
    found = {
        row["filename"]: row for row in library.get("/documents?limit=100").json()["documents"]
    }
    kinds = {name: (row["doc_type"], row["format"]) for name, row in found.items()}
    assert kinds["report.docx"] == ("docx", "docx")
    assert kinds["deck.pptx"] == ("pptx", "pptx")
    assert kinds["budget.xlsx"] == ("xlsx", "xlsx")
    assert kinds["page.html"] == ("html", "html")
    assert kinds["drawing.svg"] == ("image", "svg")
    assert {row["processing_method"] for row in found.values()} == {"text_extraction"}
