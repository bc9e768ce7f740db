"""Checks a backup by reading and comparing all of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from kb.engine.backup.blocks import BLOCK_BYTES, Blocks
from kb.engine.backup.disk import hash_of_file
from kb.engine.backup.manifest import Contents, Original, read_contents
from kb.engine.backup.shelf import Shelf
from kb.engine.backup.steps import Step, Tell
from kb.engine.errors import BackupDamaged
from kb.engine.store.file.damage import is_damage
from kb.engine.store.file.snapshot import Read, about_store, reading_pages, trouble_in


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong; `original` where it is with a file, `block` where with a block.

    `of_the_store`: every block is what was backed up, and yet the database is not in order.
    `unreadable`: its disk did not give it, which is no proof that it has changed.
    """

    what: str
    original: Original | None = None
    block: bytes | None = None
    of_the_store: bool = False
    unreadable: bool = False

    def __str__(self) -> str:
        return self.what


def check_backup(folder: Path, tell: Tell) -> list[Trouble]:
    shelf = Shelf(folder.parent)
    blocks = shelf.blocks()
    try:
        return check(read_contents(folder), shelf, blocks, tell)
    except BackupDamaged as error:
        return [Trouble(error.message)]
    finally:
        blocks.close()


def check(contents: Contents, shelf: Shelf, blocks: Blocks, tell: Tell) -> list[Trouble]:
    """Every block and every original against its hash, and the database as SQLite sees it."""
    trouble = list(_in_blocks(contents, blocks, tell))
    if not trouble:
        trouble += _in_database(contents, blocks)
    return trouble + list(_in_originals(contents, shelf, tell))


def database_of(contents: Contents, blocks: Blocks) -> Read:
    """How to read the database's bytes out of its blocks."""

    def read(offset: int, amount: int) -> bytes:
        pieces = []
        while amount > 0 and offset < contents.manifest.database_bytes:
            number, at = divmod(offset, BLOCK_BYTES)
            piece = blocks.read(contents.blocks[number])[at : at + amount]
            pieces.append(piece)
            offset, amount = offset + len(piece), amount - len(piece)
        return b"".join(pieces)

    return read


def _in_blocks(contents: Contents, blocks: Blocks, tell: Tell) -> Iterator[Trouble]:
    for number, key in enumerate(contents.blocks):
        try:
            blocks.read(key)
        except (BackupDamaged, OSError) as error:
            unread = _is_unread(error)
            yield Trouble(f"block {number} of the database: {error}", block=key, unreadable=unread)
        tell(Step("checking the database", number + 1, len(contents.blocks)))


def _in_database(contents: Contents, blocks: Blocks) -> Iterator[Trouble]:
    manifest = contents.manifest
    try:
        with reading_pages(manifest.database_bytes, database_of(contents, blocks)) as connection:
            about, found = about_store(connection), trouble_in(connection)
    except (apsw.Error, KeyError) as error:
        unread = isinstance(error, apsw.Error) and not is_damage(error)
        yield Trouble(f"the database cannot be read: {error}", unreadable=unread)
        return
    if (about.store_id, about.commits) != (manifest.store_id, manifest.commits):
        yield Trouble("the database is not the one in the manifest")
    if found:
        yield Trouble(f"SQLite finds in the database: {found}", of_the_store=True)


def _in_originals(contents: Contents, shelf: Shelf, tell: Tell) -> Iterator[Trouble]:
    seen = set()
    for number, original in enumerate(contents.originals):
        tell(Step("checking the originals", number + 1, len(contents.originals)))
        if original.sha256 in seen:
            continue
        seen.add(original.sha256)
        path = shelf.original(original.sha256)
        try:
            if hash_of_file(path) != original.sha256:
                yield Trouble(f"{path} has changed since it was written", original)
        except OSError as error:
            what = f"{path} cannot be read: {error.strerror}"
            yield Trouble(what, original, unreadable=_is_unread(error))


def _is_unread(error: Exception) -> bool:
    """A missing file is missing; other errors are the disk's."""
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
