"""A folder that the engine would not start on is not checked, repaired or backed up either."""

import shutil
import subprocess
import sys

import pytest

from kb.engine.errors import NothingToVerify, StartupError
from kb.engine.store.file.damage import Damage, note
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest, folder_of


@pytest.fixture
def folder(open_api, tmp_path):
    with open_api(tmp_path / "data") as api:
        api.add_file(b"Herons stand in the reeds.\n", "heron.txt")
    (tmp_path / "data/store.lock").unlink()
    return tmp_path / "data"


@pytest.fixture
def foreign(open_engine, folder, tmp_path):
    with open_engine(tmp_path / "other"):
        pass
    shutil.copyfile(tmp_path / "other/store.db", folder / "store.db")
    return folder


def verify(path, repair):
    with folder_of(path, repair) as folder:
        AtRest(folder, terms, TERMS_VERSION, lambda _: None).verify(repair)


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def backed_up(folder, target, *options):
    command = [sys.executable, "-m", "kb.engine.backup", target, "--data-dir", folder, *options]
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
def test_a_database_that_is_a_symbolic_link(folder, tmp_path, open_engine, repair):
    (folder / "store.db").rename(tmp_path / "elsewhere.db")
    (folder / "store.db").symlink_to(tmp_path / "elsewhere.db")
    before = contents(folder)
    with pytest.raises(StartupError, match="is a symbolic link") as refused:
        verify(folder, repair)
    backup = backed_up(folder, tmp_path / "backups")
    assert (backup.returncode, refused.value.message in backup.stdout) == (1, True)
    assert contents(folder) == before
    with pytest.raises(StartupError) as caught, open_engine(folder):
        pass
    assert caught.value.message == refused.value.message


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


def test_no_backup_of_a_store_that_is_older_or_damaged_and_earlier_ones_stay(
    folder, open_api, tmp_path
):
    older = (folder / "store.db").read_bytes()
    with open_api(folder) as api:
        api.add_note("What the older one lacks.")
    newer = (folder / "store.db").read_bytes()
    assert backed_up(folder, tmp_path / "backups").returncode == 0
    [shelf] = (tmp_path / "backups").glob("kb-*")
    [good] = (each.name for each in shelf.glob("20*"))
    before = contents(shelf)
    (folder / "store.db").write_bytes(older)
    result = backed_up(folder, tmp_path / "backups", "--keep", "1")
    assert result.returncode == 1
    assert "store.db is older than store-files" in result.stdout
    assert contents(shelf) == before
    changed = newer[:-3000] + b"changed" + newer[-2993:]
    (folder / "store.db").write_bytes(changed)
    result = backed_up(folder, tmp_path / "backups", "--keep", "1")
    assert result.returncode == 1
    assert "a page of it has other bytes than were written" in result.stdout
    assert [each.name for each in shelf.glob("20*")] == [good]
    (folder / "store.db").write_bytes(newer)
    note(folder / "store.db", Damage.of_now("a page of it has other bytes than were written"))
    result = backed_up(folder, tmp_path / "backups", "--keep", "1")
    assert result.returncode == 1
    assert "store_damaged" in result.stdout
    assert "`kb verify --repair`" in result.stdout
    assert contents(shelf) == before


def _unlink(path):
    path.unlink()
