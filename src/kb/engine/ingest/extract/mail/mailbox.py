"""Reads the mails of a mailbox, each with its attachments."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.archives.parts import Item
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.mail import message_parts
from kb.engine.ingest.extract.mail.eml import Letters
from kb.engine.ingest.extract.mail.message_parts import Mail
from kb.engine.pages import Page, Remark

MOST_MAILS = 5_000
_LONGEST_SUBJECT = 80

Opened: TypeAlias = "Callable[[], Mail | str]"  # a mail, or why there is none


def pages(source: Source, letters: Letters, mails: Iterable[tuple[str, Opened]]) -> Iterator[Item]:
    """`mails` are each the folder that it is in, if there are any, and how it is had."""
    number = 0
    for number, (folder, opened) in enumerate(mails, start=1):
        if number > MOST_MAILS:
            yield Remark(f"the mails from {number:,} on were not read: there are too many")
            return
        place = f"{folder}, mail {number:,}" if folder else f"mail {number:,}"
        yield letters.parts.begin(place)
        if letters.parts.is_deadly:
            yield Remark(f"{place} was not read: it kills its reader")
            continue
        try:
            mail = opened()
            if isinstance(mail, str):
                yield Remark(f"{place} was not read: {mail}")
                continue
            content = message_parts.content(mail)
        except (RecursionError, message_parts.TooDeep):
            yield Remark(f"{place} was not read: it is nested too deeply")
            continue
        subject = line(message_parts.header(mail, "subject"), _LONGEST_SUBJECT)
        above = tuple(filter(None, (folder, subject)))
        letters.begin()
        for page in letters.pages(mail, content, f"{place}, {subject}" if subject else place):
            if isinstance(page, Page) and above:
                page = replace(page, headings=(*above, *page.headings))
            yield page
    if not number:
        raise NoTextFound(f"{source.filename} has no mail in it", filename=source.filename)
