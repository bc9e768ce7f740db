"""File in, pages out: the bytes tell what a file is, and each kind has its extractor."""

from collections.abc import Callable

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingest.extract import code, markdown, text
from kb.engine.ingest.extract.extraction import Extraction, Ocr, Source
from kb.engine.ingest.extract.kind import PREFIX, kind_of

__all__ = ["EXTRACTORS", "Extraction", "Ocr", "Source", "extract"]

EXTRACTORS: dict[str, Callable[[Source], Extraction]] = {
    "code": code.extract,
    "markdown": markdown.extract,
    "text": text.extract,
}


def extract(source: Source) -> Extraction:
    """Read a file.

    Raises UnsupportedFormat for what has no extractor, NoTextFound for a file without words,
    TextTooLong for one with too many.
    """
    with source.path.open("rb") as file:
        kind = kind_of(file.read(PREFIX), source.filename)
    extractor = EXTRACTORS.get(kind)
    if extractor is None:
        supported = sorted(EXTRACTORS)
        what = "a binary file of unknown type" if kind == "binary" else f"of the type {kind}"
        raise UnsupportedFormat(
            f"{source.filename} cannot be read: it is {what}. Supported: {', '.join(supported)}",
            filename=source.filename,
            format=kind,
            supported=supported,
        )
    return extractor(source)
