"""Finds jobs that contradict themselves, or whose file is gone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kb.engine.verify.checks.originals import wrong
from kb.engine.verify.report import Finding, Progress, unreadable
from kb.engine.verify.subject import Subject, in_ranges

NAME = "jobs"
_AT_ONCE = 200
_STATUSES = ("queued", "running", "done", "failed", "cancelled")
_JOBS = (
    "SELECT id, status, kind, has_text, EXISTS (SELECT 1 FROM job_texts WHERE job_id = jobs.id), "
    "stored_name, lease IS NOT NULL, outcome, document_id, filename, size_bytes, content_hash "
    "FROM jobs "
    "WHERE id BETWEEN :first AND :last"
)

_STORED_NAME = 5  # of its columns


def check(subject: Subject, after: int) -> Iterator[Progress]:
    files = 0

    def check_range(first: int, last: int) -> tuple[int, list[Finding]]:
        nonlocal files
        rows = subject.database.read(_JOBS, first=first, last=last)
        files = sum(row[_STORED_NAME] is not None for row in rows)
        found = [finding for row in rows for finding in _wrong(subject, *row)]
        if found:  # a job may have ended, and its file gone, since it was looked at
            again = subject.database.read(_JOBS, first=first, last=last)
            found = [finding for row in again for finding in _wrong(subject, *row)]
        return len(rows), found

    for progress in in_ranges(after, subject.last("jobs"), _AT_ONCE, check_range, _unreadable):
        yield replace(progress, originals=files)


def _wrong(
    subject: Subject,
    job_id: int,
    status: str,
    kind: str,
    has_text: int,
    text_is_there: int,
    stored_name: str | None,
    has_lease: bool,
    outcome: Any,
    document_id: int | None,
    filename: str | None,
    size: int,
    content_hash: str | None,
) -> Iterator[Finding]:
    what = None
    if status not in _STATUSES or kind not in ("note", "file", "pictures"):
        what = f"Job {job_id} is `{kind}` and `{status}`, which is no valid state of a job"
    elif (
        status in ("queued", "running")
        and not has_text
        and stored_name is None
        and kind != "pictures"  # they are in a document's original
    ):
        what = f"Job {job_id} is {status} and holds nothing to do"
    elif has_text != text_is_there:
        what = f"Job {job_id} has lost the text that was sent with it, or its end was half noted"
    elif status == "done" and (has_text or stored_name or has_lease or not outcome):
        what = f"Job {job_id} is done and still holds what it was to do, or no outcome"
    if what is not None:
        yield Finding(NAME, "database", what, "job", document_id, None, job_id)
    elif stored_name is not None:
        row = (document_id, filename, stored_name, size, content_hash)
        found = wrong(subject.files, row)
        if found is not None:
            what = f"Job {job_id}, {filename}: {found.what}"
            yield Finding(NAME, "original", what, "original", None, filename, job_id)


def _unreadable(job_id: int) -> Finding:
    return unreadable(NAME, f"Job {job_id} cannot be read", job_id=job_id)
