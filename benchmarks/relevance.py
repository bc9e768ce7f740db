"""Judged hits in, the curve of `relevance` out: how ranking.py's two numbers per mode were found.

    python -m benchmarks.relevance PATH [--sets scifact,locomo] [--vectors FOLDER]

Takes the first ten hits of every query of every set, right or wrong, with their scores, and fits
relevance = 1 / (1 + exp(-steepness × (score − 0.5 × rivals − middle))) by logistic regression, each
set weighing the same. Prints the two numbers for each mode, and per set how well the score among
its rivals parts right from wrong hits over all queries (AUC: 0.5 is chance, 1 is perfect).
"""

import tempfile
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import options_of
from benchmarks.retrieval import asking, fill, load_model
from benchmarks.search.sets import RetrievalSet, load_all
from kb.engine.embed import DEFAULT_MODEL
from kb.engine.scoring import RIVAL_WEIGHT
from kb.engine.search.answers import Mode
from kb.engine.search.searcher import Searcher

Floats = NDArray[np.float64]
FIRST = 10


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--sets", default="", help="names, separated by commas; all if left out")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="one that is installed, or a folder")
    parser.add_argument("--vectors", type=Path, help="folder to keep the passages' vectors in")
    options = parser.parse_args()
    model = load_model(options.model)
    judged: dict[Mode, list[tuple[Floats, Floats]]] = {mode: [] for mode in get_args(Mode)}
    for data in load_all(options.path, options.sets):
        with tempfile.TemporaryDirectory() as scratch:
            searcher, ids = fill(data, model, Path(scratch), options.vectors)
            line = [f"{data.name:20}"]
            for mode, hits in judged.items():
                scores, right = judged_hits(searcher, ids, data, mode)
                hits.append((scores, right))
                line.append(f"{mode} AUC {auc(scores, right):.3f} ({right.mean():.2f} right)")
            searcher.store.close()
        print("   ".join(line), flush=True)
    for mode, hits in judged.items():
        steepness, middle = fit(hits)
        print(f"{mode:10} steepness {steepness:.2f}  middle {middle:.3f}")


def judged_hits(
    searcher: Searcher, ids: dict[int, str], data: RetrievalSet, mode: Mode
) -> tuple[Floats, Floats]:
    scores, right = [], []
    for query in data.queries:
        answer = searcher.search(asking(query, FIRST, mode, explain=True))
        judgements = data.judgements[query["_id"]]
        for hit in answer.results:
            assert hit.explain is not None
            scores.append(hit.score - RIVAL_WEIGHT * hit.explain.rivals)
        right += [float(judgements.get(ids[hit.chunk_id], 0) > 0) for hit in answer.results]
    return np.array(scores), np.array(right)


def auc(scores: Floats, right: Floats) -> float:
    """The chance that a right hit has a higher score than a wrong one."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    good = right.sum()
    bad = len(right) - good
    return float((ranks[right == 1].sum() - good * (good + 1) / 2) / (good * bad))


def fit(sets: list[tuple[Floats, Floats]]) -> tuple[float, float]:
    """Logistic regression by Newton's method."""
    scores = np.concatenate([found for found, _ in sets])
    right = np.concatenate([judged for _, judged in sets])
    weights = np.concatenate([np.full(len(found), 1 / len(found)) for found, _ in sets])
    inputs = np.column_stack([scores, np.ones(len(scores))])
    parameters = np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ parameters))
        gradient = inputs.T @ (weights * (right - chance))
        curvature = (inputs * (weights * chance * (1 - chance))[:, None]).T @ inputs
        parameters += np.linalg.solve(curvature, gradient)
    return float(parameters[0]), float(-parameters[1] / parameters[0])


if __name__ == "__main__":
    main()
