"""A start beside a database that is missing, empty, older, foreign or damaged loses no original."""

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from kb.engine.store.file.page_checksums import connect

from .engine_process import PATIENCE, EngineProcess, Gone, Zygote, wait_until

ORIGINALS = 24
NOTES = 3


class Store:
    """An engine's folder with originals and notes in it, and what they hold."""

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self.engine = EngineProcess(zygote, folder)
        self.folder = folder
        self.database = folder / "store.db"
        self.files = folder / "store-files"
        self.hashes: set[str] = set()

    def fill(self, files: int, notes: int = 0) -> None:
        for _ in range(files):
            content = f"Original {len(self.hashes)}: {'otters swim in the river ' * 9}".encode()
            name = f"{len(self.hashes)}.txt"
            assert self.engine.upload(name, content, {}).status == 202
            self.hashes.add(hashlib.sha256(content).hexdigest())
        for number in range(notes):
            note = {"text": f"Note {number}: herons wait."}
            assert self.engine.send("POST", "/api/v1/jobs", note).status == 202
        assert self.engine.is_idle_within(PATIENCE)

    def stop(self) -> None:
        self.engine.terminate()
        assert self.engine.exit_code(PATIENCE) == 0

    def take_away(self) -> dict[str, bytes]:
        """Remove the database; what it was."""
        found = {path.name: path.read_bytes() for path in self.folder.glob("store.db*")}
        for name in found:
            (self.folder / name).unlink()
        return found

    def put(self, database: dict[str, bytes]) -> None:
        self.take_away()
        for name, content in database.items():
            (self.folder / name).write_bytes(content)

    def copy(self) -> dict[str, bytes]:
        """As it is when nothing is being written: files of two moments would not go together."""

        def read() -> dict[str, bytes]:
            return {path.name: path.read_bytes() for path in self.folder.glob("store.db*")}

        def read_twice() -> dict[str, bytes] | None:
            first = read()
            return first if first == read() else None

        copy: dict[str, bytes] = wait_until(read_twice, PATIENCE, "nothing is written")
        return copy

    def refused(self) -> str:
        """The one line of an engine that does not start."""
        self.engine.log.write_bytes(b"")
        self.engine.launch()
        assert self.engine.exit_code(PATIENCE) == 2, self.engine.log_text()
        said = self.engine.log_text()
        assert "Traceback" not in said
        [line] = [line for line in said.splitlines() if line.startswith("kb: ")]
        return line

    def health(self) -> dict[str, Any]:
        """Start, and what the engine says of itself."""
        self.engine.launch()

        def alive() -> bool:
            try:
                return self.engine.get("/healthz").status == 200
            except Gone:
                return False

        wait_until(alive, PATIENCE, self.engine.log_text())
        health: dict[str, Any] = self.engine.get("/api/v1/status").body["health"]
        return health

    def kept(self) -> set[str]:
        """The hashes of everything that is in the folder of originals or the one of lost files."""
        places = [self.files, self.folder / "store-lost"]
        paths = [path for place in places if place.exists() for path in place.iterdir()]
        found = {hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
        return found & self.hashes

    def comes_back_whole(self, right: dict[str, bytes], originals: int = ORIGINALS) -> None:
        """No original was lost meanwhile, and with its own database all is well."""
        assert len(self.kept()) == originals
        self.put(right)
        self.assert_whole()

    def assert_whole(self) -> None:
        """Everything is there, healthy, and can be changed."""
        if not self.engine.is_running:
            assert self.health() == {"status": "healthy", "issues": []}
        listed = self.engine.get("/api/v1/documents?limit=100").body
        files = [each for each in listed["documents"] if each["filename"]]
        assert len(files) == len(self.hashes)
        contents = [self.engine.get(f"/api/v1/documents/{each['id']}/file") for each in files]
        assert {hashlib.sha256(each.body).hexdigest() for each in contents} == self.hashes
        added = self.engine.send("POST", "/api/v1/jobs", {"text": "Voles hide."})
        assert added.status == 202
        assert self.engine.is_idle_within(PATIENCE)


@pytest.fixture(scope="module")
def filled(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Made once, to be copied."""
    store = Store(zygote, tmp_path_factory.mktemp("filled") / "data")
    with store.engine:
        store.fill(ORIGINALS, NOTES)
        store.stop()
    return store


@pytest.fixture
def store(zygote: Zygote, folder: Path, filled: Store) -> Iterator[Store]:
    """At rest."""
    shutil.copytree(filled.folder, folder)
    store = Store(zygote, folder)
    store.hashes = set(filled.hashes)
    yield store
    store.engine.kill()


def test_a_database_that_was_moved_away_is_asked_for(store: Store) -> None:
    right = store.take_away()
    line = store.refused()
    assert "store.db is missing" in line
    assert "kb restore" in line
    assert not store.database.exists()
    store.comes_back_whole(right)


def test_a_database_that_was_emptied_is_not_taken_for_a_new_one(store: Store) -> None:
    right = store.copy()
    store.put({"store.db": b""})
    assert "store.db is empty" in store.refused()
    assert store.database.read_bytes() == b""
    store.comes_back_whole(right)


def ends_cleanly(store: Store) -> None:
    store.stop()


def is_killed(store: Store) -> None:
    store.engine.kill()


@pytest.mark.parametrize("end", [ends_cleanly, is_killed])
def test_a_database_that_is_older_than_its_originals_is_only_read(
    store: Store, end: Callable[[Store], None]
) -> None:
    store.engine.start()
    store.fill(1)
    older = store.copy()
    store.fill(12)
    end(store)
    right = store.copy()
    store.put(older)
    health = store.health()
    assert health["status"] == "failed"
    assert [issue["code"] for issue in health["issues"]] == ["store_damaged"]
    assert "older than store-files" in health["issues"][0]["message"]
    assert (
        len(store.engine.get("/api/v1/documents?limit=100").body["documents"])
        == ORIGINALS + NOTES + 1
    )
    refused = store.engine.send("POST", "/api/v1/jobs", {"text": "Voles hide."})
    assert (refused.status, refused.body["error"]) == (503, "store_damaged")
    store.stop()
    store.comes_back_whole(right, ORIGINALS + 13)


@pytest.mark.parametrize("table", ["documents", "chunks", "jobs", "facts", "totals"])
def test_a_page_that_was_changed_costs_no_original(store: Store, table: str) -> None:
    right = store.copy()
    connection = connect(store.database, apsw.SQLITE_OPEN_READWRITE)
    pages = connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,)).fetchall()
    connection.close()
    content = bytearray(right["store.db"])
    content[int(pages[-1][0]) * 4096 - 100] ^= 1
    store.put({"store.db": bytes(content)})
    store.health()
    store.engine.get("/api/v1/documents?limit=100")
    store.stop()
    store.comes_back_whole(right)


def test_a_log_that_was_cut_is_noticed(store: Store) -> None:
    store.engine.start()
    store.fill(4)
    store.engine.kill()
    right = store.copy()
    store.put({"store.db": right["store.db"], "store.db-wal": right["store.db-wal"][:40_000]})
    assert store.health()["status"] == "failed"
    store.stop()
    store.comes_back_whole(right, ORIGINALS + 4)


def test_the_database_of_others_is_refused(store: Store, zygote: Zygote, tmp_path: Path) -> None:
    other = Store(zygote, tmp_path / "other")
    with other.engine:
        other.fill(2)
        other.stop()
    right = store.copy()
    store.put(other.copy())
    assert "of another store" in store.refused()
    store.comes_back_whole(right)


def test_a_database_without_a_mark_does_not_go_with_a_folder_that_has_one(store: Store) -> None:
    right = store.copy()
    connection = connect(store.database, apsw.SQLITE_OPEN_READWRITE)
    connection.execute("DELETE FROM facts WHERE name = 'store_id'").fetchall()
    connection.close()
    assert "is older than that folder" in store.refused()
    store.comes_back_whole(right)


def test_originals_that_are_missing_are_told_and_their_folder_not_marked(store: Store) -> None:
    away = store.files.rename(store.folder / "away")
    health = store.health()
    assert health["status"] == "degraded"
    assert [issue["code"] for issue in health["issues"]] == ["originals_missing"]
    assert f"{ORIGINALS} of {ORIGINALS}" in health["issues"][0]["message"]
    assert os.listdir(store.files) == []
    store.stop()
    store.files.rmdir()
    away.rename(store.files)
    store.assert_whole()


def test_a_folder_without_a_mark_gets_one_where_its_originals_are_there(store: Store) -> None:
    """As after the upgrade of an older kb, or where a backup was copied back."""
    mark = (store.files / "store-stamp").read_bytes()
    (store.files / "store-stamp").unlink()
    store.assert_whole()
    assert (store.files / "store-stamp").read_bytes()[:512] == mark[:512]


def test_a_count_that_cannot_be_read_is_no_alarm(store: Store) -> None:
    stamp = store.files / "store-stamp"
    stamp.write_bytes(stamp.read_bytes()[:512] + b"\0" * 37)
    store.assert_whole()


@pytest.mark.parametrize("end", [ends_cleanly, is_killed])
def test_a_start_on_a_full_disk_costs_no_original(
    zygote: Zygote, filled: Store, small_disk: Path, end: Callable[[Store], None]
) -> None:
    shutil.copytree(filled.folder, small_disk / "data")
    store = Store(zygote, small_disk / "data")
    store.hashes = set(filled.hashes)
    with store.engine:
        end(store)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        codes = {issue["code"] for issue in store.health()["issues"]}
        assert codes <= {"disk_full", "disk_low", "reserve_used"}
        assert len(store.kept()) == ORIGINALS
        store.stop()
        filler.unlink()
        store.health()
        store.assert_whole()


def test_a_second_engine_on_the_same_database_by_another_path_does_not_start(
    store: Store, zygote: Zygote, tmp_path: Path
) -> None:
    store.engine.start()
    linked = Store(zygote, tmp_path / "linked")
    linked.folder.mkdir(mode=0o700)
    os.link(store.database, linked.database)
    assert "Another engine uses the database" in linked.refused()
    store.assert_whole()


def test_a_database_that_is_a_symbolic_link_is_refused_and_a_folder_that_is_one_is_not(
    store: Store, zygote: Zygote, tmp_path: Path
) -> None:
    elsewhere = store.database.rename(tmp_path / "elsewhere.db")
    store.database.symlink_to(elsewhere)
    assert "is a symbolic link" in store.refused()
    store.database.unlink()
    elsewhere.rename(store.database)
    other = tmp_path / "other"
    other.write_text("not kb's")
    store.folder.joinpath("store.lock").unlink()
    store.folder.joinpath("store.lock").symlink_to(other)
    assert "store.lock is a symbolic link" in store.refused()
    assert other.read_text() == "not kb's"
    store.folder.joinpath("store.lock").unlink()
    linked = Store(zygote, tmp_path / "linked")
    linked.folder.symlink_to(store.folder)
    linked.hashes = store.hashes
    with linked.engine:
        linked.assert_whole()


def test_what_is_open_to_others_is_said_with_the_command_that_mends_it(store: Store) -> None:
    store.folder.chmod(0o755)
    store.database.chmod(0o644)
    health = store.health()
    assert health["status"] == "degraded"
    assert [issue["code"] for issue in health["issues"]] == ["open_to_others"] * 2
    assert f"`chmod 700 {store.folder}`" in health["issues"][0]["message"]
    assert f"`chmod 600 {store.database}`" in health["issues"][1]["message"]
    lines = [json.loads(line) for line in store.engine.log_text().splitlines() if "chmod" in line]
    assert [line["level"] for line in lines] == ["WARNING"] * 2
    store.folder.chmod(0o700)
    store.database.chmod(0o600)
    assert store.engine.get("/api/v1/status").body["health"]["status"] == "healthy"


def test_files_that_are_exchanged_under_an_engine_stop_its_writes(store: Store) -> None:
    store.engine.start()
    right = store.copy()
    away = store.database.rename(store.folder / "away.db")
    store.database.write_bytes(right["store.db"])
    refused = store.engine.send("POST", "/api/v1/jobs", {"text": "Voles hide."})
    assert (refused.status, refused.body["error"]) == (503, "storage_failed")
    os.kill(store.engine.pid, signal.SIGKILL)
    store.engine.exit_code()
    store.database.unlink()
    away.rename(store.database)
    store.assert_whole()
