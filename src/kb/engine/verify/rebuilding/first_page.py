"""Copies a database that cannot be opened and gives its tables their names back.

The copy first gets the content of the log, as SQLite would do it: up to the last commit with valid
checksums. Then the pages that name the tables are taken out of use, the first page is written anew,
and what the store remembered about its tables is written there.
"""

import shutil
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from kb.engine.store.file.page_checksums import connect
from kb.engine.store.file.schema_map import empty_first_page, remembered_schema

_PAGE = 4096
_CHECKSUM_BYTES = 8
_LOG_HEADER, _FRAME_HEADER = 32, 24
_MAGIC = 0x377F0682  # one more where the checksums are of big-endian numbers


def mended(database: Path, scratch: Path) -> None:
    """Write the copy. Raises apsw.NotADBError if nothing is remembered about the tables."""
    schema = remembered_schema(database)
    if schema is None:
        raise apsw.NotADBError("nothing tells where its tables begin")
    shutil.copyfile(database, scratch)
    log = database.with_name(f"{database.name}-wal")
    with open(scratch, "r+b") as file:
        for number, page in _committed(log.read_bytes() if log.exists() else b""):
            file.seek((number - 1) * _PAGE)
            content = page[:-_CHECKSUM_BYTES]  # and then what SQLite's cksumvfs puts there
            file.write(content + struct.pack("<II", *_sums("<", content)))
        pages = file.seek(0, 2) // _PAGE
        file.seek(0)
        file.write(empty_first_page(pages))
    with closing(connect(scratch, apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute("PRAGMA checksum_verification = OFF").fetchall()
        connection.execute("PRAGMA writable_schema = ON").fetchall()
        connection.executemany("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", schema)


def _committed(log: bytes) -> Iterator[tuple[int, bytes]]:
    """The pages of all whole commits in a write-ahead log, in order."""
    if len(log) < _LOG_HEADER:
        return
    [magic] = struct.unpack_from(">I", log)
    if magic | 1 != _MAGIC | 1:
        return
    order = ">" if magic & 1 else "<"
    salts, sums = log[16:24], _sums(order, log[:24])
    pending: list[tuple[int, bytes]] = []
    for start in range(_LOG_HEADER, len(log) - _FRAME_HEADER - _PAGE + 1, _FRAME_HEADER + _PAGE):
        header = log[start : start + _FRAME_HEADER]
        page = log[start + _FRAME_HEADER : start + _FRAME_HEADER + _PAGE]
        sums = _sums(order, header[:8] + page, sums)
        if header[8:16] != salts or struct.unpack(">II", header[16:]) != sums:
            return
        number, is_commit = struct.unpack(">II", header[:8])
        pending.append((number, page))
        if is_commit:
            yield from pending
            pending = []


def _sums(order: str, content: bytes, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    first, second = sums
    for one, two in struct.iter_unpack(f"{order}II", content):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second
