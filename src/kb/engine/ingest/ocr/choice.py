"""Chooses the OCR engine that suits each document."""

import re
from collections import Counter
from typing import Literal

from PIL.Image import Image

from kb.engine.errors import ExtractionFailed
from kb.engine.ingest.ocr import Recognised, is_passed_over
from kb.engine.ingest.ocr.boxes import Box, Engine, mean_score
from kb.engine.ingest.ocr.orientation import upright
from kb.engine.ingest.ocr.rows import in_order, text_of
from kb.engine.ingest.ocr.script import is_readable
from kb.engine.ingest.ocr.word_boxes import placed

# Pages from which on tesseract is asked: it takes a quarter of the time, and misses one word in a
# hundred. Shorter documents are done in minutes by rapidocr, which misses none.
LONG = 50
_AGREEMENT = 0.95  # of rapidocr's words; tesseract has .99 in its languages, .85 in others
_UNKNOWN = (
    "seems to be written in a script that rapidocr cannot read;"
    " install tesseract with its language and set KB_OCR_LANGUAGES"
)
_ILLEGIBLE = "cannot be read by tesseract in the languages of KB_OCR_LANGUAGES"
_WORDS = re.compile(r"\w+")


class EngineReader:
    """Reads with rapidocr, tesseract, or both. `other_scripts` says that tesseract reads letters
    which rapidocr does not know."""

    def __init__(
        self, rapid: Engine | None, tesseract: Engine | None, other_scripts: bool = False
    ) -> None:
        self._rapid = rapid
        self._tesseract = tesseract
        self._other_scripts = other_scripts

    def document(self, pages: int = 1) -> "DocumentReading":
        return DocumentReading(self._rapid, self._tesseract, pages, self._other_scripts)


class DocumentReading:
    """With both, rapidocr reads what tesseract does not read well enough or has to. A long scan is
    read by both at first: if tesseract has the same words, its languages are the document's, and it
    reads the rest. It also reads what rapidocr does not know, in `other_scripts`."""

    def __init__(
        self, rapid: Engine | None, tesseract: Engine | None, pages: int, other_scripts: bool
    ) -> None:
        self._rapid = rapid
        self._other_scripts = other_scripts
        self._tesseract = tesseract
        self._trial = pages >= LONG and rapid is not None and tesseract is not None
        self._first: Literal["rapidocr", "tesseract"] = "rapidocr" if rapid else "tesseract"

    @property
    def dpi(self) -> int:
        both = [engine.dpi for engine in (self._rapid, self._tesseract) if engine is not None]
        if self._trial:
            return max(both)
        return both[0] if self._first == "rapidocr" else both[-1]

    def read(self, picture: Image) -> Recognised:
        if is_passed_over():
            return Recognised("", 0.0)
        if self._first == "tesseract":
            return self._by_tesseract(picture)
        found = self._by_rapid(picture)
        asked = self._other_scripts if found.doubt else self._trial
        if self._tesseract is None or not asked:
            return found
        self._trial = False
        try:
            other = self._by_tesseract(picture)
        except ExtractionFailed:  # it cannot be run here, but nobody has asked for it by name
            return found
        if other.doubt or not (found.doubt or _agreement(found.text, other.text) >= _AGREEMENT):
            return found
        self._first = "tesseract"
        return other if found.doubt else found

    def _by_rapid(self, picture: Image) -> Recognised:
        assert self._rapid is not None
        boxes = upright(self._rapid, picture)
        doubt = "" if is_readable(boxes) else _UNKNOWN
        return _recognised(boxes, picture, doubt)

    def _by_tesseract(self, picture: Image) -> Recognised:
        assert self._tesseract is not None
        try:
            boxes = upright(self._tesseract, picture)
        except (OSError, ValueError) as error:
            raise ExtractionFailed(f"tesseract could not read a page: {error}") from error
        doubt = _ILLEGIBLE if boxes and mean_score(boxes) < self._tesseract.sure else ""
        return _recognised(boxes, picture, doubt)


def _recognised(boxes: list[Box], picture: Image, doubt: str) -> Recognised:
    words = placed(in_order(boxes), picture.size)
    return Recognised(text_of(boxes), mean_score(boxes), doubt, words)


def _agreement(text: str, other: str) -> float:
    """The share of the words of one text that are in the other."""
    words, others = (Counter(_WORDS.findall(each.lower())) for each in (text, other))
    return (words & others).total() / words.total() if words else 0.0
