"""The database: one connection that writes, a few that read, and the transactions on them."""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue
from typing import Any

import apsw

from kb.engine import errors
from kb.engine.store.file.damage import Damage, in_words, is_damage, note, noted, renew
from kb.engine.store.file.page_checksums import INCREMENTAL, bad_pages, connect, provide_checksums
from kb.engine.store.file.reserve import Reserve
from kb.engine.store.file.stamp import Stamp

logger = logging.getLogger(__name__)

# SQLite 3.7.0 to 3.51.2 can corrupt a database when its write-ahead log is reset.
OLDEST_SQLITE = 3_051_003
READERS = 6
SEARCHERS = 6  # readers for searches, which have no other: whoever lists never waits for them
GROUP_SIZE = 64

Row = tuple[Any, ...]

_STEPS = 50_000  # of SQLite between two looks at the clock, some milliseconds
_BUSY_MILLISECONDS = 5000
_CHECKPOINT_MILLISECONDS = 200
_LOG_PAGES = 1000
_COUNT = "UPDATE totals SET value = value + 1 WHERE name = 'commits' RETURNING value"
_FREE_PAGES = 64
_PAGES_AT_ONCE = 128
# The file or the disk is in the way, or whoever else holds them: nobody asked wrongly.
_TROUBLE = (
    apsw.FullError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.ReadOnlyError,
    apsw.PermissionsError,
    apsw.BusyError,
)
_NO_ROOM = {apsw.SQLITE_IOERR_SHMSIZE}
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -4000",
)
_WRITER_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA journal_size_limit = 16777216",
)


