"""A file in, the text that kb makes of it out."""

from pathlib import Path

from benchmarks.reading.formats import FORMATS
from kb.engine.errors import KbError
from kb.engine.ingest import ocr
from kb.engine.ingest.extract import Ocr, Source, extract
from kb.engine.ingest.passages.page_ends import whole_sentences
from kb.engine.pages import Page


def read(path: str) -> tuple[str | None, str]:
    """The text, or None and why there is none. Only pictures are read by OCR."""
    file = Path(path)
    ending = file.suffix[1:].lower()
    is_picture = any(e.is_picture and ending in e.endings for e in FORMATS.values())
    asked = Ocr(engine="rapidocr" if is_picture else "off")
    if is_picture and ocr.reader() is None:
        ocr.hold(ocr.load(asked))
    try:
        read = list(extract(Source(file, file.name, asked)).pages)
    except KbError as error:
        return None, error.message
    pages = whole_sentences([page for page in read if isinstance(page, Page)])
    text = "\n\n".join(page.text for page in pages)
    return text.replace("[Image: ", "["), ""  # kb's own word
