"""How much of an answer comes back in so many tokens: our chunks beside chunks of a fixed size.

    python -m benchmarks.spans PATH [--vectors FOLDER]

PATH holds Markdown files and `questions.jsonl`, whose references name the characters of a file
that answer a question. Each file is cut by the product's own chunker, and beside that into pieces
of 200, 400 and 800 tokens. Each cut is stored, embedded and searched alike. Hits are read from
the best on until the tokens are spent, the last one as far as they reach. The figure is the share
of the answer's characters among those read, the mean over all questions.
"""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filling.drafts import text_draft
from benchmarks.options import options_of
from benchmarks.retrieval import embedded
from kb.engine.embed import Embedders, MiniLM
from kb.engine.ingest.passages.chunk import chunk, embedding_text
from kb.engine.pages import Page
from kb.engine.search.answers import Hit, Question
from kb.engine.search.searcher import Searcher
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk

BUDGETS = (500, 1000, 2000)
FIXED = (200, 400, 800)
_HITS = 60

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class Cut:
    """A search over one way to cut the files, and where each chunk stands in its file."""

    searcher: Searcher
    places: dict[int, tuple[str, int, str]]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--vectors", type=Path, help="folder to keep the vectors in between runs")
    options = parser.parse_args()
    texts = {file.stem: file.read_text("utf-8") for file in sorted(options.path.glob("*.md"))}
    lines = (options.path / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line) for line in lines if line.strip()]
    model = MiniLM()
    ours = {
        name: chunk([Page(t, markup="markdown")], model.count_tokens) for name, t in texts.items()
    }
    cuts = {"kb": ours} | {
        f"fixed {size}": {name: fixed(text, size, model) for name, text in texts.items()}
        for size in FIXED
    }
    print(f"{'':14} {'chunks':>7}" + "".join(f"{budget:>9}" for budget in BUDGETS) + "  tokens")
    for name, cut in cuts.items():
        with tempfile.TemporaryDirectory() as scratch:
            found = fill(cut, model, Path(scratch), options.vectors)
            shares = [_shares(found, question, model) for question in questions]
            found.searcher.store.close()
        count = sum(map(len, cut.values()))
        means = np.mean(np.array(shares), axis=0)
        print(f"{name:14} {count:7}" + "".join(f"{mean:9.4f}" for mean in means), flush=True)


def fixed(text: str, size: int, model: MiniLM) -> list[Chunk]:
    """Pieces of so many tokens, cut between words."""
    chunks: list[Chunk] = []
    start = end = tokens = 0
    for word in _words(text):
        count = model.count_tokens(word)
        if tokens and tokens + count > size:
            chunks.append(Chunk(text[start:end], len(chunks), start=start))
            start, tokens = end, 0
        end += len(word)
        tokens += count
    return [*chunks, Chunk(text[start:end], len(chunks), start=start)]


def _words(text: str) -> Iterable[str]:
    """The text in pieces, each a word with the white space before it."""
    start = 0
    for place in range(1, len(text)):
        if text[place].isspace() and not text[place - 1].isspace():
            yield text[start:place]
            start = place
    yield text[start:]


def fill(cut: dict[str, list[Chunk]], model: MiniLM, scratch: Path, kept: Path | None) -> Cut:
    store = Store(scratch / "store.db", terms, TERMS_VERSION, model.name)
    places: dict[int, tuple[str, int, str]] = {}
    for name, chunks in cut.items():
        texts = [embedding_text(name, one, model.count_tokens) for one in chunks]
        vectors = embedded("spans", texts, model, kept)
        draft = text_draft(name, "".join(texts), name)
        document = store.documents.add(draft, chunks, vectors)
        for row, one in zip(store.documents.get(document.id).chunks, chunks, strict=True):
            places[row.id] = (name, one.start, one.text)
    store.models.load_vectors()
    return Cut(Searcher(store, Embedders.ready(model)), places)


def _shares(cut: Cut, question: dict[str, Any], model: MiniLM) -> list[float]:
    """For each budget, the share of the answer's characters that were read."""
    hits = cut.searcher.search(Question(question["question"], top=_HITS, plain=True)).results
    wanted = [(ref["start_index"], ref["end_index"]) for ref in question["references"]]
    return [
        _covered(wanted, _read(hits, cut, question["doc"], budget, model)) for budget in BUDGETS
    ]


def _read(hits: list[Hit], cut: Cut, file: str, budget: int, model: MiniLM) -> Spans:
    """The stretches of the file that the first tokens of the answer hold."""
    spans: Spans = []
    for hit in hits:
        name, start, text = cut.places[hit.chunk_id]
        tokens = model.count_tokens(text)
        if tokens > budget:
            text = fixed(text, budget, model)[0].text
        if name == file:
            spans.append((start, start + len(text)))
        budget -= tokens
        if budget <= 0:
            break
    return spans


def _covered(wanted: Spans, read: Spans) -> float:
    """The chunks of one cut never overlap, so what they share with the answer adds up."""
    found = sum(
        max(0, min(end, stop) - max(start, begin)) for start, end in wanted for begin, stop in read
    )
    return found / sum(end - start for start, end in wanted)


if __name__ == "__main__":
    main()
