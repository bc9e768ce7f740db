"""Kind, title and metadata of a document of each format that has them."""

from typing import Any

import pytest
from planted import read

HARBOUR = {
    "author": "Mara Lind",
    "subject": "Quays and cranes",
    "description": "Words about the harbour",
    "keywords": "harbour, crane",
    "created": "2024-03-05T09:30:00",
}
BOOK = {
    "author": "Mara Lind, Jon Vale",
    "created": "2024-03-05",
    "language": "en",
    "publisher": "Harbour Press",
}
MAIL = {
    "author": "Mara Lind emlfromword <mara@example.org>",
    "to": "Jön Vale emltoword <jon@example.org>",
    "cc": "emlccword@example.org",
    "created": "2024-03-05T09:30:00Z",
    "attachments": "Schäden.csv, emlbinaryname.bin, budget.ods, Earlier emlinnersubject.eml",
}
DRAWING = {
    "author": "Mara Lind",
    "created": "2024-03-05",
    "keywords": "harbour, map",
    "dimensions": "400 × 100",
}
MADE = {"created": "2024-03-01T09:30:00Z", "modified": "2024-03-01T09:30:00Z"}
MAMMALS = {"author": "Mara Vole", "subject": "Zoology", "keywords": "fur, tails", **MADE}
NUTS = {"author": "Hazel Almond", "subject": "Trees", "keywords": "nuts", **MADE}
BERTHS = {
    "author": "Ada Lovelace",
    "subject": "Berths",
    "keywords": "cranes, fees",
    "created": "2023-03-14T14:09:26Z",
    "modified": "2023-03-15",
    "language": "en-GB",
    "attachments": "attachedwort.csv",
}


@pytest.mark.parametrize(
    ("name", "kind", "title", "metadata"),
    [
        ("document.odt", "odt", "Harbour report", {**HARBOUR, "language": "en-GB"}),
        ("document.rtf", "rtf", "Harbour report", HARBOUR),
        ("report.docx", "docx", "Report on small mammals", {**MAMMALS, "language": "en-GB"}),
        ("budget.xlsx", "xlsx", "Nut budget", NUTS),
        # "PowerPoint Presentation" is no title: it is that of the first slide.
        ("deck.pptx", "pptx", "Toucan talk", {"author": "Stork Jones", **MADE}),
        ("report.pdf", "pdf", "Harbour report", BERTHS),
        ("book.epub", "epub", "The long quay", BOOK),
        ("mail.eml", "email", "Kräne im Hafen emlsubjectword", MAIL),
        ("drawing.svg", "image", "Map of the harbour svgtitleword", DRAWING),
    ],
)
def test_a_document_tells_its_kind_its_title_and_its_metadata(
    name: str, kind: str, title: str, metadata: dict[str, Any]
) -> None:
    extraction = read(name)
    assert (extraction.doc_type, extraction.format) == (kind, name.rpartition(".")[2])
    assert extraction.title == title
    assert extraction.metadata == metadata


def test_pages_and_slides_are_counted() -> None:
    assert (read("report.pdf").page_count, read("deck.pptx").page_count) == (5, 3)
