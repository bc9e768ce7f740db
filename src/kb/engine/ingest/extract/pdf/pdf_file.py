"""Reads a PDF page by page: by its text layer or, where there is none, as a picture."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from math import ceil, sqrt
from pathlib import Path
from typing import Literal, cast

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL.Image import Image

from kb.engine.errors import ExtractionFailed, TextTooLong
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.archives.attached import Read, attached_pages, pass_over
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.extract.pdf import about, by_pypdf
from kb.engine.ingest.extract.pdf.fields_and_comments import notes, pinned_files
from kb.engine.ingest.extract.pdf.headings import Styles, largest_text
from kb.engine.ingest.extract.pdf.letters import Letters
from kb.engine.ingest.extract.pdf.page import OpenEnd, read_page
from kb.engine.ingest.extract.pdf.scanned import Scan, pictures, scan
from kb.engine.ingest.extract.pdf.spaces import is_made_by_groff
from kb.engine.ingest.extract.pdf.text import Words
from kb.engine.ingest.extract.plain.text import MAX_BYTES
from kb.engine.ingest.titles import says_little
from kb.engine.ingest.wordlike import FEW, word_share
from kb.engine.pages import Page, Remark, Unread

_MAX_PIXELS = 16e6  # of a page rendered for reading
_MAX_SIDE = 4_000
_ENOUGH_SIDE = 2_000  # pixels; an image of so many is not rendered smaller, however small its page
_POINTS = 72  # to an inch
_LESS = 0.3  # times the characters of a text; what was recognised with fewer is no better
_SOME_TEXT = 20  # characters that are worth keeping from a page that is mostly picture

Markup = Literal["plain", "markdown"]


def extract(source: Source, read: Read | None = None) -> Extraction:
    """Read a PDF, and with `read` its attachments; if `source.careful`, the next page by pypdf.
    Raises PasswordNeeded, ContentTooLarge for too many pages, DamagedFile if neither can open
    it."""
    if source.careful:
        return by_pypdf.extract_next(source)
    try:
        document = pdfium.PdfDocument(readable(source.path))
        count = len(document)
    except pdfium.PdfiumError as error:
        if error.err_code == pdfium_c.FPDF_ERR_PASSWORD:
            raise by_pypdf.password_needed(source) from error
        if error.err_code == pdfium_c.FPDF_ERR_SECURITY:
            raise ExtractionFailed(
                f"{source.filename} is encrypted in a way that cannot be read",
                filename=source.filename,
            ) from error
        return by_pypdf.extract(source)
    if count == 0:
        document.close()
        return by_pypdf.extract(source)
    by_pypdf.check_page_count(source, count)
    return Extraction(
        "pdf",
        "pdf",
        Reader(document, source, read).pages(),
        about.title(document) or _first_heading(document, source),
        about.metadata(document),
        count,
    )


def _first_heading(document: pdfium.PdfDocument, source: Source) -> str | None:
    """What the first page is headed with, for a document whose file's name says little. Who goes on
    after that page leaves it alone: it may have killed the one before."""
    if source.start > 0 or not says_little(source.filename):
        return None
    try:
        with closing(document[0]) as page, closing(page.get_textpage()) as textpage:
            if textpage.count_chars() > by_pypdf.MAX_CHARACTERS:
                return None
            heading = largest_text(Letters(textpage))
            return about.usable_title(heading) if " " in heading else None
    except pdfium.PdfiumError:  # the page is damaged, and says so itself
        return None


def readable(path: Path) -> Path | bytes:
    """pypdfium2 follows links, and an attachment of a mail is one to a file without a name."""
    return path if path.resolve().exists() else path.read_bytes()


class Reader:
    """Reads one page after the other."""

    def __init__(
        self, document: pdfium.PdfDocument, source: Source, read_file: Read | None
    ) -> None:
        if document.get_formtype() != pdfium_c.FORMTYPE_NONE:
            document.init_forms()
        self._document = document
        self._source = source
        self._read_file = read_file
        self._words = Words()
        self._outline = about.Outline(document)
        # Bookmarks tell better what a heading is.
        self._styles = None if self._outline else Styles()
        self._doubtful = is_made_by_groff(about.creator(document))
        self._size = 0
        self._read = 0  # pages
        self._with_files: list[int] = []  # pages that files are pinned to
        self._open_end: OpenEnd | None = None  # of the page before
        self._reading: ocr.Reading | None = None

    def pages(self) -> Iterator[Page | Unread | Remark]:
        with closing(self._document):
            count = len(self._document)
            for index in range(self._source.start, count):
                page = self.page(index)
                self._measure(page)
                yield page
            done = max(self._source.start - count, 0)
            yield from islice(self.attached(count), done, None)

    def attached(self, number: int) -> Iterator[Page | Remark]:
        """The attached files, after the last page."""
        pages = [*range(min(self._source.start, number)), *self._with_files]
        names = about.attachments(self._document, pages)
        if not names:
            return
        yield Page(f"Attached files: {', '.join(names)}", location="attached files")
        if self._read_file is None:
            return
        otherwise = partial(by_pypdf.attached_file, self._source)
        for name, data in about.attached_files(self._document, pages, otherwise):
            pass_over(self._source, number + 1)
            place = f"attachment {name}"
            if data is None:
                yield Remark(f"{place} was not read: it is damaged, or larger than 64 MB")
                continue
            try:
                for page in attached_pages(self._source, name, data, place, self._read_file):
                    number += 1
                    pass_over(self._source, number + 1)
                    self._measure(page)
                    yield page
            except OcrNeeded as error:
                raise OcrNeeded(number + 1) from error

    def page(self, index: int) -> Page | Unread | Remark:
        try:
            with closing(self._document[index]) as page:
                if any(pinned_files(page)):
                    self._with_files.append(index)
                return self._text_or_scan(page, index + 1)
        except pdfium.PdfiumError:
            careful = by_pypdf.extract_next(replace(self._source, start=index))
            return next(careful.pages, Unread(index + 1, "is damaged"))  # it may count fewer pages

    def _text_or_scan(self, page: pdfium.PdfPage, number: int) -> Page | Unread:
        with closing(page.get_textpage()) as textpage:
            if textpage.count_chars() > by_pypdf.MAX_CHARACTERS:
                return by_pypdf.too_long(number)
            read = read_page(
                textpage,
                self._words,
                self._styles,
                self._open_end,
                self._doubtful,
                self._outline.on(number - 1),
            )
        text = read.text
        self._read += 1
        self._open_end = None
        why = "forced" if self._source.ocr.force else scan(read.raw, text, page)
        wanted, is_recognised = self._source.wanted, bool(why) and self._source.ocr.engine != "off"
        if wanted != "all" and is_recognised != (wanted == "pictures"):
            return Page("", number, method="later" if is_recognised else "text")
        if why:
            found = self._recognised(page, number, text, why)
            if wanted == "pictures" and isinstance(found, Page):
                found = replace(found, method="ocr")  # also its own text, where that is not worse
            path = self._outline.path(number - 1)
        else:
            path = self._outline.path_before(number - 1) if read.path is None else read.path
            markup: Markup = "markdown" if read.is_markdown else "plain"
            found = Page(text, number, markup=markup, carried=read.carried)
            self._open_end = read.open_end
        if isinstance(found, Unread):
            return found
        written = "\n\n".join(filter(None, [found.text, notes(page, number - 1)]))
        return replace(found, text=written, headings=path, open_headings=len(path))

    def _recognised(
        self, page: pdfium.PdfPage, number: int, text: str, why: Scan | Literal["forced"]
    ) -> Page | Unread:
        """The page read as a picture; or its own text, where that is not worse."""
        usable = why in ("forced", "doubtful") or (
            why == "empty" and len("".join(text.split())) >= _SOME_TEXT
        )
        if self._source.ocr.engine == "off":
            reason = "has no text layer that can be read, and reading pictures is turned off"
            return Page(text, number) if usable else Unread(number, reason)
        reader = ocr.reader()
        if reader is None:
            raise OcrNeeded(number)
        if self._reading is None:  # as many pages as if the rest were like what has been read
            self._reading = reader.document(ceil(len(self._document) / self._read))
        found = self._reading.read(_picture(page, self._reading.dpi))
        if found.doubt and not usable:
            return Unread(number, found.doubt)
        if (
            found.doubt
            or not found.text
            or (why == "doubtful" and not _is_better(found.text, text))
        ):
            return Page(text, number)
        layer = "" if _within(text, found.text) or why != "empty" else text
        whole = "\n\n".join(filter(None, [layer, found.text]))
        return Page(whole, number, method="ocr", words=found.words)

    def _measure(self, page: Page | Unread | Remark) -> None:
        if isinstance(page, Page):
            self._size += len(page.text.encode())
        if self._size > MAX_BYTES:
            limit = MAX_BYTES // 2**20
            raise TextTooLong(
                f"{self._source.filename} has more than {limit} MB of text;"
                " split it and add the parts",
                filename=self._source.filename,
                limit_mb=limit,
            )


def _picture(page: pdfium.PdfPage, dpi: int) -> Image:
    """The page as a person sees it, gray, and never larger than can be borne."""
    width, height = (max(side, 1.0) for side in page.get_size())
    longer = max(width, height)
    scale = max(dpi / _POINTS, min(pictures(page).pixels, _ENOUGH_SIDE) / longer)
    scale = min(scale, sqrt(_MAX_PIXELS / (width * height)), _MAX_SIDE / longer)
    with closing(page.render(scale=scale, grayscale=True)) as bitmap:
        return cast(Image, bitmap.to_pil().copy())


def _is_better(recognised: str, text: str) -> bool:
    """Whether what was recognised has words where the text has none, and is not just less of it."""
    if len(recognised) < _LESS * len(text):
        return False
    return word_share(recognised, FEW) > word_share(text, FEW)


def _within(text: str, other: str) -> bool:
    """Whether the words of one text are all in the other."""
    return set(text.lower().split()) <= set(other.lower().split())
