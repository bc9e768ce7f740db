"""Reads a page in reading order, and marks where its text runs on to other pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium

from kb.engine.ingest.extract.markup import plain
from kb.engine.ingest.extract.pdf.bookmarks import Bookmark, placed
from kb.engine.ingest.extract.pdf.columns import by_column
from kb.engine.ingest.extract.pdf.drawn_rules import rules
from kb.engine.ingest.extract.pdf.headings import Heading, Styles, is_fixed
from kb.engine.ingest.extract.pdf.letters import Letters
from kb.engine.ingest.extract.pdf.lines import may_have_tables, read_lines, whole_rows
from kb.engine.ingest.extract.pdf.ruled_tables import ruled_tables
from kb.engine.ingest.extract.pdf.sentences import Paragraph, first_rest, open_end, whole_sentences
from kb.engine.ingest.extract.pdf.tables import tables
from kb.engine.ingest.extract.pdf.text import (
    LINE_END_HYPHEN,
    Words,
    first_word,
    last_word,
    learned,
    mended,
    torn,
)
from kb.engine.ingest.paragraphs import HYPHENS, Line, grouped
from kb.engine.pages import Carried

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s+[^\W\da-z]|\s*$)|[。！？][」』”’）]*")
_LONGEST_REST = 1_000  # characters of a sentence that are carried over to the page before


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """A sentence at the end of a page that has not come to its end there."""

    paragraph: Paragraph
    text: str
    at: int  # where in the page's text it stops


@dataclass(frozen=True, slots=True)
class PageText:
    raw: str  # as it was drawn
    text: str
    is_markdown: bool  # it has headings or tables
    carried: Carried | None
    open_end: OpenEnd | None
    path: tuple[str, ...] | None  # of bookmarks at its top; None where none of its own stands there


def read_page(
    page: pdfium.PdfTextPage,
    words: Words,
    styles: Styles | None,
    before: OpenEnd | None,
    doubtful: bool = False,
    bookmarks: Sequence[Bookmark] = (),
) -> PageText:
    """`styles` or `bookmarks` tell headings, `before` is the end of the page before. In a
    `doubtful` one the spaces are held against where the letters stand."""
    letters = Letters(page)
    stretches = _stretches(page, letters, doubtful)
    lines = [line for stretch in stretches for line in stretch]
    paragraphs = whole_sentences([one for stretch in stretches for one in _paragraphs(stretch)])
    heads: list[list[Heading]] = [[] for _ in paragraphs]
    if styles is not None:
        styles.learn(lines)
        heads = styles.page_headings(letters, paragraphs)
    path = None
    if bookmarks:
        marked = placed(paragraphs, bookmarks)
        paragraphs, heads, path = marked.paragraphs, marked.headings, marked.path
    is_markdown = any(heads) or any(one[0].is_row for one in paragraphs)
    raw = [_raw(paragraph) for paragraph in paragraphs]
    texts = [mended(text, words) for text in learned(raw, words)]
    if is_markdown:
        texts = [
            one if paragraph[0].is_row else _marked(one, paragraph, found)
            for one, found, paragraph in zip(texts, heads, paragraphs, strict=True)
        ]
    starts = _starts(texts)
    carried = None
    if before is not None:
        rest = first_rest(paragraphs, before.paragraph)
        if rest is not None and not heads[rest]:
            carried = _carried(before, texts[rest], starts[rest], words)
    ends = open_end(paragraphs)
    found = None
    if ends is not None:
        found = OpenEnd(paragraphs[ends], texts[ends], starts[ends] + len(texts[ends]))
    return PageText("\n\n".join(raw), "\n\n".join(texts), is_markdown, carried, found, path)


def _stretches(page: pdfium.PdfTextPage, letters: Letters, doubtful: bool) -> list[list[Line]]:
    """The lines of the page in stretches, each the rows of a table, or none."""
    lines = by_column(read_lines(letters, doubtful), letters)
    parts = [lines]
    if may_have_tables(lines):
        parts = ruled_tables(lines, rules(page.page, letters.turn), letters)
    found: list[list[Line]] = []
    for part in parts:
        if part[0].is_row:
            found.append(part)
        else:
            found += tables(whole_rows(part), lambda line: is_fixed(letters, line))
    return found


def _paragraphs(lines: list[Line]) -> list[Paragraph]:
    return [lines] if lines[0].is_row else grouped(lines)


def _marked(text: str, paragraph: Paragraph, headings: list[Heading]) -> str:
    """The text of a paragraph as Markdown: its headings marked, and nothing else taken for one."""
    parts = text.split("\n")
    marked: list[str] = []
    for count, level in headings:
        lines = _raw(paragraph[:count]).count("\n") + 1  # a hyphen makes one of two
        marked.append(f"{'#' * level} {' '.join(parts[:lines])}")
        parts, paragraph = parts[lines:], paragraph[count:]
    return "\n".join([*marked, *map(plain, parts)])


def _raw(paragraph: Paragraph) -> str:
    """The lines as one text. A hyphen between small letters came with the line's end."""
    parts: list[str] = []
    for line in paragraph:
        if parts:
            parts[-1] = torn(parts[-1], line.text)
            parts.append("" if parts[-1].endswith(LINE_END_HYPHEN) else "\n")
        parts.append(line.text)
    return "".join(parts)


def _starts(texts: list[str]) -> list[int]:
    starts, at = [], 0
    for text in texts:
        starts.append(at)
        at += len(text) + 2
    return starts


def _carried(before: OpenEnd, text: str, start: int, words: Words) -> Carried | None:
    """The rest of the sentence, as far as it stands on this page."""
    end = _SENTENCE_END.search(text, 0, _LONGEST_REST)
    length = end.end() if end else len(text)
    if length > _LONGEST_REST:
        return None
    if not before.text.endswith(HYPHENS):
        return Carried(before.at, before.at, start, start + length)
    keeps = words.keep_hyphen(last_word(before.text[:-1]), first_word(text))
    return Carried(before.at - (not keeps), before.at, start, start + length, torn=True)
