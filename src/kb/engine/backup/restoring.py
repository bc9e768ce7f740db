"""Restores a backup: verifies it first, then puts the store in place as a whole."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from kb.engine.backup.checking import check, database_of
from kb.engine.backup.disk import Disk, UnreadableOriginal
from kb.engine.backup.landing import in_words, landing, refuse_without_room
from kb.engine.backup.manifest import Contents, read_contents
from kb.engine.backup.shelf import Kept, Shelf, Unreadable, is_single, new_name, shelves
from kb.engine.backup.steps import Step, Tell
from kb.engine.data_folder.store_exchange import exchange, holds_a_store, is_begun, staging
from kb.engine.errors import BackupDamaged, BackupFailed
from kb.engine.store.file.snapshot import (
    database_trouble,
    owners_of_files,
    reading_pages,
    write_database,
)
from kb.engine.store.file.stamp import Mark, Stamp
from kb.platform import sync


@dataclass(frozen=True, slots=True)
class Restored:
    """The restored store, and where the previous one is. `missing` are originals that the backup
    never had, `left_out` those that it has lost."""

    data_dir: str
    backup: str
    taken_at: str
    documents: int
    originals: int
    missing: list[str]
    left_out: list[str]
    moved_aside: str | None


def chosen(place: Path, as_of: str | None) -> Kept:
    """The newest backup in a folder, or the newest that is not younger than a time."""
    found = [each for shelf in shelves(place) for each in shelf.finished()]
    if is_single(place):
        found = [each for each in found if each.folder.resolve() == place.resolve()]
    stores = {each.folder.parent for each in found}
    if len(stores) > 1:
        raise BackupFailed(
            f"{place} has backups of {len(stores)} stores: name the folder of one of them"
        )
    fitting = [each for each in found if as_of is None or each.taken_at <= as_of]
    if not fitting:
        whether = f"that was taken by {as_of}" if found else "that is finished"
        raise BackupFailed(f"There is no backup in {place} {whether}")
    newest = fitting[-1]
    if isinstance(newest, Unreadable):
        raise BackupDamaged(_instead_of(newest, fitting))
    return newest


def _instead_of(newest: Unreadable, fitting: Sequence[Kept | Unreadable]) -> str:
    """An older one is never taken unasked: what was added since would be missing."""
    instead = "name the folder of another backup"
    for older in (each for each in fitting if isinstance(each, Kept)):
        instead = f"restore the one before it with `--as-of {older.taken_at}`"
    return (
        f"The newest backup, {newest.folder}, cannot be read: {newest.why}. Check its disk and try "
        f"again, or {instead}"
    )


def verified(kept: Kept, tell: Tell, without_damaged: bool = False) -> Contents:
    """A whole backup, read and compared. Raises BackupDamaged with the reason. With
    `without_damaged`, damaged originals are left out of it."""
    contents, shelf = read_contents(kept.folder), Shelf(kept.folder.parent)
    with closing(shelf.blocks()) as blocks:
        trouble = check(contents, shelf, blocks, tell)
    damaged = {each.original.sha256 for each in trouble if each.original is not None}
    only_originals = len(damaged) == len(trouble)
    if only_originals and (without_damaged or not trouble):
        return replace(
            contents,
            originals=[each for each in contents.originals if each.sha256 not in damaged],
        )
    more = f", and {len(trouble) - 1} more" if len(trouble) > 1 else ""
    whole = f"another one, if one is whole: `kb backup --check {kept.folder.parent}` tells"
    if only_originals:
        whole = f"all the rest of it with `--without-damaged`, or {whole}"
    if all(each.unreadable for each in trouble):
        raise BackupFailed(
            f"The backup {kept.folder} cannot be read: {trouble[0]}{more}. Check its disk and try "
            f"again, or restore {whole}"
        )
    raise BackupDamaged(f"The backup {kept.folder} is damaged: {trouble[0]}{more}. Restore {whole}")


def restore(
    kept: Kept, data: Path, in_place: bool, tell: Tell, without_damaged: bool = False
) -> Restored:
    """Make a store of a backup. Nothing of the present one is touched until all is verified."""
    with landing(data, kept.manifest):
        if holds_a_store(data) and not in_place:
            raise BackupFailed(
                f"There is a store in {data} already: choose an empty folder, or say --replace to "
                "have it moved aside"
            )
        refuse_without_room(data, kept.manifest)
        contents = verified(kept, tell, without_damaged)
        try:
            left_out = _stage(contents, Shelf(kept.folder.parent), staging(data), tell)
            aside = exchange(data, new_name())
        except (OSError, UnreadableOriginal, apsw.Error) as error:
            if is_begun(data):
                raise BackupFailed(
                    f"The restore into {data} is begun and could not be finished: {error}. Check "
                    "the disk; the next start of kb finishes it, or this command once more"
                ) from error
            raise BackupFailed(in_words(error, data, kept.manifest)) from error
    return Restored(
        str(data),
        kept.manifest.name,
        kept.manifest.taken_at,
        kept.manifest.documents,
        len(contents.originals),
        kept.manifest.missing,
        left_out,
        str(aside) if aside else None,
    )


def _stage(contents: Contents, shelf: Shelf, staged: Path, tell: Tell) -> list[str]:
    """Write all of it beside the store; whose originals are not there."""
    manifest, blocks = contents.manifest, shelf.blocks()

    def told(pages: int) -> None:
        tell(Step("database", pages * manifest.page_size, manifest.database_bytes))

    try:
        with reading_pages(manifest.database_bytes, database_of(contents, blocks)) as source:
            write_database(source, staged / "store.db", told)
            left_out = _without_original(source, contents)
    finally:
        blocks.close()
    wrong = database_trouble(staged / "store.db")
    if wrong:
        raise BackupFailed(f"What was written is damaged, check the disk: {wrong}")
    _stage_originals(contents, shelf, staged / "store-files", tell)
    Stamp(staged / "store-files").write(Mark(manifest.store_id, manifest.commits))
    sync(staged)
    return left_out


def _without_original(source: apsw.Connection, contents: Contents) -> list[str]:
    there = {*contents.manifest.missing, *(each.name for each in contents.originals)}
    return [about for name, about in owners_of_files(source) if name not in there]


def _stage_originals(contents: Contents, shelf: Shelf, folder: Path, tell: Tell) -> None:
    folder.mkdir(mode=0o700)
    disk = Disk(rest=lambda _: None)
    for number, original in enumerate(contents.originals):
        sha256, _ = disk.copy(shelf.original(original.sha256), folder / original.name)
        sync(folder / original.name)
        if sha256 != original.sha256:
            raise BackupDamaged(f"{shelf.original(original.sha256)} changed while it was read")
        tell(Step("originals", number + 1, len(contents.originals)))
    sync(folder)
