"""How kb keeps up as a store grows: the same searches on 100,000 and on a million chunks.

    python -m benchmarks.scale FOLDER [--sizes 100000,1000000] [--texts PATH] [--quick]
                               [--only search,busy,recall,memory,start] [--json FILE]

The filled stores (3.5 GB for a million chunks) are kept in the folder and used again. What each
line means is in docs/benchmarks.md.
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.apart import apart
from benchmarks.options import options_of
from benchmarks.report import Report, percentile

MODES = ("hybrid", "words", "vectors")
PARTS = ("search", "busy", "recall", "memory", "start")
SMALL, LARGE = 100_000, 1_000_000
BUILT = "built.json"


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    embedded: int
    queries: int
    odd: int
    busy_queries: int
    recall: int
    words: int
    starts: int


FULL = Plan(12_000, 300, 10_000, 300, 300, 60, 5)
QUICK = Plan(12_000, 100, 1000, 100, 100, 20, 3)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path, help="where the filled stores are kept")
    parser.add_argument("--sizes", default=f"{SMALL},{LARGE}", help="chunks, separated by commas")
    parser.add_argument("--texts", type=Path, help="folder or JSONL file with texts to use")
    parser.add_argument("--quick", action="store_true", help="fewer questions")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    options = parser.parse_args()
    bench = Bench(options)
    for size in map(int, options.sizes.split(",")):
        bench.run(size, options.only.split(","))
    bench.report.end(options.json)


class Bench:
    """Runs the parts, each in a process of its own, and reports."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._folder: Path = options.folder
        self._texts: Path | None = options.texts
        self._plan = QUICK if options.quick else FULL
        self._size = 0
        self._smaller: dict[str, float] = {}
        self.report = Report()
        self._parts: dict[str, Callable[[Path], None]] = {
            "search": self._search,
            "busy": self._busy,
            "recall": self._recall,
            "memory": self._memory,
            "start": self._start,
        }

    def run(self, size: int, parts: list[str]) -> None:
        folder, self._size = self._store(size), size
        self.report.section(f"{size:,} chunks")
        built = json.loads((folder / BUILT).read_text("utf-8"))
        self._line("built in", built["seconds"], "s")
        self._line("size on disk", (folder / "store.db").stat().st_size / 1e6, "MB")
        for part in parts:
            self._parts[part](folder)

    def _search(self, folder: Path) -> None:
        found = apart(
            "benchmarks.serving.scale_runs:quiet", folder, self._plan.queries, self._plan.odd
        )
        for name, times in found.quiet.items():
            bar = 40.0 if name == "hybrid" and self._size == LARGE else None
            self._times(name, times, bar)
            if name in MODES:
                self._line(f"{name}, processor time", found.processor[name], "ms")
        slowest, query = found.odd[-1]
        self._times(f"{len(found.odd):,} odd queries", [took for took, _ in found.odd], None)
        self._line("the slowest of them", slowest, "ms", 500)
        self.report.note(f"which is: {query[:100]}")

    def _busy(self, folder: Path) -> None:
        found = apart(
            "benchmarks.serving.scale_runs:busy", folder, self._plan.busy_queries, self._texts
        )
        for name, times in found.busy.items():
            self._times(f"{name}, while ingesting", times, None)
        self.report.note(f"{found.rate:.1f} chunks/s came in meanwhile")

    def _recall(self, folder: Path) -> None:
        vectors, words = apart(
            "benchmarks.serving.scale_runs:exactness", folder, self._plan.recall, self._plan.words
        )
        self.report.add("vectors, recall@10", vectors, "", bar=0.99, at_least=True)
        self.report.add("words, score of the ten found beside the ten best", words, "")

    def _memory(self, folder: Path) -> None:
        pss, _ = apart("benchmarks.serving.memory:measure", folder, self._plan.queries)
        self._line("memory, PSS", pss, "MB", 350 if self._size == SMALL else None)

    def _start(self, folder: Path) -> None:
        by_words, by_vectors, busy = apart(
            "benchmarks.serving.memory:start", folder, self._plan.starts
        )
        self._line("start to words", by_words, "s", 1.0 if self._size == SMALL else None)
        self._line("start to vectors", by_vectors, "s")
        self.report.note(f"{busy:.2f} s of processor time until then, in all threads")

    def _times(self, name: str, times: list[float], bar: float | None) -> None:
        for percent, own_bar in ((50, bar), (99, None)):
            self._line(f"{name}, p{percent}", percentile(times, percent), "ms", own_bar)

    def _line(self, name: str, value: float, unit: str, bar: float | None = None) -> None:
        """With a bar it is held to that, else to ten times what it was with a tenth as much."""
        smaller = self._smaller.get(name)
        self._smaller[name] = value
        if bar is not None or smaller is None:
            self.report.add(name, value, unit, bar=bar)
        if smaller is not None:
            beside = "with a tenth as many"
            self.report.add(f"{name}, growth", value, unit, beside, smaller, 10.0)

    def _store(self, size: int) -> Path:
        """A data folder with so many chunks, filled when first asked for."""
        folder = self._folder / str(size)
        if not (folder / BUILT).exists():
            shutil.rmtree(folder, ignore_errors=True)  # begun, but never finished
            print(f"\nfilling a store with {size:,} chunks …", flush=True)
            began = time.perf_counter()
            apart(
                "benchmarks.filling.scale_store:fill",
                folder,
                size,
                self._plan.embedded,
                self._texts,
            )
            seconds = time.perf_counter() - began
            (folder / BUILT).write_text(json.dumps({"seconds": seconds}), "utf-8")
        return folder


if __name__ == "__main__":
    main()
