"""Source code: one page, cut later by its definitions."""

from pathlib import Path

from kb.engine.ingest.extract.extraction import Extraction, ending
from kb.engine.ingest.extract.text import read_text
from kb.engine.models import Page


def extract(path: Path, filename: str) -> Extraction:
    page = Page(read_text(path, filename), markup="code")
    return Extraction("code", ending(filename), iter([page]))
