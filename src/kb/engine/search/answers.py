"""The nouns of a search: the question, and the answer."""

from dataclasses import dataclass, field
from typing import Literal

from kb.engine.values import Filter

Mode = Literal["hybrid", "words", "vectors"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what may answer.

    `plain` takes the query as it is, without quotes, `-` and `tag:` meaning anything. `recency` is
    the number of days after which being new counts half. `merge` makes one hit of passages that
    follow each other in a document.
    """

    query: str
    top: int = 10
    filter: Filter | None = None
    mode: Mode = "hybrid"
    min_relevance: float = 0.0
    per_document: int | None = None
    plain: bool = False
    recency: float | None = None
    merge: bool = False
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a hit's score comes from: the first six add up to it.

    `rivals` is the mean of the ten best scores of the query, which relevance looks at too. `terms`
    and `pairs` say what each found word and phrase gave to `words`.
    """

    words: float
    literal: float
    vector: float
    neighbour: float
    document: float
    recency: float
    rivals: float
    cosine: float | None
    vector_weight: float
    terms: dict[str, float]
    pairs: dict[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query, with its score and its document.

    `highlights` are [start, end) offsets into `text`, in characters. `chunk_ids` are all chunks
    that `text` is made of, in reading order; `chunk_id` is the best of them.
    """

    chunk_id: int
    chunk_uid: str
    chunk_ids: list[int]
    document_id: int
    document_uid: str
    score: float
    relevance: float
    text: str
    highlights: list[tuple[int, int]]
    page: int | None
    location: str | None
    headings: list[str]
    title: str
    filename: str | None
    doc_type: str
    format: str
    source_path: str | None
    tags: list[str]
    created_at: str
    updated_at: str | None
    explain: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first. `degraded` names what was missing, when something was.

    `unmet` are conditions of the query, as they were typed, that left nothing: the hits are what is
    found without them. `nothing_fits_well` says that even the best hit has hardly anything to do
    with the query, or that there is none.
    """

    query: str
    results: list[Hit]
    total: int
    took_ms: float
    mode: Mode
    degraded: str | None = None
    unmet: list[str] = field(default_factory=list)
    nothing_fits_well: bool = False
