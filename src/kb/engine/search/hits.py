"""Turns ranked passages into hits to show: with their documents, marked words, and reasons."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from kb.engine.search.answers import Explanation, Hit
from kb.engine.search.ranking import Ranked
from kb.engine.store import FoundChunk
from kb.engine.text.terms import Places

_LINES = re.compile(r"lines? (\d+)(?:–(\d+))?")


class Shown:
    """Makes hits of passages for one query."""

    def __init__(
        self,
        terms: Sequence[str],
        pairs: Sequence[tuple[str, str]],
        wholes: Iterable[str],
        weight: float,
        explain: bool,
    ) -> None:
        """`wholes` are pairs written as one word, which are marked too."""
        self._terms = terms
        self._pairs = pairs
        self._weight = weight
        self._explain = explain
        self._wanted = Places([*terms, *wholes])

    def hit(self, ranked: Ranked, chunk: FoundChunk, chunk_ids: list[int]) -> Hit:
        # The first row of a table tells what the cells of its later passages are.
        text = "\n".join(filter(None, [chunk.table_header, chunk.text.strip()]))
        return Hit(
            chunk_id=ranked.chunk_id,
            chunk_uid=chunk.chunk_uid,
            chunk_ids=chunk_ids,
            document_id=chunk.document_id,
            document_uid=chunk.document_uid,
            score=round(ranked.score, 6),
            relevance=ranked.relevance,
            text=text,
            highlights=highlights(text, self._wanted),
            page=chunk.page,
            location=chunk.location,
            headings=chunk.headings,
            title=chunk.title,
            filename=chunk.filename,
            doc_type=chunk.doc_type,
            format=chunk.format,
            source_path=chunk.source_path,
            tags=chunk.tags,
            created_at=chunk.created_at,
            updated_at=chunk.updated_at,
            explain=self._reasons(ranked) if self._explain else None,
        )

    def _reasons(self, ranked: Ranked) -> Explanation:
        by_term = zip(self._terms, ranked.by_term, strict=True)
        by_pair = zip(self._pairs, ranked.by_pair, strict=True)
        return Explanation(
            words=round(ranked.words, 6),
            literal=round(ranked.literal, 6),
            vector=round(ranked.vector, 6),
            neighbour=round(ranked.neighbour, 6),
            document=round(ranked.document, 6),
            recency=round(ranked.recency, 6),
            rivals=round(ranked.rivals, 6),
            cosine=None if ranked.cosine is None else round(ranked.cosine, 6),
            vector_weight=round(self._weight, 6),
            terms={term: round(float(part), 6) for term, part in by_term if part},
            pairs={" ".join(pair): round(float(part), 6) for pair, part in by_pair if part},
        )


def adjacent(ranked: Sequence[Ranked], chunks: dict[int, FoundChunk]) -> list[list[Ranked]]:
    """Passages that follow each other in one document, together, each group in reading order.

    Groups stand where their best passage stood.
    """
    places = {(chunks[r.chunk_id].document_id, chunks[r.chunk_id].seq): r for r in ranked}
    grouped: set[int] = set()
    groups: list[list[Ranked]] = []
    for best in ranked:
        if best.chunk_id in grouped:
            continue
        chunk = chunks[best.chunk_id]
        first = last = chunk.seq
        while (chunk.document_id, first - 1) in places:
            first -= 1
        while (chunk.document_id, last + 1) in places:
            last += 1
        group = [places[chunk.document_id, seq] for seq in range(first, last + 1)]
        grouped.update(one.chunk_id for one in group)
        groups.append(group)
    return groups


def joined(chunks: Sequence[FoundChunk], best: FoundChunk) -> FoundChunk:
    """One passage made of several that follow each other in their document."""
    if len(chunks) == 1:
        return best
    text = chunks[0].text
    for before, after in pairwise(chunks):
        # The passages of a page are its text, cut; pages are texts of their own.
        same_page = before.page == after.page and after.start == before.start + len(before.text)
        text += after.text if same_page else f"\n\n{after.text}"
    headings = _common([chunk.headings for chunk in chunks])
    location = _span([chunk.location for chunk in chunks])
    first = chunks[0]
    return replace(
        best,
        text=text,
        headings=headings,
        table_header=first.table_header,
        page=first.page,
        location=location,
    )


def _common(paths: Sequence[list[str]]) -> list[str]:
    """The headings that stand above all of them."""
    shared = []
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return shared


def _span(locations: Iterable[str | None]) -> str | None:
    """From where to where: `lines 3–9` and `lines 10–12` are `lines 3–12`."""
    known = list(dict.fromkeys(location for location in locations if location))
    if len(known) < 2:
        return known[0] if known else None
    lines = [_LINES.fullmatch(location) for location in known]
    first, last = lines[0], lines[-1]
    if first and last:
        return f"lines {first[1]}–{last[2] or last[1]}"
    return f"{known[0]} to {known[-1]}"


def highlights(text: str, wanted: Places) -> list[tuple[int, int]]:
    """The positions of the query's words in the text; touching or overlapping ones are one span."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(set(wanted.within(text))):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans
