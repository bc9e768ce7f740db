"""Draws one page of a PDF or an image, to the sandbox an extractor like any other. The page's text
is JSON: the picture as PNG in base 64, and the words of the text layer with their positions."""

import base64
import io
import json
from collections.abc import Iterator
from contextlib import closing
from math import sqrt

import pypdfium2 as pdfium
from PIL import Image as Images
from PIL import ImageOps
from PIL.Image import Image, Resampling

from kb.engine.errors import ContentTooLarge, DamagedFile, ExtractionFailed, NoTextFound
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.pages import Page

_WIDTH = 1_400  # pixels: sharp on a wide screen, and small enough to send
_HEIGHT = 2_800
_PIXELS = 3_000_000
_MOST_SCALE = 4.0
_LARGEST = 3 * 2**20  # bytes of PNG
_DECODED = 50_000_000  # pixels of an image
_WORDS = 5_000

Images.MAX_IMAGE_PIXELS = _DECODED
# As decoders load when they are first met, and nothing can be loaded in the sandbox.
Images.init()

Sides = tuple[float, float, float, float]
Word = tuple[str, float, float, float, float]  # left, top, right, bottom as shares of the page


def extract(source: Source) -> Extraction:
    """The page after `source.start`. Raises NoTextFound where there is no such page."""
    if source.careful:  # the first try died of it; there is no second way
        raise ExtractionFailed(
            f"Page {source.start + 1} of {source.filename} cannot be drawn",
            filename=source.filename,
        )
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    if kind == "pdf":
        picture, words, count = _of_pdf(source)
    else:
        picture, words, count = _of_image(source)
    # Said to be one page more than are done: a reading is complete with this one.
    return Extraction("image", "png", _page(picture, words, count), page_count=source.start + 1)


def _page(picture: Image, words: list[Word], count: int) -> Iterator[Page]:
    png = _png(picture)
    told = {
        "width": picture.width,
        "height": picture.height,
        "pages": count,
        "words": words,
        "png": base64.b64encode(png).decode(),
    }
    yield Page(json.dumps(told))


def _of_pdf(source: Source) -> tuple[Image, list[Word], int]:
    try:
        with closing(pdfium.PdfDocument(source.path)) as document:
            count = len(document)
            _check(source, count)
            if document.get_formtype():
                document.init_forms()
            with closing(document[source.start]) as page:
                width, height = (max(side, 1.0) for side in page.get_size())
                scale = min(
                    _WIDTH / width, _HEIGHT / height, sqrt(_PIXELS / (width * height)), _MOST_SCALE
                )
                with closing(page.render(scale=scale)) as bitmap:
                    picture = bitmap.to_pil().convert("RGB")
                return picture, _words(page), count
    except pdfium.PdfiumError as error:
        raise DamagedFile(
            f"{source.filename} is damaged: its pages cannot be drawn", filename=source.filename
        ) from error


def _words(page: pdfium.PdfPage) -> list[Word]:
    """The words of the text layer, each with the box around its letters."""
    left, bottom, right, top = page.get_mediabox()
    width, height = right - left, top - bottom
    turned = page.get_rotation() % 360
    if width <= 0 or height <= 0:
        return []
    crop = page.get_cropbox() or (left, bottom, right, top)
    left, bottom, right, top = (
        max(left, crop[0]),
        max(bottom, crop[1]),
        min(right, crop[2]),
        min(top, crop[3]),
    )
    width, height = max(right - left, 1.0), max(top - bottom, 1.0)
    words: list[Word] = []
    with closing(page.get_textpage()) as textpage:
        for text, box in _runs(textpage):
            x0, x1 = (box[0] - left) / width, (box[2] - left) / width
            y0, y1 = (top - box[3]) / height, (top - box[1]) / height
            words.append((text[:200], *_turned(x0, y0, x1, y1, turned)))
            if len(words) >= _WORDS:
                break
    return words


def _turned(x0: float, y0: float, x1: float, y1: float, degrees: int) -> Sides:
    """A box on the page as it is shown, which a PDF may ask to be turned clockwise."""
    if degrees == 90:
        x0, y0, x1, y1 = 1 - y1, x0, 1 - y0, x1
    elif degrees == 180:
        x0, y0, x1, y1 = 1 - x1, 1 - y1, 1 - x0, 1 - y0
    elif degrees == 270:
        x0, y0, x1, y1 = y0, 1 - x1, y1, 1 - x0
    return _share(x0), _share(y0), _share(x1), _share(y1)


def _share(side: float) -> float:
    return round(min(max(side, 0.0), 1.0), 5)


def _runs(textpage: pdfium.PdfTextPage) -> Iterator[tuple[str, Sides]]:
    text = ""
    box: Sides | None = None
    for index in range(min(textpage.count_chars(), 60_000)):
        letter = textpage.get_text_range(index, 1)
        if not letter or letter.isspace():
            if text and box:
                yield text, box
            text, box = "", None
            continue
        here = textpage.get_charbox(index, loose=True)
        text += letter
        box = here if box is None else _around(box, here)
    if text and box:
        yield text, box


def _around(one: Sides, other: Sides) -> Sides:
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def _of_image(source: Source) -> tuple[Image, list[Word], int]:
    try:
        with Images.open(source.path) as picture:
            count = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
            _check(source, count)
            if source.start:
                picture.seek(source.start)
            if picture.width * picture.height > _DECODED:
                raise ContentTooLarge(
                    f"{source.filename} has too many pixels to be shown", filename=source.filename
                )
            picture.draft(None, (_WIDTH, _HEIGHT))  # a JPEG can be decoded smaller
            seen = ImageOps.exif_transpose(picture)
            seen = seen.convert(
                "RGBA" if "A" in seen.mode or "transparency" in seen.info else "RGB"
            )
    except (OSError, ValueError, SyntaxError, EOFError, Images.DecompressionBombError) as error:
        raise DamagedFile(
            f"{source.filename} cannot be shown as a picture", filename=source.filename
        ) from error
    seen.thumbnail((_WIDTH, _HEIGHT), Resampling.BOX)
    return seen, [], count


def _check(source: Source, count: int) -> None:
    if source.start >= count:
        raise NoTextFound(
            f"{source.filename} has no page {source.start + 1}", filename=source.filename
        )


def _png(picture: Image) -> bytes:
    """In as many pixels as fit into what may be sent."""
    while True:
        target = io.BytesIO()
        picture.save(target, "PNG", compress_level=6)
        if target.tell() <= _LARGEST:
            return target.getvalue()
        picture = picture.resize((picture.width * 2 // 3, picture.height * 2 // 3), Resampling.BOX)
