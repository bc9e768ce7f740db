"""How fast kb is: each figure beside its other side, measured in the same run on this machine.

    python -m benchmarks.speed [--quick] [--no-peer] [--texts PATH] [--json FILE] [--keep FOLDER]

What each line means is in docs/benchmarks.md.
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.apart import apart
from benchmarks.filling.questions import FILE
from benchmarks.options import options_of
from benchmarks.report import Report, percentile

SMALL = 200  # chunks; what a first evening with kb leaves behind
LARGE = 100_000


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    sizes: tuple[int, ...]
    embedded: int
    queries: int
    ingest_chunks: int
    ingest_rounds: int
    status_requests: int
    status_rounds: int
    busy_queries: int
    busy_rounds: int
    starts: int


FULL = Plan((10_000, LARGE), 1000, 400, 192, 3, 2000, 5, 300, 2, 5)
QUICK = Plan((10_000,), 200, 100, 64, 1, 800, 3, 100, 1, 3)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, 10,000 chunks only")
    parser.add_argument("--no-peer", action="store_true", help="without sentence-transformers")
    parser.add_argument("--texts", type=Path, help="folder or JSONL file with texts to use")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    parser.add_argument("--keep", type=Path, help="folder to keep the filled stores in")
    parser.add_argument("--only", default="", help="parts to run, separated by commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options, Path(scratch))
        chosen = options.only.split(",") if options.only else list(bench.parts)
        for name in chosen:
            bench.parts[name]()
        bench.report.end(options.json)


class Bench:
    """Runs the parts, each in a process of its own, and reports."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self._options = options
        self._plan = QUICK if options.quick else FULL
        self._scratch = scratch
        self._stores = options.keep or scratch
        self.report = Report()
        self.parts: dict[str, Callable[[], None]] = {
            "search": self.search,
            "ingest": self.ingest,
            "status": self.status,
            "mcp": self.mcp,
            "busy": self.busy,
            "memory": self.memory,
            "start": self.start,
        }

    def search(self) -> None:
        for size in self._plan.sizes:
            folder = self._store(size)
            self.report.section(f"Search, {size:,} chunks, {self._plan.queries} queries")
            times = apart("benchmarks.serving.parts:measure", folder, self._plan.queries)
            for name, each in times.items():
                self._report_search(name, each, times["hybrid"])

    def _report_search(self, name: str, times: Any, hybrid: Any) -> None:
        for percent in (50, 99):
            whole = percentile([span.wall for span in times.process], percent)
            if times.parts:
                parts = [span.wall for span in times.parts_sum()]
                beside, other = " + ".join(times.parts), percentile(parts, percent)
            else:
                parts = [span.wall for span in hybrid.process]
                beside, other = "hybrid without the filter", percentile(parts, percent)
            bar = 2.0 if name == "hybrid" and percent == 50 else None
            self.report.add(f"{name}, in process, p{percent}", whole, "ms", beside, other, bar)
            server, http = percentile(times.server, percent), percentile(times.http, percent)
            if name == "hybrid":
                self.report.add(f"{name}, took_ms, p{percent}", server, "ms", beside, other, bar)
            self.report.add(
                f"{name}, over HTTP, p{percent}", http, "ms", "took_ms in the server", server
            )
        if name == "hybrid":
            whole = statistics.median(span.cpu for span in times.process)
            other = statistics.median(span.cpu for span in times.parts_sum())
            self.report.add("hybrid, processor time, p50", whole, "ms", beside, other)
            for part, spans in times.parts.items():
                alone = percentile([span.wall for span in spans], 50)
                cpu = statistics.median(span.cpu for span in spans)
                self.report.note(f"{part} alone: p50 {alone:.2f} ms, processor {cpu:.2f} ms")

    def ingest(self) -> None:
        plan, peer = self._plan, not self._options.no_peer
        self.report.section(f"Ingest, {plan.ingest_rounds} rounds of {plan.ingest_chunks} chunks")
        arguments = (self._scratch, self._options.texts, plan.ingest_chunks, plan.ingest_rounds)
        speeds = apart("benchmarks.serving.ingest:measure", *arguments, peer)
        other = speeds.peer
        beside = "sentence-transformers" if other else ""
        for name, rates in (("ingest", speeds.ingest), ("embedding alone", speeds.embed)):
            for unit, kind in (("/s", "wall"), ("/CPU-s", "cpu")):
                their = statistics.median(getattr(other, kind)) if other else None
                self.report.add(
                    f"{name}, chunks{unit}",
                    statistics.median(getattr(rates, kind)),
                    unit,
                    beside,
                    their,
                    3.0 if other and kind == "wall" else None,
                    at_least=True,
                )
        self.report.note(f"{speeds.tokens:.0f} tokens in a chunk on average")
        if other:
            self.report.note(", ".join(f"{k} {v}" for k, v in speeds.peer_versions.items()))

    def status(self) -> None:
        plan = self._plan
        self.report.section(f"Authenticated GET /api/v1/status, {plan.status_rounds} rounds")
        folder = self._store(SMALL)
        kb, bare = apart(
            "benchmarks.serving.overhead:measure", folder, plan.status_requests, plan.status_rounds
        )
        self.report.add(
            "processor time of the server per request",
            statistics.median(kb),
            "µs",
            "bare FastAPI def route",
            statistics.median(bare),
            1.6,
        )

    def mcp(self) -> None:
        plan = self._plan
        self.report.section(f"MCP server: kb_status, {plan.status_rounds} rounds; kb_search")
        folder = self._store(SMALL)
        requests = plan.status_requests // 2
        found = apart(
            "benchmarks.serving.mcp:measure",
            folder,
            requests,
            plan.status_rounds,
            plan.queries,
            plan.starts,
        )
        bare = statistics.median(found.bare)
        for era, times in (("handshake", found.handshake), ("2026-07-28", found.modern)):
            name, cost = f"processor time per call, {era}", statistics.median(times)
            beside = "Starlette route, same httpx call"
            self.report.add(name, cost, "µs", beside, bare, 3.0)
        over_mcp, rest = percentile(found.search, 50), percentile(found.rest, 50)
        self.report.add("kb_search, p50", over_mcp, "ms", "POST /api/v1/search", rest)
        self.report.add("kb_search, p50, more than that", over_mcp - rest, "ms", bar=6.0)
        self.report.add("memory idle, PSS", found.pss, "MB", bar=80)
        start = statistics.median(found.starts)
        self.report.add("start to initialize answered", start, "s", bar=1.5)

    def busy(self) -> None:
        plan = self._plan
        self.report.section("Search while documents come in, 10,000 chunks")
        # A copy: what comes in here is not to be found by other measurements.
        folder = self._scratch / "busy"
        shutil.copytree(self._store(10_000), folder)
        arguments = (folder, self._options.texts, plan.busy_queries, plan.busy_rounds)
        quiet, busy, rate = apart("benchmarks.serving.ingest:while_ingesting", *arguments)
        for percent, bar in ((50, None), (99, 3.0)):
            calm, loaded = percentile(quiet, percent), percentile(busy, percent)
            name = f"hybrid over HTTP while ingesting, p{percent}"
            self.report.add(name, loaded, "ms", "the same searches in quiet", calm, bar)
        self.report.note(f"{rate:.1f} chunks/s came in meanwhile")

    def memory(self) -> None:
        self.report.section("Memory, after searches and a rest")
        large = [(size, 200, 350) for size in self._plan.sizes if size == LARGE]
        for size, searches, bar in ((SMALL, 1, 200), *large):
            folder = self._store(size)
            for under_kb_up in (False, True):
                pss, rss = apart("benchmarks.serving.memory:measure", folder, searches, under_kb_up)
                parent = "kb up and engine" if under_kb_up else "engine"
                name = f"{parent}, {size:,} chunks, PSS"
                self.report.add(name, pss, "MB", bar=bar)
                self.report.note(f"RSS {rss:.0f} MB: pages shared between processes count in each")

    def start(self) -> None:
        self.report.section(f"Start to the first answer, median of {self._plan.starts}")
        for size in (SMALL, *self._plan.sizes[-1:]):
            by_words, by_vectors, busy = apart(
                "benchmarks.serving.memory:start", self._store(size), self._plan.starts
            )
            self.report.add(f"by words, {size:,} chunks", by_words, "s", bar=1.0)
            self.report.add(f"by vectors, {size:,} chunks", by_vectors, "s", bar=2.0)
            self.report.note(f"{busy:.2f} s of processor time until then, in all threads")

    def _store(self, size: int) -> Path:
        """A data folder with so many chunks, filled when first asked for."""
        folder: Path = self._stores / str(size)
        if not (folder / FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)  # begun, but never finished
            embedded = min(size, self._plan.embedded)
            print(
                f"\nfilling a store with {size:,} chunks; vectors: {embedded:,} real ones, "
                "the rest made of them with noise …",
                flush=True,
            )
            apart("benchmarks.filling.stores:fill", folder, size, embedded, self._options.texts)
        return folder


if __name__ == "__main__":
    main()
