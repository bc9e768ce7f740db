"""Transactions: whole, durable, committed together where many write at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest
from raising import raising

from kb.engine.errors import StartupError, StorageFailed, StorageFull, StoreDamaged
from kb.engine.store.file.database import READERS, Database


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "test.db")
    with database.transaction() as query:
        query("CREATE TABLE things (name TEXT)")
    yield database
    database.close()


def put(database, name, *then):
    with database.transaction() as query:
        query("INSERT INTO things VALUES (:name)", name=name)
        for statement in then:
            query(statement)


def is_on_disk(tmp_path, word):
    return any(word in path.read_bytes() for path in tmp_path.iterdir())


def names(database):
    with database.reading() as query:
        return sorted(name for (name,) in query("SELECT name FROM things"))


class Writer:
    """The writing connection, with a say in what happens at chosen statements."""

    def __init__(self, database, failing=None):
        self._real = database._writer
        self.commits = 0
        self.failing = failing or {}
        database._writer = self

    def execute(self, sql, *values):
        self.commits += sql == "COMMIT"
        for start, error in self.failing.items():
            if sql.startswith(start):
                if isinstance(error, apsw.FullError):
                    self._real.execute("ROLLBACK")  # as SQLite does when a disk is full
                raise error
        return self._real.execute(sql, *values)

    def __getattr__(self, name):
        return getattr(self._real, name)


def crowd(database, *actions):
    """Run the actions so that they all wait in line behind an open transaction."""
    first, go = threading.Event(), threading.Event()

    def hold():
        with database.transaction() as query:
            query("INSERT INTO things VALUES ('first')")
            first.set()
            assert go.wait(60)

    with ThreadPoolExecutor(len(actions) + 1) as pool:
        holder = pool.submit(hold)
        assert first.wait(60)
        waiting = [pool.submit(action) for action in actions]
        while database._waiting < len(actions):
            threading.Event().wait(0.001)
        go.set()
        return [holder.exception(), *(future.exception() for future in waiting)]


def test_what_is_acknowledged_can_be_read_by_anyone(database, tmp_path):
    put(database, "one")
    other = apsw.Connection(str(tmp_path / "test.db"))
    assert other.execute("SELECT name FROM things").fetchall() == [("one",)]
    other.close()


def test_a_failing_transaction_leaves_nothing(database):
    def fail():
        with database.transaction() as query:
            query("INSERT INTO things VALUES ('half')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert names(database) == []
    put(database, "next")
    assert names(database) == ["next"]


def test_those_who_wait_share_one_commit(database):
    writer = Writer(database)
    results = crowd(database, *(lambda n=n: put(database, f"thing {n}") for n in range(9)))
    assert results == [None] * 10
    assert writer.commits == 1
    assert len(names(database)) == 10


def test_one_that_fails_does_not_harm_the_others_of_its_group(database):
    def fail():
        with database.transaction() as query:
            query("INSERT INTO things VALUES ('wrong')")
            raise ValueError("mine alone")

    def broken():
        put(database, "wrong", "INSERT INTO nowhere VALUES (1)")

    good = [lambda n=n: put(database, f"good {n}") for n in range(3)]
    results = crowd(database, good[0], fail, good[1], broken, good[2])
    failed = sorted(type(result).__name__ for result in results if result)
    assert failed == ["SQLError", "ValueError"]
    assert names(database) == ["first", "good 0", "good 1", "good 2"]


def test_every_acknowledged_row_of_many_threads_is_there(database):
    acknowledged, lock = [], threading.Lock()

    def write(thread):
        for number in range(25):
            name = f"{thread:02}/{number:02}"
            try:
                with database.transaction() as query:
                    query("INSERT INTO things VALUES (:name)", name=name)
                    if number % 7 == thread % 7:
                        raise ValueError(name)
            except ValueError:
                continue
            with lock:
                acknowledged.append(name)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    assert len(acknowledged) > 300
    assert names(database) == sorted(acknowledged)


def test_readers_see_all_of_a_transaction_or_nothing(database):
    stop = threading.Event()

    def write():
        for number in range(100):
            with database.transaction() as query:
                for _ in range(10):
                    query("INSERT INTO things VALUES (:name)", name=str(number))
        stop.set()

    def read():
        seen = 0
        while not stop.is_set():
            with database.reading() as query:
                [(first,)] = query("SELECT count(*) FROM things")
                [(second,)] = query("SELECT count(*) FROM things")
            assert first == second
            assert first % 10 == 0
            assert first >= seen
            seen = first

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        pool.submit(write).result()
        assert [reader.result() for reader in readers] == [None] * 3


def test_a_full_disk_at_the_commit_fails_the_whole_group_and_later_writes_work(database):
    writer = Writer(database, {"COMMIT": apsw.FullError("disk is full")})
    results = crowd(database, lambda: put(database, "a"), lambda: put(database, "b"))
    assert [type(result) for result in results] == [StorageFull] * 3
    assert names(database) == []
    writer.failing = {}
    put(database, "after")
    assert names(database) == ["after"]
    assert database.failure is None


def test_a_full_disk_in_the_middle_fails_those_who_had_written_before(database):
    more = "INSERT INTO things VALUES ('too much')"
    Writer(database, {more: apsw.FullError("disk is full")})
    results = crowd(database, lambda: put(database, "before", more))
    assert [type(result) for result in results] == [StorageFull] * 2
    assert names(database) == []
    put(database, "after")
    assert names(database) == ["after"]


def test_a_disk_that_fails_to_sync_is_not_trusted_again_but_still_read(database):
    put(database, "before")
    writer = Writer(database, {"COMMIT": apsw.IOError("sync failed")})
    with pytest.raises(StorageFailed, match="restart"):
        put(database, "lost")
    writer.failing = {}
    with pytest.raises(StorageFailed):
        put(database, "refused")
    assert "sync failed" in database.failure.message
    assert names(database) == ["before"]


def test_a_disk_error_within_a_transaction_is_named_and_undone(database):
    more = "INSERT INTO things VALUES ('x')"
    Writer(database, {more: apsw.IOError("read failed")})
    with pytest.raises(StorageFailed):
        put(database, "y", more)
    assert names(database) == []


def test_a_reader_that_cannot_be_opened_is_not_missing_later(database, monkeypatch):
    """Each failure to connect would otherwise take one place in the pool, until none is left."""

    monkeypatch.setattr(database, "_open", raising(apsw.CantOpenError("too many open files")))
    with database.reading():
        for _ in range(2 * READERS):
            with pytest.raises(StorageFailed), database.reading():
                pass
    monkeypatch.undo()
    put(database, "one")
    assert names(database) == ["one"]


def test_emptying_the_log_leaves_no_deleted_text_on_disk(database, tmp_path):
    put(database, "zugzwang")
    with database.transaction() as query:
        query("DELETE FROM things")
    database.checkpoint()
    assert not is_on_disk(tmp_path, b"zugzwang")


def test_a_log_that_a_reader_holds_is_emptied_later(database, tmp_path):
    put(database, "zugzwang")
    with database.reading() as query:
        query("SELECT * FROM things")
        with database.transaction() as write:
            write("DELETE FROM things")
        database.checkpoint()
        assert is_on_disk(tmp_path, b"zugzwang")
    database.tidy()
    assert not is_on_disk(tmp_path, b"zugzwang")


def test_a_log_that_a_group_holds_is_emptied_later(database, tmp_path):
    put(database, "zugzwang")

    def delete():
        with database.transaction() as query:
            query("DELETE FROM things WHERE name = 'zugzwang'")
        database.checkpoint()

    assert crowd(database, delete, lambda: put(database, "other")) == [None] * 3
    database.tidy()
    assert not is_on_disk(tmp_path, b"zugzwang")


def test_a_log_that_a_full_disk_holds_is_emptied_later(database, tmp_path):
    put(database, "otter")
    writer = Writer(database, {"PRAGMA wal_checkpoint": apsw.CantOpenError("no room")})
    database.checkpoint()
    assert (tmp_path / "test.db-wal").stat().st_size > 0
    writer.failing = {}
    database.tidy()
    assert (tmp_path / "test.db-wal").stat().st_size == 0


def test_a_turn_that_cannot_be_undone_takes_its_whole_group_along(database):
    writer = Writer(database, {"ROLLBACK TO": apsw.IOError("broken")})
    with pytest.raises(apsw.SQLError):
        put(database, "half", "INSERT INTO nowhere VALUES (1)")
    writer.failing = {}
    put(database, "otter")
    assert names(database) == ["otter"]


class TestADamagedDatabase:
    """What SQLite says of wrong bytes, wherever it says it, ends all writing."""

    @pytest.fixture(
        params=[apsw.CorruptError("malformed"), apsw.NotADBError("not a database"), 8202]
    )
    def error(self, request):
        if request.param != apsw.SQLITE_IOERR_DATA:
            return request.param
        wrong_checksum = apsw.IOError("disk I/O error")
        wrong_checksum.extendedresult = apsw.SQLITE_IOERR_DATA
        return wrong_checksum

    @pytest.mark.parametrize("where", ["INSERT", "COMMIT", "RELEASE", "BEGIN IMMEDIATE"])
    def test_takes_no_further_write_and_is_read_on(self, database, error, where):
        put(database, "before")
        writer = Writer(database, {where: error})
        with pytest.raises(StoreDamaged, match="kb verify"):
            put(database, "lost")
        writer.failing = {}
        with pytest.raises(StoreDamaged):
            put(database, "refused")
        assert database.failure.code == "store_damaged"
        assert names(database) == ["before"]

    def test_is_noticed_by_whoever_reads(self, database, error, monkeypatch):
        put(database, "before")
        with monkeypatch.context() as patch:
            patch.setattr("kb.engine.store.file.database.Query.__call__", raising(error))
            with pytest.raises(StoreDamaged):
                names(database)
        with pytest.raises(StoreDamaged):
            put(database, "refused")
        assert names(database) == ["before"]

    def test_is_noticed_when_the_log_is_emptied(self, database, error):
        put(database, "before")
        Writer(database, {"PRAGMA wal_checkpoint": error})
        database.checkpoint()
        assert database.failure.code == "store_damaged"

    def test_is_known_to_the_next_start(self, database, tmp_path):
        put(database, "before")
        database.note_damage("page 7 is wrong")
        again = Database(tmp_path / "test.db")
        assert "page 7 is wrong" in again.failure.message
        assert again.damage == database.damage
        assert names(again) == ["before"]
        again.close()

    def test_keeps_its_log_as_it_is(self, tmp_path):
        database = Database(tmp_path / "other.db")
        with database.transaction() as query:
            query("CREATE TABLE things (name TEXT)")
        database.note_damage("page 7 is wrong")
        log = (tmp_path / "other.db-wal").read_bytes()
        database.close()
        assert (tmp_path / "other.db-wal").read_bytes() == log

    def test_commits_nothing_of_others_who_wait(self, database):
        def find():
            with database.transaction() as query:
                query("INSERT INTO things VALUES ('half')")
                database.note_damage("page 7 is wrong")

        results = crowd(database, find)
        assert [type(result) for result in results] == [StoreDamaged] * 2
        assert names(database) == []

    def test_is_known_even_where_the_note_cannot_be_read(self, database, tmp_path):
        (tmp_path / "test-damage.json").write_text("{")
        again = Database(tmp_path / "test.db")
        assert again.failure.code == "store_damaged"
        again.close()


def test_an_error_of_the_disk_is_no_damage(database, tmp_path):
    Writer(database, {"INSERT": apsw.IOError("read failed")})
    with pytest.raises(StorageFailed) as caught:
        put(database, "lost")
    assert caught.value.code == "storage_failed"
    assert not (tmp_path / "test-damage.json").exists()


def test_what_is_no_database_is_refused_in_one_line(tmp_path):
    path = tmp_path / "store.db"
    path.write_bytes(b"This is not a database. " * 100)
    with pytest.raises(StartupError, match=r"store\.db") as caught:
        Database(path)
    assert "\n" not in caught.value.message
    assert "kb verify" in caught.value.message
