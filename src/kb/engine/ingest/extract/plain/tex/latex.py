"""A TeX file: its headings and words, cited by the lines of the file."""

import re

from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.plain.tex.plain import Plain
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_SAID = re.compile(
    r"\\(title|author|date)\s{0,5}(?:\[[^\]]{0,500}\])?\{((?:[^{}]|\{[^{}]{0,500}\}){0,2000})\}"
)

_LEAST = 0.25  # of the words: less is shown of a file of settings, which is read as it is


def extract(source: Source) -> Extraction:
    text = read_text(source)
    words = Plain(text)
    plain = words.text()
    # Something that is not shown never ends: who knows where it should. Or nothing is shown.
    if words.is_open or (not words.has_document and _words(plain) < _LEAST * _words(text)):
        plain = text
    if not plain.strip():
        raise Refusals(source.filename).no_text()
    said = {name: line(Plain(words).text()) for name, words in reversed(_SAID.findall(text))}
    return Extraction(
        "text",
        "tex",
        iter([Page(plain, markup="markdown")][source.start :]),
        title=said.get("title") or None,
        metadata=about({"author": said.get("author"), "created": _year(said.get("date", ""))}),
    )


def _words(text: str) -> int:
    return len(text.split())


def _year(date: str) -> str | None:
    """People write dates in any form; ISO alone is certain."""
    found = re.search(r"\b\d{4}-\d\d-\d\d\b", date)
    return found[0] if found else None
