"""Where the words of a fixture end up: in which passage, on which page, cited how."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from kb.engine.ingest.extract import Extraction, Source, extract
from kb.engine.ingest.passages.chunk import chunk
from kb.engine.pages import Page, Remark
from kb.engine.values import Chunk

DOCUMENTS = Path(__file__).parents[3] / "fixtures" / "documents"

ONE, TWO = (1, "page 1"), (2, "page 2")
MARGINS = (None, "headers and footers")
# document.odt and document.rtf are one document that LibreOffice wrote twice.
HARBOUR = {
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
    "odtheaderword": MARGINS,
    "odtfooterword": MARGINS,
}


def read(name: str, **options: Any) -> Extraction:
    return extract(Source(DOCUMENTS / name, name, **options))


def pages_of(extraction: Extraction) -> list[Page]:
    pages = [page for page in extraction.pages if not isinstance(page, Remark)]
    assert all(isinstance(page, Page) for page in pages)
    return pages


def text_of(extraction: Extraction) -> str:
    return "\n\n".join(page.text for page in pages_of(extraction))


def passages(pages: list[Page]) -> list[Chunk]:
    count: Callable[[str], int] = lambda text: len(text.split())  # noqa: E731
    return chunk(pages, count, 60)


def places(pages: list[Page]) -> dict[str, tuple[int | None, str | None]]:
    """Page and location of each word; a word that stands in several passages has the first."""
    found: dict[str, tuple[int | None, str | None]] = {}
    for passage in passages(pages):
        for word in passage.text.replace("|", " ").split():
            found.setdefault(word.strip(".,;:?()[]"), (passage.page, passage.location))
    return found


@cache
def pages_in(name: str) -> list[Page]:
    """The pages of a fixture, which is read once for all that is asked of it."""
    return pages_of(read(name))


@cache
def places_in(name: str) -> dict[str, tuple[int | None, str | None]]:
    return places(pages_in(name))
