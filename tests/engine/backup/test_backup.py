"""Backups: one instant of everything, written once, verified, and brought back as it was."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from kb.engine.backup.blocks import BLOCK_BYTES, Blocks, PackWriter
from kb.engine.backup.checking import check_backup
from kb.engine.backup.disk import Disk
from kb.engine.backup.making import Source, make_backup
from kb.engine.backup.rescue import Whereabouts, last_good
from kb.engine.backup.restoring import chosen, restore
from kb.engine.backup.service import BackupPlan, Backups
from kb.engine.backup.shelf import Shelf, shelves
from kb.engine.backup.steps import tell_nobody
from kb.engine.data_folder.folder import DataFolder
from kb.engine.data_folder.store_exchange import RESTORING, finish_exchange
from kb.engine.errors import (
    BackupDamaged,
    BackupFailed,
    BackupFolderRefused,
    BackupRunning,
    StoreDamaged,
)
from kb.engine.store.file.snapshot import database_trouble
from programs import ended


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "backups"
    path.mkdir()
    return path


@pytest.fixture
def back_up(api, target):
    """Back up the engine's store in this process, without any rest."""

    def run(keep=None, tell=tell_nobody, engine=api.engine):
        folder = engine.settings.data_dir
        source = Source(folder, folder / "store.db", folder / "store-files")
        with engine.files.holding():
            return make_backup(source, target, keep, tell, Disk(rest=lambda _: None))

    return run


def restored(kept, folder, replace=False):
    return restore(kept, folder, replace, tell_nobody)


def everything(api):
    """All that callers can see of the documents, in one value."""
    listed = api.get("/documents", params={"limit": 200}).json()["documents"]
    return [
        {**api.document(each["id"]), "file": api.get(f"/documents/{each['id']}/file").content}
        for each in listed
    ]


def fill(api, number=4):
    for each in range(number):
        api.add_note(f"Note {each} tells of otters in the river Wye.", tags=[f"tag-{each}"])
        api.add_file(f"File {each} tells of herons. ".encode() * 60, f"{each}.txt")


def only_shelf(target):
    [shelf] = shelves(target)
    return shelf


def files_below(path):
    return [each for each in path.rglob("*") if each.is_file()]


def originals(target):
    """Those that are in the backups."""
    return files_below(only_shelf(target).path / "originals")


def size_below(path):
    return sum(each.stat().st_size for each in files_below(path))


def stored(api):
    """The originals that are in the store."""
    return list((api.engine.settings.data_dir / "store-files").glob("?" * 32))


def test_a_restored_backup_is_the_store_as_it_was(api, back_up, tmp_path, open_api):
    fill(api)
    waiting = api.submit_file(b"This file waits in the queue.", "waiting.txt")
    before = everything(api)
    kept = back_up()
    api.add_note("Added after the backup.")
    assert restored(kept, tmp_path / "new").moved_aside is None
    with open_api(tmp_path / "new") as new:
        assert everything(new) == before
        assert new.get("/status").json()["health"]["issues"] == []
        assert [hit["title"] for hit in new.search("otters", fts_only=True, top=1)]
        new.engine.worker.finish_jobs()
        job = new.job(waiting["job_id"])
        assert job["outcome"] == "added"
        file = new.get(f"/documents/{job['document_id']}/file").content
        assert file == b"This file waits in the queue."


def test_a_backup_holds_one_instant_although_writers_go_on(api, back_up, tmp_path):
    fill(api, 4)
    doomed = api.get("/documents", params={"doc_type": "text"}).json()["documents"][0]["id"]
    at_that_time = everything(api)
    told = []

    def change(step):
        if not told:
            api.delete(f"/documents/{doomed}")
            api.add_note("Written while the backup was being made.")
        told.append(step.step)

    kept = back_up(tell=change)
    assert kept.manifest.documents == 8
    assert kept.manifest.missing == []
    restored(kept, tmp_path / "new")
    rows = rows_of(tmp_path / "new", "SELECT id FROM documents ORDER BY id")
    assert [row[0] for row in rows] == sorted(each["id"] for each in at_that_time)
    assert len(stored(api)) == 3


def rows_of(folder, sql):
    copy = apsw.Connection(str(folder / "store.db"), apsw.SQLITE_OPEN_READONLY)
    try:
        return copy.execute(sql).fetchall()
    finally:
        copy.close()


