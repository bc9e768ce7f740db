"""A data folder in, how much memory the engine holds and how soon it answers out."""

import statistics
import time
from pathlib import Path

from benchmarks.filling.questions import asked
from benchmarks.running import Client, Server, connected, engine, start_engine

SETTLE = 2.0


def measure(folder: Path, searches: int, under_kb_up: bool = False) -> tuple[float, float]:
    """Megabytes after so many searches and a rest, of all processes: PSS and RSS."""
    with engine(folder, under_kb_up=under_kb_up) as server:
        client = Client(server.port)
        for query in asked(folder, searches):
            client.search(query)
        time.sleep(SETTLE)
        return server.memory_mb("Pss"), server.memory_mb("Rss")


def start(folder: Path, times: int) -> tuple[float, float, float]:
    """Seconds from the start of the process to the first answer by words and by vectors, and how
    much processor time that took."""
    by_words, by_vectors, busy = [], [], []
    for query in asked(folder, times):
        server = start_engine(folder)
        try:
            client = connected(server)
            by_words.append(_first_answer(server, client, query, "fts_only"))
            by_vectors.append(_first_answer(server, client, query, "vec_only"))
            busy.append(server.cpu_seconds())
        finally:
            server.stop()
    return statistics.median(by_words), statistics.median(by_vectors), statistics.median(busy)


def _first_answer(server: Server, client: Client, query: str, mode: str) -> float:
    """Ask until there is one: while the model loads, the engine answers 503."""
    body = f'{{"query": "{query}", "{mode}": true}}'.encode()
    while client.ask("POST", "/api/v1/search", body)[0] != 200:
        server.check_alive()
        time.sleep(0.005)
    return time.perf_counter() - server.started
