"""What an extractor is given, and what it hands back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

from kb.engine.models import Page, Unread

_ENDING = re.compile(r"[a-z0-9]{0,9}[a-z][a-z0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Ocr:
    """How pictures of text are read: by which engine, and in which of tesseract's languages."""

    engine: Literal["auto", "rapidocr", "tesseract", "off"] = "auto"
    languages: str = "eng"
    force: bool = False  # even where there is text already


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read; `filename` is what its owner calls it, `path` where its bytes are.

    The first `start` pages are done with already. `careful` asks for the slower, sturdier reader of
    a format that has two, for the next page alone: the ordinary one died of it.
    """

    path: Path
    filename: str
    ocr: Ocr = Ocr()
    start: int = 0
    careful: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """A file's pages, and what the file says about itself.

    `doc_type` is what it is to a person, `format` the file's ending. `title` is None where the
    document names none. `pages` can be gone through once; a page that cannot be read is in its
    place as Unread. `page_count` is there where it is known before the pages are read.
    """

    doc_type: str
    format: str
    pages: Iterator[Page | Unread]
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    page_count: int | None = None


def ending(filename: str) -> str:
    """The ending of a file's name, lower case and without its dot; `txt` where there is none."""
    suffix = PurePath(filename.replace("\\", "/")).suffix[1:].lower()
    return suffix if _ENDING.fullmatch(suffix) else "txt"
