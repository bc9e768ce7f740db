"""Finds pages read by OCR whose words cannot be unpacked."""

import struct
import zlib
from collections.abc import Iterator

from kb.engine.store.rows.page_words import unpack
from kb.engine.verify.report import Finding, Progress, unreadable
from kb.engine.verify.subject import Subject, in_ranges

NAME = "placed words"
_AT_ONCE = 32
_PAGES = (
    "SELECT document_id, title, page, words FROM page_words "
    "JOIN documents ON documents.id = document_id WHERE page_words.id BETWEEN :first AND :last"
)


def check(subject: Subject, after: int) -> Iterator[Progress]:
    def check_range(first: int, last: int) -> tuple[int, list[Finding]]:
        rows = subject.database.read(_PAGES, first=first, last=last)
        return len(rows), [
            Finding(
                NAME,
                "database",
                f"Where the words stand on its page {page} cannot be read",
                "text",
                document_id,
                title,
                made_from="its original",
            )
            for document_id, title, page, packed in rows
            if not _unpacks(packed)
        ]

    yield from in_ranges(after, subject.last("page_words"), _AT_ONCE, check_range, _unreadable)


def _unpacks(packed: bytes) -> bool:
    try:
        unpack(packed)
    except (ValueError, TypeError, zlib.error, struct.error):
        return False
    return True


def _unreadable(number: int) -> Finding:
    what = f"Where the words stand on a page (row {number}) cannot be read"
    return unreadable(NAME, what, made_from="its original")
