"""Files that no row names are put aside, and those that somebody gave up are gone."""

import hashlib
import io
import json
import os
import time
from unittest.mock import Mock

import apsw
import pytest
from raising import raising

from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.data_folder.originals import FileStore
from kb.engine.errors import StorageFull
from kb.engine.store.file.page_checksums import connect
from kb.engine.values import now


@pytest.fixture
def files(tmp_path):
    return FileStore(tmp_path / "store-files", max_bytes=2**20)


@pytest.fixture
def lost(tmp_path, files):
    return LostFiles(tmp_path / "store-lost", files, days=30)


def save(files, content=b"bytes"):
    return files.save(io.BytesIO(content), "a.txt").name


def manifest(tmp_path):
    return [json.loads(line) for line in (tmp_path / "store-lost/manifest.jsonl").open()]


class TestSweeping:
    def test_moves_what_no_row_names_and_says_what_it_was(self, files, lost, tmp_path):
        kept, left = save(files), save(files, b"other bytes")
        (files.folder / f".{'a' * 32}").write_bytes(b"half an upload")
        (files.folder / "holiday.jpg").write_bytes(b"someone else's")
        assert lost.sweep({kept}, now()) == 2
        assert sorted(os.listdir(files.folder)) == sorted([kept, "holiday.jpg"])
        assert (tmp_path / "store-lost" / left).read_bytes() == b"other bytes"
        assert (lost.files, lost.bytes) == (2, 25)
        [line] = [line for line in manifest(tmp_path) if line["name"] == left]
        assert line["sha256"] == hashlib.sha256(b"other bytes").hexdigest()
        assert line["size"] == 11
        assert line["when"] <= now()
        assert "names it" in line["why"]

    def test_leaves_what_is_younger_than_the_newest_row(self, files, lost):
        name, before = save(files), now()
        in_an_hour = time.time() + 3600
        os.utime(files.path(name), (in_an_hour, in_an_hour))
        assert lost.sweep(set(), before) == 0
        assert lost.sweep(set(), None) == 0
        assert files.names() == {name}

    def test_moves_nothing_where_the_manifest_cannot_be_written(self, files, lost, monkeypatch):
        name = save(files)
        monkeypatch.setattr(os, "fsync", raising(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            lost.sweep(set(), now())
        assert files.names() == {name}


def test_a_file_that_a_row_names_again_is_taken_back(files, lost, tmp_path):
    name, other = save(files), save(files)
    lost.sweep(set(), now())
    assert lost.take_back({name, "0" * 32}) == [name]
    assert files.path(name).read_bytes() == b"bytes"
    assert [line["name"] for line in manifest(tmp_path)] == [other]
    assert lost.take_back({name}) == []
    assert lost.files == 1


def test_a_file_that_is_there_is_not_replaced_by_a_lost_one(files, lost, tmp_path):
    name = save(files)
    lost.sweep(set(), now())
    files.path(name).write_bytes(b"newer")
    assert lost.take_back({name}) == []
    assert files.path(name).read_bytes() == b"newer"
    assert (tmp_path / "store-lost" / name).exists()


@pytest.mark.parametrize(("days", "left"), [(30, 1), (0, 3)])
def test_lost_files_are_kept_for_so_many_days(files, tmp_path, days, left):
    lost = LostFiles(tmp_path / "store-lost", files, days)
    names = [save(files) for _ in range(3)]
    lost.sweep(set(), now())
    path = tmp_path / "store-lost/manifest.jsonl"
    lines = manifest(tmp_path)
    for line in lines:
        if line["name"] != names[0]:
            line["when"] = "2020-01-01T00:00:00.000000Z"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert lost.expire() == 3 - left
    assert lost.expire() == 0
    assert lost.files == left
    assert {*names} & set(os.listdir(tmp_path / "store-lost")) >= {names[0]}


def test_a_lost_file_without_a_line_gets_one_instead_of_being_deleted(files, lost, tmp_path):
    name = save(files)
    lost.sweep(set(), now())
    (tmp_path / "store-lost/manifest.jsonl").write_text('{"name": "torn')
    assert lost.expire() == 0
    assert [line["name"] for line in manifest(tmp_path)] == [name]


def given_up(api):
    return api.engine.store.originals.given_up()


class TestGivingUp:
    @pytest.fixture(
        params=[
            lambda api, _: api.delete("/documents/1"),
            lambda api, _: api.delete("/documents", {"confirm": "DELETE ALL"}),
            lambda api, _: api.add_file(b"Otters dive.\n", source_path="/a/otters.txt"),
            lambda api, job: api.delete(f"/jobs/{job}"),
            lambda api, _: api.engine.store.jobs.expire_failed(now()),
        ],
        ids=["deleted", "cleared", "updated", "cancelled", "expired"],
    )
    def give_up(self, request):
        return request.param

    @pytest.fixture
    def fill(self):
        def fill(api):
            api.add_file(b"Otters swim.\n", source_path="/a/otters.txt")
            api.add_file(b"\0\1" * 100)  # fails, and is kept for a retry
            assert given_up(api) == set()
            return api.submit_file(b"Herons wait.\n")["job_id"]

        return fill

    def test_is_noted_and_struck_off_when_the_file_has_gone(self, api, fill, give_up):
        job = fill(api)
        give_up(api, job)
        api.engine.files.delete(given_up(api))  # what `expire` leaves to its caller
        assert given_up(api)
        assert api.engine.files.names() == api.engine.store.originals.names()
        api.settle()
        assert given_up(api) == set()

    def test_is_done_by_the_next_start_after_a_kill(
        self, open_api, tmp_path, fill, give_up, monkeypatch
    ):
        with open_api(tmp_path / "data") as api:
            job = fill(api)
            with monkeypatch.context() as killed:
                killed.setattr(FileStore, "_unlink", lambda *_: None)
                give_up(api, job)
            left = api.engine.files.names() - api.engine.store.originals.names()
            assert left
        with open_api(tmp_path / "data") as api:
            assert api.engine.files.names() == api.engine.store.originals.names()
            assert (api.engine.lost.files, api.engine.lost.bytes) == (0, 0)
            api.settle()
            assert given_up(api) == set()


class TestAStart:
    @pytest.fixture
    def data(self, open_api, tmp_path):
        """A folder with a document, and with an old file that nothing names."""
        data = tmp_path / "data"
        with open_api(data) as api:
            api.add_file(b"Otters swim.\n")
            name = save(api.engine.files, b"left by a crash")
            hour_ago = time.time() - 3600
            os.utime(api.engine.files.path(name), (hour_ago, hour_ago))
        return data

    def test_puts_aside_what_nothing_names_and_status_counts_it(self, open_api, data):
        with open_api(data) as api:
            storage = api.get("/status").json()["store"]
            assert (storage["lost_files"], storage["lost_bytes"]) == (1, 15)
            assert api.engine.files.names() == api.engine.store.originals.names()

    def test_moves_nothing_where_the_pair_was_not_known_before(self, open_engine, data):
        (data / "store-files/store-stamp").unlink()
        with open_engine(data) as engine:
            assert (engine.lost.files, len(engine.files.names())) == (0, 2)
        with open_engine(data) as engine:
            assert (engine.lost.files, len(engine.files.names())) == (1, 1)

    @pytest.mark.parametrize(("until", "left"), [("2999", 2), ("2020", 1)])
    def test_moves_nothing_while_another_engine_sweeps(self, open_engine, data, until, left):
        connection = connect(data / "store.db", apsw.SQLITE_OPEN_READWRITE)
        connection.execute("INSERT INTO sweeping VALUES (1, 'other', ?)", [until])
        connection.close()
        with open_engine(data) as engine:
            assert len(engine.files.names()) == left

    def test_on_a_full_disk_sweeps_unless_another_engine_does(self, engine, monkeypatch):
        def may_sweep():
            with monkeypatch.context() as full, engine.store.sweeping.turn() as is_ours:
                full.setattr(engine.store.database, "transaction", Mock(side_effect=StorageFull))
                return is_ours()

        assert may_sweep()
        with engine.store.database.transaction() as query:
            query("INSERT INTO sweeping VALUES (1, 'other', '2999')")
        assert not may_sweep()

    def test_moves_nothing_beside_a_damaged_database(self, open_engine, data):
        (data / "store-damage.json").write_text("{}")
        with open_engine(data) as engine:
            assert (engine.lost.files, len(engine.files.names())) == (0, 2)

    def test_takes_back_what_a_row_names(self, open_engine, open_api, data):
        (data / "store-lost").mkdir()
        with open_engine(data) as engine:
            [name] = engine.store.originals.names()
        (data / "store-files" / name).rename(data / "store-lost" / name)
        with open_api(data) as api:
            assert api.get("/documents/1/file").content == b"Otters swim.\n"
