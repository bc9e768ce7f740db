"""Puts a checksum on each page of a database file.

SQLite's own `cksumvfs` writes eight bytes at the end of each page when the page goes into the file,
and compares them whenever a page is read from there: a page that changed on the disk is an error
instead of a wrong answer. A new file gets room for them before its first table. An older file is
rewritten once, which also lets free space be returned in small steps.
"""

import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import apsw.sqlite_extra

from kb.engine.errors import StorageFailed
from kb.engine.store.file.damage import is_damage

logger = logging.getLogger(__name__)

_VFS = "cksmvfs"
_CHECKSUM_BYTES = 8
INCREMENTAL = 2  # auto_vacuum
_VACUUM = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "VACUUM",
    "PRAGMA wal_checkpoint(TRUNCATE)",
)


def connect(path: Path, flags: int) -> apsw.Connection:
    """A connection that writes and compares checksums, if the file has room for them.

    Every connection to a store has to be made here: another one would write pages without.
    """
    _provide()
    return apsw.Connection(str(path), flags, vfs=_VFS, statementcachesize=200)


def provide_checksums(connection: apsw.Connection, path: Path) -> str | None:
    """Make room for checksums in a file, new or old; why an old one has to do without, if so.

    While this runs, no other connection to the file may be open. An old file is as it was until
    SQLite has committed all of the new one. Raises CorruptError where it turns out to be damaged.
    """
    shutil.rmtree(_scratch(path), ignore_errors=True)  # of a start that was killed
    if _is_provided(connection):
        return None
    size: Any = connection.execute(  # before a new file gets its first page
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).get
    _ask_for_room(connection)
    return _write_anew(connection, path, size) if size else None


def bad_pages(connection: apsw.Connection, first: int, last: int) -> list[int]:
    """Pages of the file whose bytes are not those that were written; none, without checksums."""
    if connection.reserve_bytes("main") != _CHECKSUM_BYTES:
        return []
    size: Any = connection.execute("SELECT page_size FROM pragma_page_size").get
    return [page for page in range(first, last + 1) if not _is_good(connection, page, size)]


def _is_good(connection: apsw.Connection, page: int, size: int) -> bool:
    try:
        connection.read("main", 0, (page - 1) * size, size)
    except apsw.IOError as error:
        if is_damage(error):
            return False
        raise
    return True


def _provide() -> None:
    """Have the extension in this process; it stays when the connection is gone."""
    if _VFS in apsw.vfs_names():
        return
    memory = apsw.Connection(":memory:")
    try:
        apsw.sqlite_extra.load(memory, "cksumvfs")
    except (apsw.sqlite_extra.NotAvailable, apsw.ExtensionLoadingError) as error:
        raise StorageFailed(
            f"The installed apsw lacks SQLite's cksumvfs: {error}. Install apsw from its wheel"
        ) from error
    finally:
        memory.close()


def _is_provided(connection: apsw.Connection) -> bool:
    [(vacuum,)] = connection.execute("PRAGMA auto_vacuum").fetchall()  # reads the header
    return connection.reserve_bytes("main") == _CHECKSUM_BYTES and vacuum == INCREMENTAL


def _ask_for_room(connection: apsw.Connection) -> None:
    """Of the next VACUUM, or of a file that has no table yet."""
    connection.reserve_bytes("main", _CHECKSUM_BYTES)
    connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}").fetchall()


def _write_anew(connection: apsw.Connection, path: Path, size: int) -> str | None:
    """One VACUUM. It needs room twice: for the new pages beside the file, and for them in the log.

    In the log, since only on their way from there into the file do they get their checksums.
    """
    needed, free = 2 * size, shutil.disk_usage(path.parent).free
    if free < needed:
        return f"that takes {needed >> 20} MB on its disk, of which {free >> 20} MB are free"
    began = time.monotonic()
    logger.info("the store of %s MB is written anew with checksums on its pages", size >> 20)
    try:
        with _temporary_files(connection, path):
            for statement in _VACUUM:
                connection.execute(statement).fetchall()
    except apsw.FullError:
        return "the disk became full meanwhile"
    except apsw.CorruptError:
        raise
    except apsw.Error as error:
        return f"that failed: {error}"
    logger.info("the pages of the store have checksums after %.1f s", time.monotonic() - began)
    return None


@contextmanager
def _temporary_files(connection: apsw.Connection, path: Path) -> Iterator[None]:
    """Beside the database: in memory a large store has no room, and /tmp may be memory, too."""
    folder = _scratch(path)
    folder.mkdir(mode=0o700)
    connection.execute("PRAGMA temp_store = FILE").fetchall()
    place = apsw.format_sql_value(str(folder))
    connection.execute(f"PRAGMA temp_store_directory = {place}").fetchall()
    try:
        yield
    finally:
        connection.execute("PRAGMA temp_store_directory = ''").fetchall()
        shutil.rmtree(folder, ignore_errors=True)


def _scratch(path: Path) -> Path:
    return path.with_name(f"{path.stem}-vacuum")
