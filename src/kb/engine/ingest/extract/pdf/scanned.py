"""Decides whether a page of a PDF must be read by OCR. On real pages, a scan had no characters and
an image over all of it, blank pages had two and no image, and every text scored .88 or more."""

from dataclasses import dataclass
from itertools import islice
from typing import Literal
from unicodedata import category

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf.text import LINE_END_HYPHEN
from kb.engine.ingest.wordlike import FEW, is_wordlike

_FEW = 50  # characters, without white space
_IMAGES = 0.3  # of the page's area
_PATHS = 50  # lines and shapes: letters may have been drawn as such
_ODD = 0.2  # of the characters
_LIKE_WORDS = 0.75  # of the words
_MOST_OBJECTS = 5_000  # of a page, and of a form on it, that are looked at

_NO_TEXT = frozenset({"Cc", "Co", "Cn", "Cs"})

Scan = Literal["", "empty", "garbled", "doubtful"]


def scan(raw: str, text: str, page: pdfium.PdfPage) -> Scan:
    """Why a page should be read as a picture, or "" if its text is as good as any. `text` is `raw`
    after cleaning. `empty` has a picture or drawing where the text should be, `garbled` has
    characters that are none, `doubtful` words that are none: its letters stand for others."""
    if _is_garbled(raw):
        return "garbled"
    if sum(map(len, text.split(None, _FEW))) < _FEW and _has_picture(page):
        return "empty"
    return "" if is_wordlike(text, _LIKE_WORDS, FEW) else "doubtful"


def _is_garbled(raw: str) -> bool:
    """Whether many of the characters are no text. Most pages have none, which is quick to see."""
    whole = raw.replace(LINE_END_HYPHEN, "")
    if whole.replace("\n", "").isprintable() and "\ufffd" not in whole:
        return False
    tokens = whole.split()
    drawn = "".join(tokens)
    if len(drawn) < _FEW or _odd(drawn) <= _ODD * len(drawn):
        return False
    # Signs that stand alone are no letters: notes of music, boxes to tick.
    words = "".join(token for token in tokens if len(token) > 1)
    return len(words) < _FEW or _odd(words) > _ODD * len(words)


def _odd(drawn: str) -> int:
    """How many of the characters are none. A page has few different ones."""
    odd = [sign for sign in set(drawn) if sign == "\ufffd" or category(sign) in _NO_TEXT]
    return sum(map(drawn.count, odd))


@dataclass(slots=True)
class Pictures:
    """How much of a page is images, and how many lines and shapes are drawn on it."""

    area: float = 0.0  # of the page, 0 to 1
    paths: int = 0
    pixels: int = 0  # the longer side of the largest image


def pictures(page: pdfium.PdfPage) -> Pictures:
    """Slow (9 ms): for pages with little text only."""
    found = Pictures()
    left, bottom, right, top = page.get_bbox()
    whole = max((right - left) * (top - bottom), 1.0)
    for item in islice(page.get_objects(max_depth=1), _MOST_OBJECTS):
        inside = [item]
        if item.type == pdfium_c.FPDF_PAGEOBJ_FORM:
            inside = list(islice(page.get_objects(max_depth=4, form=item), _MOST_OBJECTS))
        found.paths += sum(part.type == pdfium_c.FPDF_PAGEOBJ_PATH for part in inside)
        images = [part for part in inside if part.type == pdfium_c.FPDF_PAGEOBJ_IMAGE]
        if images:
            # A form has its own measures: where the images in it stand, only its bounds tell.
            x0, y0, x1, y1 = item.get_bounds()
            width, height = min(x1, right) - max(x0, left), min(y1, top) - max(y0, bottom)
            found.area += max(width, 0.0) * max(height, 0.0) / whole
            found.pixels = max(found.pixels, *(max(image.get_px_size()) for image in images))
    return found


def _has_picture(page: pdfium.PdfPage) -> bool:
    found = pictures(page)
    return found.area > _IMAGES or found.paths > _PATHS
