"""A mail: who wrote what to whom and when, and the files that came with it, each by its own reader.

Attachments are read where they can be given to a reader as a file that is in memory alone, which
Linux can; elsewhere they are named.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import Message
from itertools import islice
from typing import Literal

from kb.engine.errors import (
    ContentTooLarge,
    KbError,
    NestedTooDeep,
    NoTextFound,
    UnsupportedFormat,
)
from kb.engine.ingest.extract import mail_parts
from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source, ending
from kb.engine.ingest.extract.mail_parts import Content, Mail
from kb.engine.ingest.extract.memory_files import file_in_memory
from kb.engine.ingest.extract.paging import cut
from kb.engine.models import Page, Unread

logger = logging.getLogger(__name__)

Read = Callable[[Source], Extraction]

_MAX_BYTES = 64 * 2**20
_MOST_ATTACHMENTS = 100
_DEEPEST_MAIL = 3  # mails within mails
_SAVED_PAGES = ("mht", "mhtml")  # a web page with all its pictures, in the form of a mail
_HEADERS = ("Subject", "From", "To", "Cc", "Date")


def extract(source: Source, read: Read) -> Extraction:
    """`read` reads the attachments, whatever they are."""
    mail = _parsed(source)
    reading = _Reading(source, read)
    content = reading.content(mail)
    subject = mail_parts.header(mail, "subject")
    metadata = about(
        {
            "author": mail_parts.header(mail, "from"),
            "to": mail_parts.header(mail, "to"),
            "cc": mail_parts.header(mail, "cc"),
            "created": mail_parts.date(mail),
            "attachments": ", ".join(_names(content)),
        }
    )
    pages = islice(reading.pages(mail, content), source.start, None)
    if not subject and not content.length and not content.attachments:
        raise NoTextFound(f"{source.filename} has no text in it", filename=source.filename)
    named = ending(source.filename)
    is_page = named in _SAVED_PAGES
    return Extraction(
        "html" if is_page else "email",
        named if is_page else "eml",
        pages,
        title=line(subject) or None,
        metadata=metadata,
    )


def _parsed(source: Source) -> Mail:
    with source.path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        limit = _MAX_BYTES // 2**20
        message = f"{source.filename} is larger than {limit} MB, which is too large for a mail"
        raise ContentTooLarge(message, filename=source.filename)
    try:
        # The older policy: the newer one takes time in proportion to the square of a header.
        return message_from_bytes(data, policy=policy.compat32)
    except RecursionError as error:
        raise _too_deep(source) from error


def _too_deep(source: Source) -> NestedTooDeep:
    message = f"{source.filename} is nested too deeply to read"
    return NestedTooDeep(message, filename=source.filename)


def _names(content: Content) -> list[str]:
    listed = enumerate(content.attachments[:_MOST_ATTACHMENTS], start=1)
    return [mail_parts.attachment_name(part, number) for number, part in listed]


class _Reading:
    """One mail being read, with those inside it."""

    def __init__(self, source: Source, read: Read) -> None:
        self._source = source
        self._read = read
        self._pages = 0
        self._left = _MOST_ATTACHMENTS

    def content(self, mail: Mail) -> Content:
        try:
            return mail_parts.content(mail)
        except mail_parts.TooDeep as error:
            raise _too_deep(self._source) from error

    def pages(
        self, mail: Mail, content: Content, place: str = "", depth: int = 0
    ) -> Iterator[Page | Unread]:
        """The mail itself, then what is attached to it. `place` is where in other mails it is."""
        names = _names(content)
        text = "\n\n".join([_head(mail, names), *content.texts])
        markup: Literal["plain", "markdown"] = "markdown" if content.is_markdown else "plain"
        for piece in cut(text):
            yield self._counted(
                Page(piece, location=place or None, markup=markup, lines_count=False)
            )
        for name, part in zip(names, content.attachments, strict=False):
            if self._left > 0:
                self._left -= 1
                inside = f"{place}, attachment {name}" if place else f"attachment {name}"
                yield from self._attached(part, name, inside, depth)

    def _attached(self, part: Mail, name: str, place: str, depth: int) -> Iterator[Page | Unread]:
        inner = part.get_payload(0) if part.get_content_type() == "message/rfc822" else None
        if isinstance(inner, Message):
            if depth < _DEEPEST_MAIL:
                yield from self.pages(inner, self.content(inner), place, depth + 1)
            return
        try:
            with file_in_memory(mail_parts.payload(part)) as path:
                attached = replace(self._source, path=path, filename=name, start=0, careful=False)
                for page in self._read(attached).pages:
                    yield self._counted(_placed(page, place))
        except OcrNeeded as error:
            raise OcrNeeded(self._pages + 1) from error
        except UnsupportedFormat:
            logger.debug("an attachment of a mail is of no supported format")
        except NoTextFound:
            logger.debug("an attachment of a mail has no text")
        except KbError as error:
            yield self._unread(f"{place}: {error.message}")
        except OSError as error:
            logger.info("an attachment of a mail could not be opened: %s", error)
        except Exception as error:  # one broken attachment must not cost the mail
            logger.warning("an attachment of a mail could not be read", exc_info=True)
            yield self._unread(f"{place}: it could not be read ({type(error).__name__})")

    def _unread(self, reason: str) -> Unread:
        self._pages += 1
        return Unread(self._pages, reason)

    def _counted(self, page: Page | Unread) -> Page | Unread:
        self._pages += 1
        return replace(page, number=self._pages) if isinstance(page, Unread) else page


def _head(mail: Mail, names: list[str]) -> str:
    lines = {name: mail_parts.header(mail, name.lower()) for name in _HEADERS}
    lines["Attachments"] = ", ".join(names)
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)


def _placed(page: Page | Unread, place: str) -> Page | Unread:
    """A page of an attachment, cited by the attachment and its place in there."""
    if isinstance(page, Unread):
        return replace(page, reason=f"{place}, page {page.number}: {page.reason}")
    inside = page.location or (f"page {page.number}" if page.number is not None else "")
    grid = page.grid
    if grid is not None and grid.columns is None:
        inside, grid = f"rows {grid.rows[0]}–{grid.rows[-1]}", None
    location = f"{place}, {inside}" if inside else place
    return replace(page, number=None, location=location, grid=grid, lines_count=False)
