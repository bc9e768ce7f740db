"""The nouns of export and import: everything about a document, as plain values."""

from dataclasses import dataclass
from typing import Any, Literal

from kb.engine.values import Change, Document, HowRead, Imported, JobStatus, Outcome

Fate = Literal["new", "unchanged", "updated", "conflict"]


@dataclass(frozen=True, slots=True)
class LastIds:
    """The greatest id of each kind that a store has given away, whether it is still in use."""

    documents: int = 0
    chunks: int = 0
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with everything stored about it, except what is made from its text."""

    id: int
    uid: str
    seq: int
    page: int | None
    location: str | None
    start: int
    headings: list[str]
    table_header: str
    text: str


@dataclass(frozen=True, slots=True)
class WordsOnPage:
    """The words that were recognised on a page: text, left, top, right, bottom.

    The sides are in 65,535ths of the page's width and height, as they are stored.
    """

    page: int
    words: list[tuple[str, int, int, int, int]]


@dataclass(frozen=True, slots=True)
class PastJob:
    """A job that made or changed a document, as it ended."""

    id: int
    uid: str
    status: JobStatus
    kind: str
    filename: str | None
    content_hash: str | None
    size_bytes: int
    force_ocr: bool
    attempts: int
    outcome: Outcome | None
    changed: list[Change] | None
    chunk_count: int | None
    duplicate_of: int | None
    duplicate_of_uid: str | None
    processing_method: str | None
    error_code: str | None
    message: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class Record:
    """Everything that is known of a document, of one moment."""

    id: int
    uid: str
    title: str
    title_given: bool
    filename: str | None
    doc_type: str
    format: str
    source_path: str | None
    origin: str | None
    tags: list[str]
    metadata: dict[str, Any]
    content_hash: str
    size_bytes: int
    has_file: bool
    processing_method: str
    how_read: HowRead | None
    created_at: str
    updated_at: str | None
    imported: Imported | None
    jobs: list[PastJob]
    passages: list[Passage]
    words: list[WordsOnPage]


@dataclass(frozen=True, slots=True)
class Put:
    """What came of a document that was imported with its passages."""

    fate: Fate
    document: Document
    unneeded_file: str | None = None
