"""A folder that the engine would not start on is not checked, repaired or backed up either."""

import shutil
import sys

import pytest

from kb.engine.errors import NothingToVerify, StartupError
from kb.engine.store.file.damage import Damage, note
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest, folder_of
from programs import ended


@pytest.fixture(scope="module")
def filled(open_api, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled") / "data"
    with open_api(folder) as api:
        api.add_file(b"Herons stand in the reeds.\n", "heron.txt")
    (folder / "store.lock").unlink()
    return folder


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
    backup = (sys.executable, "-m", "kb.engine.backup")
    return ended(*backup, target, "--data-dir", folder, *options)


def no_backup(folder, target, *told):
    """A backup in place of earlier ones is refused, with the reason."""
    result = backed_up(folder, target, "--keep", "1")
    assert (result.returncode, [each for each in told if each not in result.stdout]) == (1, [])


@pytest.mark.parametrize("repair", [False, True])
def test_a_database_that_is_empty_or_missing_beside_originals(folder, repair):
    store = folder / "store.db"
    for make_it_so, word in ((lambda: store.write_bytes(b""), "empty"), (store.unlink, "missing")):
        make_it_so()
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
    no_backup(foreign, tmp_path / "backups", "is of another store")
    assert list((tmp_path / "backups").iterdir()) == []
    (foreign / "store.db").write_bytes(b"")
    no_backup(foreign, tmp_path / "backups", "is empty, and store-files beside it")


def test_no_backup_of_an_older_or_damaged_store_and_earlier_ones_stay(folder, open_api, tmp_path):
    older = (folder / "store.db").read_bytes()
    with open_api(folder) as api:
        api.add_note("What the older one lacks.")
    newer = (folder / "store.db").read_bytes()
    assert backed_up(folder, tmp_path / "backups").returncode == 0
    [shelf] = (tmp_path / "backups").glob("kb-*")
    [good] = (each.name for each in shelf.glob("20*"))
    before = contents(shelf)
    (folder / "store.db").write_bytes(older)
    no_backup(folder, tmp_path / "backups", "store.db is older than store-files")
    assert contents(shelf) == before
    changed = "a page of it has other bytes than were written"
    (folder / "store.db").write_bytes(newer[:-3000] + b"changed" + newer[-2993:])
    no_backup(folder, tmp_path / "backups", changed)
    assert [each.name for each in shelf.glob("20*")] == [good]
    (folder / "store.db").write_bytes(newer)
    note(folder / "store.db", Damage.of_now(changed))
    no_backup(folder, tmp_path / "backups", "store_damaged", "`kb verify --repair`")
    assert contents(shelf) == before
