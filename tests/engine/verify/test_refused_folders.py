"""A folder that the engine would not start on is not checked, repaired or backed up either."""

import shutil
import subprocess
import sys

import pytest

from kb.engine.errors import NothingToVerify, StartupError
from kb.engine.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest, folder_of


@pytest.fixture
def folder(open_engine, make_api, tmp_path):
    with open_engine(tmp_path / "data") as engine:
        make_api(engine).add_file(b"Herons stand in the reeds.\n", "heron.txt")
    (tmp_path / "data/store.lock").unlink()
    return tmp_path / "data"


@pytest.fixture
def foreign(open_engine, folder, tmp_path):
    with open_engine(tmp_path / "other"):
        pass
    shutil.copyfile(tmp_path / "other/store.db", folder / "store.db")
    return folder


def verify(path, repair):
    folder = folder_of(path)
    try:
        AtRest(folder, terms, TERMS_VERSION, lambda _: None).verify(repair)
    finally:
        folder.release()


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def backed_up(folder, target):
    command = [sys.executable, "-m", "kb.engine.backup", target, "--data-dir", folder]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("repair", [False, True])
def test_a_database_that_is_empty_or_missing_beside_originals(folder, repair):
    for make_it_so, word in ((lambda path: path.write_bytes(b""), "empty"), (_unlink, "missing")):
        make_it_so(folder / "store.db")
        before = contents(folder)
        with pytest.raises(StartupError, match=f"is {word}, and store-files beside it") as caught:
            verify(folder, repair)
        assert "`kb restore`" in caught.value.message
        assert contents(folder) == before


def test_an_empty_database_alone_is_nothing_to_verify(tmp_path):
    (tmp_path / "store.db").touch()
    with pytest.raises(NothingToVerify):
        verify(tmp_path, repair=True)
    assert (tmp_path / "store.db").stat().st_size == 0


@pytest.mark.parametrize("repair", [False, True])
def test_a_database_of_another_store(foreign, repair):
    before = contents(foreign / "store-files")
    with pytest.raises(StartupError, match="is of another store"):
        verify(foreign, repair)
    assert contents(foreign / "store-files") == before


def test_no_backup_of_a_database_of_another_store_or_of_none(foreign, tmp_path):
    result = backed_up(foreign, tmp_path / "backups")
    assert result.returncode == 1
    assert "is of another store" in result.stdout
    assert list((tmp_path / "backups").iterdir()) == []
    (foreign / "store.db").write_bytes(b"")
    assert "is empty, and store-files beside it" in backed_up(foreign, tmp_path / "backups").stdout


def _unlink(path):
    path.unlink()
