"""Counts what happens, in the Prometheus text format. Nothing global: one object per engine."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LABELS = ("method", "route", "status")


@dataclass(slots=True)
class _Series:
    """The answers of one method, route and status, by bucket, and their time in all."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0


class _Requests(Collector):
    """Request counts and times.

    The client library's histogram takes a lock and a label lookup per observation, several times
    the cost of the rest of the guard. Requests are counted on the event loop alone, so plain
    additions do, and the families are built when someone asks.
    """

    def __init__(self) -> None:
        self.series: dict[tuple[str, str, int], _Series] = {}

    def collect(self) -> Iterator[Metric]:
        total = CounterMetricFamily("kb_requests", "Requests answered", labels=LABELS)
        took = HistogramMetricFamily("kb_request_seconds", "Time to answer", labels=LABELS)
        for (method, route, status), series in list(self.series.items()):
            labels = (method, route, str(status))
            counts = list(accumulate(series.counts))
            bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
            total.add_metric(labels, counts[-1])
            took.add_metric(labels, list(zip(bounds, counts, strict=True)), series.seconds)
        yield total
        yield took


class Metrics:
    """Others tell it what they did; `/metrics` asks it for the page."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = _Requests()
        self._registry.register(self._requests)
        self._search = Histogram(
            "kb_search_seconds", "Time to search", ["mode"], registry=self._registry
        )
        self._jobs = Counter("kb_jobs", "Jobs ended", ["status"], registry=self._registry)
        self._embedded = Counter(
            "kb_chunks_embedded", "Passages turned into vectors", registry=self._registry
        )

    def request_took(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is the template, never the path: paths are without number, and private."""
        key = (method, route, status)
        series = self._requests.series.get(key)
        if series is None:
            series = self._requests.series[key] = _Series()
        series.counts[bisect_left(BUCKETS, seconds)] += 1
        series.seconds += seconds

    def requests(self) -> int:
        """How many were answered."""
        return sum(sum(series.counts) for series in list(self._requests.series.values()))

    def search_took(self, seconds: float, mode: str) -> None:
        """`mode`: hybrid, words or vectors."""
        self._search.labels(mode).observe(seconds)

    def job_ended(self, status: str) -> None:
        self._jobs.labels(status).inc()

    def chunks_embedded(self, count: int) -> None:
        self._embedded.inc(count)

    def watch(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A gauge whose value is asked for at each scrape: `kb_` and then `name`."""
        Gauge(f"kb_{name}", description, registry=self._registry).set_function(read)

    def watch_store(
        self,
        *,
        documents: Callable[[], float],
        chunks: Callable[[], float],
        queue_length: Callable[[], float],
    ) -> None:
        self.watch("documents", "Documents in the store", documents)
        self.watch("chunks", "Passages in the store", chunks)
        self.watch("queue_length", "Jobs waiting or running", queue_length)

    def render(self) -> bytes:
        return generate_latest(self._registry)
