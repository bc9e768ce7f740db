"""Files of every format in by the API, and each planted word found again where it stands."""

from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[3] / "fixtures" / "documents"

# file → word → page and location, as a search cites them
# By file: a word or two that only a reader of the whole file sees, and what a search cites for it.
PLANTED = {
    "report.docx": {"ferret": (3, "page 3"), "elk": (None, "headers and footers")},
    "deck.pptx": {"dunlin": (2, "slide 2 (hidden)")},
    "budget.xlsx": {"cashew": (3, "Far apart!")},
    "page.html": {"htmlcellword": (None, "section How they are kept")},
    "drawing.svg": {"svgtitleword": (None, None)},
    "book.epub": {"epublastword": (2, "Evening")},
    "document.odt": {"odtlastword": (3, "page 3")},
    "budget.ods": {"odshiddenword": (2, "Secret plan (hidden)!A1")},
    "slides.odp": {"odphiddenword": (2, "slide 2 (hidden)")},
    "document.rtf": {"odtpagetwoword": (2, "page 2")},
    "document.doc": {
        "odtcellword": (2, "page 2"),
        "odtheaderword": (None, "headers and footers"),
    },
    "budget.xls": {"odscommentword": (1, "Budget!")},
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
    rows = library.get("/documents?limit=100").json()["documents"]
    kinds = {row["filename"]: (row["doc_type"], row["format"]) for row in rows}
    assert kinds["report.docx"] == ("docx", "docx")
    assert kinds["drawing.svg"] == ("image", "svg")
    assert {row["processing_method"] for row in rows} == {"text_extraction"}
