"""Plain text: one page, unchanged, with the title of reStructuredText if it has one."""

from kb.engine.errors import TextTooLong, UnsupportedFormat
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.kind import is_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.passages.blocks import text_blocks
from kb.engine.pages import Page

MAX_BYTES = 20 * 2**20  # ten thousand pages of a book; what is longer is data, not text
TITLE_WITHIN = 100_000  # characters; a heading beyond that is not the title


def extract(source: Source) -> Extraction:
    text = read_text(source)
    format_ = ending(source.filename)
    title = _first_heading(text) if format_ == "rst" else None
    return Extraction("text", format_, iter([Page(text, markup="text")]), title=title)


def extract_code(source: Source) -> Extraction:
    """One page, which is cut later by its definitions."""
    page = Page(read_text(source), markup="code")
    return Extraction("code", ending(source.filename), iter([page]))


def _first_heading(text: str) -> str | None:
    blocks = text_blocks(text[:TITLE_WITHIN])
    return next((block.title for block in blocks if block.kind == "heading"), None)


def read_text(source: Source, most: int | None = None) -> str:
    """A text file's text. Raises TextTooLong, NoTextFound, and UnsupportedFormat for binary. `most`
    is the limit in bytes for files that are only partly text."""
    filename = source.filename
    most = MAX_BYTES if most is None else most
    with source.path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        limit = most // 2**20
        raise TextTooLong(
            f"{filename} is longer than {limit} MB of text; split it and add the parts",
            filename=filename,
            limit_mb=limit,
        )
    if not is_text(data):
        reason = "it begins as text but continues as binary data"
        raise UnsupportedFormat(
            f"{filename} cannot be read: {reason}", filename=filename, reason=reason
        )
    text = decode(data)
    if not text.strip("\ufeff\u200b \t\n") or text.isspace():
        raise Refusals(filename).no_text()
    return text
