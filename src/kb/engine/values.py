"""The nouns, as plain values."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kb.kinds import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Vectors = NDArray[np.float32]
else:  # numpy is as large as all else that a process needs which reads a text
    Vector = Vectors = Any

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
Outcome = Literal["added", "updated", "unchanged"]
Change = Literal["content", "title", "metadata", "tags"]

LONGEST_TITLE = 500  # characters


def now() -> str:
    """The time as we write it everywhere: ISO 8601, UTC, microseconds, Z."""
    return written(utc_now())


def utc_now() -> datetime:
    return datetime.now(UTC)


def written(time: datetime) -> str:
    """A time in UTC as we write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_since(moment: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()


@dataclass(frozen=True, slots=True)
class HowRead:
    """How a file became passages.

    `reader` is the extractor. `pages` is None where the file has none. `share` is how much of the
    file's words became passages, 0 to 1, as far as the reader can tell: a page that could not be
    read counts as one of middling length, and None says that nobody knows how much is in what
    could not be read. `pictures_waiting` inside, about so many, are still to be
    read; `pictures_read` had text.
    """

    reader: str = ""
    pages: int | None = None
    pages_by_ocr: int = 0
    pages_missing: int = 0
    pictures_read: int = 0
    pictures_waiting: int = 0
    words: int = 0
    share: float | None = 1.0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PicturesRead:
    """What came of recognising what was left out of a document.

    Text of so many `pictures` and whole `pages`, pages that are `missing`, and where on pages
    `words` stand, packed.
    """

    pictures: int
    pages: int = 0
    missing: int = 0
    warnings: tuple[str, ...] = ()
    words: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document, cut from a page at `start`.

    The chunks of a page, joined, are the page: nothing is dropped or changed. `headings` (the
    heading path, outermost first) and `table_header` stand beside the text, never in it.
    """

    text: str
    seq: int
    page: int | None = None
    location: str | None = None
    start: int = 0
    headings: tuple[str, ...] = ()
    table_header: str = ""


@dataclass(frozen=True, slots=True)
class Cosines:
    """What the cosines of a model count in a score: `weight` × what lies above `shift`, 0 to 1.

    Models differ in how near to each other they put texts that have nothing in common. `curves`
    are those of relevance (steepness and middle, by mode) where the usual ones do not fit.
    """

    weight: float
    shift: float = 0.0
    curves: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Embedder(Protocol):
    """Texts in, unit vectors out. One row per text, in order."""

    name: str
    dimensions: int
    cosines: Cosines

    def embed(self, texts: list[str]) -> Vectors:
        """For passages: uses all cores."""

    def embed_one(self, text: str) -> Vector:
        """For a query: runs in the caller's thread, never behind passages.

        A model may read a question otherwise than a passage, so this is no way to embed those.
        """

    def count_tokens(self, text: str) -> int:
        """As the model counts them, without its start and end marks."""

    def legibility(self, text: str) -> float:
        """The share of the text, 0 to 1, that the model has real word pieces for."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an imported document is called in its source, and what the source said of it last.

    `left` is the time of its last change as the import left it; None until then. `tags` are those
    that whoever imported it gave to it: the source does not take them away.
    """

    source: str
    key: str
    digest: str
    left: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbered:
    """The id that a document had in another store, whose ids go by the name of `numbering`.

    `last_ids` are the greatest that it has given away, by table.
    """

    numbering: str
    id: int
    last_ids: dict[str, int]


@dataclass(frozen=True, slots=True)
class Arrival:
    """What is to stay of an imported document as it was elsewhere.

    It is known again by its `uid`, or by what its source calls it. `seen_at` is its last change in
    another kb. `force` puts it in place of what is newer here. `given_tags` come from whoever
    imports it, and not from its source. `history` are the jobs that made or changed it in another
    kb, and `title_given` whether a person chose its title there.
    """

    digest: str
    imported: Imported | None = None
    uid: str | None = None
    seen_at: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    numbered: Numbered | None = None
    force: bool = False
    given_tags: tuple[str, ...] = ()
    title_given: bool = True
    history: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A document about to be stored. `tags` is None when the caller sent none.

    `title_given` says that a person chose the title, so that later bytes do not change it.
    `words` are the words of pages that were recognised, packed, by the number of the page.
    """

    title: str
    filename: str | None
    doc_type: str
    format: str
    source_path: str | None
    tags: tuple[str, ...] | None
    metadata: dict[str, Any]
    content_hash: str
    size_bytes: int
    processing_method: str = "text_extraction"
    how_read: HowRead | None = None
    stored_name: str | None = None
    title_given: bool = False
    words: dict[int, bytes] = field(default_factory=dict)
    origin: str | None = None
    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A request to ingest: a note's text, or a file whose bytes are stored already.

    Jobs of one `batch` were sent together. `expected` is how much work this will probably be: so
    many passages or, where there are `pictures` to recognise, so many of those.
    `origin` names the machine that `source_path` is a path of; None where nobody said.
    `exact_path`: another file there has the same path but for its spelling (an é as one sign or
    two), so this one is known by exactly that.
    `document_id`: this is no new file, but the original of that document, to be read once more, or
    where the kind is `pictures`, to be read for the pictures inside it.
    """

    kind: Literal["note", "file", "pictures"]
    content_hash: str
    size_bytes: int
    text: str | None = None
    stored_name: str | None = None
    filename: str | None = None
    title: str | None = None
    source_path: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    force_ocr: bool = False
    origin: str | None = None
    idempotency_key: str | None = None
    batch: str | None = None
    pictures: bool = False
    expected: int = 1
    arrival: Arrival | None = None
    document_id: int | None = None
    exact_path: bool = False

    def fingerprint(self) -> str:
        """The same for the same request, whoever repeats it: what was sent, as a hash.

        Not where the bytes were put, nor what is expected of them.
        """
        said = (
            self.kind,
            self.content_hash,
            self.filename,
            self.title,
            self.source_path,
            None if self.tags is None else sorted(self.tags),
            self.metadata,
            self.force_ocr,
            self.origin,
            *([True] if self.exact_path else []),
        )
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class TakenJob:
    """A job in a worker's hands. The lease is its proof: without it nothing can be written."""

    id: int
    uid: str
    lease: str
    attempts: int
    request: NewJob


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents may answer. Empty means all; `tags` must all be there.

    `warnings` lets through those only, or those only not, whose reading was not without warnings.
    """

    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    doc_types: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    source_path: str | None = None
    path_prefix: str | None = None
    created_after: str | None = None
    created_before: str | None = None
    warnings: bool | None = None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it stands in the store."""

    id: int
    uid: str
    seq: int
    text: str
    page: int | None
    location: str | None
    start: int
    headings: list[str]
    table_header: str


@dataclass(frozen=True, slots=True)
class Document:
    """One thing someone put in: a file or a note. `text` is there for notes, whole.

    `how_read` is None for notes, and for files that were read before it was noted.
    """

    id: int
    uid: str
    title: str
    filename: str | None
    doc_type: str
    format: str
    source_path: str | None
    origin: str | None
    tags: list[str]
    metadata: dict[str, Any]
    content_hash: str
    size_bytes: int
    chunk_count: int
    processing_method: str
    processing_status: str
    how_read: HowRead | None
    created_at: str
    updated_at: str | None


@dataclass(frozen=True, slots=True)
class WholeDocument(Document):
    """A document with its passages; `text` is a note's full text, null for files."""

    text: str | None = None
    chunks: list[StoredChunk] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DocumentPage:
    documents: list[Document]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class JobError:
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Job:
    """One request to ingest something, and how far it got. `ahead` jobs are before it.

    `changed` says what an `updated` one changed: where it is tags alone, nothing was read again.
    `held_bytes` is what of the sent bytes is kept for it: to be read, or to be tried again.
    """

    id: int
    uid: str
    status: JobStatus
    progress: float
    step: str
    steps_done: int
    steps_total: int
    message: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    elapsed_seconds: float
    remaining_seconds: float | None
    attempts: int
    filename: str | None
    held_bytes: int = 0
    ahead: int = 0
    outcome: Outcome | None = None
    changed: list[Change] | None = None
    document_id: int | None = None
    document_uid: str | None = None
    chunk_count: int | None = None
    duplicate_of: int | None = None
    processing_method: str | None = None
    error: JobError | None = None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What sending a file would come to, where that is certain: nothing would change (`unchanged`),
    or it would fail as the job did that is named. No outcome: it has to be sent."""

    outcome: Literal["unchanged", "failed"] | None = None
    document_id: int | None = None
    document_uid: str | None = None
    chunk_count: int | None = None
    job_id: int | None = None
    error: JobError | None = None


@dataclass(frozen=True, slots=True)
class JobPage:
    jobs: list[Job]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class JobCounts:
    queued: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0


@dataclass(frozen=True, slots=True)
class JobQueue:
    """One look at the work: what runs, what runs next, what ended last, and how many there are."""

    running: list[Job]
    queued: list[Job]
    ended: list[Job]
    counts: JobCounts
    remaining_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TagCount:
    tag: str
    count: int


@dataclass(frozen=True, slots=True)
class TagList:
    tags: list[TagCount]
    total: int


@dataclass(frozen=True, slots=True)
class TagChange:
    """Tags to add to a document and to take off it; false if there are none."""

    add: frozenset[str] = frozenset()
    remove: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.add or self.remove)

    def of(self, tags: Iterable[str]) -> set[str]:
        return (set(tags) | self.add) - self.remove


SAME_TAGS = TagChange()


@dataclass(frozen=True, slots=True)
class KindList:
    kinds: list[Kind]


@dataclass(frozen=True, slots=True)
class DayCount:
    """What was added on a day, of what is still there."""

    day: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class TypeCount:
    doc_type: str
    documents: int
    chunks: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Days in order; types and tags by how many documents they have."""

    days: list[DayCount]
    types: list[TypeCount]
    tags: list[TagCount]


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took with it."""

    status: Literal["deleted"]
    document_id: int
    title: str
    chunks_removed: int


@dataclass(frozen=True, slots=True)
class Cleared:
    status: Literal["cleared"]
    documents_removed: int
    chunks_removed: int
    jobs_removed: int
    bytes_freed: int


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that is not as it should be, for whoever looks after the engine."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Totals:
    """`vectors` are of the model that is searched, `next_vectors` of one that may follow it."""

    documents: int
    notes: int
    chunks: int
    terms: int
    vectors: int
    next_vectors: int
    file_bytes: int
    tags: int
    queued: int
    running: int
    failed: int
    failed_bytes: int
    size_bytes: int
    words_outdated: int
