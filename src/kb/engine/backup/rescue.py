"""The last good backup in, rows and originals out: for what the store has lost since."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from kb.engine.backup.blocks import Blocks
from kb.engine.backup.checking import check, database_of
from kb.engine.backup.disk import hash_of_file
from kb.engine.backup.manifest import Contents, Manifest, read_contents
from kb.engine.backup.shelf import Shelf
from kb.engine.backup.steps import Tell, tell_nobody
from kb.engine.errors import BackupDamaged
from kb.engine.store.database import Row
from kb.engine.store.snapshot import reading_pages


class Rescue:
    """A backup that was read and found whole. Its schema is that of the kb that made it."""

    def __init__(self, contents: Contents, shelf: Shelf, connection: apsw.Connection) -> None:
        self._shelf = shelf
        self._connection = connection
        self._originals = {each.name: each.sha256 for each in contents.originals}
        self.manifest: Manifest = contents.manifest

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        """What the store held at that instant."""
        return self._connection.execute(sql, values).fetchall()

    def original(self, name: str) -> Path | None:
        """A copy of an original by its name in the store, compared with its hash just now."""
        sha256 = self._originals.get(name)
        path = self._shelf.original(sha256) if sha256 else None
        return path if path and path.is_file() and hash_of_file(path) == sha256 else None


@contextmanager
def last_good(target: Path, store_id: str, tell: Tell = tell_nobody) -> Iterator[Rescue | None]:
    """The newest backup of a store in a folder that is whole; None where there is none."""
    shelf = Shelf.of(target, store_id)
    blocks = shelf.blocks()
    try:
        contents = _newest_whole(shelf, blocks, tell)
        if contents is None:
            yield None
            return
        size = contents.manifest.database_bytes
        with reading_pages(size, database_of(contents, blocks)) as connection:
            yield Rescue(contents, shelf, connection)
    finally:
        blocks.close()


def _newest_whole(shelf: Shelf, blocks: Blocks, tell: Tell) -> Contents | None:
    for folder in reversed(shelf.names()):
        try:
            contents = read_contents(folder)
        except BackupDamaged:
            continue
        if not check(contents, shelf, blocks, tell):
            return contents
    return None
