"""Finds pages of the database whose bytes are not what was written."""

import time
from collections.abc import Iterator

from kb.engine.verify.report import Finding, Progress, unreadable
from kb.engine.verify.subject import Subject

NAME = "pages"
_AT_ONCE = 128
# A page that is being written at this moment may be read half and half.
_AGAIN = (0.01, 0.1, 0.5)


def check(subject: Subject, after: int) -> Iterator[Progress]:
    """Each against its checksum; also those that nothing uses now."""
    count = subject.database.page_count()
    for first in range(after + 1, count + 1, _AT_ONCE):
        up_to = min(first + _AT_ONCE - 1, count)
        bad = persistent(subject, subject.database.bad_pages(first, up_to))
        yield Progress(up_to, up_to - first + 1, [_finding(page) for page in bad])


def persistent(subject: Subject, pages: list[int]) -> list[int]:
    """Those of these pages that stay wrong."""
    for pause in _AGAIN:
        if not pages:
            break
        time.sleep(pause)
        pages = [page for page in pages if subject.database.bad_pages(page, page)]
    return pages


def _finding(page: int) -> Finding:
    return unreadable(NAME, f"Page {page} of the database has other bytes than were written")
