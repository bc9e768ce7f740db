"""Recognises text in pictures.

A reader is slow to load (a second, 250 MB) and quick to copy by forking. So the process that forks
the readers loads it once, when the first document needs it:

- an extractor asks `reader()`; if that is None, it raises `OcrNeeded` and stops for now;
- the process that runs extractors then calls `hold(load(ocr))` and starts the extractor again, in
  a process that may use what `needs(ocr)` names.

Nothing of an OCR engine is imported before `load`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from PIL.Image import Image

from kb.engine.errors import OcrFailed, StartupError
from kb.engine.ingest.ocr import tesseract
from kb.engine.pages import PlacedWord


@dataclass(frozen=True, slots=True)
class Ocr:
    """How pictures of text are read: by which engine, and in which of tesseract's languages."""

    engine: Literal["auto", "rapidocr", "tesseract", "off"] = "auto"
    languages: str = "eng"
    force: bool = False  # even where there is text already
    inside: bool = True  # also the pictures in documents that have text


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a reader made of a picture: `score`, 0 to 1, is how sure it is of the letters. `doubt`
    says why the text is not to be used, in words that go on after "page 3 ". `words` are where it
    stands, in its order."""

    text: str
    score: float
    doubt: str = ""
    words: tuple[PlacedWord, ...] = ()


class Reading(Protocol):
    """Reads the pictures of one document, upright or not."""

    @property
    def dpi(self) -> int:
        """How large the next page is wanted."""

    def read(self, picture: Image) -> Recognised: ...


class Reader(Protocol):
    """Reads pictures of text."""

    def document(self, pages: int = 1) -> Reading:
        """Begin with a document, of which about so many pages will have to be read."""


_held: Reader | None = None


def hold(reader: Reader | None) -> None:
    """Keep the reader that extractors in this process, and in its forks, will use."""
    global _held
    _held = reader


def reader() -> Reader | None:
    """The reader that is held, if there is one."""
    return _held


_passed_over = False


def pass_over(done: bool) -> None:
    """Say whether what comes now was read before, and need not be recognised again: a process that
    goes on for another goes through a file within a file from its beginning."""
    global _passed_over
    _passed_over = done


def is_passed_over() -> bool:
    return _passed_over


def load(ocr: Ocr) -> Reader:
    """Load the reader that `ocr` asks for, which is not `off`. Raises OcrFailed as `require`."""
    if ocr.engine == "off":
        raise ValueError("reading pictures is turned off")
    found = require(ocr)
    # rapidocr takes a second and 100 MB to import, which only those pay who need it.
    from kb.engine.ingest.ocr.choice import EngineReader

    if ocr.engine == "tesseract":
        rapid = None
    else:
        from kb.engine.ingest.ocr.rapid import RapidEngine

        rapid = RapidEngine()
    if found is None:
        return EngineReader(rapid, None)
    return EngineReader(rapid, tesseract.TesseractEngine(found), found.other_scripts)


def require(ocr: Ocr) -> tesseract.Tesseract | None:
    """The tesseract that `ocr` is to be read with, if any. Raises OcrFailed where it is asked for
    by name and is not there, or not there any more."""
    try:
        return _tesseract(ocr)
    except tesseract.TesseractMissing as error:
        raise OcrFailed(f"OCR processing failed: {error}") from error


def needs(ocr: Ocr) -> tuple[Path, ...]:
    """Files and folders that a process must be allowed to read and run to use the reader."""
    try:
        found = _tesseract(ocr)
    except tesseract.TesseractMissing:
        return ()
    return () if found is None else found.needs()


def check(ocr: Ocr) -> None:
    """Raises StartupError where pictures are to be read with a tesseract that is not there."""
    try:
        _tesseract(ocr)
    except tesseract.TesseractMissing as error:
        raise StartupError(
            f"KB_OCR_ENGINE=tesseract: {error}; install it, or use KB_OCR_ENGINE=auto"
        ) from error


def _tesseract(ocr: Ocr) -> tesseract.Tesseract | None:
    """tesseract, if it is to be used. Raises TesseractMissing where nothing else will do."""
    if ocr.engine in ("off", "rapidocr"):
        return None
    try:
        return tesseract.find(ocr.languages)
    except tesseract.TesseractMissing:
        if ocr.engine == "tesseract":
            raise
        return None
