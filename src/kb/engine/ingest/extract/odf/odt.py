"""OpenDocument texts, page by page if the ends of pages are known."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.odf.odf_file import (
    OFFICE,
    STYLE,
    TEXT,
    OpenDocument,
    open_document,
)
from kb.engine.ingest.extract.odf.story import Story
from kb.engine.ingest.extract.odf.styles import Styles
from kb.engine.ingest.extract.ooxml.docx_pages import MARGINS, Turn, aside, paged
from kb.engine.ingest.extract.ooxml.docx_text import Breaks
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.pages import Page

_ENDINGS = ("odt", "ott", "fodt")
_TITLE_WITHIN = 50  # items; what is named a title further on is not the document's
_MARGIN_TAGS = frozenset(
    f"{STYLE}{name}{which}" for name in ("header", "footer") for which in ("", "-left", "-first")
)


def extract(source: Source) -> Extraction:
    document = open_document(source)
    story = Story(document)
    items = story.flow(document.body("text"))
    opening = list(islice(items, _TITLE_WITHIN))
    pages = _pages(document, story, chain(opening, items))
    title = document.title or story.title
    return extraction("odt", _ENDINGS, source, pages, title, document.metadata)


def _pages(document: OpenDocument, story: Story, items: Iterable[Item | Turn]) -> Iterator[Page]:
    yield from paged(_turned(items), _breaks(document), document.package)
    yield from aside(MARGINS, _margins(document, story))


def _turned(items: Iterable[Item | Turn]) -> Iterator[Item | Turn]:
    """Without the breaks before the first words: nothing ends there."""
    begun = False
    for item in items:
        begun = begun or isinstance(item, Item)
        if begun:
            yield item


def _breaks(document: OpenDocument) -> Breaks:
    """LibreOffice notes where pages ended when it saved. Other programs may know of breaks alone
    that the author set, and those tell the page only as long as no page is too full."""
    text = document.body("text")
    if text.find(f".//{TEXT}soft-page-break") is not None or document.page_count == 1:
        return "rendered"
    return "hard" if Styles(document).has_breaks() else "none"


def _margins(document: OpenDocument, story: Story) -> Iterator[Item]:
    if document.styles is not None:
        for page in document.styles.iterfind(f"{OFFICE}master-styles/{STYLE}master-page"):
            for part in page:
                if part.tag in _MARGIN_TAGS:
                    yield from story.items(part)
