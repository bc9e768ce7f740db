"""Seeds in, damaged stores out, and what became of each: found, served, repaired.

As a command it prints the table: `python -m reliability.corruptions 200`, in `tests/`; with `0 2`
and `1 2` behind it each of two processes does one half.
"""

import json
import logging
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import apsw
import httpx

from kb.engine.api.context import Engine
from kb.engine.app import build_app, build_engine
from kb.engine.backup.making import Source, make_backup
from kb.engine.backup.steps import tell_nobody
from kb.engine.data_folder.folder import DataFolder
from kb.engine.errors import KbError
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.settings import Settings
from kb.engine.store.file.page_checksums import connect
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest, Verified

FIXTURES = Path(__file__).parents[1] / "fixtures" / "documents"
PAGE = 4096
QUESTIONS = ("otter river", "heron reeds", "harbour", "toucan talk", "egret 7", "late note")
_LATE = 12  # changes that are only in the log

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A way to damage a store. It is told what pages there are and changes a folder."""

    kind: str
    seed: int
    damage: Callable[[Path, random.Random], None]
    with_log: bool = False
    with_backup: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a damaged store."""

    case: Case
    found: bool
    healthy: bool
    wrong: list[str]  # texts that were served and are not what was stored
    repaired: str  # "equal", "named" or what is silently different


