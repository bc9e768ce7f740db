"""Drafts questions from the headings of documents or, where there are none, their sentences."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from kb.cli.concurrently import concurrently
from kb.cli.eval.headings import heading_question, opening_of, sentences_of
from kb.cli.eval.passages import words_of
from kb.cli.eval.showing import bar
from kb.cli.terminal.safe_text import one_line
from kb.cli.which import list_documents
from kb.client import EngineClient, Json
from kb.kinds import kinds_of

COLUMNS = ("question", "document", "page", "passage")
_SEED = 20
_LEAST_READ = 50
_LARGEST = 20_000  # passages; a longer document would take long to read for a few drafts
_MOST_QUOTED = 40
_FORMULA = ("=", "+", "-", "@")  # how a formula begins where a spreadsheet opens a CSV


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, and the passage that it was made from."""

    question: str
    document: str
    page: int | None
    passage: str

    def as_json(self) -> Json:
        return {name: getattr(self, name) for name in COLUMNS}


async def draft(client: EngineClient, count: int, **filters: Any) -> list[Draft]:
    """At most `count` drafts, from as many documents as can be, the same on every run."""
    chance = random.Random(_SEED)  # noqa: S311 - nothing is kept secret by it
    documents = _worth_reading(await list_documents(client, **filters), filters)
    chance.shuffle(documents)
    documents = documents[: max(_LEAST_READ, 2 * count)]

    async def one(document: Json) -> list[Draft]:
        try:
            whole = await client.document(document["id"])
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 404:  # deleted since it was listed
                raise
            return []
        step()
        return list(_drafts(whole, random.Random(_SEED + document["id"])))  # noqa: S311

    with bar("reading documents", len(documents)) as step:
        return _chosen(await concurrently(documents, one), count)


def _worth_reading(documents: list[Json], filters: Json) -> list[Json]:
    """Each content once. The names in source code are no questions, unless code is asked for."""
    asked_for = filters.get("doc_type")
    is_code_wanted = asked_for is not None and "code" in kinds_of(asked_for)
    once = {document["content_hash"]: document for document in reversed(documents)}
    return [
        document
        for document in reversed(once.values())
        if 0 < document["chunk_count"] <= _LARGEST
        and (document["doc_type"] != "code" or is_code_wanted)
    ]


def _drafts(document: Json, chance: random.Random) -> Iterator[Draft]:
    """All drafts that a document gives, in an order of chance."""
    chunks = document["chunks"]
    pairs = list(_from_headings(document["title"], chunks))
    if not pairs:
        some = chance.sample(chunks, min(len(chunks), _MOST_QUOTED))
        whole = words_of("".join(chunk["text"] for chunk in chunks[:2]))
        quoted = ((text, text, chunk["page"]) for chunk in some for text in sentences_of(chunk))
        # To ask with all that a note says would be to find it by itself.
        pairs = [pair for pair in quoted if words_of(pair[0]) != whole]
    chance.shuffle(pairs)
    name = _reference(document)
    for question, passage, page in pairs:
        yield Draft(_plain(_without_conditions(question)), name, page, _plain(passage))


def _from_headings(title: str, chunks: list[Json]) -> Iterator[tuple[str, str, int | None]]:
    """A question for each section that begins with some text of its own."""
    seen: set[tuple[str, ...]] = set()
    for chunk in chunks:
        headings = tuple(chunk["headings"])
        if not headings or headings in seen:
            continue
        seen.add(headings)
        question, passage = heading_question(title, headings), opening_of(chunk)
        if question and passage:
            yield question, passage, chunk["page"]


def _reference(document: Json) -> str:
    """What names the document here and, if it has a path, wherever it is added again."""
    path: str | None = document["source_path"]
    return path if path and not path.startswith(_FORMULA) else str(document["id"])


def _without_conditions(text: str) -> str:
    """A heading is no query: its quotes and dashes must not become conditions of one."""
    return text.replace('"', "").replace(" -", " ")


def _plain(text: str) -> str:
    """On one line, and without what a spreadsheet would take for a formula."""
    return one_line(text).lstrip("".join(_FORMULA) + " ")


def _chosen(by_document: list[list[Draft]], count: int) -> list[Draft]:
    """One of each document, then a second of each, until there are enough.

    What two sections would be asked with is left out: neither would be the wrong answer.
    """
    times = Counter(words_of(each.question) for drafts in by_document for each in drafts)
    left = [
        [each for each in drafts if times[words_of(each.question)] == 1] for drafts in by_document
    ]
    chosen: list[Draft] = []
    while any(left) and len(chosen) < count:
        for drafts in left:
            if drafts and len(chosen) < count:
                chosen.append(drafts.pop())
    return chosen


def as_csv(drafts: list[Draft]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in drafts:
        writer.writerow([each.question, each.document, each.page or "", each.passage])
    return written.getvalue()


def as_jsonl(drafts: list[Draft]) -> str:
    return "".join(f"{json.dumps(each.as_json(), ensure_ascii=False)}\n" for each in drafts)


def is_jsonl(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson", ".json")
