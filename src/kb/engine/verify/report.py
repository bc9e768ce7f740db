"""Reports findings by document."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kb.engine.values import now

# So many are named one by one; beyond that they are counted.
MOST_NAMED = 1000

# `database`: what is stored is not what was stored. `index`: what was made from it does not fit it.
# `original`: the file of a document or job is not there, or is another one. `text`: that of a
# document was lost, and has not been read again.
Kind = Literal["database", "index", "original", "text"]
Remedy = Literal[
    "rebuild",
    "words",
    "terms",
    "totals",
    "vectors",
    "tags",
    "text",
    "original",
    "job",
    "note",
    "stamp",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; `made_from` says what it can be made again from, if it can."""

    check: str
    kind: Kind
    what: str
    remedy: Remedy
    document_id: int | None = None
    title: str | None = None
    job_id: int | None = None
    chunk_id: int | None = None
    made_from: str | None = None


def unreadable(check: str, what: str, **about: Any) -> Finding:
    """Something stored cannot be read: what else is there of it goes into a new database."""
    about = {"made_from": "what else is there of it"} | about
    return Finding(check, "database", what, "rebuild", **about)


def named(finding: Finding) -> str:
    """With the number of its document; no title, since this goes into the log."""
    about = f"document {finding.document_id}: " if finding.document_id is not None else ""
    return f"{about}{finding.what}"


def documents(ids: Sequence[int]) -> str:
    """`document 5`, `documents 5, 6`."""
    return f"document{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


@dataclass(slots=True)
class Report:
    """What was checked, and what was found."""

    started_at: str = field(default_factory=now)
    finished_at: str | None = None
    checked: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)

    def add(self, check: str, done: int, findings: list[Finding], originals: int = 0) -> None:
        self.checked[check] += done
        if originals:
            self.checked["originals"] += originals
        for finding in findings:
            self.found[finding.kind] += 1
            if len(self.findings) < MOST_NAMED:
                self.findings.append(finding)

    @property
    def is_whole(self) -> bool:
        return not self.found

    def without(self, kind: Kind) -> "Report":
        """What is left when everything of a kind has been repaired."""
        left = Report(self.started_at, self.finished_at, self.checked.copy())
        for finding in self.findings:
            if finding.kind != kind:
                left.add(finding.check, 0, [finding])
        return left

    def of_kind(self, *kinds: Kind) -> list[Finding]:
        return [finding for finding in self.findings if finding.kind in kinds]


@dataclass(frozen=True, slots=True)
class Progress:
    """A piece of a check that is done: up to which key, how many things, what was wrong.

    `originals` are files that were looked at with them: jobs have some, too.
    """

    up_to: int
    done: int = 0
    findings: list[Finding] = field(default_factory=list)
    originals: int = 0


def as_values(report: Report) -> dict[str, Any]:
    return {
        "started_at": report.started_at,
        "finished_at": report.finished_at,
        "whole": report.is_whole,
        "checked": dict(report.checked),
        "skipped": dict(report.skipped),
        "findings_total": sum(report.found.values()),
        "findings": [
            {name: getattr(finding, name) for name in Finding.__slots__}
            for finding in report.findings
        ],
    }
