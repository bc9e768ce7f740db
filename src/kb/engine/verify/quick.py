"""Checks some pages of a database that was just opened, within a moment.

A small store is read whole. Of a large one it reads the first pages, which everything depends on,
and as many others as there is time for, from a random place on.
"""

import secrets
import time

from kb.engine.store.file.database import Database

_SECONDS = 0.05
_AT_ONCE = 64


def quick_check(database: Database) -> None:
    """What is found is noted, so that nothing is written."""
    until = time.monotonic() + _SECONDS
    count = database.page_count()
    blocks = list(range(1, count + 1, _AT_ONCE))
    start = 1 + secrets.randbelow(max(1, len(blocks) - 1))
    for first in blocks[:1] + blocks[start:] + blocks[1:start]:
        bad = database.bad_pages(first, min(first + _AT_ONCE - 1, count))
        if bad:
            database.note_damage(f"page {bad[0]} has other bytes than were written")
            return
        if time.monotonic() > until:
            return
