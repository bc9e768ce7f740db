"""A script of operations in, what a disk that fails at each of their calls makes of them out.

The script is run once on a disk that is well; the folder is kept as it is before each operation.
Then each operation is run from there once for each of its calls on the disk, with that call failed,
and what it answers is compared with what is there: at once, when it is asked again, and after the
next start. Runs in a process of its own, `python -m reliability.disks.every_call FOLDER SECONDS`;
with `1/4` behind that it tries the second quarter of the calls, beside three others. With `full`
and another folder in place of the seconds the disk of the first one is really filled instead.
"""

import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI
from starlette.testclient import TestClient

from kb.engine.api.context import Engine
from kb.engine.app import build_app, build_engine
from kb.engine.data_folder.folder import DataFolder
from kb.engine.errors import KbError, StartupError, StorageFailed, StorageFull
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.settings import Settings
from kb.engine.verify.checks import pages

from ..store_check import check_store
from .disk_script import SCRIPT, Operation
from .failing_calls import Calls, Error
from .looking_after import World, damage

SEED = 14
ERRORS: tuple[Error, ...] = ("ENOSPC", "EIO")


@dataclass(frozen=True, slots=True)
class Trial:
    operation: int
    call: int
    error: Error


@dataclass(slots=True)
class Report:
    operations: int = 0
    calls: int = 0  # that there are
    tried: int = 0
    done: int = 0  # the operation went well nevertheless
    refused: int = 0
    unknown: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


