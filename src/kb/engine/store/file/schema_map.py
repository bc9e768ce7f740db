"""Keeps a small file beside the database that says on which page each table begins.

The database says so only on its first pages: if one of them were damaged, all rows would still be
there but could not be found. The file changes only when the tables do.
"""

import json
import logging
import os
from contextlib import suppress
from pathlib import Path

import apsw

from kb.engine.store.file.database import Database, Row
from kb.platform import sync

logger = logging.getLogger(__name__)

_SCHEMA = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid"
_PAGE = 4096
_RESERVED = 8


def map_path(database: Path) -> Path:
    """`store.db` has its map in `store-schema.json`."""
    return database.with_name(f"{database.stem}-schema.json")


def remember_schema(database: Database, path: Path) -> None:
    """Write the map, where it is not the one that is there. Without it kb works as well."""
    wanted = json.dumps([list(row) for row in database.read(_SCHEMA)])
    place = map_path(path)
    begun = place.with_suffix(".new")
    try:
        if place.exists() and place.read_text() == wanted:
            return
        begun.write_text(wanted)
        sync(begun)
        os.replace(begun, place)
    except OSError as error:
        logger.warning("%s could not be written: %s", place.name, error)
        with suppress(OSError):  # half of it is of no use to anybody
            begun.unlink(missing_ok=True)


def remembered_schema(path: Path) -> list[Row] | None:
    """What the map says; None where there is none that can be read."""
    try:
        return [tuple(row) for row in json.loads(map_path(path).read_text())]
    except (OSError, ValueError, TypeError):
        return None


def empty_first_page(pages: int) -> bytes:
    """The first page of a database of this many pages that names no table."""
    memory = apsw.Connection(":memory:")
    memory.reserve_bytes("main", _RESERVED)
    memory.execute(f"PRAGMA page_size = {_PAGE}").fetchall()
    memory.execute("PRAGMA user_version = 1").fetchall()  # or there would be no page at all
    page = bytearray(memory.serialize("main")[:_PAGE])
    memory.close()
    page[28:32] = pages.to_bytes(4, "big")
    page[92:96] = page[24:28]  # the count of pages is of this state of the file
    return bytes(page)
