"""Whether changes are missing from a database, by the stamp on its folder of originals."""

import re
from collections.abc import Iterator

from kb.engine.store.file.database import Database
from kb.engine.store.file.stamp import Mark, Stamp, missing_in_words
from kb.engine.verify.report import Finding

NAME = "stamp"
NAMED_FILES = (
    "SELECT stored_name FROM documents WHERE stored_name IS NOT NULL UNION "
    "SELECT stored_name FROM jobs WHERE stored_name IS NOT NULL UNION "
    "SELECT name FROM files_to_unlink"
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
    mark, known = stamp.read(), known_mark(database)
    if mark is None or known is None or known.store_id != mark.store_id:
        return
    if mark.commits > known.commits:
        what = (
            f"The last {missing_in_words(known, mark)} missing: the database is older than its "
            "originals, or its log was cut"
        )
        yield Finding(NAME, "database", what, "stamp")


def accept(database: Database, stamp: Stamp) -> None:
    """Have the database go on from the last change that the folder has heard of.

    The number of a change is never used twice: it tells which of two copies has more of them.
    """
    mark, known = stamp.read(), known_mark(database)
    if mark is None or known is None or known.store_id != mark.store_id:
        return
    if known.commits < mark.commits:
        with database.transaction() as query:
            query("UPDATE totals SET value = :v WHERE name = 'commits'", v=mark.commits)


def known_mark(database: Database) -> Mark | None:
    """What the database says of itself, if that can be read."""
    rows = database.read_if_whole(_MARK)
    return Mark(*rows[0]) if rows else None
