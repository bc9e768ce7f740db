"""A folder in, a retrieval set out: passages, queries, judgements; and the usual measures."""

import gzip
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Passage:
    """One judged unit. Those of one `parent` are the chunks of one document, in order."""

    id: str
    title: str
    text: str
    parent: str
    scope: str | None


@dataclass(frozen=True)
class RetrievalSet:
    name: str
    passages: list[Passage]
    queries: list[dict[str, Any]]
    judgements: dict[str, dict[str, int]]

    def documents(self) -> dict[str, list[Passage]]:
        """The passages of each document, in reading order."""
        found: dict[str, list[Passage]] = {}
        for passage in self.passages:
            found.setdefault(passage.parent, []).append(passage)
        return found


def load(folder: Path) -> RetrievalSet:
    passages = [
        Passage(
            row["_id"], row["title"], row["text"], row.get("parent", row["_id"]), row.get("scope")
        )
        for row in _rows(folder, "corpus.jsonl")
    ]
    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, passage, score = line.split("\t")[:3]
        judgements.setdefault(query, {})[passage] = int(score)
    judged = {query for query, scores in judgements.items() if any(s > 0 for s in scores.values())}
    queries = [query for query in _rows(folder, "queries.jsonl") if query["_id"] in judged]
    return RetrievalSet(folder.name, passages, queries, judgements)


def load_all(path: Path, names: str = "") -> Iterator[RetrievalSet]:
    """The sets below a folder, or the folder itself if it is one; those of these `names` alone,
    separated by commas, if any are given."""
    chosen = set(filter(None, names.split(",")))
    for folder in (path, *sorted(path.iterdir())):
        if (folder / "qrels.tsv").exists() and (not chosen or folder.name in chosen):
            yield load(folder)


def ndcg(scores: dict[str, int], ranking: Sequence[str], cut: int = 10) -> float:
    """Linear gain, logarithmic discount."""
    gains = [max(0, scores.get(passage, 0)) for passage in ranking[:cut]]
    ideal = sorted((score for score in scores.values() if score > 0), reverse=True)[:cut]
    return _dcg(gains) / _dcg(ideal) if ideal else 0.0


def recall(scores: dict[str, int], ranking: Sequence[str], cut: int = 10) -> float:
    right = {passage for passage, score in scores.items() if score > 0}
    return len(right.intersection(ranking[:cut])) / len(right)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    plain = folder / name
    packed = folder / f"{name}.gz"
    text = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    for line in text.decode().splitlines():
        if line.strip():
            yield json.loads(line)
