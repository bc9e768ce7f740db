"""Asks SQLite itself what is wrong with the database."""

from collections.abc import Iterator

from kb.engine.errors import StoreDamaged
from kb.engine.verify.report import Finding, Progress, unreadable
from kb.engine.verify.subject import Subject

NAME = "integrity"
_MOST = 100


def check(subject: Subject, after: int) -> Iterator[Progress]:
    """Trees, indexes against tables, the word index's own order, and references."""
    statements = (f"PRAGMA integrity_check({_MOST})", "PRAGMA foreign_key_check")
    for number, sql in enumerate(statements, start=1):
        if number > after:
            lines = _lines(subject, sql)
            yield Progress(number, 1, [_finding(line, number) for line in lines])


def check_indexes(subject: Subject, after: int) -> Iterator[Progress]:
    """Indexes against their tables, one table at a time: for a store in use that is large.

    Tables without an index are left out. Their rows are compared with each other anyway.
    """
    tables = subject.database.read(
        "SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'index' ORDER BY tbl_name"
    )
    for number, (table,) in enumerate(tables, start=1):
        if number > after:
            lines = _lines(subject, f"PRAGMA integrity_check('{table}')")
            yield Progress(number, 1, [_finding(line, 1) for line in lines])


def _lines(subject: Subject, sql: str) -> list[str]:
    """By a separate connection: a used one may take its cached pages of the word index for the
    current ones while others write, and call that corrupt."""
    try:
        rows = subject.database.read_afresh(sql)
    except StoreDamaged as error:
        return [error.why]
    return [" ".join(map(str, row)) for row in rows if row != ("ok",)][:_MOST]


def _finding(line: str, number: int) -> Finding:
    what = f"SQLite finds: {line}" if number == 1 else f"References cannot be followed: {line}"
    return unreadable(NAME, what)
