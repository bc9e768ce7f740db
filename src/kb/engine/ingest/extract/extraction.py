"""What an extractor hands back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from kb.engine.models import Page

_ENDING = re.compile(r"[a-z0-9]{0,9}[a-z][a-z0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Extraction:
    """A file's pages, and what the file says about itself.

    `doc_type` is what it is to a person, `format` the file's ending. `title` is None where the
    document names none. `pages` can be gone through once.
    """

    doc_type: str
    format: str
    pages: Iterator[Page]
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    processing_method: str = "text_extraction"


def ending(filename: str) -> str:
    """The ending of a file's name, lower case and without its dot; `txt` where there is none."""
    suffix = PurePath(filename.replace("\\", "/")).suffix[1:].lower()
    return suffix if _ENDING.fullmatch(suffix) else "txt"