def test_a_second_backup_writes_only_what_has_changed(api, back_up, target):
    fill(api, 10)
    api.settle()
    first = back_up().manifest
    before = size_below(target)
    api.add_note("One more.")
    second = back_up().manifest
    assert second.written_bytes < first.written_bytes / 4
    grown = size_below(target) - before
    assert second.written_bytes <= grown <= second.written_bytes + 4000
    assert back_up().manifest.written_bytes < second.written_bytes


def test_what_is_in_the_log_and_what_is_in_the_file_is_the_same_page(api, back_up):
    fill(api, 3)
    back_up()
    api.engine.store.database.checkpoint()
    blocks = back_up().manifest.database_bytes // BLOCK_BYTES + 1
    assert back_up().manifest.written_bytes < blocks * 32 + 3 * 200


def test_originals_are_kept_once_under_their_hash_and_closed_to_others(api, back_up, target):
    for name in ("a", "b"):
        api.add_file(b"The same bytes.", f"{name}.txt", source_path=f"/{name}")
    kept = back_up()
    shelf, [original] = only_shelf(target), originals(target)
    assert original.read_bytes() == b"The same bytes."
    assert kept.manifest.originals == 2
    for path in [shelf.path, *shelf.path.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert ended("sha256sum", "--check", "SHA256SUMS", cwd=kept.folder).returncode == 0
    assert json.loads((kept.folder / "manifest.json").read_text())["kb_version"]


def test_an_original_that_the_store_has_lost_is_named(api, back_up):
    api.add_file(b"Here today.", "a.txt")
    [lost] = stored(api)
    lost.unlink()
    assert back_up().manifest.missing == [lost.name]


def test_an_original_that_the_store_loses_later_stays_in_the_next_backup(api, back_up, tmp_path):
    api.add_file(b"Here today.", "a.txt")
    back_up()
    [lost] = stored(api)
    lost.unlink()
    kept = back_up()
    assert kept.manifest.missing == []
    restored(kept, tmp_path / "new")
    assert (tmp_path / "new" / "store-files" / lost.name).read_bytes() == b"Here today."


class TestDamage:
    def damage(self, path, at=None):
        content = path.read_bytes()
        begin = len(content) // 3 if at is None else at
        # Several bytes: a single one may unpack to the same in a run of zeros.
        changed = bytes(byte ^ 0xFF for byte in content[begin : begin + 8])
        path.write_bytes(content[:begin] + changed + content[begin + 8 :])

    @pytest.mark.parametrize("part", ["blocks", "list of blocks", "originals", "manifest.json"])
    def test_damage_anywhere_is_named_and_not_restored(self, api, back_up, target, tmp_path, part):
        fill(api, 3)
        kept = back_up()
        [pack] = only_shelf(target).blocks_folder.glob("*.pack")
        [original, *_] = originals(target)
        damaged = {"originals": original, "manifest.json": kept.folder / "manifest.json"}
        self.damage(damaged.get(part, pack), {"list of blocks": -60, "manifest.json": 30}.get(part))
        trouble = [str(each) for each in check_backup(kept.folder, tell_nobody)]
        assert trouble
        named = {"originals": original.name, "manifest.json": "manifest.json"}.get(part, pack.name)
        assert named in " ".join(trouble)
        with pytest.raises(BackupDamaged):
            restored(kept, tmp_path / "new")
        assert not (tmp_path / "new" / "store.db").exists()

    def test_a_new_backup_mends_what_the_disk_has_changed_of_the_last(self, api, back_up, target):
        fill(api, 3)
        first = back_up()
        for path in [*only_shelf(target).blocks_folder.glob("*.pack")]:
            self.damage(path)
        self.damage(originals(target)[0], 0)
        second = back_up()
        assert check_backup(second.folder, tell_nobody) == []
        assert check_backup(first.folder, tell_nobody) == []

    def test_what_neither_store_nor_backups_have_is_missing_in_the_next(self, api, back_up, target):
        fill(api, 2)
        back_up()
        [lost, _] = stored(api)
        digest = hashlib.sha256(lost.read_bytes()).hexdigest()
        lost.unlink()
        self.damage(only_shelf(target).original(digest), 0)
        kept = back_up()
        assert kept.manifest.missing == [lost.name]
        assert check_backup(kept.folder, tell_nobody) == []

    def test_a_store_that_is_damaged_itself_does_not_become_a_backup(self, api, back_up, target):
        fill(api, 2)
        good = back_up()
        api.engine.store.database.checkpoint()
        with api.engine.store.database.transaction() as query:
            query("PRAGMA writable_schema = ON")
            query(
                "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
                "WHERE name = 'chunks') WHERE name = 'document_tags'"
            )
        with pytest.raises(StoreDamaged, match="SQLite finds in the database"):
            back_up()
        assert only_shelf(target).names() == [good.folder]


class TestKeeping:
    def test_only_the_newest_stay_and_what_they_need(self, api, back_up, target, tmp_path):
        for number in range(4):
            api.add_file(os.urandom(30_000).hex().encode(), f"{number}.txt")
            back_up()
        [newest] = api.get("/documents", params={"limit": 1}).json()["documents"]
        for each in api.get("/documents", params={"limit": 200}).json()["documents"]:
            if each["id"] != newest["id"]:
                api.delete(f"/documents/{each['id']}")
        shelf = only_shelf(target)
        full = size_below(shelf.path)
        kept = back_up(keep=1)
        assert shelf.names() == [kept.folder]
        assert size_below(shelf.path) < full * 0.8
        assert len(originals(target)) == 1
        assert check_backup(kept.folder, tell_nobody) == []

    def test_one_that_cannot_be_read_pushes_no_good_one_out(self, back_up, target):
        first, good, broken = back_up(), back_up(), back_up()
        (broken.folder / "manifest.json").write_text("{")
        newest = back_up(keep=2)
        assert only_shelf(target).names() == [good.folder, broken.folder, newest.folder]
        assert not first.folder.exists()

    def test_the_first_is_made_though_its_manifest_cannot_be_read(self, api, back_up, monkeypatch):
        def unreadable(folder):
            raise BackupDamaged(f"{folder} cannot be read: Input/output error")

        api.add_note("In the backup.")
        monkeypatch.setattr("kb.engine.backup.shelf.read_manifest", unreadable)
        assert back_up(keep=1).folder.is_dir()

    def test_an_original_of_earlier_backups_is_never_written_over(self, api, back_up, target):
        api.add_file(b"The same in both.", "a.txt", source_path="/a.txt")
        back_up()
        [path] = originals(target)
        before = path.stat().st_ino
        api.add_file(b"The same in both.", "b.txt", source_path="/b.txt")
        assert back_up().manifest.originals == 2
        assert path.stat().st_ino == before

    def test_what_a_killed_backup_left_of_an_original_is_written_anew(self, api, back_up, target):
        api.add_file(b"Whole.", "a.txt", source_path="/a.txt")
        api.add_file(b"In the folder already.", "b.txt", source_path="/b.txt")
        back_up()
        for folder in only_shelf(target).names():
            shutil.rmtree(folder)
        for path in originals(target):
            path.write_bytes(b"")
        kept = back_up()
        assert check_backup(kept.folder, tell_nobody) == []

    def test_several_stores_in_one_folder_are_apart(self, api, back_up, target, tmp_path, open_api):
        api.add_note("Of the first store.")
        back_up()
        with open_api(tmp_path / "other") as other:
            other.add_note("Of the second store.")
            back_up(keep=1, engine=other.engine)
        first, second = shelves(target)
        assert len(first.names()) == len(second.names()) == 1
        with pytest.raises(BackupFailed, match="2 stores"):
            chosen(target, None)
        assert chosen(first.path, None).folder.parent == first.path


def test_the_newest_backup_by_a_time_is_chosen(api, back_up, target):
    first = back_up()
    between = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    second = back_up()
    assert chosen(target, None).folder == second.folder
    assert chosen(target, between).folder == first.folder
    assert chosen(first.folder, None).folder == first.folder
    with pytest.raises(BackupFailed, match="no backup"):
        chosen(target, "2020-01-01T00:00:00.000000Z")


class Killed(BaseException):
    """As a kill: nothing that would tidy up is run, as far as that can be had in a process."""


class killing_at:
    """Stop at the n-th renaming: between two of them nothing that lasts is changed."""

    was_killed = False

    def __init__(self, point):
        self._left = point

    def __enter__(self):
        self._patch = pytest.MonkeyPatch()
        for owner in (os, Path):
            self._patch.setattr(owner, "rename", self._counted(owner.rename))
        return self

    def _counted(self, rename):
        def run(*arguments):
            self._left -= 1
            if self._left < 0:
                raise Killed
            return rename(*arguments)

        return run

    def __exit__(self, kind, *_):
        self._patch.undo()
        self.was_killed = kind is Killed
        return self.was_killed


class TestUnfinished:
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_a_backup_that_stops_half_way_is_cleared_away_later(self, api, back_up, target, share):
        fill(api, 3)
        good = back_up()
        fill(api, 3)
        steps = []

        def stop(step):
            steps.append(step)
            if len(steps) > most:
                raise Killed

        most = 10**6
        back_up(tell=stop)
        shelf = only_shelf(target)
        shelf.remove(shelf.names()[-1])
        most, steps[:] = int(len(steps) * share), []
        with pytest.raises(Killed):
            back_up(tell=stop)
        assert shelf.names() == [good.folder]
        assert chosen(target, None).folder == good.folder
        kept = back_up(keep=1)
        assert shelf.names() == [kept.folder]
        left = {path.name for path in shelf.path.iterdir()}
        assert left == {"README.txt", "lock", "blocks", "originals", kept.folder.name}
        assert not list(shelf.blocks_folder.glob(".*"))

    def test_a_folder_that_was_never_finished_is_no_backup(self, api, back_up, target):
        kept = back_up()
        kept.folder.rename(kept.folder.with_name("unfinished"))
        with pytest.raises(BackupFailed, match="no backup"):
            chosen(target, None)

    def test_two_at_once_into_one_folder_are_refused(self, api, back_up, target):
        back_up()
        with only_shelf(target).writing(), pytest.raises(BackupRunning):
            back_up()


class TestRestoring:
    def test_a_store_that_is_there_is_kept_unless_told_not(self, api, back_up, tmp_path, open_api):
        api.add_note("In the backup.")
        kept = back_up()
        with open_api(tmp_path / "new") as other:
            other.add_file(b"In the folder.", "a.txt")
        with pytest.raises(BackupFailed, match="--replace"):
            restored(kept, tmp_path / "new")
        answer = restored(kept, tmp_path / "new", replace=True)
        aside = Path(answer.moved_aside)
        assert aside.name.startswith("store-before-restore-")
        assert rows_of(aside, "SELECT filename FROM documents") == [("a.txt",)]
        assert rows_of(tmp_path / "new", "SELECT title FROM documents") == [("In the backup.",)]
        shutil.copytree(aside, tmp_path / "back")
        with open_api(tmp_path / "back") as other:
            assert other.get("/documents").json()["total"] == 1

    def test_what_is_left_of_a_store_goes_before_the_restored_one_comes(
        self, api, back_up, tmp_path
    ):
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "store-damage.json").write_text("{}")
        answer = restored(back_up(), tmp_path / "new")
        assert (Path(answer.moved_aside) / "store-damage.json").exists()
        assert not (tmp_path / "new" / "store-damage.json").exists()

    def test_the_pages_of_a_restored_database_have_checksums(self, api, back_up, tmp_path):
        api.add_file(b"Herons stand in the river. " * 2000, "a.txt")
        restored(back_up(), tmp_path / "new")
        database = tmp_path / "new" / "store.db"
        whole = database.read_bytes()
        unnoticed = []
        for page in range(len(whole) // 4096):
            if b"Herons" in whole[page * 4096 : (page + 1) * 4096]:
                damaged = bytearray(whole)
                damaged[damaged.index(b"Herons", page * 4096)] ^= 1
                database.write_bytes(damaged)
                if database_trouble(database) is None:
                    unnoticed.append(page)
        assert unnoticed == []

    def test_after_a_kill_at_any_point_the_folder_has_the_old_store_or_the_new_one(
        self, api, back_up, tmp_path, monkeypatch, open_api
    ):
        api.add_note("The new one.")
        kept = back_up()
        with open_api(tmp_path / "old") as other:
            other.add_note("The old one.")
        seen = []
        for point in range(100):
            folder = tmp_path / f"at-{point}"
            shutil.copytree(tmp_path / "old", folder)
            with killing_at(point) as attempt:
                restored(kept, folder, replace=True)
            DataFolder(folder).release()
            [(title,)] = rows_of(folder, "SELECT title FROM documents")
            seen.append(title)
            assert not (folder / RESTORING).exists()
            shutil.rmtree(folder)
            if not attempt.was_killed:
                break
        assert not attempt.was_killed
        assert seen == sorted(seen, reverse=True)
        assert set(seen) == {"The old one.", "The new one."}


class TestBlocks:
    def test_a_block_that_changes_a_little_takes_little_room_each_time(self, tmp_path):
        content = bytearray(os.urandom(BLOCK_BYTES))
        blocks, before, versions = Blocks(tmp_path), None, []
        for number in range(40):
            content[number * 10] ^= 0xFF
            writer = PackWriter(blocks, tmp_path, Disk(rest=lambda _: None))
            before = writer.add(bytes(content), before)
            [path] = writer.finish()
            blocks.learn(path)
            versions.append((before, bytes(content)))
        again = Blocks(tmp_path)
        assert all(again.read(key) == known for key, known in versions)
        assert 1 < size_below(tmp_path) / BLOCK_BYTES < 8
        assert max(len(again.chain(key)) for key, _ in versions) < 26

    def test_what_a_kept_block_is_read_with_stays(self, tmp_path):
        blocks, disk = Blocks(tmp_path), Disk(rest=lambda _: None)
        content, keys = bytearray(os.urandom(BLOCK_BYTES)), []
        for _ in range(3):
            content[0] ^= 1 + len(keys)
            writer = PackWriter(blocks, tmp_path, disk)
            keys.append(writer.add(bytes(content), keys[-1] if keys else None))
            for path in writer.finish():
                blocks.learn(path)
        blocks.keep_only(keys[2:], disk)
        again = Blocks(tmp_path)
        assert again.read(keys[2]) == bytes(content)
        again.keep_only([], disk)
        assert list(tmp_path.glob("*.pack")) == []


class TestService:
    class Clock:
        now = datetime(2030, 1, 1, 12, tzinfo=UTC)

        def __call__(self):
            return self.now

    @pytest.fixture
    def clock(self):
        return self.Clock()

    @pytest.fixture
    def backups(self, api, target, clock):
        parts = api.engine.settings.data_dir, api.engine.store, api.engine.files
        backups = Backups(*parts, BackupPlan(target, every_hours=24, keep=2), clock)
        object.__setattr__(api.engine, "backups", backups)
        yield backups
        backups.stop(10)

    def make_if_due(self, backups):
        due = backups.run_if_due()
        backups.wait()
        return due

    def test_asked_for_over_http_it_is_made_while_the_engine_goes_on(self, api, target):
        api.add_note("An otter.")
        assert api.post("/backups", {"folder": str(target), "keep": 3}).status_code == 202
        api.add_note("A heron.")
        api.engine.backups.wait()
        listed = api.get("/backups").json()
        assert listed["run"]["status"] == "done"
        assert listed["run"]["progress"] == 1
        assert [each["folder"] for each in listed["backups"]] == [listed["last"]["folder"]]
        assert Path(listed["last"]["folder"]).is_relative_to(target)
        status = api.get("/status").json()["backup"]
        assert status["last_at"] == listed["last"]["taken_at"]
        assert 0 <= status["age_seconds"] < 600
        assert "kb_backup_age_seconds" in api.get("http://127.0.0.1/metrics").text

    @pytest.mark.parametrize("folder", ["relative", "/", "/new-at-the-root", "{data}", "{data}/x"])
    def test_a_folder_that_cannot_serve_is_refused_with_the_reason(self, api, folder):
        data = api.engine.settings.data_dir
        answer = api.post("/backups", {"folder": folder.format(data=data)})
        assert answer.status_code == 422
        assert answer.json()["error"] == "backup_folder_refused"
        assert not Path("/new-at-the-root").exists()

    def test_without_a_folder_one_must_be_set(self, api):
        answer = api.post("/backups", {})
        assert "KB_BACKUP_DIR" in answer.json()["message"]

    def test_one_that_leads_into_the_data_folder_by_a_link_is_refused(self, api, tmp_path):
        (tmp_path / "link").symlink_to(api.engine.settings.data_dir)
        with pytest.raises(BackupFolderRefused):
            api.engine.backups.begin(str(tmp_path / "link"), None)

    def test_the_schedule_makes_one_when_the_last_is_old_and_keeps_so_many(
        self, backups, back_up, api, target, clock, monkeypatch
    ):
        kept, made = back_up(), []
        shutil.rmtree(kept.folder)

        def make(target, keep):
            made.append((target, keep))
            taken = clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            folder = Shelf.of(target, api.engine.store.facts.store_id).path / taken
            about = {**asdict(kept.manifest), "folder": str(folder), "taken_at": taken}
            return {"answer": about}

        monkeypatch.setattr(backups, "_in_a_process", make)
        assert self.make_if_due(backups)
        assert not self.make_if_due(backups)
        clock.now += timedelta(hours=23)
        assert not self.make_if_due(backups)
        clock.now += timedelta(hours=1)
        assert self.make_if_due(backups)
        clock.now -= timedelta(days=400)  # a clock that was wrong does not stop backups
        assert self.make_if_due(backups)
        assert made == [(target, 2)] * 3

    def test_one_that_cannot_be_read_is_listed_and_not_the_last_good_one(self, backups, api, clock):
        clock.now = datetime.now(UTC)
        folders = []
        for _ in range(2):
            backups.begin(None, None)
            backups.wait()
            folders.append(api.get("/backups").json()["last"]["folder"])
        (Path(folders[1]) / "manifest.json").write_text("{")
        backups._seen = False  # as after a start
        clock.now = datetime.now(UTC)
        assert not self.make_if_due(backups)
        listed = api.get("/backups").json()
        assert listed["last"]["folder"] == folders[0]
        assert [each["folder"] for each in listed["backups"]] == folders[:1]
        assert [each["folder"] for each in listed["unreadable"]] == folders[1:]
        clock.now += timedelta(hours=25)
        assert self.make_if_due(backups)

    def test_a_missing_disk_is_told_and_tried_again(self, backups, api, target, tmp_path, clock):
        target.rmdir()
        assert self.make_if_due(backups)
        health = api.get("/status").json()["health"]
        assert health["status"] == "degraded"
        [issue] = health["issues"]
        assert issue["code"] == "backup_failed"
        assert "see that its disk is there" in issue["message"]
        assert api.post("/backups", {}).json()["error"] == "backup_folder_refused"
        assert api.post("/backups", {"folder": str(target)}).status_code == 422
        assert not target.exists()
        assert not self.make_if_due(backups)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        assert api.post("/backups", {"folder": str(elsewhere)}).status_code == 202
        backups.wait()
        status = api.get("/status").json()
        assert status["backup"]["last_folder"] == str(elsewhere)
        assert [each["code"] for each in status["health"]["issues"]] == ["backup_failed"]
        target.mkdir()
        clock.now += timedelta(hours=1)
        assert self.make_if_due(backups)
        assert api.get("/status").json()["health"]["issues"] == []

    def test_one_that_fails_when_asked_for_does_not_put_off_those_of_the_schedule(
        self, backups, target, monkeypatch, tmp_path
    ):
        broken = {"error": "backup_failed", "message": "The disk is full"}
        with monkeypatch.context() as patched:
            patched.setattr(backups, "_in_a_process", lambda *_: broken)
            (tmp_path / "full").mkdir()
            backups.begin(str(tmp_path / "full"), None)
            backups.wait()
        assert "The disk is full" in backups.failure()
        target.rmdir()
        assert self.make_if_due(backups)
        assert "see that its disk is there" in backups.failure()

    def test_a_store_that_is_damaged_is_not_backed_up_over_good_ones(self, api, back_up, target):
        good = back_up()
        api.engine.store.health.note_damage("a page of it has other bytes than were written")
        answer = api.post("/backups", {"folder": str(target), "keep": 1})
        assert (answer.status_code, answer.json()["error"]) == (503, "store_damaged")
        assert only_shelf(target).names() == [good.folder]

    def test_damage_that_a_backup_finds_makes_the_store_read_only(self, api, back_up, target):
        good = back_up()
        api.engine.store.database.checkpoint()
        path = api.engine.settings.data_dir / "store.db"
        with path.open("r+b") as file:
            file.seek(-3000, os.SEEK_END)
            file.write(b"changed")
        assert api.post("/backups", {"folder": str(target), "keep": 1}).status_code == 202
        api.engine.backups.wait()
        assert api.get("/backups").json()["run"]["error"]["code"] == "store_damaged"
        assert only_shelf(target).names() == [good.folder]
        assert api.post("/jobs", {"text": "Too late."}).json()["error"] == "store_damaged"

    def test_the_last_one_is_known_after_a_restart_and_made_anew_if_it_is_gone(self, api, target):
        api.engine.backups.begin(str(target), None)
        api.engine.backups.wait()
        last = api.engine.backups.listed().last
        parts = api.engine.settings.data_dir, api.engine.store, api.engine.files
        again = Backups(*parts, BackupPlan(target))
        assert again.listed().last == last is not None
        assert not again.run_if_due()
        api.engine.store.facts.remember("last_backup", "null")  # as in one restored from that one
        again = Backups(*parts, BackupPlan(target))
        assert (again.run_if_due(), again.listed().last) == (False, last)
        shutil.rmtree(only_shelf(target).path)
        again = Backups(*parts, BackupPlan(target))
        assert again.run_if_due()
        again.wait()
        assert only_shelf(target).names() == [Path(again.listed().last.folder)]


BACKUP = [sys.executable, "-m", "kb.engine.backup"]


def test_the_process_of_an_engine_ends_well_and_ends_with_the_engine(api, target):
    api.add_note("Held.")
    data = api.engine.settings.data_dir
    command = [*BACKUP, target, "--data-dir", data]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*command, "--held"], **pipes) as process:
        lines = process.stdout.readlines()
        assert "answer" in json.loads(lines[-1])
        assert process.wait(60) == 0
    with subprocess.Popen([*command, "--held"], **pipes) as process:
        process.stdin.close()
        assert process.wait(60) in (0, 3)


