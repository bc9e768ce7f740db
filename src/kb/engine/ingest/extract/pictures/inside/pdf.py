"""What needs OCR in a PDF, page by page: whole pages, or pictures beside text."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from math import sqrt
from typing import NamedTuple, cast

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL.Image import Image

from kb.engine.ingest.extract.archives.attached import Read
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.pdf.pdf_file import Reader, readable
from kb.engine.ingest.extract.pictures.inside import without_text
from kb.engine.ingest.extract.pictures.inside.picture import DIED, Reading, is_large
from kb.engine.pages import Page, Remark, Unread

_MAX_PIXELS = 16e6
_MAX_SIDE = 4_000
_POINTS = 72  # to an inch
_LEAST_DPI, _MOST_DPI = 100, 300
_MOST_OBJECTS = 5_000  # of a page
_MOST_PICTURES = 200  # of a page
_TOUCHING = 2.0  # points; a picture may be cut into strips
_SOME_TEXT = 20  # characters that stand on a picture: it lies behind them, or they are its own
_MOST_HASHED = 2**22  # bytes of an image


class _Region(NamedTuple):
    """A part of a page in points, the resolution of what is drawn there, and what that is."""

    left: float
    bottom: float
    right: float
    top: float
    dpi: float
    key: bytes


def extract(source: Source, read: Read) -> Extraction:
    """`read` reads attached files."""
    document = pdfium.PdfDocument(readable(source.path))
    return Extraction("pdf", "pdf", _pages(document, source, read), page_count=len(document))


def _pages(
    document: pdfium.PdfDocument, source: Source, read: Read
) -> Iterator[Page | Unread | Remark]:
    if source.careful:
        yield Unread(source.start + 1, DIED)
        return
    reading: Reading | None = None
    pages = Reader(document, source, read)
    count = len(document)
    with closing(document):
        for index in range(source.start, count):
            whole = pages.page(index)
            if not isinstance(whole, Page) or whole.method == "ocr":
                yield whole
                continue
            texts: list[str] = []
            with closing(document[index]) as page:
                for region in _regions(page) if source.ocr.inside else ():
                    reading = reading or Reading(count)
                    if reading.know(region.key):
                        continue
                    text, doubt = reading.text_on(_drawn(page, region))
                    if doubt:
                        yield Remark(f"a picture on page {index + 1} {doubt}")
                    texts.append(text)
            yield Page(
                "\n\n".join(filter(None, texts)),
                index + 1,
                f"page {index + 1}, picture",
                method="ocr" if texts else "text",
                lines_count=False,
            )
        attached = without_text(pages.attached(count))
        yield from islice(attached, max(source.start - count, 0), None)


def _regions(page: pdfium.PdfPage) -> list[_Region]:
    """The places of pictures without text of the page on them. Pieces are joined."""
    images = [
        item
        for item in islice(page.get_objects(max_depth=3), _MOST_OBJECTS)
        if item.type == pdfium_c.FPDF_PAGEOBJ_IMAGE
    ][:_MOST_PICTURES]
    if not images:
        return []
    with closing(page.get_textpage()) as textpage:
        joined: list[_Region] = []
        for region in filter(None, (_region(page, image) for image in images)):
            joined = _with(joined, region)
        return [
            region
            for region in joined
            if _is_worth_reading(region)
            and len("".join(textpage.get_text_bounded(*region[:4]).split())) < _SOME_TEXT
        ]


def _region(page: pdfium.PdfPage, image: pdfium.PdfObject) -> _Region | None:
    x0, y0, x1, y1 = page.get_bbox()
    left, bottom, right, top = image.get_bounds()
    left, bottom, right, top = max(left, x0), max(bottom, y0), min(right, x1), min(top, y1)
    if right - left < 1 or top - bottom < 1:
        return None
    width, height = image.get_px_size()
    longer = max(right - left, top - bottom)
    dpi = max(width, height) / longer * _POINTS
    raw = bytes(image.get_data(decode_simple=False))[:_MOST_HASHED]
    key = hashlib.sha256(b"%d %d " % (width, height) + raw).digest()
    return _Region(left, bottom, right, top, dpi, key)


def _with(regions: list[_Region], new: _Region) -> list[_Region]:
    """The regions and a new one, one with those that it touches."""
    apart: list[_Region] = []
    for each in regions:
        if (
            each.left <= new.right + _TOUCHING
            and new.left <= each.right + _TOUCHING
            and each.bottom <= new.top + _TOUCHING
            and new.bottom <= each.top + _TOUCHING
        ):
            new = _Region(
                min(each.left, new.left),
                min(each.bottom, new.bottom),
                max(each.right, new.right),
                max(each.top, new.top),
                max(each.dpi, new.dpi),
                hashlib.sha256(each.key + new.key).digest(),
            )
        else:
            apart.append(each)
    return [*apart, new]


def _is_worth_reading(region: _Region) -> bool:
    pixels = region.dpi / _POINTS
    return is_large(
        int((region.right - region.left) * pixels), int((region.top - region.bottom) * pixels)
    )


def _drawn(page: pdfium.PdfPage, region: _Region) -> Image:
    """The region as a person sees it, in gray, as fine as what is drawn there."""
    x0, y0, x1, y1 = page.get_bbox()
    width, height = region.right - region.left, region.top - region.bottom
    scale = min(max(region.dpi, _LEAST_DPI), _MOST_DPI) / _POINTS
    scale = min(scale, sqrt(_MAX_PIXELS / (width * height)), _MAX_SIDE / max(width, height))
    left, bottom, right, top = (
        region.left - x0,
        region.bottom - y0,
        x1 - region.right,
        y1 - region.top,
    )
    for _ in range(page.get_rotation() // 90):  # clockwise: what was at the bottom is on the left
        left, bottom, right, top = bottom, right, top, left
    with closing(
        page.render(scale=scale, crop=(left, bottom, right, top), grayscale=True)
    ) as bitmap:
        return cast(Image, bitmap.to_pil().copy())
