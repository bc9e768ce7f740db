"""`kb backup` and `kb restore` at a real engine, and beside a folder at rest."""

import json
from pathlib import Path


def test_a_backup_is_made_listed_checked_and_restored(kb, api, note, tmp_path):
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
    code, _, err = kb("restore", target, "--data-dir", str(tmp_path / "new"))
    assert (code, "--replace" in err) == (1, True)

    made = api("backup", str(tmp_path / "again"), "--data-dir", str(tmp_path / "new"))
    assert made["documents"] == found["documents"]


def test_damage_is_named_and_the_exit_code_says_so(kb, api, note, tmp_path):
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
    code, _, err = kb("restore", str(target), "--data-dir", str(tmp_path / "new"))
    assert (code, "is damaged" in err) == (1, True)
    assert not (tmp_path / "new" / "store.db").exists()


def test_nothing_is_restored_under_a_running_engine(kb, api, note, tmp_path, engine):
    note("Voles dig.", "--tags", "running")
    api("backup", str(tmp_path / "backups"))
    folder = engine["KB_DATA_DIR"]
    code, _, err = kb("restore", str(tmp_path / "backups"), "--data-dir", folder, "--replace")
    assert (code, "uses the data folder" in err) == (1, True)


def test_what_cannot_be_asked_for_is_said_in_one_line(kb, engine, tmp_path):
    code, _, err = kb("backup", str(tmp_path / "not" / "there"))
    assert (code, "No such file" in err) == (1, True)
    code, _, err = kb("backup", "--data-dir", str(tmp_path))
    assert (code, "name a folder" in err) == (2, True)
    code, _, err = kb("backup", "--check")
    assert (code, "name the folder" in err) == (2, True)
    code, _, err = kb("restore", str(tmp_path / "nowhere"), "--data-dir", str(tmp_path / "x"))
    assert (code, "no backup" in err) == (1, True)
    code, _, err = kb("backup", str(tmp_path / "b"), "--data-dir", str(tmp_path / "empty"))
    assert (code, "There is no store" in err) == (1, True)
