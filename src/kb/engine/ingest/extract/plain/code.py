"""Source code: one page, cut later by its definitions."""

from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.pages import Page


def extract(source: Source) -> Extraction:
    page = Page(read_text(source), markup="code")
    return Extraction("code", ending(source.filename), iter([page]))
