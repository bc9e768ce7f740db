"""Word files of 97 to 2003: what Word shows, with tables, notes, comments, boxes and margins."""

from collections.abc import Iterator

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item, heading, join
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.doc_file import WordFile
from kb.engine.ingest.extract.ole.doc_text import Texts
from kb.engine.ingest.extract.ooxml.docx_pages import Turn, paged
from kb.engine.ingest.extract.ooxml.docx_text import Breaks
from kb.engine.ingest.extract.ooxml.office_file import bounded, usual_ending
from kb.engine.ingest.extract.paging import cut
from kb.engine.pages import Page

_ENDINGS = ("doc", "dot")


def extract(source: Source) -> Extraction:
    compound = Compound(source)
    with making_sense(source):
        texts = Texts(WordFile(compound))
        items = texts.document()
        margins = texts.margins()
    if not any(isinstance(item, Item) for item in items) and not margins:
        raise NoTextFound(f"{source.filename} has no text in it", filename=source.filename)
    return Extraction(
        "docx",
        usual_ending(source.filename, _ENDINGS),
        bounded(_pages(compound, items, margins), source),
        title=compound.title or texts.title,
        metadata=compound.metadata,
    )


def _pages(compound: Compound, items: list[Item | Turn], margins: list[Item]) -> Iterator[Page]:
    yield from paged(items, _breaks(compound, items), compound)
    if margins:
        for text in cut(join([heading("Headers and footers"), *dict.fromkeys(margins)])):
            yield Page(text, location="headers and footers", markup="markdown", lines_count=False)


def _breaks(compound: Compound, items: list[Item | Turn]) -> Breaks:
    """These files know only of breaks that the author set. How many pages there were when it was
    saved tells whether these are all."""
    turns = sum(isinstance(item, Turn) for item in items)
    if compound.page_count is not None:
        return "rendered" if compound.page_count == turns + 1 else "none"
    return "hard" if turns else "none"
