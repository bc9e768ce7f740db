"""Reads the pictures inside documents, whose text can be found before. So every kind of document
has a module here that knows where its pictures are, loaded when it is needed."""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec

from kb.engine.ingest import ocr
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.extract.formats import BY_KIND, FORMATS
from kb.engine.ingest.extract.pictures.inside import counting
from kb.engine.pages import Page, Remark, Unread

# An engine that was renewed without its packages reads all but drawings.
CAN_DRAW = find_spec("resvg_py") is not None


_FINDERS = dict.fromkeys(each.pictures for each in FORMATS if each.pictures)


def count(source: Source, kind: str) -> int:
    """About how many pictures a document has inside that may hold text; quick, and seldom less."""
    if source.ocr.engine == "off" or not source.ocr.inside or not BY_KIND[kind].pictures:
        return 0
    if kind == "pdf" and source.ocr.force:  # its pages are pictures, and have been read as such
        return 0
    return counting.count(source.path, kind)


def extract(source: Source, kind: str, read: Callable[[Source], Extraction]) -> Extraction:
    """What is in the pictures inside; `read` reads what is attached to a PDF. Each picture, or page
    of a PDF, has a page, empty if it has no text: so those that are done are known by number."""
    if kind == "pdf":
        found: Extraction = import_module(f"{__name__}.pdf").extract(source, read)
        return found
    if not source.ocr.inside:
        return Extraction(kind, kind, iter(()))
    if ocr.reader() is None:  # what opens pictures may not even be loaded here
        raise OcrNeeded(1)
    beside: Extraction = import_module(f"{__name__}.{BY_KIND[kind].pictures}").extract(source)
    return beside


def without_text(pages: Iterator[Page | Unread | Remark]) -> Iterator[Page | Unread | Remark]:
    """The pages with those emptied that were read before, as they need no recognising."""
    for page in pages:
        if isinstance(page, Page) and page.method == "text":
            page = Page("", page.number, page.location)
        yield page


def load() -> None:
    """Import what opens the pictures, for a process that can import nothing any more."""
    drawing = ("drawing",) if CAN_DRAW else ()
    for module in (*drawing, *_FINDERS):
        import_module(f"{__name__}.{module}")
