"""File in, pages out: the bytes tell what a file is, and each kind has its extractor."""

from collections.abc import Callable
from pathlib import Path

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingest.extract import code, markdown, text
from kb.engine.ingest.extract.extraction import Extraction
from kb.engine.ingest.extract.kind import PREFIX, kind_of

__all__ = ["EXTRACTORS", "Extraction", "extract"]

EXTRACTORS: dict[str, Callable[[Path, str], Extraction]] = {
    "code": code.extract,
    "markdown": markdown.extract,
    "text": text.extract,
}


def extract(path: Path, filename: str) -> Extraction:
    """Read a file; `filename` is what its owner calls it, `path` where its bytes are.

    Raises UnsupportedFormat for what has no extractor, NoTextFound for a file without words,
    TextTooLong for one with too many.
    """
    with path.open("rb") as file:
        kind = kind_of(file.read(PREFIX), filename)
    extractor = EXTRACTORS.get(kind)
    if extractor is None:
        supported = sorted(EXTRACTORS)
        what = "a binary file of unknown type" if kind == "binary" else f"of the type {kind}"
        raise UnsupportedFormat(
            f"{filename} cannot be read: it is {what}. Supported: {', '.join(supported)}",
            filename=filename,
            format=kind,
            supported=supported,
        )
    return extractor(path, filename)
