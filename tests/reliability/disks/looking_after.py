"""A store in, it backed up, checked, repaired, exported, imported and restored out.

Each through the function that the command or the engine runs, in this process, so that its calls
on the disk can fail. The answer is `done`, or `refused:` and why; anything else is wrong.
"""

import hashlib
import io
import json
import random
import shutil
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

import anyio
import apsw
import click
import httpx

from kb import __version__
from kb.cli.adding import waiting
from kb.cli.export.command import export_command
from kb.cli.failure import Failure
from kb.cli.importing.command import import_command
from kb.cli.session import Session
from kb.client import EngineClient
from kb.engine.api.guard import Guard
from kb.engine.api.metrics import Metrics
from kb.engine.backup import __main__ as backing_up
from kb.engine.backup.checking import check_backup
from kb.engine.backup.lines import Lines
from kb.engine.backup.lines import running as ran
from kb.engine.backup.making import Source, make_backup
from kb.engine.backup.shelf import Kept, shelves
from kb.engine.backup.steps import tell_nobody
from kb.engine.restore import _run as run_restore
from kb.engine.store.file.page_checksums import connect
from kb.engine.verify.__main__ import FAILED, WHOLE
from kb.engine.verify.__main__ import _run as run_verify
from kb.imports.own_export.form import ABOUT, DOCUMENTS

if TYPE_CHECKING:
    from .every_call import Running

DONE = "done"
_PAGE = 4096
_URL = "http://127.0.0.1"
_GROWN_OLD = ("store-before-restore-*", "store-damaged-*")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class World:
    """Everything that is on the disk: a store, its backups, and an export of it."""

    path: Path

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def export(self) -> Path:
        return self.path / "export"

    def kept(self) -> list[Kept]:
        return [kept for shelf in shelves(self.backups) for kept in shelf.kept()]

    def clear(self) -> None:
        """Take away what was moved aside on purpose."""
        for pattern in _GROWN_OLD:
            for path in self.data.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def violations(self) -> list[str]:
        """Whatever has its name as a backup or an export is one."""
        wrong = [
            f"the backup {kept.folder.name} is listed and not whole: {trouble[0]}"
            for kept in self.kept()
            if (trouble := check_backup(kept.folder, tell_nobody))
        ]
        return wrong + self._wrong_export()

    def _wrong_export(self) -> list[str]:
        try:
            about = json.loads((self.export / ABOUT).read_bytes())
        except (FileNotFoundError, ValueError):
            return []
        lines = (self.export / DOCUMENTS).read_bytes().splitlines()
        wrong = [] if len(lines) == about["documents"] else [f"{len(lines)} lines of {about}"]
        for record in map(json.loads, lines):
            path = self.export / record["path"] if record["path"] else None
            if path is None:
                continue
            if not path.is_file():
                wrong.append(f"{path.name} is missing")
            elif record["sha256"] not in (None, hashlib.sha256(path.read_bytes()).hexdigest()):
                wrong.append(f"{path.name} has other bytes")
        return [f"an export looks whole and is not: {each}" for each in wrong]


def world_of(running: "Running") -> World:
    return World(running.folder.path.parent)


def back_up(keep: int) -> Callable[["Running"], str]:
    """As the engine does when it is asked; the process that makes it is this one."""

    def do(running: "Running") -> str:
        world, backups = world_of(running), running.engine.backups
        source = Source(world.data, world.data / "store.db", world.data / "store-files")

        def in_this_process(target: Path, keep: int | None) -> dict[str, Any]:
            made: dict[str, Any] = {}

            def work(lines: Lines) -> None:
                kept = make_backup(source, target, keep, lines.tell)
                made["answer"] = {"folder": str(kept.folder), **asdict(kept.manifest)}

            said = _said(lambda: ran(work))[1]
            return made or said

        with patch.object(backups, "_in_a_process", in_this_process):
            body = {"folder": str(world.backups), "keep": keep}
            answer = running.client.post("/backups", json=body)
            if answer.status_code != 202:
                return f"refused: {answer.json()['message']}"
            backups.wait()
        answer = running.client.get("/backups")
        if answer.status_code != 200:  # the disk failed at the question, which is asked again
            answer = running.client.get("/backups")
        run = answer.json()["run"]
        return DONE if run["status"] == "done" else f"refused: {run['error']['message']}"

    return do


def back_up_at_rest(world: World) -> str:
    options = Namespace(
        folder=world.backups, data_dir=world.data, keep=2, must_exist=False, held=False
    )
    return _ended(lambda: ran(lambda lines: backing_up._make(options, lines)))


def restore(world: World) -> str:
    """The last backup takes the place of the store, which is moved aside."""
    options = Namespace(
        backup=world.backups,
        data_dir=world.data,
        replace=True,
        as_of=None,
        only_list=False,
        dry_run=False,
        without_damaged=False,
    )
    return _ended(lambda: ran(lambda lines: run_restore(options, lines)))


def check_at_rest(world: World) -> str:
    return _verified(world, repair=False)


def repair_at_rest(world: World) -> str:
    return _verified(world, repair=True)


