"""Finds documents whose text was lost and is still missing."""

from collections.abc import Iterator

from kb.engine.store.rows.unproven_texts import MissingText, missing
from kb.engine.verify.report import Finding, Progress
from kb.engine.verify.subject import Subject

NAME = "missing texts"


def check(subject: Subject, after: int) -> Iterator[Progress]:
    """Nothing is said where there are none, as nearly always."""
    if after or subject.database.damage is not None:
        return
    with subject.database.reading() as query:
        found = [_finding(each) for each in missing(query)]
    if found:
        yield Progress(1, len(found), found)


def _finding(text: MissingText) -> Finding:
    what, made_from = "Its text is missing", "its original" if text.stored_name else None
    if text.is_partial:
        what = "Part of its text was lost, or is an older version"
    if text.job_id is not None:
        what, made_from = f"{what}, until job {text.job_id} has read its original again", None
    elif made_from is None:
        what = f"{what}, and there is no original: write it anew, or delete the document"
    return Finding(
        NAME, "text", what, "text", text.id, text.title, text.job_id, made_from=made_from
    )
