"""A backup in, a store in a data folder out: verified first, and then put in place as a whole."""

from dataclasses import dataclass
from pathlib import Path

import apsw

from kb.engine.backup.checking import check, database_of
from kb.engine.backup.disk import Disk
from kb.engine.backup.manifest import MANIFEST, Contents, read_contents
from kb.engine.backup.shelf import Kept, Shelf, new_name, shelves
from kb.engine.backup.steps import Step, Tell
from kb.engine.durable import sync
from kb.engine.errors import BackupDamaged, BackupFailed
from kb.engine.exchange import exchange, holds_a_store, staging
from kb.engine.folder import DataFolder
from kb.engine.store.snapshot import database_trouble, reading_pages, write_database
from kb.engine.store.stamp import Mark, Stamp


@dataclass(frozen=True, slots=True)
class Restored:
    """What is in place now, and where the store is that was there before."""

    data_dir: str
    backup: str
    taken_at: str
    documents: int
    originals: int
    missing: list[str]
    moved_aside: str | None


def chosen(place: Path, as_of: str | None) -> Kept:
    """The newest backup in a folder, or the newest that is not younger than a time."""
    found = [kept for shelf in shelves(place) for kept in shelf.kept()]
    if (place / MANIFEST).is_file():
        found = [kept for kept in found if kept.folder.resolve() == place.resolve()]
    stores = {kept.manifest.store_id for kept in found}
    if len(stores) > 1:
        raise BackupFailed(
            f"{place} has backups of {len(stores)} stores: name the folder of one of them"
        )
    fitting = [kept for kept in found if as_of is None or kept.manifest.taken_at <= as_of]
    if not fitting:
        whether = f"that was taken by {as_of}" if found else "that is finished"
        raise BackupFailed(f"There is no backup in {place} {whether}")
    return fitting[-1]


def verified(kept: Kept, tell: Tell) -> Contents:
    """All of a backup, read and compared. Raises BackupDamaged with what is wrong."""
    contents, shelf = read_contents(kept.folder), Shelf(kept.folder.parent)
    blocks = shelf.blocks()
    try:
        trouble = check(contents, shelf, blocks, tell)
    finally:
        blocks.close()
    if trouble:
        more = f", and {len(trouble) - 1} more" if len(trouble) > 1 else ""
        raise BackupDamaged(
            f"The backup {kept.folder} is damaged: {trouble[0]}{more}. Restore another one: "
            "`kb restore --list` shows them"
        )
    return contents


def restore(kept: Kept, data: Path, replace: bool, tell: Tell) -> Restored:
    """Make a store of a backup. Nothing of the present one is touched until all is verified."""
    folder = DataFolder(data)
    try:
        if holds_a_store(folder.path) and not replace:
            raise BackupFailed(
                f"There is a store in {data} already: choose an empty folder, or say --replace to "
                "have it moved aside"
            )
        contents = verified(kept, tell)
        _stage(contents, Shelf(kept.folder.parent), staging(folder.path), tell)
        aside = exchange(folder.path, new_name())
    except OSError as error:
        raise BackupFailed(f"The backup could not be restored into {data}: {error}") from error
    finally:
        folder.release()
    return Restored(
        str(folder.path),
        kept.manifest.name,
        kept.manifest.taken_at,
        kept.manifest.documents,
        kept.manifest.originals,
        kept.manifest.missing,
        str(aside) if aside else None,
    )


def _stage(contents: Contents, shelf: Shelf, staged: Path, tell: Tell) -> None:
    manifest, blocks = contents.manifest, shelf.blocks()

    def told(pages: int) -> None:
        tell(Step("database", pages * manifest.page_size, manifest.database_bytes))

    try:
        with reading_pages(manifest.database_bytes, database_of(contents, blocks)) as source:
            write_database(source, staged / "store.db", told)
    except apsw.Error as error:
        raise BackupFailed(f"The database could not be written: {error}") from error
    finally:
        blocks.close()
    wrong = database_trouble(staged / "store.db")
    if wrong:
        raise BackupFailed(f"The database that was written is damaged, check the disk: {wrong}")
    _stage_originals(contents, shelf, staged / "store-files", tell)
    Stamp(staged / "store-files").write(Mark(manifest.store_id, manifest.commits))
    sync(staged)


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
