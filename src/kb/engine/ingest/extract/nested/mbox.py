"""A mailbox in one file: its mails one after the other, each with what is attached to it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract import mail_parts
from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.eml import Letters
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.nested.parts import Item, Read
from kb.engine.models import Page, Remark

_MOST_MAILS = 5_000
_MAX_MAIL = 64 * 2**20
_LONGEST_LINE = 2**20
_LONGEST_SUBJECT = 80
# Before each mail stands who sent it and when; what follows is a header.
_FROM = b"From "
_HEADER = re.compile(rb"[A-Za-z][\w-]{0,70}:|>?From ")
_DATED = re.compile(rb"From \S{1,500} .{0,500}\d:\d\d:\d\d")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def extract(source: Source, read: Read) -> Extraction:
    named = ending(source.filename)
    letters = Letters(source, read)
    return Extraction(
        "email",
        named if named in ("mbox", "mbx") else "mbox",
        letters.parts.after_start(_pages(source, letters)),
    )


def _pages(source: Source, letters: Letters) -> Iterator[Item]:
    number = 0
    for number, data in enumerate(_mails(source), start=1):
        if number > _MOST_MAILS:
            yield Remark(f"the mails from {number:,} on were not read: there are too many")
            return
        place = f"mail {number:,}"
        yield letters.parts.begin(place)
        if letters.parts.is_deadly:
            yield Remark(f"{place} was not read: it kills its reader")
            continue
        if data is None:
            yield Remark(f"{place} was not read: it is larger than {_MAX_MAIL // 2**20} MB")
            continue
        try:
            mail = message_from_bytes(_QUOTED.sub(rb"\1", data), policy=policy.compat32)
            content = mail_parts.content(mail)
        except (RecursionError, mail_parts.TooDeep):
            yield Remark(f"{place} was not read: it is nested too deeply")
            continue
        subject = line(mail_parts.header(mail, "subject"), _LONGEST_SUBJECT)
        letters.begin()
        for page in letters.pages(mail, content, f"{place}, {subject}" if subject else place):
            if isinstance(page, Page) and subject:
                page = replace(page, headings=(subject, *page.headings))
            yield page
    if not number:
        raise NoTextFound(f"{source.filename} has no mail in it", filename=source.filename)


def _mails(source: Source) -> Iterator[bytes | None]:
    """The bytes of each mail; None for one that is too large."""
    pieces: list[bytes] = []
    size = 0
    held = b""  # a line that begins a mail if a header follows
    is_open = False
    after_blank = True
    with source.path.open("rb") as file:
        # A single mail that was saved by the name of a mailbox has no such line.
        first = file.readline(_LONGEST_LINE)
        is_open = not first.startswith(_FROM) and _HEADER.match(first) is not None
        file.seek(0)
        while text := file.readline(_LONGEST_LINE):
            if held:
                if _HEADER.match(text) or _DATED.match(held):
                    if is_open:
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
