"""A mail: sender, recipients, date, text, and its attachments, each read by its own reader."""

from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from typing import Literal

from kb.engine.errors import ContentTooLarge
from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.archives.parts import Parts, Read
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.mail import message_parts
from kb.engine.ingest.extract.mail.message_parts import Content, Mail
from kb.engine.ingest.extract.mail.two_forms import MOST_BESIDES
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page, Remark, Unread

_MAX_BYTES = 64 * 2**20
_MOST_ATTACHMENTS = 100
_OTHERS_LEFT = Remark(f"more than {_MOST_ATTACHMENTS} attachments: the others were not read")
_DEEPEST_MAIL = 3  # mails within mails
_SAVED_PAGES = ("mht", "mhtml")  # a web page with all its pictures, in the form of a mail
_OTHER_FORM = "only in another form of the text"
_HEADERS = ("Subject", "From", "To", "Cc", "Date")


def extract(source: Source, read: Read) -> Extraction:
    """`read` reads the attachments, whatever they are."""
    named = ending(source.filename)
    is_page = named in _SAVED_PAGES
    extraction = extract_mail(_parsed(source), source, read)
    return replace(
        extraction,
        doc_type="html" if is_page else "email",
        format=named if is_page else "eml",
    )


def extract_mail(mail: Mail, source: Source, read: Read) -> Extraction:
    letters = Letters(source, read)
    content = letters.content(mail)
    subject = message_parts.header(mail, "subject")
    metadata = about(
        {
            "author": message_parts.header(mail, "from"),
            "to": message_parts.header(mail, "to"),
            "cc": message_parts.header(mail, "cc"),
            "created": message_parts.date(mail),
            "attachments": ", ".join(_names(content)),
        }
    )
    pages = letters.parts.after_start(letters.pages(mail, content))
    if not subject and not content.length and not content.attachments:
        raise Refusals(source.filename).no_text()
    return Extraction("email", "eml", pages, title=line(subject) or None, metadata=metadata)


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
        raise Refusals(source.filename).too_deep() from error


def _names(content: Content) -> list[str]:
    listed = enumerate(content.attachments[:_MOST_ATTACHMENTS], start=1)
    return [message_parts.attachment_name(part, number) for number, part in listed]


class Letters:
    """Mails being read, with the mails inside them and their attachments."""

    def __init__(self, source: Source, read: Read) -> None:
        self.parts = Parts(source, read)
        self._source = source
        self._left = _MOST_ATTACHMENTS

    def begin(self) -> None:
        """The next of several mails, which may have attachments of its own."""
        self._left = _MOST_ATTACHMENTS

    def content(self, mail: Mail) -> Content:
        try:
            return message_parts.content(mail)
        except message_parts.TooDeep as error:
            raise Refusals(self._source.filename).too_deep() from error

    def pages(
        self, mail: Mail, content: Content, place: str = "", depth: int = 0
    ) -> Iterator[Page | Unread | Remark]:
        """The mail itself, then its attachments. `place` is where in other mails it is."""
        names = _names(content)
        text = "\n\n".join([_head(mail, names), *content.texts])
        markup: Literal["plain", "markdown"] = "markdown" if content.is_markdown else "plain"
        for piece in cut(text):
            yield self.parts.counted(
                Page(piece, location=place or None, markup=markup, lines_count=False)
            )
        yield from self._besides(content, place)
        for name, part in zip(names, content.attachments, strict=False):
            if self._left > 0:
                self._left -= 1
                inside = f"{place}, attachment {name}" if place else f"attachment {name}"
                yield from self._attached(part, name, inside, depth)
            else:
                yield _OTHERS_LEFT
        if len(content.attachments) > len(names):
            yield _OTHERS_LEFT

    def _besides(self, content: Content, place: str) -> Iterator[Page | Unread | Remark]:
        text = "\n\n".join(content.besides)
        if not text:
            return
        where = f"{place}, {_OTHER_FORM}" if place else _OTHER_FORM
        for piece in cut(text[:MOST_BESIDES]):
            yield self.parts.counted(
                Page(piece, location=where, markup="markdown", lines_count=False)
            )
        if len(text) > MOST_BESIDES:
            yield Remark(f"{where}: only the first {MOST_BESIDES:,} characters were read")

    def _attached(
        self, part: Mail, name: str, place: str, depth: int
    ) -> Iterator[Page | Unread | Remark]:
        inner = message_parts.attached_mail(part)
        if inner is None:
            yield from self.parts.pages(message_parts.payload(part), name, place)
        elif depth < _DEEPEST_MAIL:
            yield from self.pages(inner, self.content(inner), place, depth + 1)
        else:
            yield Remark(f"{place} was not read: it is inside too many other mails")


def _head(mail: Mail, names: list[str]) -> str:
    lines = {name: message_parts.header(mail, name.lower()) for name in _HEADERS}
    lines["Attachments"] = ", ".join(names)
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
