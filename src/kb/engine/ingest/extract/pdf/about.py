"""What a PDF says about itself: title, author, dates, outline, attached files."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from ctypes import addressof, c_float, c_int, c_ulong, create_string_buffer
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import islice
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.pdf.bookmarks import Bookmark
from kb.engine.ingest.extract.pdf.fields_and_comments import pinned_files
from kb.engine.ingest.extract.pdf.strings import string
from kb.engine.ingest.titles import telling

_MOST_BOOKMARKS = 10_000
_MOST_ATTACHMENTS = 100
_LARGEST_ATTACHMENT = 64 * 2**20  # bytes

_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([Zz])|([+-])(\d\d)'?(\d\d)?'?)?"
)
_NOBODIES = "anonymous unknown user admin administrator author owner root default"
_NOBODY = frozenset(_NOBODIES.split())


def title(document: pdfium.PdfDocument) -> str | None:
    """The title, unless a program made it up: the name of a file, "untitled", a number."""
    return usable_title(_told(document, "Title"))


def usable_title(text: str) -> str | None:
    found = telling(line(text)) or ""
    letters = sum(character.isalpha() for character in found)
    return None if letters * 3 < len(found) else found or None


def metadata(document: pdfium.PdfDocument) -> dict[str, Any]:
    language = string(pdfium_c.FPDFCatalog_GetLanguage, document)
    more = {"language": language, "attachments": ", ".join(attachments(document))}
    return facts(partial(_told, document)) | about(more)


def creator(document: pdfium.PdfDocument) -> str:
    """The program that the document was written with."""
    return _told(document, "Creator")


def _told(document: pdfium.PdfDocument, name: str) -> str:
    return string(pdfium_c.FPDF_GetMetaText, document, name.encode())


def facts(told: Callable[[str], str]) -> dict[str, Any]:
    """What the document information says; `told` has it, by the names that PDF gives it."""
    return about(
        {
            "author": author(told("Author")),
            "subject": told("Subject"),
            "keywords": told("Keywords"),
            "created": iso_date(told("CreationDate")),
            "modified": iso_date(told("ModDate")),
        }
    )


def author(text: str) -> str | None:
    name = line(text)
    return None if name.lower() in _NOBODY else name


def iso_date(text: str) -> str | None:
    """`D:20230504122116+02'00'` as 2023-05-04T10:21:16Z; without Z if no zone is given."""
    match = _DATE.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, zulu, sign, hours, minutes = match.groups()
    try:
        moment = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
        )
        if day is None or hour is None:
            return moment.date().isoformat()
        if zulu or sign:
            offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
            zone = timezone(-offset if sign == "-" else offset)
            return moment.replace(tzinfo=zone).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):  # the 31st of February, or a zone of 99 hours
        return None
    return moment.isoformat()


def attachments(document: pdfium.PdfDocument, pages: Iterable[int] = ()) -> list[str]:
    """The names of the files that the document carries, and those pinned to these pages."""
    return [name for _, name in _attached(document, pages)]


def attached_files(
    document: pdfium.PdfDocument, pages: Iterable[int], otherwise: Callable[[str], bytes | None]
) -> Iterator[tuple[str, bytes | None]]:
    """The files, with their names; None for one that is too large, or cannot be had. `otherwise` is
    asked for those that pdfium does not find."""
    for attached, name in _attached(document, pages):
        size = c_ulong()
        if not pdfium_c.FPDFAttachment_GetFile(attached, None, 0, size):
            data = otherwise(name)
            yield name, None if data is None or len(data) > _LARGEST_ATTACHMENT else data
            continue
        if size.value > _LARGEST_ATTACHMENT:
            yield name, None
            continue
        buffer = create_string_buffer(max(size.value, 1))
        pdfium_c.FPDFAttachment_GetFile(attached, buffer, size.value, size)
        yield name, buffer.raw[: size.value]


def _attached(document: pdfium.PdfDocument, pages: Iterable[int]) -> Iterator[tuple[Any, str]]:
    """Each once: files attached to a page may also be among those of the document."""
    known = set()
    for attached in islice(_every_attached(document, pages), _MOST_ATTACHMENTS):
        name = line(string(pdfium_c.FPDFAttachment_GetName, attached)) if attached else ""
        if name and (place := addressof(attached.contents)) not in known:
            known.add(place)
            yield attached, name.replace("\\", "/").rpartition("/")[2] or name


def _every_attached(document: pdfium.PdfDocument, pages: Iterable[int]) -> Iterator[Any]:
    for index in range(document.count_attachments()):
        yield pdfium_c.FPDFDoc_GetAttachment(document, index)
    for index in pages:
        try:
            with closing(document[index]) as page:
                yield from pinned_files(page)
        except pdfium.PdfiumError:  # the page is damaged, and says so itself
            continue


class Outline:
    """The bookmarks: which headings stand above a page."""

    def __init__(self, document: pdfium.PdfDocument) -> None:
        # By the page they begin on, counted from 0.
        self._pages: dict[int, list[Bookmark]] = {}
        for index, bookmark in _bookmarks(document):
            self._pages.setdefault(index, []).append(bookmark)
        self._starts = sorted(self._pages)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def path(self, index: int) -> tuple[str, ...]:
        """The first heading that begins on a page, or the last one before it, outermost first."""
        return self._pages[index][0].path if index in self._pages else self.path_before(index)

    def path_before(self, index: int) -> tuple[str, ...]:
        """The last heading that begins before a page."""
        place = bisect_left(self._starts, index)
        return self._pages[self._starts[place - 1]][-1].path if place else ()

    def on(self, index: int) -> list[Bookmark]:
        return self._pages.get(index, [])


def _bookmarks(document: pdfium.PdfDocument) -> Iterator[tuple[int, Bookmark]]:
    path: list[str] = []
    for bookmark in islice(document.get_toc(max_depth=6), _MOST_BOOKMARKS):
        del path[bookmark.level :]
        path.append(line(string(pdfium_c.FPDFBookmark_GetTitle, bookmark)))
        target = bookmark.get_dest()
        index = None if target is None else target.get_index()
        found = tuple(filter(None, path))
        if index is not None and found:
            yield index, Bookmark(found, _top(target))


def _top(target: pdfium.PdfDest) -> float | None:
    has_x, has_y, has_zoom = c_int(), c_int(), c_int()
    x, y, zoom = c_float(), c_float(), c_float()
    known = pdfium_c.FPDFDest_GetLocationInPage(target, has_x, has_y, has_zoom, x, y, zoom)
    return y.value if known and has_y.value else None
