"""Reads a PDF with pypdf, which is slow and simple, but no page can crash it."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from kb.engine.errors import ContentTooLarge, DamagedFile, ExtractionFailed, PasswordNeeded
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.pdf import about
from kb.engine.ingest.extract.pdf.text import Words, clean
from kb.engine.pages import Page, Unread

logger = logging.getLogger(__name__)
# It has something to say about most damaged files, with words of theirs.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)

# What pypdf raises where a file is not what it should be.
_DAMAGE = (
    PyPdfError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RuntimeError,  # what it has not implemented, and what is nested too deep
)

MAX_PAGES = 5_000
MAX_CHARACTERS = 1_000_000  # of a page


def extract(source: Source) -> Extraction:
    """All pages after `source.start`. Raises DamagedFile where pypdf makes nothing of it either."""
    reader = _open(source)
    count = _count(reader, source)
    title, facts = _about(reader)
    return Extraction(
        "pdf", "pdf", _pages(reader, range(source.start, count)), title, facts, page_count=count
    )


def extract_next(source: Source) -> Extraction:
    """The page after `source.start` alone, which the other reader died of."""
    index = source.start
    try:
        extraction = extract(source)
    except ExtractionFailed:
        return Extraction("pdf", "pdf", iter([Unread(index + 1, "is damaged")]))
    return replace(extraction, pages=islice(extraction.pages, 1))


def attached_file(source: Source, name: str) -> bytes | None:
    """What is attached under a name, where the other reader overlooks it: it asks for the content
    only by the key that the name has."""
    try:
        for attached in _open(source).attachment_list:
            if name in (attached.name, attached.alternative_name):
                return bytes(attached.content)
    except (ExtractionFailed, *_DAMAGE) as error:
        logger.debug("an attached file cannot be read: %s", type(error).__name__)
    return None


def _open(source: Source) -> PdfReader:
    try:
        reader = PdfReader(source.path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise password_needed(source)
    except (FileNotDecryptedError, DependencyError) as error:
        raise password_needed(source) from error
    except _DAMAGE as error:
        raise damaged(source) from error
    return reader


def _count(reader: PdfReader, source: Source) -> int:
    try:
        count = reader.get_num_pages()
    except _DAMAGE as error:
        raise damaged(source) from error
    if count == 0:
        raise damaged(source)
    check_page_count(source, count)
    return count


def _pages(reader: PdfReader, indices: range) -> Iterator[Page | Unread]:
    words = Words()
    for index in indices:
        text = page_text(reader, index)
        if text is None:
            yield Unread(index + 1, "is damaged")
        elif len(text) > MAX_CHARACTERS:
            yield too_long(index + 1)
        else:
            yield Page(clean(text, words), index + 1)


def page_text(reader: PdfReader, index: int) -> str | None:
    """None where it cannot be read: what pypdf raises on a damaged page may be anything."""
    try:
        return reader.pages[index].extract_text()
    except Exception as error:
        logger.debug("page %s cannot be read: %s", index + 1, type(error).__name__)
        return None


def _about(reader: PdfReader) -> tuple[str | None, dict[str, Any]]:
    try:
        told = {key: str(value) for key, value in (reader.metadata or {}).items()}
    except _DAMAGE:
        return None, {}
    return about.usable_title(told.get("/Title", "")), about.facts(
        lambda name: told.get(f"/{name}", "")
    )


def check_page_count(source: Source, count: int) -> None:
    if count > MAX_PAGES:
        raise ContentTooLarge(
            f"{source.filename} has {count:,} pages; more than {MAX_PAGES:,} are not read:"
            " split it and add the parts",
            filename=source.filename,
            pages=count,
        )


def too_long(number: int) -> Unread:
    return Unread(number, f"has more than {MAX_CHARACTERS:,} characters, which no page has")


def damaged(source: Source) -> DamagedFile:
    return DamagedFile(
        f"{source.filename} is damaged: it begins as a PDF, but its pages cannot be found."
        " Open it in a PDF viewer and save it anew, or fetch it again",
        filename=source.filename,
    )


def password_needed(source: Source) -> PasswordNeeded:
    return PasswordNeeded(
        f"{source.filename} is protected by a password: save it without one and add it again",
        filename=source.filename,
    )
