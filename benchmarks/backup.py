"""What a backup costs those who use the engine meanwhile, and what the next one has to write.

    python -m benchmarks.backup FOLDER [--chunks 100000] [--rounds 3] [--json FILE]

Four writers (notes and tags, with a pause between) and one who searches use a store of so many
chunks. Quiet times and backups of everything take turns, so that whatever else the machine does
hits both. Then nobody writes, one document in a hundred is exchanged, and a second backup is made.
The filled store is kept in the folder, as `benchmarks.scale` keeps it, and used again.
"""

import argparse
import itertools
import json
import random
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.questions import asked
from benchmarks.report import Line, Report, percentile
from benchmarks.running import Client, Json, Server, connected, engine
from benchmarks.scale_store import fill
from benchmarks.scale_texts import CHUNKS_PER_DOCUMENT, source
from benchmarks.speed import _apart

EMBEDDED = 1500  # passages whose vectors are real
WRITERS = 4
PAUSE = 0.02
CHANGED = 100  # one document in so many
WARM_UP = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the filled store is kept")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    options = parser.parse_args()
    filled: Path = options.folder / f"backup-{options.chunks}"
    if not (filled / "built").exists():
        shutil.rmtree(filled, ignore_errors=True)
        print(f"filling a store with {options.chunks:,} chunks …", flush=True)
        _apart(fill, filled, options.chunks, EMBEDDED, None)
        (filled / "built").touch()
    copy = options.folder / "backup-copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(filled, copy)
    report = Report()
    try:
        with engine(copy) as server:
            Bench(server, copy, options.folder / "backup-target", report).run(
                options.rounds, options.chunks // CHUNKS_PER_DOCUMENT
            )
    finally:
        shutil.rmtree(copy)
    report.end()
    if options.json:
        report.save(options.json)


@dataclass
class Times:
    """Milliseconds, by what was done."""

    writes: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)


class Users:
    """Writers and a searcher, each on its own connection; `times` is where they note theirs."""

    def __init__(self, server: Server, folder: Path, documents: int) -> None:
        self.times = Times()
        self._enough = threading.Event()
        self._documents = documents
        self._questions = asked(folder, 3000)
        work: list[Callable[[Client], None]] = [self._write] * WRITERS + [self._search]
        self._threads = [threading.Thread(target=each, args=(connected(server),)) for each in work]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _write(self, client: Client) -> None:
        chance = random.Random(threading.get_ident())
        for number in itertools.count():
            if number % 10 == 0:
                text = f"Note {chance.random()} about the {chance.random()} of it."
                self._timed(client, "POST", "/api/v1/jobs", {"text": text})
            else:
                path = f"/api/v1/documents/{chance.randrange(1, self._documents)}/tags"
                self._timed(client, "PUT", path, {"tags": [f"tag-{chance.randrange(50)}"]})
            if self._enough.wait(PAUSE):
                return

    def _timed(self, client: Client, method: str, path: str, body: Json) -> None:
        began = time.perf_counter()
        client.call(method, path, json.dumps(body).encode())
        self.times.writes.append((time.perf_counter() - began) * 1000)

    def _search(self, client: Client) -> None:
        for query in itertools.cycle(self._questions):
            began = time.perf_counter()
            client.search(query)
            self.times.searches.append((time.perf_counter() - began) * 1000)
            if self._enough.wait(PAUSE):
                return


class Bench:
    def __init__(self, server: Server, folder: Path, target: Path, report: Report) -> None:
        self._server = server
        self._folder = folder
        self._target = target
        self._report = report

    def run(self, rounds: int, documents: int) -> None:
        try:
            self._felt(rounds, documents)
            self._written(documents)
        finally:
            shutil.rmtree(self._target, ignore_errors=True)

    def _felt(self, rounds: int, documents: int) -> None:
        quiet, busy, seconds = Times(), Times(), []
        users = Users(self._server, self._folder, documents)
        users.start()
        try:
            time.sleep(WARM_UP)
            for _ in range(rounds):
                shutil.rmtree(self._target, ignore_errors=True)
                users.times, began = busy, time.perf_counter()
                self._back_up()
                seconds.append(time.perf_counter() - began)
                users.times = quiet
                time.sleep(seconds[-1])
        finally:
            users.stop()
        self._report.section("while everything is backed up")
        self._report.note(f"a backup took {', '.join(f'{each:.0f}' for each in seconds)} s")
        for name, during, other, bar in (
            ("writes", busy.writes, quiet.writes, 2.0),
            ("searches", busy.searches, quiet.searches, None),
        ):
            self._report.note(f"{len(during):,} {name}, and {len(other):,} in quiet times")
            for percent in (50, 99):
                self._report.add(
                    Line(
                        f"{name}, p{percent}",
                        percentile(during, percent),
                        "ms",
                        "in quiet times",
                        percentile(other, percent),
                        bar if percent == 99 else None,
                    )
                )

    def _written(self, documents: int) -> None:
        self._settle()
        shutil.rmtree(self._target, ignore_errors=True)
        first = self._back_up()
        self._change(documents)
        self._settle()
        second = self._back_up()
        self._report.section("what is written")
        self._report.add(Line("the first backup", first["written_bytes"] / 1e6, "MB"))
        self._report.add(
            Line(
                "the second, one document in a hundred changed",
                second["written_bytes"] / 1e6,
                "MB",
                "the first",
                first["written_bytes"] / 1e6,
                0.05,
            )
        )

    def _back_up(self) -> Json:
        client = connected(self._server)
        body = json.dumps({"folder": str(self._target.absolute())}).encode()
        client.call("POST", "/api/v1/backups", body)
        while True:
            run: Json = client.call("GET", "/api/v1/backups")["run"]
            if run["status"] == "failed":
                raise RuntimeError(run["error"]["message"])
            if run["status"] == "done":
                made: Json = run["backup"]
                return made
            time.sleep(0.1)

    def _change(self, documents: int) -> None:
        real = source(self._folder.parent, EMBEDDED, None)
        chosen = random.Random(5).sample(range(documents), documents // CHANGED)
        for number in chosen:
            passages = real.document(documents + number).passages
            text = "\n\n".join(" ".join(real.word(each) for each in one) for one in passages)
            self._upload(f"/texts/{number}.txt", text.encode())

    def _upload(self, path: str, content: bytes) -> None:
        mark = "kb-benchmark-mark"
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="source_path"\r\n\r\n{path}\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
            "Content-Type: text/plain\r\n\r\n"
        )
        body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
        kind = f"multipart/form-data; boundary={mark}"
        connected(self._server).call("POST", "/api/v1/jobs", body, kind)

    def _settle(self) -> None:
        """Until no job is left, and for what the worker does after that."""
        client = connected(self._server)
        while True:
            queue = client.status()["queue"]
            if not queue["queued"] and not queue["running"]:
                break
            time.sleep(0.1)
        time.sleep(10)


if __name__ == "__main__":
    main()
