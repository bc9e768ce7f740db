"""`kb backup` and `kb restore` at a real engine, and beside a folder at rest."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import apsw
import pytest

from kb.cli.commands.status import show_status
from kb.engine.store.file.page_checksums import connect


def test_a_backup_is_made_listed_checked_and_restored(kb, refusal, api, note, tmp_path):
    note("Otters swim in the Wye.", "--tags", "backed-up")
    target = str(tmp_path / "backups")
    made = api("backup", target, "--keep", "3")
    assert Path(made["folder"]).is_relative_to(target)
    assert made["documents"] >= 1
    assert made["written_bytes"] > 0

    listed = api("backup", "--list")
    assert made["folder"] in [each["folder"] for each in listed["backups"]]
    assert api("status")["backup"]["last_at"] >= made["taken_at"]
    code, out, _ = kb("status")
    assert "backup\t" in out

    [checked] = api("backup", "--check", target)
    assert checked == {"folder": made["folder"], "trouble": []}
    [found] = api("restore", target, "--list")
    assert found["folder"] == made["folder"]

    code, out, _ = kb("restore", target, "--dry-run")
    assert (code, "every hash is right" in out) == (0, True)
    code, out, err = kb("restore", target, "--data-dir", str(tmp_path / "new"))
    assert code == 0, err
    assert f"restored\t{tmp_path / 'new'}" in out
    assert (tmp_path / "new" / "store.db").is_file()
    assert "--replace" in refusal("restore", target, "--data-dir", str(tmp_path / "new"))

    made = api("backup", str(tmp_path / "again"), "--data-dir", str(tmp_path / "new"))
    assert made["documents"] == found["documents"]


def test_damage_is_named_and_the_exit_code_says_so(kb, refusal, api, note, tmp_path):
    note("Herons stand.", "--tags", "damaged")
    target = tmp_path / "backups"
    api("backup", str(target))
    [pack, *_] = target.rglob("*.pack")
    content = pack.read_bytes()
    middle = len(content) // 2  # many bytes: one alone may unpack to the same in a run of zeros
    pack.write_bytes(content[:middle] + b"damaged " * 8 + content[middle + 64 :])
    code, out, _ = kb("backup", "--check", str(target), "--json")
    assert code == 1
    assert pack.name in json.loads(out)[0]["trouble"][0]
    assert "is damaged" in refusal("restore", str(target), "--data-dir", str(tmp_path / "new"))
    assert not (tmp_path / "new" / "store.db").exists()


def test_all_but_a_damaged_original_can_be_restored_and_the_next_backup_mends_it(kb, api, tmp_path):
    for name in ("rare", "common"):
        (tmp_path / f"{name}.txt").write_text(f"The {name} bird sings.")
        api("add", str(tmp_path / f"{name}.txt"))
    target = tmp_path / "backups"
    for _ in range(2):
        api("backup", str(target))
    [copy] = (each for each in target.rglob("*") if _reads(each, b"The rare bird sings."))
    copy.write_bytes(b"The rare bird sank..")
    code, _, err = kb("restore", str(target), "--data-dir", str(tmp_path / "new"))
    assert (code, copy.name in err, "--without-damaged" in err) == (1, True, True)

    code, out, err = kb("restore", str(target), "--dry-run", "--without-damaged")
    assert (code, "whole but for 1 original" in out) == (0, True), err
    options = ("--data-dir", str(tmp_path / "new"), "--without-damaged")
    code, out, err = kb("restore", str(target), *options)
    assert (code, "(rare.txt)" in err, "(common.txt)" in err) == (0, True, False)
    code, out, _ = kb("verify", "--data-dir", str(tmp_path / "new"), "--json")
    findings = [(each["what"], each["title"]) for each in json.loads(out)["findings"]]
    assert (code, findings) == (1, [("Its original is missing", "rare")])

    api("backup", str(target))
    assert copy.read_bytes() == b"The rare bird sings."
    code, _, _ = kb("backup", "--check", str(target))
    assert code == 0


def _reads(path, content):
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


@pytest.fixture
def mount():
    """Mount something on a folder, until the test is over."""
    mounted = []

    def run(folder, *options):
        is_root = os.geteuid() == 0 and sys.platform == "linux"
        command = ["mount", *options, str(folder)]
        if not is_root or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root may mount a folder")
        mounted.append(folder)

    yield run
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def read_only(mount):
    """Make a folder one of a disk that can only be read."""

    def remount(folder):
        mount(folder, "--bind", str(folder))
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)

    return remount


def test_a_disk_without_room_is_said_before_anything_is_written(kb, api, note, tmp_path, mount):
    note("Cranes dance.", "--tags", "room")
    api("backup", str(tmp_path / "backups"))
    disk = tmp_path / "disk"
    (disk / "there").mkdir(parents=True)
    mount(disk, "-t", "tmpfs", "-o", "size=1m", "tmpfs")
    (disk / "there").mkdir()
    for folder in (disk / "new" / "store", disk / "there"):
        code, _, err = kb("restore", str(tmp_path / "backups"), "--data-dir", str(folder))
        assert (code, err.count("\n")) == (1, 1)
        assert "There is no room" in err
        assert re.search(r"it takes \d+ MB, and \d MB are free", err)
        assert [path.name for path in disk.rglob("*")] == ["there"]


@pytest.mark.parametrize("left", ["nothing", "a log"])
def test_a_read_only_disk_is_checked_and_backed_up(kb, refusal, api, tmp_path, read_only, left):
    (tmp_path / "swift.txt").write_text("Swifts sleep as they fly.")
    api("add", str(tmp_path / "swift.txt"))
    api("backup", str(tmp_path / "backups"))
    data = tmp_path / "failing"
    assert kb("restore", str(tmp_path / "backups"), "--data-dir", str(data))[0] == 0
    if left == "a log":
        copied = Path(shutil.copytree(data, tmp_path / "copied"))
        with closing(connect(data / "store.db", apsw.SQLITE_OPEN_READWRITE)) as writer:
            writer.execute("PRAGMA journal_mode = WAL")
            writer.execute("INSERT INTO facts VALUES ('written', 'last')")
            for name in ("store.db", "store.db-wal"):
                shutil.copyfile(data / name, copied / name)
        data = copied
        assert (data / "store.db-wal").stat().st_size
    before = sorted(path.name for path in data.iterdir())
    read_only(data)

    code, out, err = kb("verify", "--data-dir", str(data))
    assert code == 0, out + err
    target = tmp_path / "rescued"
    made = api("backup", str(target), "--data-dir", str(data))
    assert made["missing"] == []
    assert [path.name for path in target.iterdir()] == [Path(made["folder"]).parent.name]
    assert sorted(path.name for path in data.iterdir()) == before
    assert kb("restore", str(target), "--data-dir", str(tmp_path / "saved"))[0] == 0
    with closing(sqlite3.connect(tmp_path / "saved" / "store.db")) as saved:
        found = saved.execute("SELECT value FROM facts WHERE name = 'written'").fetchall()
    assert found == ([("last",)] if left == "a log" else [])

    assert "copy all of it to a disk" in refusal("verify", "--repair", "--data-dir", str(data))


@pytest.mark.parametrize("left", ["{", None])
def test_an_older_backup_is_never_taken_unasked(kb, api, note, tmp_path, left):
    target, new = tmp_path / "backups", str(tmp_path / "new")
    older = api("backup", str(target))
    note("Only the newest backup has this.", "--tags", "newest")
    newest = api("backup", str(target))
    manifest = Path(newest["folder"]) / "manifest.json"
    manifest.unlink() if left is None else manifest.write_text(left)

    for asked in (str(target), newest["folder"]):
        for option in (("--data-dir", new), ("--dry-run",)):
            code, out, err = kb("restore", asked, *option)
            assert (code, out, err.count("\n")) == (1, "", 1)
            assert newest["folder"] in err
            assert "manifest.json" in err
        assert not Path(new).exists()
    _, _, err = kb("restore", str(target), "--dry-run")
    assert f"--as-of {older['taken_at']}" in err

    for listed in (("restore", str(target)), ("backup",)):
        code, out, err = kb(*listed, "--list")
        rows = [line.split("\t") for line in out.splitlines()]
        assert [(row[0] == "unreadable", row[-1]) for row in rows] == [
            (True, newest["folder"]),
            (False, older["folder"]),
        ]
        assert (code, "manifest.json" in err) == (0, True)
    code, _, err = kb("restore", str(target), "--as-of", "1d", "--data-dir", new)
    assert (code, "taken by" in err) == (1, True)
    code, out, err = kb("restore", str(target), "--as-of", older["taken_at"], "--data-dir", new)
    assert code == 0, err
    api("backup", str(target))  # a good newest one
    assert kb("restore", str(target), "--dry-run")[0] == 0


def test_two_backups_of_one_minute_are_told_apart(kb, api, tmp_path):
    made = [api("backup", str(tmp_path / "backups")) for _ in range(2)]
    _, out, _ = kb("restore", str(tmp_path / "backups"), "--list")
    shown = [line.split("\t")[0] for line in out.splitlines()]
    at = [datetime.fromisoformat(each["taken_at"]).astimezone() for each in made[::-1]]
    assert shown == [each.strftime("%Y-%m-%d %H:%M:%S") for each in at]
    code, out, err = kb("restore", str(tmp_path / "backups"), "--dry-run", "--as-of", shown[0])
    assert (code, made[1]["folder"] in out) == (0, True), err


def test_nothing_is_restored_or_copied_under_a_running_engine(refusal, api, note, tmp_path, engine):
    note("Voles dig.", "--tags", "running")
    api("backup", str(tmp_path / "backups"))
    beside = ("--data-dir", engine["KB_DATA_DIR"])
    err = refusal("restore", str(tmp_path / "backups"), *beside, "--replace")
    assert "uses the data folder" in err
    assert "uses the data folder" in refusal("backup", str(tmp_path / "more"), *beside)


def test_what_cannot_be_asked_for_is_said_in_one_line(kb, refusal, engine, tmp_path):
    code, _, err = kb("backup", str(tmp_path / "not" / "there"))
    assert (code, "No such file" in err) == (1, True)
    code, _, err = kb("backup", "--data-dir", str(tmp_path))
    assert (code, "name a folder" in err) == (2, True)
    code, _, err = kb("backup", "--check")
    assert (code, "name the folder" in err) == (2, True)
    code, _, err = kb("restore", str(tmp_path / "nowhere"), "--data-dir", str(tmp_path / "x"))
    assert (code, "no backup" in err) == (1, True)
    assert "There is no store" in refusal(
        "backup", str(tmp_path / "b"), "--data-dir", str(tmp_path / "empty")
    )


def test_status_tells_a_backup_elsewhere_and_a_check_of_before_a_failure(capsys):
    model = {"name": "m", "state": "ready", "device": "cpu"}
    counts = {"documents": 1, "notes": 0, "chunks": 1, "tags": 0, "vectors_missing": 0}
    status = {
        "version": "3",
        "model": model,
        "counts": counts,
        "queue": {},
        "health": {"status": "failed", "issues": []},
        "check": {"state": "done", "finished_at": "2026-11-17T16:56:00Z", "findings": 0},
        "backup": {
            "folder": "/mnt/daily",
            "every_hours": 24,
            "running": False,
            "last_at": "2026-11-17T16:00:00Z",
            "last_folder": "/mnt/other",
            "age_seconds": 1260.0,
        },
    }
    status["store"] = {"aside_stores": 2, "aside_bytes": 5 << 20}
    show_status("http://127.0.0.1:8000", status)
    out = capsys.readouterr().out
    assert "5.0 MB of 2 older stores" in out
    assert "nothing was wrong then" in out
    assert "21 min 0 s ago into /mnt/other, every 24 h into /mnt/daily" in out
