"""The database in, what SQLite itself finds wrong with it out."""

import time
from collections.abc import Iterator

from kb.engine.errors import StoreDamaged
from kb.engine.verify.report import Finding, Progress
from kb.engine.verify.subject import Subject

NAME = "integrity"
_MOST = 100
_AGAIN = (0.0, 0.05, 0.2, 0.5)  # seconds


def check(subject: Subject, after: int) -> Iterator[Progress]:
    """Trees, indexes against tables, the word index's own order, and references."""
    statements = (f"PRAGMA integrity_check({_MOST})", "PRAGMA foreign_key_check")
    for number, sql in enumerate(statements, start=1):
        if number <= after:
            continue
        try:
            lines = _lines(subject, sql)
        except StoreDamaged as error:
            lines = [error.why]
        yield Progress(number, 1, [_finding(line, number) for line in lines])


def _lines(subject: Subject, sql: str) -> list[str]:
    """What is wrong every time that it is asked.

    The word index, asked while others write, may take what it remembers of before for what is there
    now, and call that corrupt.
    """
    lines: list[str] = []
    for pause in _AGAIN:
        time.sleep(pause)
        rows = subject.database.read(sql)
        lines = [" ".join(map(str, row)) for row in rows if row != ("ok",)][:_MOST]
        if not lines:
            break
    return lines


def _finding(line: str, number: int) -> Finding:
    what = f"SQLite finds: {line}" if number == 1 else f"References cannot be followed: {line}"
    return Finding(NAME, "database", what, "rebuild", made_from="what else is there of it")