class Query:
    """How SQL is asked inside `reading()` and `transaction()`: a statement and its named values."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, /, **values: Any) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def many(self, sql: str, rows: Iterable[dict[str, Any]]) -> None:
        """The same statement once per row."""
        self._connection.executemany(sql, rows).fetchall()

    def each(self, sql: str, /, **values: Any) -> Iterator[Row]:
        """The rows one by one, where all of them would be too many."""
        yield from self._connection.execute(sql, values)

    def inserted_id(self) -> int:
        return self._connection.last_insert_rowid()


class TimedQuery(Query):
    """The same, with a time by which it has to end. Raises SearchTimedOut after that."""

    def end_by(self, moment: float) -> None:
        """`moment` is one of time.monotonic()."""
        self._connection.set_progress_handler(lambda: time.monotonic() >= moment, _STEPS)

    def take_your_time(self) -> None:
        self._connection.set_progress_handler(None)

    def __call__(self, sql: str, /, **values: Any) -> list[Row]:
        try:
            return super().__call__(sql, **values)
        except apsw.InterruptError as error:
            raise errors.SearchTimedOut("The search took too long") from error


class _Group:
    """Transactions that are committed together, and how that went."""

    def __init__(self, changes: int) -> None:
        self.changes_before = changes  # of rows, ever
        self.size = 0
        self.ended = threading.Event()
        self.error: errors.KbError | None = None


class Database:
    """SQLite behind two doors: `reading()` and `transaction()`.

    Readers never wait for a writer (WAL). Writers take turns on one connection; whoever finishes
    while others wait leaves the commit to the last of them, so that a crowd shares one fsync.
    Nobody returns from `transaction()` before the commit is on disk. Once the file is known to be
    damaged, in this run or an earlier one, there are no more transactions, and who reads gets what
    can be read. `stamp` is told the number of each commit, once it follows.
    """

    def __init__(self, path: Path, reserve_bytes: int = 0, stamp: Stamp | None = None) -> None:
        if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE:
            raise errors.StorageFailed(
                f"SQLite {apsw.sqlite_lib_version()} is too old to be trusted"
            )
        self._path = path
        self.reserve = Reserve(path.with_name("store-reserve"), reserve_bytes)
        try:
            self._writer = self._first_connection()
            self._identity = _identity(path)
            self._damage = noted(path)
            self.without_checksums = self._provide_checksums()  # why, if so
            _set_up(self._writer, (*_WRITER_PRAGMAS, *_PRAGMAS))
            # One of each is opened now: on a full disk a first connection could not even read.
            self._readers = self._pool(READERS)
            self._searchers = self._pool(SEARCHERS)
        except apsw.Error as error:
            raise _unusable(path, error) from error
        self._turn = threading.Lock()
        self._line = threading.Lock()
        self._waiting = 0
        self._group: _Group | None = None
        self._failure: str | None = None
        self._commits = 0
        self._stamp = stamp
        self._trouble: errors.KbError | None = None  # of the transaction at hand
        self._log_to_empty = False
        self._log_pages = 0
        self._log_was_left = True  # until it has been emptied once
        self._writer.set_wal_hook(self._note_log_pages)
        self.reserve.make()

    @property
    def failure(self) -> errors.StorageFailed | None:
        """Why nothing is written any more, if so."""
        failure = self._failure or self._gone()
        if failure is not None:
            return errors.StorageFailed(failure)
        return None if self._damage is None else self._damage.error()

    @property
    def damage(self) -> Damage | None:
        """What is wrong with the file, if something is known to be."""
        return self._damage

    def distrust(self, why: str) -> None:
        """Write nothing in this run; the next start finds out by itself how it is then."""
        if self._damage is None:
            self._damage = Damage.of_now(why)
            logger.critical("no writes: %s", why)

    def note_damage(self, why: str) -> None:
        """Write nothing more, in this run and later ones, until it has been repaired."""
        if self._damage is None:
            self._damage = Damage.of_now(why)
            note(self._path, self._damage)
            logger.critical("the database is damaged, no more writes: %s", why)

    @property
    def commits(self) -> int:
        """The number of commits. What was read at the same number need not be read again."""
        return self._commits

    @contextmanager
    def reading(self) -> Iterator[Query]:
        """One consistent look at the data, however many queries it takes."""
        with self._looking(self._readers) as connection:
            yield Query(connection)

    @contextmanager
    def searching(self) -> Iterator[TimedQuery]:
        """The same for a search, which may be told to end."""
        with self._looking(self._searchers) as connection:
            query = TimedQuery(connection)
            try:
                yield query
            finally:
                query.take_your_time()

    @contextmanager
    def _looking(self, pool: "LifoQueue[apsw.Connection | None]") -> Iterator[apsw.Connection]:
        with self._lent(pool) as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # some errors of the disk end it
                    connection.execute("ROLLBACK")

    @contextmanager
    def _lent(self, pool: "LifoQueue[apsw.Connection | None]") -> Iterator[apsw.Connection]:
        """One that reads; after trouble with it the next gets another."""
        connection = pool.get()
        try:
            connection = connection or self._reader()
            yield connection
        except _TROUBLE as error:
            _drop(connection)
            connection = None
            raise self._unreadable(error) from error
        finally:
            pool.put(connection)

    def read(self, sql: str, /, **values: Any) -> list[Row]:
        """One statement, which sees one moment by itself."""
        with self._lent(self._readers) as connection:
            return Query(connection)(sql, **values)

    def read_afresh(self, sql: str) -> list[Row]:
        """The same, by a connection of its own that remembers nothing of before."""
        connection = None
        try:
            connection = self._reader()
            return Query(connection)(sql)
        except _TROUBLE as error:
            raise self._unreadable(error) from error
        finally:
            _drop(connection)

    def read_if_whole(self, sql: str, /, **values: Any) -> list[Row]:
        """The same, for what can be done without: nothing, where it cannot be read for damage."""
        try:
            return self.read(sql, **values)
        except errors.StoreDamaged:
            return []

    def page_count(self) -> int:
        """How many pages the database has, as far as that can be read."""
        rows = self.read_if_whole("SELECT * FROM pragma_page_count")
        return int(rows[0][0]) if rows else 0

    def bad_pages(self, first: int, last: int) -> list[int]:
        """The pages in this range whose checksum does not fit their bytes in the file.

        Each is read from the file, also one that is in memory already. One that is being written
        at this moment may be among them. As long as the log of an earlier run is not in the file,
        nothing is told: a crash may have left there what only the log puts right.
        """
        if self._log_was_left and self._damage is None:
            self.checkpoint()
            if self._log_was_left:
                return []
        with self._lent(self._readers) as connection:
            return bad_pages(connection, first, last)

    @contextmanager
    def transaction(self, *, adds: bool = True) -> Iterator[Query]:
        """All or nothing, durable when the block has been left.

        What `adds` nothing, such as a deletion, may be done while the reserve is lacking.
        """
        refusal = self.reserve.refusal() if adds else None
        if refusal is not None:
            raise refusal
        group = self._take_turn()
        succeeded = False
        try:
            try:
                self._writer.execute("SAVEPOINT turn")
                yield Query(self._writer)
                succeeded = True
            except _TROUBLE as error:
                raise self._unwritable(error) from error
            finally:
                self._end_savepoint(group, succeeded)
        finally:
            group.size += succeeded
            self._end_turn(group)
        if group.error:
            raise group.error

    def checkpoint(self) -> None:
        """Move what is in the log into the database and empty the log.

        Deleted text is overwritten in the database at once, but lingers in the log until then.
        Where a reader or a full disk is in the way it is only noted, and `tidy` tries again: what
        was committed is in the log and safe, so its caller must not be told that it failed.
        """
        with self._turn:
            self._log_to_empty = True
            if self._group is None and self._failure is None and self._damage is None:
                self._empty_log()

    def empty_log_soon(self) -> None:
        """What was changed need not linger in the log, but nobody has to wait for that."""
        self._log_to_empty = True

    def tidy(self) -> None:
        """Do what had to be put off."""
        if self._log_to_empty or self._log_was_left:
            self.checkpoint()
        self.reserve.make()

    def shrink(self) -> bool:
        """Give some pages that nothing uses back to the disk; whether there were any.

        A few stay, since the next change needs some. They leave the file when the log is emptied.
        """
        [(vacuum, pages, free)] = self.read(
            "SELECT auto_vacuum, page_count, freelist_count "
            "FROM pragma_auto_vacuum, pragma_page_count, pragma_freelist_count"
        )
        if vacuum != INCREMENTAL or free <= max(_FREE_PAGES, pages // 50):
            return False
        with self.transaction(adds=False) as query:
            query(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
        self.empty_log_soon()
        return True

    def make_room(self) -> bool:
        """For a deletion on a full disk; whether there is more of it now."""
        return self.reserve.give_up()

    def close(self) -> None:
        with self._turn:
            for pool in (self._readers, self._searchers):
                while not pool.empty():
                    connection = pool.get()
                    if connection:
                        self._close(connection)
            self._close(self._writer)
            if self._damage is not None and self._gone() is None:
                renew(self._path, self._damage)

    def _close(self, connection: apsw.Connection) -> None:
        """The last one empties the log into the file, unless that is to stay as it is."""
        if self._damage is not None:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        _drop(connection)

    def _gone(self) -> str | None:
        """Why writes would be lost, if so: the open file is no longer the one in the folder."""
        try:
            if _identity(self._path) == self._identity:
                return None
            why = "another file is in its place"
        except OSError as error:
            why = str(error.strerror)
        return (
            f"The engine's database is gone: {why}. Put the data folder (KB_DATA_DIR) back, or "
            "restore it from a backup and restart the engine"
        )

    def _first_connection(self) -> apsw.Connection:
        """On a full disk SQLite lacks room for its own files: then it gets that of the reserve."""
        connection = self._open(apsw.SQLITE_OPEN_CREATE)
        try:
            connection.execute("PRAGMA schema_version").fetchall()
        except apsw.Error as error:  # other trouble is told by what comes next
            if _is_full(error):
                self.reserve.give_up_everything()
        return connection

    def _renew_writer(self) -> None:
        """After an error of the disk: what the word index remembers in memory may be wrong then,
        and would be taken for damage of the file."""
        try:
            fresh = self._open()
            _set_up(fresh, (*_WRITER_PRAGMAS, *_PRAGMAS))
        except apsw.Error as error:
            self._fail(error)
            return
        fresh.set_wal_hook(self._note_log_pages)
        _drop(self._writer)
        self._writer = fresh

    def _pool(self, size: int) -> LifoQueue[apsw.Connection | None]:
        """Room for this many reading connections, one of which is open."""
        pool: LifoQueue[apsw.Connection | None] = LifoQueue()
        for _ in range(size - 1):
            pool.put(None)
        pool.put(self._reader())
        return pool

    def _reader(self) -> apsw.Connection:
        """One more, which must not see another database than the rest do."""
        gone = self._gone()
        if gone:
            raise errors.StorageFailed(gone)
        connection = self._open()
        _set_up(connection, _PRAGMAS)
        return connection

    def _provide_checksums(self) -> str | None:
        """A damaged file is left as it is, also where this finds that it is."""
        if self._damage is not None:
            return None
        try:
            return provide_checksums(self._writer, self._path)
        except apsw.CorruptError as error:
            self.note_damage(in_words(error))
            return None

    def _open(self, create: int = 0) -> apsw.Connection:
        """`create`: SQLite's flag for that, where there need not be a file yet."""
        connection = connect(self._path, apsw.SQLITE_OPEN_READWRITE | create)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        return connection

    def _take_turn(self) -> _Group:
        with self._line:
            self._waiting += 1
        self._turn.acquire()
        with self._line:
            self._waiting -= 1
        try:
            failure = self.failure
            if failure is not None:
                raise failure
            if self._group is None:
                self._writer.execute("BEGIN IMMEDIATE")
                self._group = _Group(self._writer.total_changes())
            return self._group
        except apsw.Error as error:
            self._turn.release()
            raise self._unwritable(error) from error
        except BaseException:
            self._turn.release()
            raise

    def _end_savepoint(self, group: _Group, succeeded: bool) -> None:
        """Keep or undo one turn. Where that cannot be, nothing of the whole group may be kept."""
        try:
            if not self._writer.in_transaction:  # some errors of the disk undo all of it
                group.error = self._trouble or errors.StorageFull()
                return
            if not succeeded:
                self._writer.execute("ROLLBACK TO turn")
            self._writer.execute("RELEASE turn")
        except apsw.Error as error:
            group.error = self._unwritable(error)
            self._roll_back()

    def _end_turn(self, group: _Group) -> None:
        """Commit for everyone in the group, or leave that to the next in line."""
        with self._line:
            others = self._waiting
        if others and group.size < GROUP_SIZE and group.error is None:
            self._turn.release()
            group.ended.wait()
            return
        try:
            if group.error is None:
                self._commit(group)
            elif isinstance(group.error, errors.StorageFull):
                self._log_to_empty = True  # what was not kept takes room in the log
            if self._trouble is not None:
                self._trouble = None
                self._renew_writer()
        finally:
            self._group = None
            self._turn.release()
            group.ended.set()

    def _commit(self, group: _Group) -> None:
        try:
            if self._damage is not None:  # found by one of the group, or by someone who read
                raise self._damage.error()
            number = self._count_commit(group)
            self._writer.execute("COMMIT" if group.size else "ROLLBACK")
        except errors.KbError as error:
            group.error = error
        except apsw.Error as error:
            group.error = self._not_committed(error)
        if group.error:
            self._roll_back()
            return
        self._commits += 1
        if self._stamp is not None and number is not None:
            self._stamp.count(number)
        if self._log_pages >= _LOG_PAGES:
            self._move_log("PASSIVE")

    def _count_commit(self, group: _Group) -> int | None:
        """Which one it is that changes something; one that changes nothing is not to write."""
        is_heard = self._stamp is not None and self._stamp.follows
        if not is_heard or self._writer.total_changes() == group.changes_before:
            return None
        try:
            [(number,)] = Query(self._writer)(_COUNT)
        except apsw.Error as error:  # nothing was committed yet, so nothing is in doubt
            raise self._unwritable(error) from error
        return int(number)

    def _not_committed(self, error: apsw.Error) -> errors.KbError:
        damaged = self._look_for_damage(error)
        if damaged is not None:
            return damaged
        if not _is_full(error):
            # After a failed fsync the kernel may have dropped the pages: trust nothing further.
            return self._fail(error)
        self._log_to_empty = True
        if not isinstance(error, apsw.FullError):
            # The log is whole, and only the room for its index was lacking: unless it is emptied
            # now, the next start would find in it what is said to have failed.
            self._roll_back()
            self._empty_log()
            if self._log_to_empty:
                return self._fail(error)
        return errors.StorageFull()

    def _fail(self, error: apsw.Error) -> errors.StorageFailed:
        """Write nothing more. Of the change at hand nobody knows whether the disk has it."""
        self._failure = f"The disk failed: {error}. Check it, then restart the engine"
        logger.critical("no more writes: %s", error)
        return errors.StorageFailed(
            f"{self._failure}. Whether this change was kept will show after that",
            outcome="unknown",
        )

    def _note_log_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        """Told by SQLite at every commit, instead of its own way to keep the log short: that would
        neither look at the room there is nor tell of a sync that failed."""
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            try:
                self._writer.execute("ROLLBACK")
            except apsw.Error as error:
                self._fail(error)

    def _empty_log(self) -> None:
        """The caller has the turn."""
        self._log_to_empty = not self._move_log("TRUNCATE")
        self._log_was_left = self._log_was_left and self._log_to_empty
        if not self._log_to_empty:
            self.reserve.make()

    def _move_log(self, how: str) -> bool:
        """What is in the log into the database; whether that could be."""
        self._writer.set_busy_timeout(_CHECKPOINT_MILLISECONDS)
        try:
            if not self._has_room_to_grow():
                return False
            [(busy, *_)] = self._writer.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
            return not busy
        except apsw.Error as error:
            logger.warning("the log could not be emptied yet: %s", error)
            is_of_sync = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC
            if not self._look_for_damage(error) and is_of_sync:
                self._fail(error)
            return False
        finally:
            self._writer.set_busy_timeout(_BUSY_MILLISECONDS)

    def _has_room_to_grow(self) -> bool:
        """Whether the log fits into the database's file, if need be with the reserve. Starting
        without room would use up the rest of it for nothing."""
        [(size,)] = Query(self._writer)(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        )
        try:
            growth = size - os.stat(self._path).st_size
            return growth <= 0 or self.reserve.has_room(growth)
        except OSError as error:
            logger.warning("the log could not be emptied yet: %s", error)
            return False

    def _unreadable(self, error: apsw.Error) -> errors.KbError:
        if _is_full(error):
            return errors.StorageFull()
        return self._look_for_damage(error) or errors.StorageFailed(
            f"The engine's database cannot be read: {error}. Check its disk and the data folder "
            "(KB_DATA_DIR), then restart the engine"
        )

    def _unwritable(self, error: apsw.Error) -> errors.KbError:
        if _is_full(error):
            self._log_to_empty = True
            self._trouble = errors.StorageFull()
        else:
            self._trouble = self._look_for_damage(error) or errors.StorageFailed(
                f"The engine's database cannot be written: {error}. Check its disk and the data "
                "folder (KB_DATA_DIR), then try again"
            )
        return self._trouble

    def _look_for_damage(self, error: apsw.Error) -> errors.StoreDamaged | None:
        """If this error means damage, that is recorded for good."""
        if not is_damage(error):
            return None
        self.note_damage(in_words(error))
        return errors.StoreDamaged(in_words(error))


def _set_up(connection: apsw.Connection, pragmas: tuple[str, ...]) -> None:
    for pragma in pragmas:
        connection.execute(pragma).fetchall()


def _drop(connection: apsw.Connection | None) -> None:
    """After an error of the disk: the next one who needs a connection gets a fresh one."""
    if connection is not None:
        try:
            connection.close()
        except apsw.Error as error:
            logger.debug("a connection ended badly: %s", error)


def _identity(path: Path) -> tuple[int, int]:
    about = os.stat(path)
    return about.st_dev, about.st_ino


def _unusable(path: Path, error: apsw.Error) -> errors.StartupError:
    if is_damage(error):
        return errors.StartupError(
            f"The database {path} is damaged: {in_words(error)}. See what is left of it with "
            f"`kb verify --data-dir {path.parent}`, and rebuild it with `--repair`",
            damaged=in_words(error),
        )
    return errors.StartupError(
        f"The database {path} cannot be opened: {error}. Check its disk and the rights to the "
        "folder, then start again"
    )


def _is_full(error: apsw.Error) -> bool:
    """SQLite gives no reason for a file of the log's index: it means lack of room."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in _NO_ROOM
