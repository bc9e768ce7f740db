"""Plain text: one page, unchanged, with the title of a language that has headings."""

import re

from kb.engine.errors import TextTooLong, UnsupportedFormat
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.kind import is_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.passages.blocks import heading_title, text_blocks
from kb.engine.ingest.passages.marked_blocks import has_headings, marked_blocks
from kb.engine.pages import Markup, Page

MAX_BYTES = 20 * 2**20  # ten thousand pages of a book; what is longer is data, not text
_LANGUAGES: dict[str, Markup] = {
    "adoc": "asciidoc",
    "asciidoc": "asciidoc",
    "org": "org",
    "wiki": "mediawiki",
    "mediawiki": "mediawiki",
}
_PLAIN = ("txt", "text")
# A text is plainly AsciiDoc if it begins with a title, and has what no other language has.
_ASCIIDOC_TITLE = re.compile(r"(?:[ \t]*\n|//[^\n]*\n)*= \S[^\n]*[^=\s][ \t]*\n")
_ASCIIDOC = re.compile(
    r"^(?::[\w-]+:|\[(?:source|NOTE|TIP|quote|cols|\[)|(?:-{4}|={2,5} \S.*[^=\s])[ \t]*$)",
    re.MULTILINE,
)
_ORG_TITLE = re.compile(r"^#\+title:[ \t]+(\S.*)", re.IGNORECASE | re.MULTILINE)
TITLE_WITHIN = 100_000  # characters; a heading beyond that is not the title


def extract(source: Source) -> Extraction:
    text = read_text(source)
    format_ = ending(source.filename)
    markup = _markup(text, format_)
    title = None
    if format_ == "rst" or markup == "asciidoc":
        title = _first_heading(text, markup)
    elif markup == "org" and (said := _ORG_TITLE.search(text, 0, TITLE_WITHIN)):
        title = heading_title(said[1])
    return Extraction("text", format_, iter([Page(text, markup=markup)]), title=title)


def _markup(text: str, format_: str) -> Markup:
    """The language of its headings, if it has any in the language that its name tells, or that a
    plain text shows."""
    markup = _LANGUAGES.get(format_)
    opening = text[:TITLE_WITHIN]
    if format_ in _PLAIN and _ASCIIDOC_TITLE.match(opening) and _ASCIIDOC.search(opening):
        markup = "asciidoc"
    return markup if markup and has_headings(opening, markup) else "text"


def extract_code(source: Source) -> Extraction:
    """One page, which is cut later by its definitions."""
    page = Page(read_text(source), markup="code")
    return Extraction("code", ending(source.filename), iter([page]))


def _first_heading(text: str, markup: Markup) -> str | None:
    """That of a document in AsciiDoc stands above all others, or it has none."""
    opening = text[:TITLE_WITHIN]
    blocks = text_blocks(opening) if markup == "text" else marked_blocks(opening, markup)
    first = next((block for block in blocks if block.kind == "heading"), None)
    return first.title if first and (markup == "text" or first.level == 1) else None


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
