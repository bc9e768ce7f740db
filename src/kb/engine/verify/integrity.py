"""The database in, what SQLite itself finds wrong with it out."""

from collections.abc import Iterator

from kb.engine.errors import StoreDamaged
from kb.engine.verify.report import Finding, Progress
from kb.engine.verify.subject import Subject

NAME = "integrity"
_MOST = 100


def check(subject: Subject, after: int) -> Iterator[Progress]:
    """Trees, indexes against tables, the word index's own order, and references."""
    statements = (f"PRAGMA integrity_check({_MOST})", "PRAGMA foreign_key_check")
    for number, sql in enumerate(statements, start=1):
        if number <= after:
            continue
        try:
            rows = subject.database.read(sql)
            lines = [" ".join(map(str, row)) for row in rows if row != ("ok",)][:_MOST]
        except StoreDamaged as error:
            lines = [error.why]
        yield Progress(number, 1, [_finding(line, number) for line in lines])


def _finding(line: str, number: int) -> Finding:
    what = f"SQLite finds: {line}" if number == 1 else f"References cannot be followed: {line}"
    return Finding(NAME, "database", what, "rebuild", made_from="what else is there of it")