def _verified(world: World, repair: bool) -> str:
    code, said = _said(lambda: run_verify(world.data, repair))
    if code == FAILED:
        return f"refused: {said['message']}"
    answer = said["answer"]
    if code == WHOLE:
        return DONE
    found = answer["findings"] if answer["left"] is None else answer["left"]
    return _untrue(found, answer["lost"] + answer["unproven"])


def check(running: "Running") -> str:
    return _verify(running, repair=False)


def repair(running: "Running") -> str:
    return _verify(running, repair=True)


def put_back(running: "Running") -> str:
    """The report tells what was wrong; it is done when nothing of that is lost."""
    answer = _verify(running, repair=True)
    run = running.client.get("/verify").json()
    is_done = run["state"] == "done" and run["repaired"] and not run["lost"]
    return DONE if is_done else answer


def _verify(running: "Running", repair: bool) -> str:
    started = running.client.post("/verify", json={"repair": repair})
    if started.status_code != 202:
        return f"{started.status_code} {started.json()}"
    thread = running.engine.verification._thread
    assert thread is not None
    thread.join()
    run = running.client.get("/verify").json()
    if run["state"] == "failed":
        return f"refused: {run['failure']}"
    return DONE if run["whole"] else _untrue(run["findings"], run["lost"])


def _untrue(findings: list[dict[str, Any]], lost: list[str]) -> str:
    """That something cannot be read is no proof of damage, and may be said."""
    others = [
        each["what"] for each in findings if "cannot be read: Input/output" not in each["what"]
    ]
    if others or not findings:
        return f"found {others}, lost {lost}"
    return f"refused: {findings[0]['what']}"


def export(running: "Running") -> str:
    folder = world_of(running).export
    shutil.rmtree(folder, ignore_errors=True)
    return _commanded(running, lambda session: export_command.callback.__wrapped__(session, folder))


def import_again(running: "Running") -> str:
    folder = world_of(running).export

    def command(session: Session) -> int:
        with click.Context(import_command):
            run: Callable[..., int] = import_command.callback.__wrapped__
            return run(session, folder, None, False, False, [])

    said = _commanded(running, command)
    # The command asks again, and is told that the disk had failed: of what nobody knows the end.
    return "unknown" if running.engine.store.health.failure is not None else said


def damage(world: World) -> None:
    """A page of the word index has other bytes than were written."""
    connection = connect(world.data / "store.db", apsw.SQLITE_OPEN_READWRITE)
    pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'words_data'").fetchall()
    connection.close()
    with (world.data / "store.db").open("r+b") as file:
        file.seek((random.Random(1).choice(pages)[0] - 1) * _PAGE + 2000)
        file.write(b"damaged")


def leave_the_store_alone(world: World) -> None:
    """What is beside it is not needed any more, and would be copied for every call."""
    for folder in (world.backups, world.export):
        shutil.rmtree(folder)


def lose_an_original(world: World) -> None:
    """Which the last backup has; and a total that is wrong."""
    connection = connect(world.data / "store.db", apsw.SQLITE_OPEN_READWRITE)
    [(name,), *_] = connection.execute(
        "SELECT stored_name FROM documents WHERE stored_name IS NOT NULL ORDER BY id"
    ).fetchall()
    connection.execute("UPDATE totals SET value = value + 1 WHERE name = 'terms'")
    connection.close()
    (world.data / "store-files" / name).unlink()


class _Transport(httpx.ASGITransport):
    """To an engine in this process. An answer that ends before its end is one that was cut off."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except AssertionError as error:
            raise httpx.RemoteProtocolError("the answer was cut off") from error


@dataclass(frozen=True)
class _Session(Session):
    """A command's, with the engine in this process."""

    app: Any = None

    def run(self, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
        async def with_client() -> Answer:
            door = Guard(
                self.app,
                api_key="",
                allowed_hosts=frozenset(),
                host="127.0.0.1",
                version=__version__,
                metrics=Metrics(),
            )
            transport = _Transport(door, raise_app_exceptions=False)
            async with EngineClient(self.url, self.key, transport=transport) as client:
                return await work(client)

        try:
            return anyio.run(with_client)
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            raise self.failure(error) from error


def _commanded(running: "Running", command: Callable[[Session], int]) -> str:
    """What `kb` would say, and be as patient as it has to be with an engine that is here."""
    output = io.StringIO()
    with (
        patch.object(waiting, "_PATIENCE", 0.2),
        patch.object(waiting, "_AGAIN_AFTER", 0.01),
        redirect_stdout(output),
        redirect_stderr(output),
    ):
        try:
            code = command(_Session(_URL, "", as_json=True, app=running.client.app))
        except Failure as failure:
            unknown = "Whether this change was kept" in str(failure)
            return "unknown" if unknown else f"refused: {failure}"
        except OSError as error:  # as main does
            return f"refused: {error.filename}: {error.strerror}"
    return DONE if code == 0 else f"refused: {output.getvalue()[-500:]}"


def _said(run: Callable[[], int]) -> tuple[int, dict[str, Any]]:
    """The exit code, and the last line."""
    output = io.StringIO()
    with redirect_stdout(output):
        code = run()
    lines = output.getvalue().splitlines()
    return code, json.loads(lines[-1]) if lines else {}


def _ended(run: Callable[[], int]) -> str:
    code, said = _said(run)
    return DONE if code == 0 else f"refused: {said['message']}"
