"""Originals that are missing or changed come back from where they still are."""

import json
import os
from dataclasses import asdict

import pytest
from damaging import backed_up, overwrite, replace, verify

HERONS = b"Herons stand in the reeds.\n"


@pytest.fixture(scope="module")
def filled(open_api, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled") / "data"
    with open_api(folder) as api:
        api.add_file(HERONS, "heron.txt")
        api.add_file(b"Egrets wade in the water.\n", "egret.txt")
        api.add_note("Otters swim.", title="Otters")
    return folder


@pytest.fixture
def originals(folder):
    return {path.read_bytes(): path for path in (folder / "store-files").glob("?" * 32)}


@pytest.fixture
def heron(originals):
    return originals[HERONS]


def repaired(folder, backups=None):
    return verify(folder, True, backups)


def test_from_the_lost_files(folder, heron):
    (folder / "store-lost").mkdir(exist_ok=True)
    os.rename(heron, folder / "store-lost" / heron.name)
    assert repaired(folder).is_whole
    assert heron.read_bytes() == HERONS


def test_from_each_other_where_two_were_exchanged(folder, originals):
    heron, egret = originals.values()
    texts = heron.read_bytes(), egret.read_bytes()
    heron.write_bytes(texts[1])
    egret.write_bytes(texts[0])
    assert repaired(folder).is_whole
    assert (heron.read_bytes(), egret.read_bytes()) == texts


def test_from_the_last_backup_and_what_was_in_its_place_is_kept(folder, heron, tmp_path):
    backed_up(folder, tmp_path / "backups")
    heron.write_bytes(b"Storks stand in the reeds.\n")
    verified = repaired(folder, tmp_path / "backups")
    assert verified.is_whole, verified
    assert heron.read_bytes() == HERONS
    [line] = (folder / "store-lost" / "manifest.jsonl").read_text().splitlines()
    about = json.loads(line)
    assert heron.name in about["why"]
    assert about["name"] != heron.name
    kept = folder / "store-lost" / about["name"]
    assert kept.read_bytes() == b"Storks stand in the reeds.\n"


def test_what_is_nowhere_is_named_as_lost_and_by_the_next_start(folder, heron, open_api):
    heron.unlink()
    verified = repaired(folder)
    assert not verified.is_whole
    assert [line for line in verified.lost if "heron" in line]
    with open_api(folder) as api:
        status = api.get("/status").json()
        [issue] = status["health"]["issues"]
        assert issue["code"] == "originals_missing"
        assert "heron" in issue["message"]
        assert status["check"]["findings"] == 1


def test_the_text_of_a_note_comes_from_the_last_backup(folder, tmp_path, open_api):
    backed_up(folder, tmp_path / "backups")
    replace(folder, b"Otters swim.", b"Otters swam.")
    verified = repaired(folder, tmp_path / "backups")
    assert any("that of the backup of" in line for line in verified.repaired), verified
    with open_api(folder) as api:
        assert api.document(3)["text"] == "Otters swim."


@pytest.fixture
def remembered(folder, tmp_path, open_engine):
    """A backup that the store knows of, and nobody names."""
    kept = backed_up(folder, tmp_path / "backups")
    about = {"folder": str(kept.folder), **asdict(kept.manifest)}
    with open_engine(folder) as engine:
        engine.store.facts.remember_backup(json.dumps(about))
    return tmp_path / "backups"


def test_the_backup_that_the_store_remembers_is_used(folder, heron, remembered):
    heron.unlink()
    overwrite(folder, "documents")
    verified = repaired(folder)
    assert verified.is_whole, verified
    assert verified.hint is None


def test_if_it_is_out_of_reach_that_is_said(folder, heron, remembered):
    heron.unlink()
    remembered.rename(remembered.with_name("unplugged"))
    assert str(remembered) in repaired(folder).hint
    overwrite(folder, "documents")
    assert str(remembered) in repaired(folder).hint


def test_an_original_that_only_an_earlier_backup_elsewhere_has_comes_from_there(
    folder, originals, tmp_path, open_engine
):
    heron, *_ = originals.values()
    content = heron.read_bytes()
    first, second = tmp_path / "first", tmp_path / "second"
    with open_engine(folder) as engine:
        for target in (first, second):
            engine.backups.begin(str(target), keep=None)
            engine.backups.wait()
            heron.unlink(missing_ok=True)
    verified = repaired(folder)
    assert verified.is_whole, verified
    assert heron.read_bytes() == content
    heron.unlink()
    first.rename(tmp_path / "unplugged")
    assert f"into {first} that cannot be reached" in repaired(folder).hint
    (tmp_path / "unplugged").rename(first)
    for original in first.rglob("originals/*/*"):
        original.unlink()
    assert f"in every backup in {second} and {first}" in repaired(folder).hint


def test_a_lost_text_is_read_again_when_its_original_is_back(folder, heron, tmp_path, open_api):
    with open_api(folder) as api:
        before = api.document(1)
    backed_up(folder, tmp_path / "backups")
    heron.unlink()
    overwrite(folder, "chunks")
    lost = repaired(folder).lost
    assert [line for line in lost if line.startswith("document 1 ") and "passages" in line]
    verified = repaired(folder, tmp_path / "backups")
    assert "document 1 is read again" in verified.repaired
    with open_api(folder) as api:
        api.engine.worker.finish_jobs()
        after = api.document(1)
    assert [chunk["text"] for chunk in after["chunks"]] == [
        chunk["text"] for chunk in before["chunks"]
    ]


def test_in_one_go_a_text_is_read_from_the_backup(folder, heron, tmp_path, open_engine, open_api):
    """Of a backup that has another text, as a kb with other readers would."""
    with open_api(folder) as api:
        before = api.document(1)
        with api.engine.store.database.transaction() as query:
            query("UPDATE documents SET text_hash = NULL")
    backed_up(folder, tmp_path / "backups")
    with open_engine(folder) as engine:
        while engine.store.upkeep.hash_texts(10):
            pass
    heron.unlink()
    overwrite(folder, "chunks")
    repaired(folder, tmp_path / "backups")
    with open_api(folder) as api:
        api.engine.worker.finish_jobs()
        assert api.document(1) == before


def test_the_file_of_a_waiting_job_comes_back(folder, originals, heron, open_api):
    with open_api(folder) as api:
        job_id = api.submit_file(b"Storks clatter.\n", "stork.txt")["job_id"]
    [stork] = set((folder / "store-files").glob("?" * 32)) - set(originals.values())
    contents = stork.read_bytes(), heron.read_bytes()
    stork.write_bytes(contents[1])
    heron.write_bytes(contents[0])
    verified = repaired(folder)
    assert verified.is_whole, verified
    assert any(f"job {job_id} (stork.txt)" in line for line in verified.repaired)
    assert (stork.read_bytes(), heron.read_bytes()) == contents


def test_the_file_of_a_job_that_is_nowhere_is_named_once(folder, originals, open_api):
    with open_api(folder) as api:
        job_id = api.submit_file(b"Storks clatter.\n", "stork.txt")["job_id"]
    [stork] = set((folder / "store-files").glob("?" * 32)) - set(originals.values())
    stork.unlink()
    assert repaired(folder).lost == [f"Job {job_id}, stork.txt: Its original is missing"]


def test_what_came_after_a_cut_is_taken_from_a_backup_that_is_newer(folder, tmp_path, open_api):
    older = (folder / "store.db").read_bytes()
    with open_api(folder) as api:
        api.add_note("Storks clatter.", title="Storks")
    backed_up(folder, tmp_path / "backups")
    with open_api(folder) as api:
        api.add_note("Cranes dance.", title="Cranes")
    (folder / "store.db").write_bytes(older)
    verified = repaired(folder, tmp_path / "backups")
    assert any("changes up to the backup of" in line for line in verified.repaired)
    assert any("missing" in line for line in verified.lost)
    assert verify(folder).is_whole
    with open_api(folder) as api:
        titles = {each["title"] for each in api.get("/documents").json()["documents"]}
        assert api.engine.store.health.damage is None
    assert "Storks" in titles
    assert "Cranes" not in titles


def test_a_file_whose_row_was_cut_off_is_kept_where_the_repair_says(folder, originals, open_api):
    older = (folder / "store.db").read_bytes()
    with open_api(folder) as api:
        api.add_file(b"Storks clatter.\n", "stork.txt")
    [stork] = set((folder / "store-files").glob("?" * 32)) - set(originals.values())
    (folder / "store.db").write_bytes(older)
    [_, told] = repaired(folder).lost
    assert stork.name in told
    assert "it is in store-lost now" in told
    for _ in range(2):
        kept = (folder / "store-lost" / stork.name).read_bytes()
        assert (kept, stork.exists()) == (b"Storks clatter.\n", False)
        with open_api(folder) as api:
            api.add_note("Cranes dance.")
            assert api.engine.store.health.damage is None


def test_an_original_that_is_known_to_be_changed_is_not_handed_out(folder, heron, open_api):
    heron.write_bytes(b"Storks stand in the reeds.\n")
    with open_api(folder) as api:
        api.engine.check.finish()
        refused = api.get("/documents/1/file")
        assert (refused.status_code, refused.json()["error"]) == (409, "file_changed")
        assert "kb verify --repair" in refused.json()["message"]
        assert api.get("/documents/2/file").status_code == 200
        heron.write_bytes(HERONS)  # by hand: no check has seen it yet
        assert api.get("/documents/1/file").content == HERONS


def test_one_that_has_another_size_is_not_handed_out_either(folder, heron, open_api):
    heron.write_bytes(b"Herons")
    with open_api(folder) as api:
        assert api.get("/documents/1/file").json()["error"] == "file_changed"
