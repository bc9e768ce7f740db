"""What an extractor is given, and what it hands back."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

from kb.engine.ingest.ocr import Ocr
from kb.engine.pages import Page, Remark, Unread

__all__ = ["Extraction", "Ocr", "OcrNeeded", "Source", "Wanted", "ending", "usual_ending"]

Wanted = Literal["all", "text", "pictures"]

_ENDING = re.compile(r"[a-z0-9]{0,9}[a-z][a-z0-9]{0,9}")


class OcrNeeded(Exception):
    """This process has no reader for a page that is a picture of text. The caller loads one
    (`kb.engine.ingest.ocr`) and starts again after the pages that it has."""

    def __init__(self, page_number: int) -> None:
        super().__init__(page_number)
        self.page_number = page_number


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read; `filename` is what its owner calls it, `path` where its bytes are.

    The first `start` pages are done with already. `careful` asks for the slower, sturdier reader of
    a format that has two, for the next page alone: the ordinary one died of it. `depth` is how many
    files it is within. `wanted` parts the reading in two: first the `text`, where an empty page
    stands for each that has to be recognised, `later`; then the `pictures`, which are those pages
    and the pictures inside the document, and where an empty page stands for what was read before.
    """

    path: Path
    filename: str
    ocr: Ocr = field(default_factory=Ocr)
    start: int = 0
    careful: bool = False
    depth: int = 0
    wanted: Wanted = "all"


@dataclass(frozen=True, slots=True)
class Extraction:
    """A file's pages, and what the file says about itself.

    `doc_type` is what it is to a person, `format` the file's ending. `title` is None where the
    document names none. `pages` can be gone through once; a page that cannot be read is in its
    place as Unread, and a Remark among them says what else is not in them. `page_count` is there
    where it is known before the pages are read. `reader` is who read it, by default the kind.
    `pictures` inside, about so many, may hold text and are not in `pages`.
    """

    doc_type: str
    format: str
    pages: Iterator[Page | Unread | Remark]
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    page_count: int | None = None
    reader: str = ""
    pictures: int = 0


def ending(filename: str) -> str:
    """The ending of a file's name, lower case and without its dot; `txt` where there is none."""
    suffix = PurePath(filename.replace("\\", "/")).suffix[1:].lower()
    return suffix if _ENDING.fullmatch(suffix) else "txt"


def usual_ending(filename: str, endings: Sequence[str]) -> str:
    """The ending of the file's name if it is one of the format's own, else the usual one."""
    named = ending(filename)
    return named if named in endings else endings[0]
