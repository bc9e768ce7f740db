"""A PDF in, what poppler's `pdftotext` finds in it out, with its bookmarks as headings."""

import re
from pathlib import Path
from typing import Any

from pypdf import PdfReader

from benchmarks.files.pdf_peers import pdftotext
from benchmarks.reading.measures import words
from benchmarks.reading.reference import Reference

_HYPHEN = re.compile(r"([^\W\d_]+)-\n([^\W\d_]+)")
_DEEPEST = 6


def read(path: Path) -> Reference | None:
    told = pdftotext(path)
    if told is None:
        return None
    text = _joined(told)
    spoken = f" {' '.join(words(text))} "
    headings = [title for title in _bookmarks(path) if f" {' '.join(words(title))} " in spoken]
    return Reference(text, headings=tuple(headings), has_layout=True)


def _joined(text: str) -> str:
    """Words that a line's end has parted as one, with their hyphen if they have it elsewhere."""
    plain = text.lower()

    def join(parts: re.Match[str]) -> str:
        hyphened = f"{parts[1]}-{parts[2]}"
        return hyphened if hyphened.lower() in plain else parts[1] + parts[2]

    return _HYPHEN.sub(join, text)


def _bookmarks(path: Path) -> list[str]:
    try:
        return list(_titles(PdfReader(path).outline))
    except Exception:  # damaged, locked: whatever pypdf makes of it
        return []


def _titles(outline: list[Any], depth: int = 0) -> list[str]:
    titles: list[str] = []
    for entry in outline if depth < _DEEPEST else []:
        if isinstance(entry, list):
            titles += _titles(entry, depth + 1)
        else:
            titles.append(str(entry.title or ""))
    return titles
