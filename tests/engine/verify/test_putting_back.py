"""Originals that are missing or changed come back from where they still are."""

import os

import pytest

from kb.engine.backup.making import Source, make_backup
from kb.engine.backup.steps import tell_nobody
from kb.engine.folder import DataFolder
from kb.engine.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest


@pytest.fixture
def folder(open_engine, make_api, tmp_path):
    with open_engine(tmp_path / "data") as engine:
        api = make_api(engine)
        api.add_file(b"Herons stand in the reeds.\n", "heron.txt")
        api.add_file(b"Egrets wade in the water.\n", "egret.txt")
        api.add_note("Otters swim.", title="Otters")
    return tmp_path / "data"


@pytest.fixture
def originals(folder):
    return {
        path.read_bytes(): path
        for path in (folder / "store-files").iterdir()
        if path.name != "store-stamp"
    }


def repaired(folder, backups=None):
    held = DataFolder(folder)
    try:
        return AtRest(held, terms, TERMS_VERSION, lambda _: None, backups).verify(repair=True)
    finally:
        held.release()


def backed_up(folder, target):
    target.mkdir()
    source = Source(folder, folder / "store.db", folder / "store-files")
    make_backup(source, target, None, tell_nobody)


def test_from_the_lost_files(folder, originals):
    heron = originals[b"Herons stand in the reeds.\n"]
    (folder / "store-lost").mkdir(exist_ok=True)
    os.rename(heron, folder / "store-lost" / heron.name)
    assert repaired(folder).is_whole
    assert heron.read_bytes() == b"Herons stand in the reeds.\n"


def test_from_each_other_where_two_were_exchanged(folder, originals):
    heron, egret = originals.values()
    texts = heron.read_bytes(), egret.read_bytes()
    heron.write_bytes(texts[1])
    egret.write_bytes(texts[0])
    assert repaired(folder).is_whole
    assert (heron.read_bytes(), egret.read_bytes()) == texts


def test_from_the_last_backup_and_what_was_in_its_place_is_kept(folder, originals, tmp_path):
    backed_up(folder, tmp_path / "backups")
    heron = originals[b"Herons stand in the reeds.\n"]
    heron.write_bytes(b"Storks stand in the reeds.\n")
    verified = repaired(folder, tmp_path / "backups")
    assert verified.is_whole, verified
    assert heron.read_bytes() == b"Herons stand in the reeds.\n"
    [kept] = (folder / "store-lost").glob("*.changed")
    assert kept.read_bytes() == b"Storks stand in the reeds.\n"


def test_what_is_nowhere_is_named_as_lost_and_by_the_next_start(
    folder, originals, open_engine, make_api
):
    originals[b"Herons stand in the reeds.\n"].unlink()
    verified = repaired(folder)
    assert not verified.is_whole
    assert [line for line in verified.lost if "heron" in line]
    with open_engine(folder) as engine:
        status = make_api(engine).get("/status").json()
        [issue] = status["health"]["issues"]
        assert issue["code"] == "originals_missing"
        assert "heron" in issue["message"]
        assert status["check"]["findings"] == 1


def test_the_text_of_a_note_comes_from_the_last_backup(folder, tmp_path, open_engine, make_api):
    backed_up(folder, tmp_path / "backups")
    data = (folder / "store.db").read_bytes()
    assert b"Otters swim." in data
    (folder / "store.db").write_bytes(data.replace(b"Otters swim.", b"Otters swam."))
    verified = repaired(folder, tmp_path / "backups")
    assert any("last backup" in line for line in verified.repaired), verified
    with open_engine(folder) as engine:
        assert make_api(engine).document(3)["text"] == "Otters swim."
