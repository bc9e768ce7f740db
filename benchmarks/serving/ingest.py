"""Documents in, chunks per second out; and what ingesting does to those who search meanwhile."""

import itertools
import json
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.filling.corpus import Text, paragraphs, real_texts
from benchmarks.filling.questions import asked
from benchmarks.running import Client, Server, connected, engine
from benchmarks.serving.peer import Peer, prepare
from kb.engine.embed import MiniLM
from kb.engine.ingest.passages.chunk import chunk, embedding_text
from kb.engine.pages import Page

QUEUED = 3  # files that wait at any time while ingest is to be continuous


@dataclass
class Rates:
    """Texts per second on the wall and per second of processor time, one for each round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, texts: int, wall: float, cpu: float) -> None:
        self.wall.append(texts / wall)
        self.cpu.append(texts / cpu)


@dataclass
class Speeds:
    ingest: Rates = field(default_factory=Rates)
    embed: Rates = field(default_factory=Rates)
    peer: Rates | None = None
    peer_versions: dict[str, str] = field(default_factory=dict)
    tokens: float = 0.0


def measure(scratch: Path, texts: Path | None, chunks: int, rounds: int, peer: bool) -> Speeds:
    """Alternate ingesting, embedding and the peer's encoding, so that noise falls on all."""
    model = MiniLM()
    documents = shuffled(texts)
    passages = list(itertools.islice(_passages(documents, model), chunks))
    speeds = Speeds(tokens=sum(map(model.count_tokens, passages)) / len(passages))
    other: Peer | None = None
    if peer:
        prepare()
        given = scratch / "passages.json"
        given.write_text(json.dumps(passages))
        other, speeds.peer = Peer(given), Rates()
        speeds.peer_versions = other.versions
    with engine(scratch / "ingest") as server:
        for number in range(rounds):
            _ingest(server, documents, chunks, number, speeds.ingest)
            began, busy = time.perf_counter(), time.process_time()
            model.embed(passages)
            speeds.embed.add(len(passages), time.perf_counter() - began, time.process_time() - busy)
            if other and speeds.peer:
                speeds.peer.add(len(passages), *other.encode())
    if other:
        other.stop()
    return speeds


def while_ingesting(
    folder: Path, texts: Path | None, count: int, rounds: int
) -> tuple[list[float], list[float], float]:
    """Milliseconds of the same searches while all is quiet and while documents come in without a
    break, in turn; and how many chunks per second came in."""
    documents = shuffled(texts)
    quiet: list[float] = []
    busy: list[float] = []
    rates: list[float] = []
    questions = asked(folder, count)
    with engine(folder) as server:
        client = connected(server)
        client.search_times(questions)
        for number in range(rounds):
            quiet += client.search_times(questions)
            before, began = client.status()["counts"]["chunks"], time.perf_counter()
            with feeding(server, documents, number):
                while client.status()["queue"]["queued"] < QUEUED - 1:
                    time.sleep(0.05)
                busy += client.search_times(questions)
                added = client.status()["counts"]["chunks"] - before
                rates.append(added / (time.perf_counter() - began))
            _wait_until_idle(client)
    return quiet, busy, sum(rates) / len(rates)


@contextmanager
def feeding(server: Server, documents: list[Text], salt: int = 0) -> Iterator[threading.Thread]:
    """Some files wait at any time until the end of it; the thread sees to that."""
    enough = threading.Event()
    feeder = threading.Thread(target=_feed, args=(server, documents, salt, enough), daemon=True)
    feeder.start()
    try:
        yield feeder
    finally:
        enough.set()
        feeder.join()


def _feed(server: Server, documents: list[Text], salt: int, enough: threading.Event) -> None:
    client = connected(server)
    for number in itertools.count():
        while client.status()["queue"]["queued"] >= QUEUED:
            if enough.wait(0.05):
                return
        name, content = _file(documents[number % len(documents)], f"busy {salt} {number}")
        client.add_file(name, content)


def _ingest(server: Server, documents: list[Text], chunks: int, salt: int, rates: Rates) -> None:
    """Files until about so many chunks are in, from the first byte sent to the last job done."""
    client = connected(server)
    before = client.status()["counts"]["chunks"]
    # As many words per chunk as the cut makes of this prose.
    words = chunks * 140
    began, busy = time.perf_counter(), server.cpu_seconds()
    for number, text in enumerate(documents):
        name, content = _file(text, f"{salt} {number}")
        client.add_file(name, content)
        words -= len(content.split())
        if words <= 0:
            break
    _wait_until_idle(client)
    added = client.status()["counts"]["chunks"] - before
    rates.add(added, time.perf_counter() - began, server.cpu_seconds() - busy)
    client.close()


def _wait_until_idle(client: Client) -> None:
    while True:
        queue = client.status()["queue"]
        if queue["failed"]:
            failed = client.call("GET", "/api/v1/jobs?status=failed&limit=1")["jobs"][0]
            raise RuntimeError(f"{failed['filename']} could not be ingested: {failed['error']}")
        if not queue["queued"] + queue["running"]:
            return
        time.sleep(0.05)


def _file(text: Text, mark: str) -> tuple[str, bytes]:
    """A text file; the mark makes it another document than the same text in another round."""
    name = re.sub(r"\W+", "-", f"{text.title} {mark}") + ".txt"
    return name, "\n\n".join([f"Part {mark}.", *text.passages]).encode()


def shuffled(texts: Path | None) -> list[Text]:
    documents = list(real_texts(paragraphs(texts)))
    random.Random(5).shuffle(documents)
    return documents


def _passages(documents: list[Text], model: MiniLM) -> Iterator[str]:
    """What the pipeline embeds of these documents."""
    for text in documents:
        name, content = _file(text, "")
        for passage in chunk([Page(content.decode())], model.count_tokens):
            yield embedding_text(name, passage, model.count_tokens)
