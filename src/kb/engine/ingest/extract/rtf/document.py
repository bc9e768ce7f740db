"""RTF: what Word and WordPad show, with notes, comments, boxes and tables."""

from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.ooxml.docx_pages import MARGINS, Turn, aside, breaks_told, paged
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.rtf.reader import Reader, TooDeep
from kb.engine.pages import Page

_MAX_BYTES = 64 * 2**20  # pictures are written into the text


def extract(source: Source) -> Extraction:
    reader, refusals = Reader(), Refusals(source.filename)
    data = refusals.bytes_of(source.path, _MAX_BYTES)
    try:
        items = reader.read(data.decode("latin-1"))
    except TooDeep as error:
        raise refusals.too_deep() from error
    if not any(isinstance(item, Item) for item in items) and not reader.margins:
        raise Refusals(source.filename).no_text()
    pages, said = _pages(source, reader, items), reader.tables
    return extraction("rtf", ("rtf",), source, pages, said.title, said.metadata)


def _pages(source: Source, reader: Reader, items: list[Item | Turn]) -> Iterator[Page]:
    yield from paged(items, breaks_told(reader.tables.page_count, items), Refusals(source.filename))
    yield from aside(MARGINS, reader.margins)
