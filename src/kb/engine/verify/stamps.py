"""A database and the mark on its folder of originals in, whether changes are missing out."""

import re
from collections.abc import Iterator

from kb.engine.store.database import Database
from kb.engine.store.stamp import Mark, Stamp, missing_in_words
from kb.engine.verify.report import Finding

NAME = "stamp"
NAMED_FILES = (
    "SELECT stored_name FROM documents WHERE stored_name IS NOT NULL UNION "
    "SELECT stored_name FROM jobs WHERE stored_name IS NOT NULL"
)
_OURS = re.compile(r"[0-9a-f]{32}")
_MARK = (
    "SELECT facts.value, totals.value FROM facts, totals "
    "WHERE facts.name = 'store_id' AND totals.name = 'commits'"
)


def is_ours(name: str) -> bool:
    """Whether a file has a name as originals have."""
    return _OURS.fullmatch(name) is not None


def behind(database: Database, stamp: Stamp) -> Iterator[Finding]:
    """A folder that has seen more changes than the database has is newer than that."""
    mark, known = stamp.read(), _known(database)
    if mark is None or known is None or known.store_id != mark.store_id:
        return
    if mark.commits > known.commits:
        what = (
            f"The last {missing_in_words(known, mark)} missing: the database is older than its "
            "originals, or its log was cut"
        )
        yield Finding(NAME, "database", what, "stamp")


def accept(database: Database, stamp: Stamp) -> None:
    """Have the folder know no more changes than the database has."""
    mark, known = stamp.read(), _known(database)
    if mark is not None and known is not None and known.store_id == mark.store_id:
        stamp.write(known)


def _known(database: Database) -> Mark | None:
    rows = database.read_if_whole(_MARK)
    return Mark(*rows[0]) if rows else None
