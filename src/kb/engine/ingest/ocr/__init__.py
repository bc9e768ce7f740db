"""A picture of text in, its text out.

A reader is slow to load (a second, 250 MB) and quick to copy by forking, so it is loaded once, by
whoever forks the processes that read documents, and only when the first document needs it:

- an extractor asks `reader()`; where that is None it raises `OcrNeeded` and is done for now;
- whoever runs extractors then calls `hold(load(ocr))` and starts the extractor again.

Nothing of an engine is imported before `load`.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Ocr:
    """How pictures of text are read: by which engine, and in which of tesseract's languages."""

    engine: Literal["auto", "rapidocr", "tesseract", "off"] = "auto"
    languages: str = "eng"
    force: bool = False  # even where there is text already


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a reader made of a picture: `score`, 0 to 1, is how sure it is of the letters.

    `doubt` is there where the text is not to be used, and says why, in words that go on after
    "page 3 ".
    """

    text: str
    score: float
    doubt: str = ""


class Reader(Protocol):
    """Reads pictures of text."""

    def read(self, picture: Image) -> Recognised:
        """The text of a picture, upright or not."""


_held: Reader | None = None


def hold(reader: Reader | None) -> None:
    """Keep the reader that extractors in this process, and in its forks, will use."""
    global _held
    _held = reader


def reader() -> Reader | None:
    """The reader that is held, if there is one."""
    return _held


def load(ocr: Ocr) -> Reader:
    """Load the reader that `ocr` asks for; its engine must not be `off`."""
    if ocr.engine == "off":
        raise ValueError("reading pictures is turned off")
    from kb.engine.ingest.ocr.rapid import RapidReader  # a second, and 100 MB: not at the top

    return RapidReader()
