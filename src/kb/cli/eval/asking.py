"""Asks the questions and collects what was found for each."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import httpx

from kb.cli.adding.waiting import patiently
from kb.cli.commands.documents import absolute
from kb.cli.concurrently import concurrently
from kb.cli.eval.catalogue import Catalogue
from kb.cli.eval.measures import ndcg
from kb.cli.eval.passages import holds, words_of
from kb.cli.eval.questions import Question, QuestionFile, Target
from kb.cli.failure import Failure
from kb.cli.which import list_documents
from kb.client import EngineClient, Json, problem

DEEPEST = 100  # what a search can give at most
_MODEL_PATIENCE = 60.0
_LOOK_AGAIN_AFTER = 0.2


@dataclass(frozen=True, slots=True)
class Search:
    """How to search; the same for all questions of a run."""

    top: int = 10
    mode: str = "hybrid"
    tags: tuple[str, ...] = ()
    doc_type: str | None = None
    path_prefix: str | None = None
    per_document: int | None = None
    min_relevance: float | None = None
    recency: float | None = None
    plain: bool | None = None

    def options(self, question: Question) -> Json:
        """The fields of a search for this question; its own tags and type come to the run's."""
        return {
            "top": self.top,
            "fts_only": True if self.mode == "fts-only" else None,
            "vec_only": True if self.mode == "vec-only" else None,
            "tags": list(dict.fromkeys((*self.tags, *question.tags))) or None,
            "doc_type": question.doc_type or self.doc_type,
            "path_prefix": self.path_prefix,
            "per_document": self.per_document,
            "min_relevance": self.min_relevance,
            "recency": self.recency,
            "plain": self.plain,
        }

    def as_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__} | {"tags": list(self.tags)}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A target, ready to be compared: `ids` are None where any document will do."""

    target: Target
    ids: frozenset[int] | None
    words: str | None

    def is_hit(self, hit: Json) -> bool:
        in_document = self.ids is None or hit["document_id"] in self.ids
        return in_document and self.is_on(hit["page"]) and self.is_in(hit["text"])

    def is_on(self, page: int | None) -> bool:
        pages = self.target.pages
        return pages is None or (page is not None and pages[0] <= page <= pages[1])

    def is_in(self, text: str) -> bool:
        return self.words is None or holds(words_of(text), self.words)

    def rank(self, hits: list[Json]) -> int | None:
        """The place of the first hit that is right, from 1."""
        return next((place for place, hit in enumerate(hits, 1) if self.is_hit(hit)), None)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was not found: a code for programs, a detail for people."""

    code: str
    detail: str
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A question and what the engine found; `reasons` has one for each target of a miss."""

    question: Question
    wanted: tuple[Wanted, ...]
    ranks: tuple[int | None, ...]
    top: int
    took_ms: float
    degraded: bool
    first: Json | None
    reasons: tuple[Reason, ...] = ()

    @property
    def is_hit(self) -> bool:
        return any(rank is not None for rank in self.ranks)

    def as_json(self) -> Json:
        found = [rank for rank in self.ranks if rank is not None]
        deeper = [reason.rank for reason in self.reasons if reason.rank is not None]
        told = self.reasons or (None,) * len(self.wanted)
        return {
            "line": self.question.line,
            "question": self.question.text,
            "tags": list(self.question.tags),
            "type": self.question.doc_type,
            "hit": bool(found),
            "rank": min(found or deeper, default=None),
            "reciprocal_rank": round(1 / min(found), 6) if found else 0.0,
            "ndcg": round(ndcg(self.ranks, self.top), 6),
            "recall": round(len(found) / len(self.ranks), 6),
            "took_ms": self.took_ms,
            "first": self.first,
            "expected": [
                {
                    **wanted.target.as_json(),
                    "document_ids": sorted(wanted.ids or ()),
                    "rank": rank if reason is None else reason.rank,
                    "reason": reason and reason.code,
                    "detail": reason and reason.detail,
                }
                for wanted, rank, reason in zip(self.wanted, self.ranks, told, strict=True)
            ],
        }


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks an engine the questions of a file."""

    client: EngineClient
    file: QuestionFile
    catalogue: Catalogue
    search: Search
    wanted: dict[Target, Wanted] = field(default_factory=dict)

    async def answer(self, question: Question) -> Answered:
        wanted = tuple(map(self.prepare, question.targets))
        answer = await self.ask(question, **self.search.options(question))
        hits = answer["results"]
        return Answered(
            question,
            wanted,
            tuple(each.rank(hits) for each in wanted),
            self.search.top,
            answer["took_ms"],
            bool(answer["degraded"]),
            _as_first(hits[0]) if hits else None,
        )

    def prepare(self, target: Target) -> Wanted:
        """The target with its documents looked up, once for all questions that share it."""
        if target not in self.wanted:
            name = target.document
            ids = None if name is None else frozenset(self.catalogue.named(name))
            words = None if target.passage is None else words_of(target.passage)
            self.wanted[target] = Wanted(target, ids, words)
        return self.wanted[target]

    async def ask(self, question: Question, query: str | None = None, **options: Any) -> Json:
        """Search; a refusal of the engine is reported with the line of the question."""
        try:
            return await patiently(lambda: self.client.search(query or question.text, **options))
        except httpx.HTTPStatusError as error:
            # What stands on the command line is refused in the engine's words alone.
            of_line = bool(question.tags or question.doc_type)
            if error.response.status_code != 422 or not of_line:
                raise
            said = problem(error)["message"]
            raise Failure(f"{self.file.name} line {question.line}: {said}") from error


def _as_first(hit: Json) -> Json:
    names = ("document_id", "title", "filename", "page", "location", "relevance")
    return {name: hit[name] for name in names}


async def prepare(client: EngineClient, file: QuestionFile, search: Search) -> tuple[Json, Asker]:
    """The state of an engine that can search in this way, and who asks it."""
    status = await _ready(client, search.mode)
    if search.path_prefix is not None:
        path = await from_here(client, search.path_prefix)
        search = replace(search, path_prefix=path)
    named = any(target.document for question in file.questions for target in question.targets)
    documents = await list_documents(client) if named else []
    return status, Asker(client, file, Catalogue(documents), search)


async def _ready(client: EngineClient, mode: str) -> Json:
    """Wait until the model is loaded: earlier searches would go by words alone."""
    until = anyio.current_time() + _MODEL_PATIENCE
    status = await client.status()
    while status["model"]["state"] == "loading" and mode != "fts-only":
        if anyio.current_time() > until:
            raise Failure("the engine's model is still loading; try again later, or use --fts-only")
        await anyio.sleep(_LOOK_AGAIN_AFTER)
        status = await client.status()
    if status["model"]["state"] == "failed" and mode == "vec-only":
        raise Failure("the engine's model did not load, so it cannot search by meaning alone")
    return status


async def from_here(client: EngineClient, prefix: str) -> str:
    """A path as it was typed, or from this folder where nothing begins so."""
    page = await client.documents(path_prefix=prefix, limit=1)
    return prefix if page["total"] else absolute(prefix)


async def ask_all(asker: Asker, on_answer: Callable[[], object]) -> list[Answered]:

    async def one(question: Question) -> Answered:
        answered = await asker.answer(question)
        on_answer()
        return answered

    return await concurrently(asker.file.questions, one)