def test_rows_and_originals_come_out_of_the_last_good_backup(api, back_up, target):
    api.add_file(b"Herons stand.", "a.txt")
    back_up()
    newest = back_up()
    (newest.folder / "manifest.json").write_text("{}")
    sha256 = hashlib.sha256(b"Herons stand.").hexdigest()
    where = Whereabouts(api.engine.store.facts.store_id, target)
    with last_good(where) as rescue:
        assert rescue.rows("SELECT filename FROM documents WHERE id = :id", id=1) == [("a.txt",)]
        assert rescue.manifest.name < newest.folder.name
    assert str(newest.folder) in where.hint(is_lost=False)
    assert where.original(sha256).read_bytes() == b"Herons stand."
    assert where.original("0" * 64) is None
    with last_good(Whereabouts("another", target)) as rescue:
        assert rescue is None


@pytest.mark.parametrize("large", ["database", "originals"])
@pytest.mark.parametrize("folder", ["new", "there", "store"])
def test_a_disk_that_gets_full_is_said_and_nothing_stays_of_the_restore(
    api, back_up, small_disk, monkeypatch, large, folder
):
    restored(back_up(), small_disk / "store")
    (small_disk / "there").mkdir()
    if large == "originals":
        for number in range(3):
            api.add_file(bytes(3_000_000) + bytes([number]), f"{number}.bin")  # by failed jobs
    else:
        with (small_disk / "filler").open("wb") as filler:
            filler.write(bytes(shutil.disk_usage(small_disk).free - 100_000))
    kept, before = back_up(), sorted(small_disk.rglob("*"))
    plenty = shutil.disk_usage(small_disk)._replace(free=1 << 40)  # others write meanwhile
    monkeypatch.setattr(shutil, "disk_usage", lambda _: plenty)
    with pytest.raises(BackupFailed, match=r"There is no room .* takes \d+ MB\. Make room"):
        restored(kept, small_disk / folder, replace=True)
    assert sorted(small_disk.rglob("*")) == before


def test_what_a_half_made_restore_left_is_cleared_away(tmp_path):
    (tmp_path / RESTORING).mkdir()
    (tmp_path / RESTORING / "store.db").write_bytes(b"half")
    finish_exchange(tmp_path)
    assert list(tmp_path.iterdir()) == []
