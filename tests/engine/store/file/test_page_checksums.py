"""Checksums on the pages of the database: written for every page, compared at every read."""

import os
import shutil
from collections import namedtuple

import apsw
import pytest

from kb.engine.errors import StorageFailed
from kb.engine.store.file import page_checksums
from kb.engine.store.file.database import Database
from kb.engine.verify.quick import quick_check

PAGE = 4096
ROWS = 400


def text(number):
    return f"text {number} " * 50


def fill(connection):
    connection.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)")
    with connection:
        rows = [(n, text(n)) for n in range(ROWS)]
        connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)


@pytest.fixture
def old(tmp_path):
    """A store of before: made without checksums, its last rows still in the log."""
    path = tmp_path / "store.db"
    connection = apsw.Connection(str(path), vfs="unix")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    fill(connection)
    connection.close()
    return path


def whole(path):
    """Whether every row is there and every page has its checksum."""
    database = Database(path)
    rows = database.read("SELECT id, text FROM texts ORDER BY id")
    assert rows == [(n, text(n)) for n in range(ROWS)]
    assert database.read("PRAGMA auto_vacuum") == [(2,)]
    database.checkpoint()
    content = path.read_bytes()
    of_pages = [content[at : at + PAGE] for at in range(0, len(content), PAGE)]
    checked = [database.read("SELECT verify_checksum(:page)", page=page) for page in of_pages]
    database.close()
    return len(of_pages) > 10 and checked == [[(1,)]] * len(of_pages)


def change_a_byte(path):
    """Of one of the texts; where it is."""
    content = bytearray(path.read_bytes())
    at = content.index(b"text 123 text 123")
    content[at] ^= 1
    path.write_bytes(content)
    return at


def test_every_page_of_a_new_store_has_its_checksum(tmp_path, caplog):
    path = tmp_path / "store.db"
    with caplog.at_level("INFO"):
        database = Database(path)
    assert "written anew" not in caplog.text
    with database.transaction() as query:
        query("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)")
        rows = [{"n": n, "text": text(n)} for n in range(ROWS)]
        query.many("INSERT INTO texts VALUES (:n, :text)", rows)
    assert database.without_checksums is None
    database.close()
    assert whole(path)


def test_a_page_that_changed_on_the_disk_is_an_error_and_not_another_text(old):
    Database(old).close()
    change_a_byte(old)
    database = Database(old)
    with pytest.raises(StorageFailed):
        database.read("SELECT text FROM texts WHERE id = 123")
    assert database.read("SELECT id FROM texts WHERE id = 5") == [(5,)]
    database.close()


def test_an_older_store_is_written_anew_once(old, caplog):
    with caplog.at_level("INFO"):
        assert whole(old)
        assert "have checksums after" in caplog.text
        caplog.clear()
        assert whole(old)
        assert "have checksums after" not in caplog.text
    assert [path.name for path in old.parent.iterdir()] == ["store.db"]


def killed(act):
    """Do something in a process that ends without closing anything; its exit code."""
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("steps", [1, 500, 1500])
def test_a_kill_meanwhile_leaves_the_store_as_it_was(old, steps):
    """SQLite counts about 2,000 steps on the way."""

    def convert():
        connection = page_checksums.connect(old, apsw.SQLITE_OPEN_READWRITE)
        connection.set_progress_handler(lambda: os._exit(9), steps)
        page_checksums.provide_checksums(connection, old)

    assert killed(convert) == 9
    assert whole(old)
    assert [path.name for path in old.parent.iterdir()] == ["store.db"]


def test_a_kill_before_the_log_is_in_the_file_loses_nothing(old, monkeypatch):
    monkeypatch.setattr(page_checksums, "_VACUUM", page_checksums._VACUUM[:-1])
    connections = []

    def convert():
        connections.append(page_checksums.connect(old, apsw.SQLITE_OPEN_READWRITE))
        connections[0].execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        page_checksums.provide_checksums(connections[0], old)

    assert killed(convert) == 0
    assert old.with_name("store.db-wal").stat().st_size > PAGE * 10
    assert whole(old)


def test_a_page_that_was_half_written_when_the_power_went_is_taken_from_the_log(old):
    """The log is emptied into the file page by page, and is whole until all of them are there."""
    Database(old).close()
    before = old.read_bytes()

    def change():
        database = Database(old)
        with database.transaction() as query:
            query("UPDATE texts SET text = replace(text, 'text', 'word')")

    assert killed(change) == 0
    content = bytearray(before)
    at = content.index(b"text 123 text 123") // PAGE * PAGE
    content[at : at + 512] = bytes(512)
    old.write_bytes(content)
    database = Database(old)
    quick_check(database)
    assert database.damage is None
    assert database.bad_pages(1, database.page_count()) == []
    words = database.read("SELECT text FROM texts WHERE id = 123")
    assert words == [(text(123).replace("text", "word"),)]
    database.close()
    assert old.read_bytes()[at : at + 512] != bytes(512)


def test_a_page_that_the_log_does_not_have_is_damaged(old):
    Database(old).close()
    at = change_a_byte(old)
    database = Database(old)
    quick_check(database)
    assert database.damage is not None
    assert database.bad_pages(1, database.page_count()) == [at // PAGE + 1]
    database.close()


def test_a_store_that_cannot_be_written_anew_goes_on_without_and_says_so(old, monkeypatch):
    usage = namedtuple("Usage", "free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage(PAGE))
        database = Database(old)
    assert "0 MB are free" in database.without_checksums
    assert database.read("SELECT count(*) FROM texts") == [(ROWS,)]
    database.close()
    assert whole(old)


def test_a_store_that_is_damaged_already_opens_and_is_left_as_it_is(old):
    content = bytearray(old.read_bytes())
    content[PAGE * 5 : PAGE * 5 + 8] = b"\xff" * 8
    old.write_bytes(content)
    for _ in range(2):  # found, and then remembered
        database = Database(old)
        assert "malformed" in database.damage.why
        assert database.read("SELECT id FROM texts WHERE id = 1") == [(1,)]
        database.close()
        assert old.read_bytes() == content


def test_status_says_that_there_are_no_checksums(api, monkeypatch):
    assert api.get("/status").json()["health"] == {"status": "healthy", "issues": []}
    monkeypatch.setattr(api.engine.store.database, "without_checksums", "the disk is small")
    health = api.get("/status").json()["health"]
    assert health["status"] == "degraded"
    [issue] = health["issues"]
    assert issue["code"] == "checksums_missing"
    assert "the disk is small" in issue["message"]
