"""A mailbox in one file: one mail after the other, each with its attachments."""

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from functools import partial

from kb.engine.ingest.extract.archives.parts import Read
from kb.engine.ingest.extract.extraction import Extraction, Source, usual_ending
from kb.engine.ingest.extract.mail import mailbox
from kb.engine.ingest.extract.mail.eml import Letters
from kb.engine.ingest.extract.mail.message_parts import Mail

_MAX_MAIL = 64 * 2**20
_LONGEST_LINE = 2**20
# Before each mail stands who sent it and when; what follows is a header.
_FROM = b"From "
_HEADER = re.compile(rb"[A-Za-z][\w-]{0,70}:|>?From ")
_DATED = re.compile(rb"From \S{1,500} .{0,500}\d:\d\d:\d\d")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def extract(source: Source, read: Read) -> Extraction:
    letters = Letters(source, read)
    mails = (("", partial(_opened, data)) for data in _mails(source))
    return Extraction(
        "email",
        usual_ending(source.filename, ("mbox", "mbx")),
        letters.parts.after_start(mailbox.pages(source, letters, mails)),
    )


def _opened(data: bytes | None) -> "Mail | str":
    if data is None:
        return f"it is larger than {_MAX_MAIL // 2**20} MB"
    return message_from_bytes(_QUOTED.sub(rb"\1", data), policy=policy.compat32)


def _mails(source: Source) -> Iterator[bytes | None]:
    """The bytes of each mail; None for one that is too large."""
    pieces: list[bytes] = []
    size = 0
    held = b""  # a line that begins a mail if a header follows
    is_open = False
    after_blank = True
    with source.path.open("rb") as file:
        # A single mail that was saved by the name of a mailbox has no such line; and what begins
        # with one is a mail, whatever follows.
        first = file.readline(_LONGEST_LINE)
        is_open = _HEADER.match(first) is not None
        file.seek(0)
        while text := file.readline(_LONGEST_LINE):
            if held:
                if _HEADER.match(text) or _DATED.match(held):
                    if is_open and pieces:
                        yield b"".join(pieces) if size <= _MAX_MAIL else None
                    pieces, size, is_open = [], 0, True
                elif is_open:
                    pieces.append(held)
                held = b""
            if (after_blank or _DATED.match(text)) and text.startswith(_FROM):
                held, after_blank = text, False
                continue
            after_blank = text in (b"\n", b"\r\n")
            size += len(text)
            if size <= _MAX_MAIL and is_open:
                pieces.append(text)
    if is_open:
        yield b"".join(pieces) if size <= _MAX_MAIL else None
