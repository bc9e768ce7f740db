"""Finds documents whose original is missing or has changed."""

import json
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from kb.engine.backup.disk import hash_of_file
from kb.engine.store.file.database import Row
from kb.engine.verify.report import Finding, Progress, unreadable
from kb.engine.verify.subject import Subject, in_ranges

NAME = "originals"
_IS_MISSING = "Its original is missing"
# What v2 hashed nobody knows: of its documents only the size can be compared.
_FROM_V2 = (
    "created_at < (SELECT max(value) FROM facts WHERE name IN ('v2_taken_over', 'v2_imported')) "
    "AND NOT EXISTS (SELECT 1 FROM jobs WHERE document_id = documents.id "
    "AND jobs.content_hash = documents.content_hash)"
)
_COLUMNS = f"id, title, stored_name, size_bytes, iif({_FROM_V2}, NULL, content_hash)"
_FILES = (
    f"SELECT {_COLUMNS} FROM documents "
    "WHERE id BETWEEN :first AND :last AND stored_name IS NOT NULL"
)
_OF_FILE = f"SELECT {_COLUMNS} FROM documents WHERE stored_name = :name"


def check(subject: Subject, after: int) -> Iterator[Progress]:
    """One at a time: a file may be large."""

    def check_one(first: int, last: int) -> tuple[int, list[Finding]]:
        rows = subject.database.read(_FILES, first=first, last=last)
        found = [finding for row in rows if (finding := wrong(subject.files, row)) is not None]
        # What was replaced or deleted meanwhile has another row by now, or none.
        if found and subject.database.read(_FILES, first=first, last=last) != rows:
            found = []
        return len(rows), found

    yield from in_ranges(after, subject.last("documents"), 1, check_one, _unreadable)


_NAMING = (
    "SELECT id, NULL, title FROM documents WHERE stored_name IN (SELECT value FROM "
    "json_each(:names)) UNION ALL SELECT NULL, id, filename FROM jobs WHERE stored_name IN "
    "(SELECT value FROM json_each(:names))"
)


def missing(subject: Subject, names: Iterable[str]) -> list[Finding]:
    """A finding for each document and job whose file is one of these, which are not there."""
    rows = subject.database.read(_NAMING, names=json.dumps(sorted(names)))
    return [
        Finding(NAME, "original", _missing(job_id, title), "original", document_id, title, job_id)
        for document_id, job_id, title in rows
    ]


def _missing(job_id: int | None, title: str) -> str:
    return f"Job {job_id}, {title}: {_IS_MISSING}" if job_id is not None else _IS_MISSING


def of_file(subject: Subject, name: str) -> Row | None:
    """The document whose original has this name, for `wrong`."""
    rows = subject.database.read(_OF_FILE, name=name)
    return rows[0] if rows else None


def wrong(folder: Path, row: Row) -> Finding | None:
    document_id, title, name, size, content_hash = row

    def finding(what: str) -> Finding:
        if (folder / name).is_symlink():
            what = "A symbolic link is in its original's place, which does not lead to the original"
        return Finding(NAME, "original", what, "original", document_id, title)

    try:
        about = (folder / name).stat()
        if not stat.S_ISREG(about.st_mode):
            kind = "A folder" if stat.S_ISDIR(about.st_mode) else "Something that is no file"
            return finding(f"{kind} is in its original's place")
        found = about.st_size
        if found != size:
            return finding(f"Its original has {found} bytes instead of {size}")
        if content_hash is not None and hash_of_file(folder / name) != content_hash:
            return finding("Its original has other bytes than were added")
    except FileNotFoundError:
        return finding(_IS_MISSING)
    except OSError as error:
        return finding(f"Its original cannot be read: {error.strerror}")
    return None


def _unreadable(document_id: int) -> Finding:
    return unreadable(NAME, "Which original it has cannot be read", document_id=document_id)
