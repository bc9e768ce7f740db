"""Word files of 97 to 2003: what Word shows, with tables, notes, comments, boxes and margins."""

from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.doc_file import WordFile
from kb.engine.ingest.extract.ole.doc_text import Texts
from kb.engine.ingest.extract.ooxml.docx_pages import MARGINS, Turn, aside, breaks_told, paged
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_ENDINGS = ("doc", "dot")


def extract(source: Source) -> Extraction:
    compound = Compound(source)
    with making_sense(source):
        texts = Texts(WordFile(compound))
        items = texts.document()
        margins = texts.margins()
    if not any(isinstance(item, Item) for item in items) and not margins:
        raise Refusals(source.filename).no_text()
    pages, title = _pages(compound, items, margins), compound.title or texts.title
    return extraction("docx", _ENDINGS, source, pages, title, compound.metadata)


def _pages(compound: Compound, items: list[Item | Turn], margins: list[Item]) -> Iterator[Page]:
    yield from paged(items, breaks_told(compound.page_count, items), compound)
    yield from aside(MARGINS, margins)
