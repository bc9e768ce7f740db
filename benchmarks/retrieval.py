"""How well kb finds things: nDCG@10 and recall@10 on any folder of retrieval sets.

    python -m benchmarks.retrieval PATH [--sets scifact,locomo] [--no-http] [--runs FOLDER]

The chunks of each set go into the store as they are, one document per parent in reading order, the
scope as a tag, and are asked for through the search that users have. Beside that stands a run all
over HTTP against an engine of its own: each text a note, cut by the product's own chunker.
"""

import hashlib
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.filling.drafts import text_draft
from benchmarks.options import options_of
from benchmarks.search.over_http import rank_over_http
from benchmarks.search.sets import RetrievalSet, load_all, ndcg, recall
from kb.engine.embed import DEFAULT_MODEL, Embedders, ModelsAtHand
from kb.engine.ingest.passages.chunk import embedding_text
from kb.engine.search.answers import Mode, Question
from kb.engine.search.searcher import Searcher
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Embedder, Filter, Vectors

DEPTH = 100


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--sets", default="", help="names, separated by commas; all if left out")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="one that is installed, or a folder")
    parser.add_argument("--mode", choices=["hybrid", "words", "vectors"], default="hybrid")
    parser.add_argument("--no-http", action="store_true", help="leave out the run over HTTP")
    parser.add_argument("--runs", type=Path, help="folder for the rankings, one JSONL file per set")
    parser.add_argument(
        "--vectors", type=Path, help="folder to keep the passages' vectors in between runs"
    )
    options = parser.parse_args()
    model = load_model(options.model)
    print(f"{'':38} {'chunks as given':>26}   {'notes over HTTP':>26}")
    columns = f"{'nDCG@10':>8} {'R@10':>7} {'ms/query':>9}"
    print(f"{'set':20} {'passages':>9} {'queries':>7} {columns}   {columns}")
    for data in load_all(options.path, options.sets):
        print(f"{data.name:20} {len(data.passages):9} {len(data.queries):7}", end=" ", flush=True)
        rankings, took = rank_as_given(data, model, options.mode, options.vectors)
        print(figures(data, rankings, took), end="   ", flush=True)
        print("" if options.no_http else figures(data, *rank_over_http(data)), flush=True)
        if options.runs:
            save(options.runs, data, rankings)


def load_model(name: str) -> Embedder:
    at_hand = ModelsAtHand.find(name)
    return at_hand.installed[at_hand.fixed or at_hand.default].load()


def rank_as_given(
    data: RetrievalSet, model: Embedder, mode: Mode, kept: Path | None
) -> tuple[dict[str, list[str]], float]:
    """The ranking of passages for every query, and the milliseconds a query took."""
    with tempfile.TemporaryDirectory() as scratch:
        searcher, ids = fill(data, model, Path(scratch), kept)
        began = time.perf_counter()
        rankings = {query["_id"]: ask(searcher, ids, query, mode) for query in data.queries}
        took = (time.perf_counter() - began) * 1000 / max(1, len(data.queries))
        searcher.store.close()
    return rankings, took


def fill(
    data: RetrievalSet, model: Embedder, scratch: Path, kept: Path | None
) -> tuple[Searcher, dict[int, str]]:
    """A store with the set's own chunks; also which chunk is which passage."""
    store = Store(scratch / "store.db", terms, TERMS_VERSION, model.name)
    ids: dict[int, str] = {}
    vectors = passage_vectors(data, model, kept)
    done = 0
    for parent, passages in data.documents().items():
        chunks = [Chunk(passage.text, seq) for seq, passage in enumerate(passages)]
        scope, whole = passages[0].scope, "".join(chunk.text for chunk in chunks)
        draft = text_draft(passages[0].title, whole, parent, *([scope] if scope else []))
        document = store.documents.add(draft, chunks, vectors[done : done + len(chunks)])
        done += len(chunks)
        stored = store.documents.get(document.id).chunks
        ids |= {row.id: passage.id for row, passage in zip(stored, passages, strict=True)}
    store.models.load_vectors()
    return Searcher(store, Embedders.ready(model)), ids


def passage_vectors(data: RetrievalSet, model: Embedder, kept: Path | None) -> Vectors:
    """In the order of `documents()`; read back from `kept` when the same texts were embedded."""
    texts = [
        embedding_text(passage.title, Chunk(passage.text, 0), model.count_tokens)
        for passages in data.documents().values()
        for passage in passages
    ]
    return embedded(data.name, texts, model, kept)


def embedded(name: str, texts: list[str], model: Embedder, kept: Path | None) -> Vectors:
    if kept is None:
        return model.embed(texts)
    digest = hashlib.sha256("\0".join([model.name, *texts]).encode()).hexdigest()[:16]
    file = kept / f"{name}-{digest}.npy"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        np.save(file, model.embed(texts))
    found: Vectors = np.load(file)
    return found


def asking(query: dict[str, str], top: int, mode: Mode, *, explain: bool = False) -> Question:
    scope = query.get("scope")
    filter_ = Filter(tags=(scope,)) if scope else None
    return Question(query["text"], top, filter_, mode, explain=explain)


def ask(searcher: Searcher, ids: dict[int, str], query: dict[str, str], mode: Mode) -> list[str]:
    answer = searcher.search(asking(query, DEPTH, mode))
    return [ids[hit.chunk_id] for hit in answer.results]


def figures(data: RetrievalSet, rankings: dict[str, list[str]], milliseconds: float) -> str:
    scores = [(data.judgements[query], ranking) for query, ranking in rankings.items()]
    gain = sum(ndcg(judged, ranking) for judged, ranking in scores) / len(scores)
    found = sum(recall(judged, ranking) for judged, ranking in scores) / len(scores)
    return f"{gain:8.4f} {found:7.4f} {milliseconds:9.2f}"


def save(folder: Path, data: RetrievalSet, rankings: dict[str, list[str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"qid": query, "ranking": ranking}) for query, ranking in rankings.items())
    (folder / f"{data.name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
