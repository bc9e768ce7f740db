"""Estimates the work of a new job without reading the file, for estimates and the order of jobs."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from kb.engine.ingest.extract.extraction import ending
from kb.engine.ingest.pace import Pace
from kb.engine.values import NewJob

_PICTURES = frozenset(
    {"avif", "bmp", "gif", "heic", "heif", "jp2", "jpeg", "jpg", "png", "tif", "tiff", "webp"}
)
_PAGE = re.compile(rb"/Type\s{0,2}/Page(?![A-Za-z])")
_OVERLAP = 9  # bytes, shorter than any match: none is counted twice
_PASSAGES_OF_A_PAGE = 3
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class _Outside:
    """What the bytes of a PDF show: its pages, 0 where they are packed, and whether there is a
    font, without which there is no text but in pictures."""

    pages: int
    font: bool


def with_expectation(new: NewJob, path: Path | None, pace: Pace, ocr: bool) -> NewJob:
    """The job with `pictures` and `expected`. `ocr` says whether pictures are recognised."""
    kind = ending(new.filename) if new.kind == "file" and new.filename else "note"
    passages = pace.passages(new.size_bytes, kind)
    if kind in _PICTURES:
        return replace(new, pictures=ocr, expected=1)
    if kind == "pdf" and path is not None:
        outside = _look(path)
        if ocr and (new.force_ocr or (outside.pages and not outside.font)):
            return replace(new, pictures=True, expected=max(1, outside.pages))
        if outside.pages:
            passages = outside.pages * _PASSAGES_OF_A_PAGE
    return replace(new, expected=passages)


def _look(path: Path) -> _Outside:
    """Block by block, so that nobody waits long for the interpreter."""
    pages, font, tail = 0, False, b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            pages += len(_PAGE.findall(tail + block))
            font = font or b"/Font" in tail + block
            tail = block[-_OVERLAP:]
    return _Outside(pages, font)
