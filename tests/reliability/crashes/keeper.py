"""An engine in, backups, checks, exports and restores out: what befalls a store over the years."""

import hashlib
import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from kb.engine.backup.restoring import chosen
from kb.engine.backup.restoring import restore as restored
from kb.engine.backup.steps import tell_nobody
from kb.engine.embed import HashEmbedder, OtherHashEmbedder
from kb.engine.store.file.page_checksums import connect
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest, folder_of
from kb.imports.own_export.form import ABOUT, DOCUMENTS

from ..engine_process import EngineProcess, Gone, Zygote, wait_until
from ..oracle import Oracle

RESTORE, REPAIR = "reliability.crashes.keeper:restore", "reliability.crashes.keeper:repair"
_SECONDS = 180.0
_PAGE = 4096
_MODELS = {HashEmbedder.name, OtherHashEmbedder.name}
_SMALL_DISK = 2**30
_LONG_AGO = "2026-01-01T00:00:00.000000Z"
_RESERVE = 2**20


@dataclass(slots=True)
class Made:
    """A finished backup: the store at some instant between the two times."""

    folder: str
    began: float
    ended: float


@dataclass(slots=True)
class Keeper:
    """Has backups made and checks run while clients write, and puts backups in place."""

    engine: EngineProcess
    zygote: Zygote
    random: random.Random
    interrupt: Callable[[int], None]  # what befalls a process that restores
    made: Made | None = None
    strays: dict[str, bytes] = field(default_factory=dict)
    originals: set[str] = field(default_factory=set)  # that documents had when last looked at
    put_aside: bool = False
    models: set[str] = field(default_factory=lambda: {HashEmbedder.name})  # one of these is wanted
    doing: set[str] = field(default_factory=set)
    interrupted: Counter[str] = field(default_factory=Counter)  # what was, by a death
    counts: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    @property
    def target(self) -> Path:
        """On the same disk, so that it fails with it."""
        return self.engine.folder.with_name(f"{self.engine.folder.name}-backups")

    def work_until_gone(self) -> None:
        """Begin with some of what there is to do; the engine dies meanwhile, mostly."""
        self.doing.clear()
        try:
            if self.random.random() < 0.5:
                self.doing.add("backup")
                self._begin("/api/v1/backups", {"folder": str(self.target), "keep": 3})
            if self.random.random() < 0.5:
                repair = self.random.random() < 0.5
                self.doing.add("verify --repair" if repair else "verify")
                self._begin("/api/v1/verify", {"repair": repair})
            if self.random.random() < 0.25:
                self.doing.add("change the model")
                self._change_model()
            if self.random.random() < 0.25:
                self.doing.add("export")
                self._export()
                self.doing.discard("export")
            while True:
                self._see_what_ended()
                time.sleep(0.01)
        except Gone:
            self.interrupted.update(self.doing)

    def _see_what_ended(self) -> None:
        if not self._runs("backups"):
            self.doing.discard("backup")
        if not self._runs("verify"):
            self.doing -= {"verify", "verify --repair"}
        if self.engine.get("/api/v1/status").body["model"]["change"] is None:
            self.doing.discard("change the model")

    def _runs(self, what: str) -> bool:
        body = self.engine.get(f"/api/v1/{what}").body
        return "running" in (body.get("state"), (body.get("run") or {}).get("status"))

    def _change_model(self) -> None:
        [model] = self.random.sample(sorted(_MODELS), 1)
        self.models = self.models | {model}
        answer = self.engine.send("PUT", "/api/v1/model", {"name": model})
        if answer.status == 200:
            self.models = {model}
        else:
            self.violations.append(f"change to {model}: {answer.status} {answer.body}")

    def look_at_the_model(self) -> None:
        model = self.engine.get("/api/v1/status").body["model"]["name"]
        if model not in self.models:
            self.violations.append(f"{model} is in use instead of {sorted(self.models)}")
        self.models = {model}

    def _export(self) -> None:
        """Everything, as files. What looks like a whole export is one, also after a death."""
        folder = self.engine.folder.with_name("export")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            code, said = self.engine.kb("export", str(folder), "--json")
            # A document may have changed all the time, or its original been put aside.
            if code not in (0, 1) or not (folder / ABOUT).exists():
                self.violations.append(f"an export ended with {code}: {said[-500:]}")
        finally:
            self._look_at_the_export(folder)

    def _look_at_the_export(self, folder: Path) -> None:
        with suppress(FileNotFoundError):
            about = json.loads((folder / ABOUT).read_bytes())
            lines = (folder / DOCUMENTS).read_bytes().splitlines()
            files = [json.loads(line)["path"] for line in lines]
            missing = [path for path in files if path and not (folder / path).is_file()]
            if len(lines) != about["documents"] or missing:
                self.violations.append(f"an export looks whole and is not: {about} {missing}")

    def move_out_and_in(self) -> None:
        """Export everything and import it again: nothing changes by that."""
        folder = self.engine.folder.with_name("moved")
        shutil.rmtree(folder, ignore_errors=True)
        for what in ("export", "import"):
            code, said = self.engine.kb(what, str(folder), "--json")
            if code != 0:
                self.violations.append(f"kb {what}: {said[-500:]}")
                return
        outcome = json.loads(said[said.index("{") :])
        if outcome["unchanged"] != len(outcome["documents"]):
            self.violations.append(f"an import of what is there changed something: {said[:500]}")
        self.count("exports imported again")

    def back_up(self) -> None:
        """A whole one, whoever writes meanwhile."""
        began = time.monotonic()
        if not self._begin("/api/v1/backups", {"folder": str(self.target), "keep": 3}):
            return
        run = self._ended("/api/v1/backups", "run")
        if run["status"] != "done":
            self.violations.append(f"a backup failed: {run['error']}")
            return
        self.count("backups")
        self.made = Made(run["backup"]["folder"], began, time.monotonic())

    def check(self) -> None:
        """Everything is whole, as the engine itself sees it."""
        if not self._begin("/api/v1/verify", {}):
            return
        run = self._ended("/api/v1/verify")
        self.count("checks")
        if run["whole"] is not True:
            self.violations.append(f"verify: {run['failure']} {run['findings']}")

    def look_at_the_reserve(self) -> None:
        """The engine makes it again as soon as it has nothing else to do."""

        def is_there() -> bool:
            store = self.engine.get("/api/v1/status").body["store"]
            return bool(store["reserve_bytes"] == _RESERVE)

        try:
            wait_until(is_there, _SECONDS, "the reserve is there")
        except TimeoutError as error:
            self.violations.append(str(error))

    @property
    def _filler(self) -> Path:
        return self.engine.folder.with_name("filler")

    @property
    def is_full(self) -> bool:
        return self._filler.exists()

    def can_fill(self) -> bool:
        """Only a disk of our own, and a small one."""
        about = os.statvfs(self.engine.folder.parent)
        return about.f_blocks * about.f_frsize < _SMALL_DISK

    def fill(self, oracles: Sequence[Oracle]) -> None:
        """To the last byte: deletions have the reserve, everything else is refused."""
        for oracle in oracles:
            oracle.disk_is_full = True
        about = os.statvfs(self.engine.folder.parent)
        with self._filler.open("wb", buffering=0) as file, suppress(OSError):
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, about.f_bavail * about.f_frsize)
            file.seek(0, os.SEEK_END)
            while file.write(bytes(_PAGE)):
                pass

    def make_room(self, oracles: Sequence[Oracle]) -> None:
        self._filler.unlink(missing_ok=True)
        for oracle in oracles:
            oracle.disk_is_full = False

    def age_failures(self, oracles: Sequence[Oracle]) -> None:
        """What failed jobs hold was sent long ago: the next start lets it go."""
        held = {key: oracle for oracle in oracles for key in oracle.held}
        with self._at_rest() as connection:
            for (key,) in connection.execute(
                "UPDATE jobs SET finished_at = ? WHERE status = 'failed' AND idempotency_key IN "
                "(SELECT value FROM json_each(?)) RETURNING idempotency_key",
                (_LONG_AGO, json.dumps(sorted(held))),
            ).fetchall():
                del held[key].held[key]
                held[key].let_go.add(key)
                self.count("failures expired")

    def damage_and_repair(self) -> None:
        """A page of the word index has other bytes: a repair at rest rebuilds the database, now
        and then with a kill in between, and nothing is lost by that."""
        with self._at_rest() as connection:
            pages = connection.execute(
                "SELECT pageno FROM dbstat WHERE name = 'words_data'"
            ).fetchall()
        with (self.engine.folder / "store.db").open("r+b") as file:
            file.seek((self.random.choice(pages)[0] - 1) * _PAGE + self.random.randrange(4000))
            file.write(b"damaged")
        if self._done(REPAIR, [str(self.engine.folder)], "repairs at rest"):
            for damaged in self.engine.folder.glob("store-damaged-*"):
                damaged.unlink()

    def free_pages(self) -> int:
        """Room in the database that could be given back."""
        with self._at_rest() as connection:
            [(pages,)] = connection.execute("PRAGMA freelist_count")
        return int(pages)

    @contextmanager
    def _at_rest(self) -> Iterator[apsw.Connection]:
        """The log stays as the death has left it."""
        connection = connect(self.engine.folder / "store.db", apsw.SQLITE_OPEN_READWRITE)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        try:
            yield connection
        finally:
            connection.close()

    def _done(self, what: str, arguments: list[str], counted: str) -> bool:
        """In a process of its own, that is now and then killed before; whether it went well."""
        while self.random.random() < 0.4:
            pid = self.zygote.fork(self.engine.log, {}, run=what, arguments=arguments)
            self.interrupt(pid)
            self.count(f"{counted} interrupted")
        pid = self.zygote.fork(self.engine.log, {}, run=what, arguments=arguments)
        self.count(counted)
        if self.zygote.wait(pid, _SECONDS) == 0:
            return True
        self.violations.append(f"{counted}: one failed: {self.engine.log_text()[-900:]}")
        return False

    def meddle(self) -> None:
        """While no engine runs: take the reserve away, put a file down that no row names, put one
        aside that a row does name, as if the row had been missing at an earlier start."""
        if self.random.random() < 0.1:
            (self.engine.folder / "store-reserve").unlink(missing_ok=True)
            self.count("reserves taken away")
        files = self.engine.folder / "store-files"
        if files.is_dir() and self.random.random() < 0.1:
            name, content = f"{self.random.getrandbits(128):032x}", self.random.randbytes(99)
            (files / name).write_bytes(content)
            os.utime(files / name, (0, 0))
            self.strays[name] = content
            self.count("strays")
        named = sorted(name for name in self.originals if (files / name).exists())
        if named and self.random.random() < 0.1:
            self._put_aside(files / self.random.choice(named))
            self.count("originals put aside")

    def _put_aside(self, original: Path) -> None:
        lost = self.engine.folder / "store-lost"
        lost.mkdir(mode=0o700, exist_ok=True)
        content = original.read_bytes()
        line = {
            "name": original.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "when": "2026-01-01T00:00:00.000000Z",
            "why": "no document and no job names it",
        }
        with (lost / "manifest.jsonl").open("a") as manifest:
            manifest.write(json.dumps(line) + "\n")
        original.rename(lost / original.name)
        self.put_aside = True

    def take_back(self) -> None:
        """What a row names comes back by a repair; whoever looks at the store then misses it."""
        if self.put_aside and self._begin("/api/v1/verify", {"repair": True}):
            self._ended("/api/v1/verify")
            self.count("repairs")
        self.put_aside = False

    def look_for_strays(self) -> None:
        """What no row names is kept, and the manifest says what it is."""
        folder = self.engine.folder / "store-lost"
        if not self.strays:
            return
        manifest = folder / "manifest.jsonl"
        lines = manifest.read_text().splitlines() if manifest.exists() else []
        told = {line["name"] for line in map(json.loads, lines)}
        for name, content in self.strays.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != content:
                self.violations.append(f"a file that no row names is not kept: {name}")
            if name not in told:
                self.violations.append(f"a lost file is not in the manifest: {name}")

    def restore(self, oracles: Sequence[Oracle]) -> None:
        """Put the last backup in place of the store, now and then with a kill in between."""
        made = self.made
        if made is None or not Path(made.folder).exists():
            return
        if not self._done(RESTORE, [made.folder, str(self.engine.folder)], "restores"):
            return
        self.models = _MODELS  # whichever was wanted then
        for aside in self.engine.folder.glob("store-before-restore-*"):
            shutil.rmtree(aside)
        self.strays.clear()  # moved aside with all the rest
        for oracle in oracles:
            oracle.go_back(made.began, made.ended)

    def _begin(self, path: str, body: dict[str, Any]) -> bool:
        answer = self.engine.send("POST", path, body)
        if answer.status not in (202, 409):  # another one runs
            self.violations.append(f"{path}: {answer.status} {answer.body}")
        return answer.status == 202

    def _ended(self, path: str, part: str | None = None) -> dict[str, Any]:
        def ended() -> dict[str, Any] | None:
            body = self.engine.get(path).body
            run: dict[str, Any] = body[part] if part else body
            running = "running" in (run.get("status"), run.get("state"))
            return None if running else run

        found: dict[str, Any] = wait_until(ended, _SECONDS, f"{path} ends")
        return found

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def repair(folder: str) -> None:
    """In a process of its own, as `kb verify --repair` does it while no engine runs."""
    with folder_of(Path(folder), repair=True) as held:
        verified = AtRest(held, terms, TERMS_VERSION, lambda _: None).verify(repair=True)
    if not verified.is_whole:
        raise SystemExit(f"not whole: {verified}")


def restore(backup: str, folder: str) -> None:
    """In a process of its own, as `kb restore --replace` does it."""
    restored(chosen(Path(backup), None), Path(folder), True, tell_nobody)