class Running:
    """An engine in this process, without threads; the operations do its work by hand."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.folder = DataFolder(folder)
        self._is_open = True
        try:
            for left in self.folder.incoming.iterdir():
                left.unlink()
            tempfile.tempdir = str(self.folder.incoming)
            backups = folder.with_name("backups")
            settings = Settings(folder, embedder="hash", reserve_mb=1, backup_dir=backups)
            self.engine: Engine = build_engine(settings, self.folder, sandbox)
        except OSError as error:  # as `python -m kb.engine` does
            self.folder.release()
            raise StartupError(f"The data folder cannot be used: {error}") from error
        except BaseException:
            self.folder.release()
            raise
        for model in (self.engine.store.models.searched, self.engine.store.models.wanted):
            self.engine.embedders.of(model).start()
            self.engine.embedders.of(model).wait(60)
        self.client = _client(self.engine)

    def close(self) -> None:
        """Once; a second time does nothing."""
        if self._is_open:
            self._is_open = False
            try:
                self.engine.store.close()
            finally:
                self.folder.release()

    def state(self) -> dict[str, Any]:
        """Everything that an operation may change, without what no two runs have in common."""
        with self.engine.store.database.reading() as query:
            documents = query(
                "SELECT documents.id, source_path, title, content_hash, metadata, doc_type, "
                "(SELECT group_concat(text, '') FROM chunks WHERE document_id = documents.id), "
                "(SELECT group_concat(name) FROM (SELECT name FROM document_tags JOIN tags ON "
                "tags.id = tag_id WHERE document_id = documents.id ORDER BY name)) "
                "FROM documents ORDER BY documents.id"
            )
            jobs = query(
                "SELECT id, iif(status = 'running', 'queued', status), outcome, error_code, "
                "document_id, NOT has_text AND stored_name IS NULL FROM jobs ORDER BY id"
            )
            facts = query(
                "SELECT name, value FROM facts WHERE name IN "
                "('model', 'other_model', 'chosen_model', 'vectors_place') ORDER BY name"
            )
            vectors = query("SELECT name, value FROM totals WHERE name LIKE '%vectors'")
            [(version,)] = query("PRAGMA user_version")
        return {
            "documents": documents,
            "jobs": jobs,
            "facts": facts,
            "vectors": vectors,
            "version": version,
        }


class Sweep:
    """`below` is where the store lies, `beside` where copies of it are kept."""

    def __init__(self, below: Path, beside: Path) -> None:
        self._beside = beside
        self._world = World(below / "world")
        self._world.backups.mkdir(parents=True)
        self._folder = self._world.data
        self._calls = Calls(self._world.path)
        os.environ["KB_BACKUP_DIR"] = str(self._world.backups)  # for repairs at rest
        self._sandbox = Sandbox(idle_seconds=3600)
        self._states: list[dict[str, Any]] = []
        self._listed: set[str] = set()  # backups, before an operation
        self.enough = False  # somebody wants to know how far it is
        self.report = Report(operations=len(SCRIPT))
        self._kinds: Counter[str] = Counter()

    def run(self, seconds: float, part: str = "0/1") -> Report:
        """Try calls, in an order that is the same each time, for as long as there is time.

        The rehearsal takes what it takes: on a busy machine nothing would be left for the calls.
        """
        trials = self._rehearse()
        began = time.monotonic()
        self.report.calls = len(trials)
        random.Random(SEED).shuffle(trials)
        number, parts = map(int, part.split("/"))
        for trial in trials[number::parts]:
            if time.monotonic() - began > seconds or self.enough:
                break
            self._try(trial)
        self.report.kinds = dict(self._kinds.most_common())
        self.report.seconds = round(time.monotonic() - began, 1)
        self._sandbox.close()
        return self.report

    def run_on_a_full_disk(self) -> Report:
        """Each operation once with no room at all, which the folder's own small disk really has
        not, and once more when there is some again."""
        began = time.monotonic()
        self._rehearse()
        for number, operation in enumerate(SCRIPT):
            self._restore(number)
            running = self._started(operation)
            filler = self._fill()
            try:
                outcome, running = self._ask(operation, running)
            except Exception as error:
                outcome = f"raised {error!r}"
            filler.unlink()
            self.report.tried += 1
            wrong = self._judge(Trial(number, 0, "ENOSPC"), operation, outcome, running)
            self.report.violations += [
                f"{operation.name}, on a full disk: {each}" for each in wrong
            ]
        self.report.seconds = round(time.monotonic() - began, 1)
        self._sandbox.close()
        return self.report

    def _fill(self) -> Path:
        filler = self._folder.with_name("filler")
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        return filler

    def _rehearse(self) -> list[Trial]:
        """All goes well: the folder and the state before each operation, and its calls."""
        trials = []
        for number, operation in enumerate(SCRIPT):
            if operation.folder is not None:
                operation.folder(self._folder)
            if operation.prepare is not None:
                operation.prepare(self._world)
            self._keep(number)
            for error in ERRORS:
                self._restore(number)
                running = self._started(operation)
                self._calls.count(error)
                outcome, running = self._ask(operation, running)
                count = self._calls.stop()
                assert outcome == "done", (operation.name, outcome)
                self._world.clear()
                running = running or Running(self._folder, self._sandbox)
                state = running.state()
                running.close()
                wrong = self._world.violations()
                assert not wrong, (operation.name, wrong)
                trials += [Trial(number, call, error) for call in range(1, count + 1)]
            self._states.append(state)
        return trials

    def _started(self, operation: Operation) -> Running | None:
        """An engine to ask, unless the operation is to start one, or there is to be none."""
        if operation.folder or operation.at_rest:
            return None
        return Running(self._folder, self._sandbox)

    def _ask(self, operation: Operation, running: Running | None) -> tuple[str, Running | None]:
        """How it went; and the engine, unless it did not start."""
        try:
            if operation.at_rest is not None:
                return operation.at_rest(self._world), None
            if operation.do is not None:
                assert running is not None
                return _in_words(operation.do(running)), running
            stopping, running = running, None
            if stopping is not None:
                stopping.close()
            return "done", Running(self._folder, self._sandbox)
        except (StorageFull, StorageFailed, StartupError) as error:
            return _of_error(error), running

    def _try(self, trial: Trial) -> None:
        operation = SCRIPT[trial.operation]
        self._restore(trial.operation)
        running = self._started(operation)
        self._calls.count(trial.error, trial.call)
        try:
            outcome, running = self._ask(operation, running)
        except Exception as error:
            outcome = f"raised {error!r}"
        self._calls.stop()
        failed = self._calls.failed or "nothing"
        self.report.tried += 1
        self._kinds[f"{trial.error} {failed.partition(' ')[0]}"] += 1
        wrong = self._judge(trial, operation, outcome, running)
        self.report.violations += [
            f"{operation.name}: {trial.error} at call {trial.call} ({failed}): {each}"
            for each in wrong
        ]

    def _judge(
        self, trial: Trial, operation: Operation, outcome: str, running: Running | None
    ) -> list[str]:
        """Compare what was said with what is there."""
        word = outcome.partition(":")[0]
        if word not in ("done", "refused", "unknown"):
            if running is not None:
                running.close()
            return [f"answered {outcome}"]
        if "is damaged" in outcome and operation.prepare is not damage:
            return [f"calls damaged what is not: {outcome}"]
        news = {kept.folder.name for kept in self._world.kept()} - self._listed
        if word == "refused" and news:
            return [f"a backup that failed is listed: {news}"]
        setattr(self.report, word, getattr(self.report, word) + 1)
        after = self._states[trial.operation]
        before = after if operation.opens else self._states[trial.operation - 1]
        allowed = {"done": [after], "refused": [before]}.get(word, [before, after])
        if word == "refused" and not operation.is_all_or_nothing:
            allowed = [before, after]
        wrong: list[str] = []
        if running is not None:
            again = [after] if word == "refused" else None
            wrong, allowed = self._look(running, trial.error, operation, allowed, before, again)
        wrong += self._world.violations()
        if word == "refused" and operation.mends:
            wrong += self._finish(operation, [before, after] if "begun" in outcome else [before])
            allowed = [after]
        found = wrong + self._start_again(allowed)
        if word == "unknown":  # then the file stays, and a later start puts it aside
            found = [each for each in found if not each.startswith("files that nothing names")]
        return found

    def _look(
        self,
        running: Running,
        error: str,
        operation: Operation,
        allowed: list[Any],
        before: Any,
        asked_again: list[Any] | None,
    ) -> tuple[list[str], list[Any]]:
        """What is wrong at once, and what is allowed from now on: what was refused and left all as
        it was is asked for again."""
        wrong: list[str] = []
        left: Running | None = running
        try:
            state = running.state()
            wrong += _compare("at once", state, allowed)
            failure = running.engine.store.health.failure
            if failure is not None and error == "ENOSPC":
                wrong.append("a full disk needs a restart")
            if failure is None and asked_again is not None and state == before:
                again, left = self._ask(operation, running)
                allowed = asked_again
                if again != "done" or left is None:
                    wrong.append(f"asked again it answered {again}")
                else:
                    wrong += _compare("asked again", left.state(), allowed)
        except Exception as failed:
            wrong.append(f"then raised {failed!r}")
        if left is not None:
            left.close()
        return wrong, allowed

    def _finish(self, operation: Operation, allowed: list[Any]) -> list[str]:
        """What failed left the store as it was, and a second try comes to its end."""
        running: Running | None = None
        try:
            running = Running(self._folder, self._sandbox)
            wrong = _compare("after a start", running.state(), allowed)
            if operation.at_rest:
                running.close()
            again, running = self._ask(operation, running)
        except Exception as error:
            return [f"when it was to be finished raised {error!r}"]
        finally:
            if running is not None:
                running.close()
        return wrong if again == "done" else [*wrong, f"at the second try it answered {again}"]

    def _start_again(self, allowed: list[Any]) -> list[str]:
        self._world.clear()
        try:
            running = Running(self._folder, self._sandbox)
        except Exception as error:
            return [f"the next start failed: {error!r}"]
        try:
            wrong = _compare("after the next start", running.state(), allowed)
            while running.engine.store.upkeep.forget_words():
                pass
            running.engine.store.upkeep.tidy()
        except Exception as error:
            wrong = [f"after the next start raised {error!r}"]
        running.close()
        return wrong + check_store(self._folder, at_work=True).violations

    def _keep(self, number: int) -> None:
        shutil.copytree(self._world.path, self._kept(number))

    def _kept(self, number: int) -> Path:
        return self._beside / f"kept-{number}"

    def _restore(self, number: int) -> None:
        shutil.rmtree(self._world.path)
        shutil.copytree(self._kept(number), self._world.path)
        self._listed = {kept.folder.name for kept in self._world.kept()}


@lru_cache(maxsize=1)
def _app() -> FastAPI:
    """Its routes are built once: that takes longer than anything else here."""
    return build_app(cast(Engine, None))


def _client(engine: Engine) -> TestClient:
    _app().state.engine = engine
    return TestClient(_app(), "http://127.0.0.1/api/v1", raise_server_exceptions=False)


def _compare(when: str, state: Any, allowed: list[Any]) -> list[str]:
    if any(state == each for each in allowed):
        return []
    differing = [
        f"{name}: {str(state[name])[-300:]} instead of {str(allowed[-1][name])[-300:]}"
        for name in state
        if allowed[-1] is not None and state[name] != allowed[-1][name]
    ]
    return [f"{when} it is neither what it was nor what was asked for: {differing}"]


def _in_words(answer: Any) -> str:
    """An HTTP answer, words, or nothing where the store was asked itself."""
    if isinstance(answer, str):
        return answer
    if answer is None or answer.is_success:
        return "done"
    said = answer.json()
    if said.get("outcome") == "unknown":
        return "unknown"
    is_ours = (answer.status_code, said["error"]) in (
        (507, "storage_full"),
        (503, "storage_failed"),
    )
    return f"refused: {said['error']}" if is_ours else f"{answer.status_code} {said}"


def _of_error(error: KbError) -> str:
    return "unknown" if error.details.get("outcome") == "unknown" else f"refused: {error.code}"


def main() -> None:
    logging.disable(logging.CRITICAL)
    # What is found damaged is looked at again after a while; here nobody else writes.
    pages._AGAIN = (0.0,) * len(pages._AGAIN)
    folder, how = Path(sys.argv[1]), sys.argv[2]
    sweep = Sweep(folder, Path(sys.argv[3]) if how == "full" else folder)
    signal.signal(signal.SIGTERM, lambda *_: setattr(sweep, "enough", True))
    report = sweep.run_on_a_full_disk() if how == "full" else sweep.run(float(how), *sys.argv[3:])
    print(json.dumps(asdict(report)))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
