"""Documents in, those whose original is not there, or is another one, out."""

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

from kb.engine.store.database import Row
from kb.engine.verify.report import Finding, Progress
from kb.engine.verify.subject import Subject, in_ranges

NAME = "originals"
_BLOCK = 1 << 20
_FILES = (
    "SELECT id, title, stored_name, size_bytes, content_hash FROM documents "
    "WHERE id BETWEEN :first AND :last AND stored_name IS NOT NULL"
)


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
        if sha256_of(folder / name) != content_hash:
            return finding("Its original has other bytes than were added")
    except FileNotFoundError:
        return finding("Its original is missing")
    except OSError as error:
        return finding(f"Its original cannot be read: {error.strerror}")
    return None


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _unreadable(document_id: int) -> Finding:
    return Finding(
        NAME,
        "database",
        "Which original it has cannot be read",
        "rebuild",
        document_id,
        made_from="what else is there of it",
    )