class Worlds:
    """Two stores as they should be: one closed, and one whose last changes are in its log.

    There is a backup of each. Some things have happened since: to the closed one a change, a
    deletion and an addition, to the other half of what is in its log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.sandbox = Sandbox(idle_seconds=300)
        self.closed, self.killed = folder / "closed", folder / "killed"
        self._backups, self._late_backups = folder / "backups", folder / "late-backups"
        with opened(self.closed, self.sandbox) as engine:
            _fill(engine)
            _back_up(self.closed, self._backups)
            _change_some(engine)
        shutil.copytree(self.closed, folder / "running")
        with opened(folder / "running", self.sandbox) as engine:
            for number in range(_LATE):
                _post(engine, "/jobs", {"text": f"A late note, number {number}.", "tags": ["late"]})
                engine.worker.finish_jobs()
                if number == _LATE // 2:
                    _back_up(folder / "running", self._late_backups)
            shutil.copytree(folder / "running", self.killed)
        with opened(folder / "running", self.sandbox) as engine:
            self.truth_with_log = state_of(engine)
        with opened(self.closed, self.sandbox) as engine:
            engine.renewal.finish()
            self.truth = state_of(engine)
        self.pages = _pages(self.closed / "store.db")

    def close(self) -> None:
        self.sandbox.close()

    def try_case(self, case: Case) -> Outcome:
        base, truth = (
            (self.killed, self.truth_with_log) if case.with_log else (self.closed, self.truth)
        )
        at_rest, in_use = self._folder / "at-rest", self._folder / "in-use"
        for folder in (at_rest, in_use):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(base, folder)
            case.damage(folder, random.Random(case.seed))
        found = not _verify(at_rest, repair=False).is_whole
        healthy, wrong = self._serve(in_use, truth)
        backups = self._late_backups if case.with_log else self._backups
        repaired = self._repair(at_rest, truth, wrong, backups if case.with_backup else None)
        return Outcome(case, found, healthy, wrong, repaired)

    def _serve(self, folder: Path, truth: State) -> tuple[bool, list[str]]:
        """Whether it is healthy after the check in the background, and what it served wrong."""
        try:
            with opened(folder, self.sandbox) as engine:
                wrong = wrong_texts(engine, truth)
                with suppress(KbError):
                    engine.check.finish()
                [status] = _get(engine, "/status")
                return status["health"]["status"] == "healthy", wrong + wrong_texts(engine, truth)
        except KbError:  # it does not start at all, and says so
            return False, []

    def _repair(self, folder: Path, truth: State, wrong: list[str], backups: Path | None) -> str:
        verified = _verify(folder, repair=True, backups=backups)
        left = verified.after.findings if verified.after else []
        silent = [
            each.what
            for each in left
            if not (each.kind == "text" and each.job_id)  # a job reads it again
            and str(each.document_id) not in _named(verified)
            and each.what not in verified.lost
        ]
        if silent:
            return f"still wrong and not named: {silent[0]}"
        with opened(folder, self.sandbox) as engine:
            engine.worker.finish_jobs()
            while engine.store.upkeep.renew_words():
                pass
            engine.renewal.finish()
            if engine.store.health.damage is not None:
                return f"still damaged: {engine.store.health.damage.why}"
            wrong += wrong_texts(engine, truth, ignore=_named(verified))
            return _compared(truth, state_of(engine), verified)


def cases(worlds: Worlds, count: int, seed: int = 14) -> list[Case]:
    """Every kind in turn, each time at another place, and every other time with a backup."""
    choose = random.Random(seed)
    kinds: list[tuple[str, Callable[[Path, random.Random], None], bool]] = [
        (f"page of {name}", _page_of(pages), False) for name, pages in sorted(worlds.pages.items())
    ]
    kinds += [
        ("log cut", _cut_log, True),
        ("log bytes", _change_log, True),
        ("original changed", _original(_change), False),
        ("original removed", _original(lambda path, _: path.unlink()), False),
        ("original truncated", _original(_truncate), False),
        ("originals swapped", _swap, False),
    ]
    return [
        Case(kind, choose.randrange(1 << 32), damage, with_log, bool(number // len(kinds) % 2))
        for number in range(count)
        for kind, damage, with_log in [kinds[number % len(kinds)]]
    ]


@contextmanager
def opened(folder: Path, sandbox: Sandbox) -> Iterator[Engine]:
    """An engine with everything loaded but no thread of its own."""
    held = DataFolder(folder)
    settings = Settings(data_dir=folder, embedder="hash", reserve_mb=0)
    try:
        engine = build_engine(settings, held, sandbox)
        try:
            for model in (engine.store.models.searched, engine.store.models.wanted):
                engine.embedders.of(model).start()
                engine.embedders.of(model).wait(30)
            with suppress(KbError):
                engine.store.models.load_vectors()
            yield engine
        finally:
            engine.store.close()
    finally:
        held.release()


def _fill(engine: Engine) -> None:
    """Some thirty documents of all kinds."""
    for number in range(14):
        text = f"# Otter {number}\n\nOtter {number} swims in the river at {number * 7}. "
        fields = {"text": text * (1 + number * 9), "tags": [f"tag{number % 4}", "river"]}
        _post(engine, "/jobs", fields)
    for number in range(8):
        content = f"Heron {number} stands in the reeds and sees egret {number}. " * (
            9 + number * 60
        )
        path = f"/data/birds/heron{number}.txt"
        _post(
            engine,
            "/jobs",
            files={"file": (f"heron{number}.txt", content.encode())},
            data={"source_path": path, "tags": "reeds"},
        )
    for path in sorted(FIXTURES.iterdir()):
        if path.suffix in (".pdf", ".docx", ".html", ".md", ".csv", ".eml", ".png"):
            _post(engine, "/jobs", files={"file": (path.name, path.read_bytes())})
    engine.worker.finish_jobs()
    engine.renewal.finish()
    engine.store.upkeep.tidy()


def _change_some(engine: Engine) -> None:
    """What a backup from before does not know of."""
    [page] = _get(engine, "/documents?limit=1000&sort=created&order=asc")
    notes = [each["id"] for each in page["documents"] if each["doc_type"] == "note"]
    files = [each["id"] for each in page["documents"] if each["doc_type"] != "note"]
    answers = _ask(
        engine,
        ("PATCH", f"/notes/{notes[2]}", {"json": {"text": "Otter 2 sleeps in the river."}}),
        ("PATCH", f"/documents/{files[1]}", {"json": {"title": "Of herons"}}),
        ("DELETE", f"/documents/{notes[4]}", {}),
    )
    assert [answer.status_code for answer in answers] == [200, 200, 200], answers
    _post(engine, "/jobs", {"text": "A toucan talks. " * 200, "tags": ["talk"]})
    engine.worker.finish_jobs()
    engine.renewal.finish()
    engine.store.upkeep.tidy()


def _back_up(folder: Path, target: Path) -> None:
    target.mkdir()
    source = Source(folder, folder / "store.db", folder / "store-files")
    make_backup(source, target, None, tell_nobody)


def _ask(engine: Engine, *asked: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
    """Several requests: method, path, and what httpx takes."""

    async def ask() -> list[httpx.Response]:
        app = APPS.setdefault("app", build_app(engine))
        app.state.engine = engine
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [
                await client.request(method, f"/api/v1{path}", **options)
                for method, path, options in asked
            ]

    return anyio.run(ask)


APPS: dict[str, Any] = {}  # its routes take longer to build than all else


def _get(engine: Engine, *paths: str) -> list[Any]:
    """The answers; None for what is refused."""
    answers = _ask(engine, *(("GET", path, {}) for path in paths))
    return [answer.json() if answer.status_code == 200 else None for answer in answers]


def _post(engine: Engine, path: str, json: Any = None, **options: Any) -> None:
    [answer] = _ask(engine, ("POST", path, {"json": json, **options}))
    assert answer.status_code < 300, answer.text


def state_of(engine: Engine) -> State:
    """All that callers see."""
    ids = [row[0] for row in engine.store.database.read("SELECT id FROM documents ORDER BY id")]
    documents = _get(engine, *(f"/documents/{number}" for number in ids))
    return {"documents": dict(zip(map(str, ids), documents, strict=True))}


def wrong_texts(engine: Engine, truth: State, ignore: frozenset[str] = frozenset()) -> list[str]:
    """Texts that are served and are not those of their documents; to be refused is fine."""
    wrong = []
    right = {key: _passages(document) for key, document in truth["documents"].items()}
    served = _get(engine, *(f"/documents/{key}" for key in right))
    for key, document in zip(right, served, strict=True):
        if document is None or key in ignore or not document["chunks"]:
            continue
        if _passages(document) != right[key]:
            wrong.append(f"document {key}")
    questions = (("POST", "/search", {"json": {"query": each, "top": 20}}) for each in QUESTIONS)
    for answer in _ask(engine, *questions):
        for hit in answer.json()["results"] if answer.status_code == 200 else []:
            key = str(hit["document_id"])
            text = _without_header(hit["text"], truth["documents"].get(key))
            if key not in ignore and text not in "".join(right.get(key, [])):
                wrong.append(f"hit of document {key}: {hit['text'][:60]}")
    return wrong


def _without_header(text: str, document: Any) -> str:
    """What a hit shows of a passage; over a later part of a table its first row stands again."""
    headers = {chunk["table_header"] for chunk in document["chunks"]} if document else set()
    for header in filter(None, headers):
        text = text.removeprefix(f"{header}\n")
    return text.strip()


def _passages(document: Any) -> list[str]:
    return [chunk["text"] for chunk in document["chunks"]]


def _named(verified: Verified) -> frozenset[str]:
    """The documents that a repair names as lost or not proven."""
    lines = [*verified.lost, *verified.unproven]
    return frozenset(line.split()[1].strip(":") for line in lines if line.startswith("document "))


def _compared(truth: State, after: State, verified: Verified) -> str:
    lines = [*verified.lost, *verified.unproven]
    named, missing = (
        _named(verified),
        any("The last " in line and " missing: " in line for line in lines),
    )
    tags = any(line.startswith("tag ") or "tag whose name" in line for line in lines)
    different = []
    for key, before in truth["documents"].items():
        now = after["documents"].get(key)
        if now is None:
            if key not in named and not missing:
                different.append(f"document {key} is gone")
            continue
        if missing and _passages(now) == _passages(before):
            continue  # its job was there, and has made it once more
        if _shown(before, tags) != _shown(now, tags) and key not in named:
            names = [
                name
                for name in before
                if _shown(before, tags).get(name) != _shown(now, tags).get(name)
            ]
            different.append(f"document {key} differs in {names}")
    if different:
        return "; ".join(different)
    return "named" if lines else "equal"


def _shown(document: Any, without_tags: bool) -> Any:
    """The ids of passages too: somebody may have cited them."""
    shown = {**document}
    if without_tags:
        shown.pop("tags")
    return json.loads(json.dumps(shown))


def _verify(folder: Path, repair: bool, backups: Path | None = None) -> Verified:
    held = DataFolder(folder)
    try:
        return AtRest(held, terms, TERMS_VERSION, lambda _: None, backups).verify(repair)
    finally:
        held.release()


def _pages(database: Path) -> dict[str, list[int]]:
    """By table and index; those that nothing uses are a kind of their own."""
    connection = connect(database, apsw.SQLITE_OPEN_READWRITE)
    pages: dict[str, list[int]] = {}
    for name, page in connection.execute("SELECT name, pageno FROM dbstat"):
        pages.setdefault(name, []).append(page)
    [(count,)] = connection.execute("PRAGMA page_count")
    connection.close()
    used = {page for of_one in pages.values() for page in of_one}
    unused = [page for page in range(2, count + 1) if page not in used]
    return pages | ({"nothing": unused} if unused else {})


def _page_of(pages: list[int]) -> Callable[[Path, random.Random], None]:
    def damage(folder: Path, choose: random.Random) -> None:
        page, length = choose.choice(pages), choose.choice((1, 4, 32, 500, PAGE))
        start = (page - 1) * PAGE + choose.randrange(PAGE - length + 1)
        _overwrite(folder / "store.db", start, length, choose)

    return damage


def _overwrite(path: Path, start: int, length: int, choose: random.Random) -> None:
    """With other bytes than are there."""
    with open(path, "r+b") as file:
        file.seek(start)
        before = file.read(length)
        file.seek(start)
        file.write(bytes((byte + choose.randrange(1, 256)) % 256 for byte in before))


def _frames(folder: Path) -> tuple[Path, int]:
    log = folder / "store.db-wal"
    return log, (log.stat().st_size - 32) // (24 + PAGE)


def _cut_log(folder: Path, choose: random.Random) -> None:
    log, _ = _frames(folder)
    os.truncate(log, choose.randrange(log.stat().st_size))


def _change_log(folder: Path, choose: random.Random) -> None:
    log, frames = _frames(folder)
    start = 32 + choose.randrange(frames) * (24 + PAGE) + choose.randrange(PAGE)
    _overwrite(log, start, choose.choice((1, 8, 24)), choose)


def _originals(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "store-files").iterdir() if len(path.name) == 32)


def _original(
    change: Callable[[Path, random.Random], object],
) -> Callable[[Path, random.Random], None]:
    def damage(folder: Path, choose: random.Random) -> None:
        change(choose.choice(_originals(folder)), choose)

    return damage


def _change(path: Path, choose: random.Random) -> None:
    _overwrite(path, choose.randrange(path.stat().st_size), 1, choose)


def _truncate(path: Path, choose: random.Random) -> None:
    os.truncate(path, choose.randrange(path.stat().st_size))


def _swap(folder: Path, choose: random.Random) -> None:
    first, second = choose.sample(_originals(folder), 2)
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def table(outcomes: list[Outcome]) -> str:
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.case.kind, []).append(outcome)
    lines = [f"{'kind':<42} tried found healthy wrong text  repaired"]
    lines += [_line(kind, of_one) for kind, of_one in kinds.items()]
    for with_backup, of_these in ((False, "all without a backup"), (True, "all with a backup")):
        some = [each for each in outcomes if each.case.with_backup is with_backup]
        lines.append(_line(of_these, some))
    return "\n".join([*lines, _line("all", outcomes)])


def _line(kind: str, outcomes: list[Outcome]) -> str:
    found, healthy = (sum(each.found for each in outcomes), sum(each.healthy for each in outcomes))
    wrong = sum(bool(each.wrong) for each in outcomes)
    repaired = Counter(
        each.repaired if each.repaired in ("equal", "named") else "DIFFERENT" for each in outcomes
    )
    words = ", ".join(f"{count} {what}" for what, count in sorted(repaired.items()))
    return f"{kind:<42} {len(outcomes):>5} {found:>5} {healthy:>7} {wrong:>10}  {words}"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    part, parts = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (0, 1)
    logging.disable()
    with tempfile.TemporaryDirectory() as folder:
        worlds = Worlds(Path(folder))
        outcomes = []
        for case in cases(worlds, count)[part::parts]:
            outcomes.append(worlds.try_case(case))
            last = outcomes[-1]
            bad = not last.found or last.healthy or last.wrong
            if bad or last.repaired not in ("equal", "named"):
                told = f"{last.found} {last.healthy} {last.wrong[:3]} {last.repaired}"
                how = "with" if case.with_backup else "without"
                print(f"{case.kind}, seed {case.seed}, {how} a backup: {told}", flush=True)
        worlds.close()
    print(table(outcomes))


if __name__ == "__main__":
    main()
