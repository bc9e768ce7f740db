"""What a backup costs those who use the engine meanwhile, and what the next one has to write.

    python -m benchmarks.backup FOLDER [--chunks 100000] [--changes 4] [--rounds 3] [--json FILE]

First a store of so many chunks is backed up at rest; then one document in a hundred is exchanged,
and what has changed is backed up, again and again. After that four writers (notes and tags, with a
pause between) and one who searches use an engine. Quiet times and backups of everything take turns,
so that whatever else the machine does hits both. The filled store is kept in the folder, as
`benchmarks.scale` keeps it, and used again.
"""

import itertools
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.apart import apart
from benchmarks.filling.questions import asked
from benchmarks.filling.scale_texts import CHUNKS_PER_DOCUMENT
from benchmarks.options import options_of
from benchmarks.report import Report, percentile
from benchmarks.running import Client, Json, Server, connected, engine

EMBEDDED = 1500  # passages whose vectors are real
WRITERS = 4
PAUSE = 0.02
CHANGED = 100  # one document in so many
WARM_UP = 3.0
PATIENCE = 900.0  # seconds for one backup


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path, help="where the filled store is kept")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=4, help="of 1 %%, one after the other")
    parser.add_argument("--rounds", type=int, default=3, help="backups under writers")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    options = parser.parse_args()
    filled: Path = options.folder / f"backup-{options.chunks}"
    if not (filled / "built").exists():
        shutil.rmtree(filled, ignore_errors=True)
        print(f"filling a store with {options.chunks:,} chunks …", flush=True)
        apart("benchmarks.filling.scale_store:fill", filled, options.chunks, EMBEDDED, None)
        (filled / "built").touch()
    copy, target = options.folder / "backup-copy", options.folder / "backup-target"
    for path in (copy, target):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(filled, copy)
    report = Report()
    try:
        documents = options.chunks // CHUNKS_PER_DOCUMENT
        written(copy, target, options.changes, documents, report)
        with engine(copy) as server:
            Felt(server, copy, target, report).run(options.rounds, documents)
    finally:
        shutil.rmtree(copy)
        shutil.rmtree(target, ignore_errors=True)
    report.end(options.json)


def written(folder: Path, target: Path, changes: int, documents: int, report: Report) -> None:
    """What the first backup writes, and the next ones."""
    first = _back_up_at_rest(folder, target)
    report.section("what is written")
    report.add("the first backup", first, "MB")
    for number in range(1, changes + 1):
        apart(
            "benchmarks.filling.scale_store:exchange", folder, documents, CHANGED, number, EMBEDDED
        )
        name = f"the next, one document in a hundred changed ({number})"
        report.add(name, _back_up_at_rest(folder, target), "MB", "the first", first, 0.05)


def _back_up_at_rest(folder: Path, target: Path) -> float:
    """Megabytes."""
    command = [sys.executable, "-P", "-m", "kb.engine.backup", str(target.absolute())]
    made = subprocess.run(
        [*command, "--data-dir", str(folder)], stdout=subprocess.PIPE, check=True, timeout=PATIENCE
    )
    answer = json.loads(made.stdout.splitlines()[-1])["answer"]
    return float(answer["written_bytes"]) / 1e6


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


class Felt:
    """What those who use an engine notice of backups."""

    def __init__(self, server: Server, folder: Path, target: Path, report: Report) -> None:
        self._server = server
        self._folder = folder
        self._target = target
        self._report = report

    def run(self, rounds: int, documents: int) -> None:
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
                    f"{name}, p{percent}",
                    percentile(during, percent),
                    "ms",
                    "in quiet times",
                    percentile(other, percent),
                    bar if percent == 99 else None,
                )

    def _back_up(self) -> None:
        client = connected(self._server)
        body = json.dumps({"folder": str(self._target.absolute())}).encode()
        client.call("POST", "/api/v1/backups", body)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            run: Json = client.call("GET", "/api/v1/backups")["run"]
            if run["status"] == "failed":
                raise RuntimeError(run["error"]["message"])
            if run["status"] == "done":
                return
            time.sleep(0.1)
        raise RuntimeError(f"a backup took longer than {PATIENCE:.0f} s")


if __name__ == "__main__":
    main()
