"""Takes a mail apart: headers, text, attachments."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import TypeAlias

from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.mail.two_forms import only_in
from kb.engine.ingest.extract.pictures.inside.picture import may_hold_text
from kb.engine.ingest.extract.web.page import read_page

Mail: TypeAlias = "Message[str, str]"

_DEEPEST = 50  # parts within parts; recursion must end before Python ends it
_LONGEST_HEADER = 20_000  # characters: a mail to a thousand people
_LITTLE = 200  # characters of plain text that are compared with the web page beside them
_TIMES_MORE = 5
_BETWEEN_WORDS = re.compile(r"(\?=)\s{1,100}(?==\?)")


class TooDeep(Exception):
    """Parts within parts within parts."""


@dataclass
class Content:
    """The contents of a part of a mail. `is_markdown` if its text was a web page. `besides` is what
    only another form of the text says."""

    texts: list[str] = field(default_factory=list)
    is_markdown: bool = False
    besides: list[str] = field(default_factory=list)
    attachments: list[Mail] = field(default_factory=list)

    @property
    def length(self) -> int:
        return sum(len(text) for text in self.texts)


def header(mail: Mail, name: str) -> str:
    """A header in plain words on one line; what cannot be decoded stays as it is written."""
    values = (value for key, value in mail.raw_items() if key.lower() == name)
    return _in_words(next(values, ""))


def _in_words(value: object) -> str:
    return line(_decoded(str(value)), _LONGEST_HEADER)


def date(mail: Mail) -> str | None:
    """When it was sent, in UTC."""
    try:
        moment = parsedate_to_datetime(header(mail, "date"))
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def attachment_name(part: Mail, number: int) -> str:
    """As its sender called it, without folders."""
    name = part.get_filename()
    words = line(_decoded(str(name))).replace("\\", "/").rpartition("/")[2] if name else ""
    if words:
        return words
    inner = attached_mail(part)
    subject = header(inner, "subject") if inner is not None else ""
    ending = "eml" if inner is not None else _ENDINGS.get(part.get_content_type(), "bin")
    if _is_set_into_text(part):
        return f"picture in the mail {number}.{ending}"
    return f"{subject or number}.{ending}"


_ENDINGS = {
    "text/html": "html",
    "text/plain": "txt",
    "application/pdf": "pdf",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
}


def attached_mail(part: Mail) -> "Mail | None":
    """The mail that a part is. Some programs pack it, which nobody expects who reads mails."""
    is_mail = part.get_content_type() == "message/rfc822" and part.is_multipart()
    inner = part.get_payload(0) if is_mail else None
    if not isinstance(inner, Message):
        return None
    written = inner.get_payload()
    is_packed = str(part.get("content-transfer-encoding", "")).strip().lower() == "base64"
    if is_packed and not inner.keys() and isinstance(written, str):
        try:
            data = base64.b64decode(written.encode("ascii", "replace"))
            return message_from_bytes(data, policy=policy.compat32)
        except (ValueError, RecursionError):
            return inner
    return inner


def payload(part: Mail) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def content(part: Mail, depth: int = 0) -> Content:
    """The text to read and the attachments of a mail, or of a part of one. Raises TooDeep."""
    if depth > _DEEPEST:
        raise TooDeep
    kind = part.get_content_type()
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        found = (content(child, depth + 1) for child in _children(part, kind))
        inner = [_before_boundary(each, part.get_boundary("")) for each in found]
        return _best(inner) if kind == "multipart/alternative" else _all(inner)
    if kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
        return _text(part, kind)
    if kind == "message/delivery-status":
        return Content(_said_of_delivery(part))
    if _is_set_into_text(part) and not may_hold_text(payload(part)):
        return Content()  # a logo, a line, a smiling face
    return Content(attachments=[part])


def _before_boundary(found: Content, boundary: str) -> Content:
    """Without the line that should end all parts, where it is cut off and so passes for text."""
    line = f"\n--{boundary}-"
    if not boundary:
        return found
    return replace(found, texts=[f"\n{text}".removesuffix(line).strip() for text in found.texts])


def _children(part: Mail, kind: str) -> Iterator[Mail]:
    """The parts of a part. Where they belong together, the first is the text, and what has no name
    is there for its looks, but for pictures that it shows."""
    children = part.get_payload()
    for number, child in enumerate(children if isinstance(children, list) else []):
        if isinstance(child, Message) and (
            number == 0
            or kind != "multipart/related"
            or child.get_filename()
            or _is_set_into_text(child)
        ):
            yield child


def _is_set_into_text(part: Mail) -> bool:
    return part.get_content_maintype() == "image" and bool(part.get("content-id"))


def _said_of_delivery(part: Mail) -> list[str]:
    """Why a mail did not arrive: headers, a block for each address. Some programs write sentences
    instead, which the parser takes for the body of a block."""
    blocks = part.get_payload()
    return [
        "\n".join(
            [
                *(f"{name}: {_in_words(value)}" for name, value in block.raw_items()),
                decode(payload(block), block.get_content_charset()).strip(),
            ]
        ).strip()
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, Message)
    ]


def _text(part: Mail, kind: str) -> Content:
    text = decode(payload(part), part.get_content_charset())
    if kind == "text/html":
        return Content([read_page(text, whole=True).markdown], is_markdown=True)
    return Content([text.strip()])


def _all(parts: list[Content]) -> Content:
    return Content(
        [text for part in parts for text in part.texts if text],
        any(part.is_markdown for part in parts),
        [text for part in parts for text in part.besides],
        [attachment for part in parts for attachment in part.attachments],
    )


def _best(parts: list[Content]) -> Content:
    """Of several forms of one text the plain one, unless it only says to look at another."""
    attachments = [attachment for part in parts for attachment in part.attachments]
    longest = max(parts, key=lambda part: part.length, default=Content())
    plain = next((part for part in parts if part.length and not part.is_markdown), longest)
    is_stub = plain.length < _LITTLE and longest.length > _TIMES_MORE * plain.length
    chosen = longest if is_stub else plain
    read = "\n".join(chosen.texts)
    others = [] if is_stub else [part for part in parts if part is not chosen]
    besides = [*chosen.besides, *(only_in("\n".join(part.texts), read) for part in others)]
    return Content(chosen.texts, chosen.is_markdown, list(filter(None, besides)), attachments)


def _decoded(text: str) -> str:
    """`=?utf-8?q?Gr=C3=BC=C3=9Fe?=` in letters, and bytes that no charset was named for."""
    text = _BETWEEN_WORDS.sub(r"\1", text[:_LONGEST_HEADER])
    try:
        pieces = decode_header(text)
    except (HeaderParseError, ValueError, LookupError):
        return _letters(text)
    return "".join(
        _letters(piece) if isinstance(piece, str) else _word(piece, charset)
        for piece, charset in pieces
    )


def _word(piece: bytes, charset: str | None) -> str:
    if charset is None:  # text between encoded words, as Python hands it over
        return _letters(piece.decode("raw_unicode_escape", "replace"))
    return decode(piece, charset)


def _letters(text: str) -> str:
    """Bytes beyond ASCII come as half characters, which can be taken back."""
    return decode(text.encode("utf-8", "surrogateescape")) if not text.isascii() else text
