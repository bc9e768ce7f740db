"""Why a question was missed: not indexed, ranked low, or filtered out.

The reason is looked up, not guessed: deeper in the same search, in a search without filters, in the
document's own passages, and among the jobs.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

import httpx

from kb.cli.concurrently import concurrently
from kb.cli.eval.asking import DEEPEST, Answered, Asker, Reason, Wanted
from kb.cli.eval.catalogue import name_of
from kb.cli.eval.questions import Question, page_words
from kb.client import EngineClient, Json
from kb.kinds import kinds_of

NOT_INDEXED, RANKED_LOW, FILTERED = "not_indexed", "ranked_low", "filtered"

_FILTERS = ("tags", "doc_type", "path_prefix", "per_document", "min_relevance")
# What `kb search` may take for a condition: quotes, a word to leave out, a tag.
_CONDITION = re.compile(r'"|(?<!\S)-\S|(?<!\S)tag:\S')
_LONGEST_QUERY = 2_000
_MOST_GUESSES = 25
_MOST_JOBS = 1_000
_DOCUMENTS_KEPT = 16


async def explain_all(
    asker: Asker, answers: list[Answered], on_answer: Callable[[], object]
) -> list[Answered]:
    """The answers, those that are misses with their reasons."""
    missed = [answered for answered in answers if not answered.is_hit]
    unknown = any(wanted.ids == frozenset() for each in missed for wanted in each.wanted)
    explainer = _Explainer(asker, await _jobs_by_name(asker.client) if unknown else {})

    async def one(answered: Answered) -> Answered:
        explained = replace(answered, reasons=await explainer.reasons(answered))
        on_answer()
        return explained

    explained = iter(await concurrently(missed, one))
    return [answered if answered.is_hit else next(explained) for answered in answers]


async def _jobs_by_name(client: EngineClient) -> dict[str, Json]:
    """The newest job of each file that is no document yet, or never became one."""
    jobs: dict[str, Json] = {}
    for status in ("failed", "queued", "running"):
        for job in (await client.jobs(status=status, limit=_MOST_JOBS))["jobs"]:
            known = jobs.get(job["filename"])
            if job["filename"] and (known is None or known["id"] < job["id"]):
                jobs[job["filename"]] = job
    return jobs


class _Explainer:
    """Looks for reasons. What it has read of a document is kept for a while."""

    def __init__(self, asker: Asker, jobs: dict[str, Json]) -> None:
        self._asker = asker
        self._jobs = jobs
        self._guesses = _MOST_GUESSES
        self._chunks: dict[int, list[Json]] = {}

    async def reasons(self, answered: Answered) -> tuple[Reason, ...]:
        question, search = answered.question, self._asker.search
        options = search.options(question)
        deep = await self._asker.ask(question, **{**options, "top": DEEPEST})
        free, filters = deep, _in_words(question, options)
        if filters:
            lifted = {**options, **dict.fromkeys(_FILTERS), "plain": True, "top": DEEPEST}
            free = await self._asker.ask(question, **lifted)
        return tuple(
            [
                await self._reason(question, wanted, options, deep["results"], free["results"])
                for wanted in answered.wanted
            ]
        )

    async def _reason(
        self, question: Question, wanted: Wanted, options: Json, deep: list[Json], free: list[Json]
    ) -> Reason:
        if wanted.ids == frozenset():
            return Reason(NOT_INDEXED, self._why_unknown(wanted.target.document or ""))
        rank = wanted.rank(deep)
        if rank is not None:
            return Reason(RANKED_LOW, f"rank {rank}", rank)
        rank = wanted.rank(free)
        if rank is not None:
            return Reason(FILTERED, f"rank {rank} without {_in_words(question, options)}")
        missing = await self._what_is_missing(question, wanted)
        if missing:
            return Reason(NOT_INDEXED, missing)
        lacking = self._what_is_lacking(wanted, options)
        if lacking:
            return Reason(FILTERED, lacking)
        return Reason(RANKED_LOW, f"not among the first {DEEPEST}")

    def _why_unknown(self, reference: str) -> str:
        """Why there is no such document, as far as jobs and names can tell."""
        job = self._jobs.get(PurePosixPath(reference).name)
        if job is not None and job["status"] == "failed":
            return f"job {job['id']} failed: {(job['error'] or {}).get('message', '')}"
        if job is not None:
            return f"job {job['id']} is still {job['status']}"
        if self._guesses > 0:
            self._guesses -= 1
            near = self._asker.catalogue.near(reference)
            if near:
                return f"no document has this name; there is {near}"
        return "no document has this name"

    async def _what_is_missing(self, question: Question, wanted: Wanted) -> str | None:
        """What of the expected answer none of its documents has."""
        if wanted.ids is None:
            words = (wanted.words or "").strip()[:_LONGEST_QUERY]
            found = await self._asker.ask(question, words, top=DEEPEST, fts_only=True)
            return None if wanted.rank(found["results"]) else "no passage has this text"
        chunks = [chunk for number in sorted(wanted.ids) for chunk in await self._read(number)]
        if any(wanted.is_on(chunk["page"]) and wanted.is_in(chunk["text"]) for chunk in chunks):
            return None
        name = self._name(wanted)
        if not any(wanted.is_on(chunk["page"]) for chunk in chunks):
            return f"{name} {_of_pages(chunks, wanted.target.pages or (0, 0))}"
        elsewhere = [chunk["page"] for chunk in chunks if wanted.is_in(chunk["text"])]
        if elsewhere:
            return f"{name} has this text on page {elsewhere[0]}"
        return f"no passage of {name} has this text"

    async def _read(self, document_id: int) -> list[Json]:
        if document_id not in self._chunks:
            try:
                chunks = (await self._asker.client.document(document_id))["chunks"]
            except httpx.HTTPStatusError as error:
                if error.response.status_code != 404:  # deleted since it was listed
                    raise
                chunks = []
            if len(self._chunks) >= _DOCUMENTS_KEPT:
                self._chunks.pop(next(iter(self._chunks)))
            self._chunks[document_id] = chunks
        return self._chunks[document_id]

    def _name(self, wanted: Wanted) -> str:
        ids = sorted(wanted.ids or ())
        name = name_of(self._asker.catalogue.document(ids[0]))
        return name if len(ids) == 1 else f"the {len(ids)} documents {name}"

    def _what_is_lacking(self, wanted: Wanted, options: Json) -> str | None:
        """The filter that keeps every one of the documents out, where one can be named."""
        documents = [self._asker.catalogue.document(number) for number in wanted.ids or ()]
        if not documents:
            return None
        name = self._name(wanted)
        for tag in options["tags"] or ():
            if not any(tag in document["tags"] for document in documents):
                return f"{name} has not the tag {tag}"
        kind = options["doc_type"]
        if kind and not {document["doc_type"] for document in documents} & {*kinds_of(kind)}:
            return f"{name} is of the type {documents[0]['doc_type']}"
        prefix = options["path_prefix"]
        paths = [document["source_path"] or "" for document in documents]
        if prefix and not any(path.startswith(prefix) for path in paths):
            return f"{name} is not below {prefix}"
        return None


def _of_pages(chunks: list[Json], wanted: tuple[int, int]) -> str:
    """What is to say of the pages of a document that has none of the wanted ones."""
    last = max((chunk["page"] for chunk in chunks if chunk["page"] is not None), default=None)
    if not chunks:
        return "has no text"
    if last is None:
        return "has no pages"
    if wanted[0] > last:
        return f"ends on page {last}"
    return f"has no text on {'page' if wanted[0] == wanted[1] else 'pages'} {page_words(wanted)}"


def _in_words(question: Question, options: Json) -> str:
    """The limits of a search: filters as on a command line, conditions in the question."""
    said = {
        "--tags": ",".join(options["tags"] or ()),
        "--type": options["doc_type"],
        "--path-prefix": options["path_prefix"],
        "--per-document": options["per_document"],
        "--min-relevance": options["min_relevance"] and f"{options['min_relevance']:g}",
    }
    filters = " ".join(f"{name} {value}" for name, value in said.items() if value not in (None, ""))
    conditions = ""
    if not options["plain"] and _CONDITION.search(question.text):
        conditions = "the conditions in the question"
    return " and ".join(filter(None, (filters, conditions)))
