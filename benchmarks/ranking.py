"""Whether both legs together beat each alone: four rankings on every set, with intervals.

    python -m benchmarks.ranking PATH [--sets scifact,locomo] [--vectors FOLDER] [--runs FOLDER]

Prints nDCG@10 with its 95 % interval for the product's own ranking (hybrid), by words alone, by
vectors alone, and for reciprocal rank fusion of the latter two (k = 60); then the difference of
hybrid from each of the others, over the same queries. `below` marks a difference that is below
zero with its whole interval. AUC is the chance that, over all queries, a right hit among the first
ten has a higher `relevance` than a wrong one.
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import options_of
from benchmarks.relevance import auc
from benchmarks.retrieval import DEPTH, asking, fill, save
from benchmarks.search.sets import RetrievalSet, load_all, ndcg
from kb.engine.embed import MiniLM
from kb.engine.search.answers import Mode
from kb.engine.search.searcher import Searcher

Floats = NDArray[np.float64]
Rankings = dict[str, list[str]]

_FIRST = 10
_FUSION = 60
_RESAMPLES = 2_000
# What any change of ranking has to reach, nDCG@10 on the chunks as given.
BARS = {
    "scifact": 0.735,
    "cranfield": 0.428,
    "chroma-chunk": 0.785,
    "locomo": 0.545,
    "financebench-mini": 0.46,
    "xquad-en": 0.975,
    "xquad-de": 0.95,
    "xquad-ru": 0.945,
    "xquad-zh": 0.96,
    "limit-small": 0.99,
}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--sets", default="", help="names, separated by commas; all if left out")
    parser.add_argument("--vectors", type=Path, help="folder to keep the passages' vectors in")
    parser.add_argument("--runs", type=Path, help="folder for the rankings of each kind")
    options = parser.parse_args()
    model = MiniLM()
    above = measured = 0
    for data in load_all(options.path, options.sets):
        with tempfile.TemporaryDirectory() as scratch:
            searcher, ids = fill(data, model, Path(scratch), options.vectors)
            runs, shown, right = _rank(searcher, ids, data)
            searcher.store.close()
        measured += 1
        above += _tell(data, runs, auc(shown, right))
        if options.runs:
            for name, rankings in runs.items():
                save(options.runs / name, data, rankings)
    print(f"hybrid above rrf on {above} of {measured} sets")


def _rank(
    searcher: Searcher, ids: dict[int, str], data: RetrievalSet
) -> tuple[dict[str, Rankings], Floats, Floats]:
    """The four rankings; and of the first hits the relevance and whether they are right."""
    runs: dict[str, Rankings] = {"hybrid": {}, "words": {}, "vectors": {}, "rrf": {}}
    modes: tuple[Mode, ...] = ("hybrid", "words", "vectors")
    shown: list[float] = []
    right: list[float] = []
    for query in data.queries:
        name = query["_id"]
        for mode in modes:
            hits = searcher.search(asking(query, DEPTH, mode)).results
            runs[mode][name] = [ids[hit.chunk_id] for hit in hits]
            if mode == "hybrid":
                judged = data.judgements[name]
                shown += [hit.relevance for hit in hits[:_FIRST]]
                right += [float(judged.get(ids[h.chunk_id], 0) > 0) for h in hits[:_FIRST]]
        runs["rrf"][name] = fused(runs["words"][name], runs["vectors"][name])
    return runs, np.array(shown), np.array(right)


def fused(*rankings: list[str]) -> list[str]:
    """Reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, passage in enumerate(ranking, start=1):
            scores[passage] = scores.get(passage, 0.0) + 1 / (_FUSION + place)
    return sorted(scores, key=lambda passage: -scores[passage])[:DEPTH]


def _tell(data: RetrievalSet, runs: dict[str, Rankings], chance: float) -> bool:
    """Print the lines of one set; whether hybrid is above fusion."""
    gains = {
        name: np.array([ndcg(data.judgements[query], ranking) for query, ranking in run.items()])
        for name, run in runs.items()
    }
    bar = BARS.get(data.name)
    own = float(gains["hybrid"].mean())
    verdict = "" if bar is None else f"  bar {bar:.3f} {'met' if own >= bar else 'MISSED'}"
    print(f"\n{data.name}: {len(data.queries)} queries, AUC {chance:.3f}{verdict}")
    for name, values in gains.items():
        low, high = interval(values)
        line = f"  {name:8} {values.mean():.4f} [{low:.4f}, {high:.4f}]"
        if name != "hybrid":
            difference = gains["hybrid"] - values
            low, high = interval(difference)
            line += f"   hybrid {difference.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
            line += "  below" if high < 0 else "  above" if low > 0 else ""
        print(line, flush=True)
    return bool(gains["hybrid"].mean() > gains["rrf"].mean())


def interval(values: Floats) -> tuple[float, float]:
    """Where the mean lies in 95 of 100 resamples."""
    chance = np.random.default_rng(7)
    means = [
        float(values[chance.integers(0, len(values), len(values))].mean())
        for _ in range(_RESAMPLES)
    ]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


if __name__ == "__main__":
    main()
