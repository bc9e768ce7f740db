"""RTF: what Word and WordPad show, with notes, comments, boxes and tables."""

from collections.abc import Iterator

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item, heading, join
from kb.engine.ingest.extract.ooxml.docx_pages import Turn, paged
from kb.engine.ingest.extract.ooxml.docx_text import Breaks
from kb.engine.ingest.extract.ooxml.office_file import bounded
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.rtf.reader import Reader, TooDeep
from kb.engine.pages import Page

_MAX_BYTES = 64 * 2**20  # pictures are written into the text


def extract(source: Source) -> Extraction:
    reader = Reader()
    try:
        items = reader.read(_bytes(source).decode("latin-1"))
    except TooDeep as error:
        raise Refusals(source.filename).too_deep() from error
    if not any(isinstance(item, Item) for item in items) and not reader.margins:
        raise NoTextFound(f"{source.filename} has no text in it", filename=source.filename)
    return Extraction(
        "rtf",
        "rtf",
        bounded(_pages(source, reader, items), source),
        title=reader.tables.title,
        metadata=reader.tables.metadata,
    )


def _bytes(source: Source) -> bytes:
    with source.path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise Refusals(source.filename).too_large(f"it has more than {_MAX_BYTES // 2**20} MB")
    return data


def _pages(source: Source, reader: Reader, items: list[Item | Turn]) -> Iterator[Page]:
    yield from paged(items, _breaks(reader, items), Refusals(source.filename))
    if reader.margins:
        margins = [heading("Headers and footers"), *dict.fromkeys(reader.margins)]
        for text in cut(join(margins)):
            yield Page(text, location="headers and footers", markup="markdown", lines_count=False)


def _breaks(reader: Reader, items: list[Item | Turn]) -> Breaks:
    """RTF knows only of breaks that the author set. How many pages there were when it was saved
    tells whether these are all."""
    turns = sum(isinstance(item, Turn) for item in items)
    if reader.tables.page_count is not None:
        return "rendered" if reader.tables.page_count == turns + 1 else "none"
    return "hard" if turns else "none"
