"""Makes a verified backup of one instant of a data folder."""

import errno
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw

from kb import __version__
from kb.engine.backup.blocks import BLOCK_BYTES, PackWriter
from kb.engine.backup.checking import Trouble, check
from kb.engine.backup.disk import Disk, UnreadableOriginal
from kb.engine.backup.keeping import keep_newest
from kb.engine.backup.manifest import (
    Contents,
    Manifest,
    Original,
    line_of,
    read_contents,
    write_contents,
)
from kb.engine.backup.shelf import Kept, Shelf, new_name
from kb.engine.backup.steps import Step, Tell
from kb.engine.errors import BackupDamaged, BackupFailed, BackupFolderRefused, StoreDamaged
from kb.engine.store.file.belonging import refuse_another
from kb.engine.store.file.damage import in_words, is_damage
from kb.engine.store.file.snapshot import AboutStore, Snapshot
from kb.engine.store.file.stamp import Mark, Stamp, missing_in_words
from kb.engine.values import now
from kb.platform import forget_cached, sync

logger = logging.getLogger(__name__)

_SYNC_TOGETHER = 64  # originals
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_ROOT = Path(os.sep)


@dataclass(frozen=True, slots=True)
class Source:
    """What is backed up: a database and the folder of its originals."""

    folder: Path
    database: Path
    files: Path


def usable_target(target: Path, data_folder: Path, create: bool) -> Path:
    """The folder to keep backups in. Raises BackupFolderRefused.

    One that is looked after by a schedule has to be there already: where a disk is not plugged in,
    its folder is missing, and must not be made on the disk that is to be saved.
    """
    if not target.is_absolute() or "\0" in str(target):
        raise BackupFolderRefused(f"{target} is not an absolute path on the engine's machine")
    try:
        if create and not target.exists() and target.parent != _ROOT:
            target.mkdir(mode=0o700)
        resolved, inside = target.resolve(strict=True), data_folder.resolve()
    except OSError as error:
        raise BackupFolderRefused(
            f"{target} cannot be used for backups ({error.strerror}): see that its disk is there"
        ) from error
    if not resolved.is_dir() or resolved == _ROOT:
        raise BackupFolderRefused(f"{target} is not a folder for backups: choose another one")
    if resolved == inside or resolved.is_relative_to(inside):
        raise BackupFolderRefused(
            f"{target} lies inside the data folder {data_folder}: choose a folder elsewhere, best "
            "on another disk"
        )
    return resolved


def make_backup(
    source: Source, target: Path, keep: int | None, tell: Tell, disk: Disk | None = None
) -> Kept:
    """Back up, verify, and then drop all but the newest `keep`. The caller holds the originals
    (`FileStore.holding`) or the folder's lock."""
    disk = disk or Disk()
    try:
        shelf = Shelf.of(target, _store_id(source))
        with shelf.writing():
            kept = _made(source, shelf, tell, disk)
            try:
                keep_newest(shelf, keep, disk)
            except OSError as error:  # the new one is there: what is left over goes with the next
                logger.warning("older backups in %s stay for now: %s", target, error)
            return kept
    except apsw.Error as error:
        if is_damage(error):
            raise StoreDamaged(in_words(error)) from error
        raise BackupFailed(
            f"The store {source.database} cannot be read: {error}. Earlier backups are as they "
            "were: check its disk, then try again"
        ) from error
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise BackupFailed(
                f"The disk of {target} is full: make room there, or keep fewer backups"
            ) from error
        raise BackupFailed(f"The backup into {target} failed: {error}") from error


def _store_id(source: Source) -> str:
    """Which store this is. One that lacks changes would take the place of better backups."""
    mark = Stamp(source.files).read()  # before the database: it never runs ahead of that
    try:
        snapshot = Snapshot(source.database)
    except KeyError as error:
        raise BackupFailed(
            f"The store {source.database} is of an older kb: start its engine once, which brings "
            "it up to date"
        ) from error
    snapshot.close()
    known = Mark(snapshot.about.store_id, snapshot.about.commits)
    if mark is not None:
        refuse_another(source.files, known.store_id, mark)
        if known.commits < mark.commits:
            raise BackupFailed(
                f"{source.database} is older than {source.files.name}, "
                f"{missing_in_words(known, mark)} missing from it, so this would be no good "
                "backup. Earlier ones are as they were. Put back the store.db and store.db-wal "
                "that were there before, or have `kb verify --repair` go on without those changes"
            )
    return known.store_id


def _made(source: Source, shelf: Shelf, tell: Tell, disk: Disk) -> Kept:
    """What the disk has changed of earlier backups is found when all is read again: then it is
    not built upon, but written once more."""
    first = _Making(source, shelf, tell, disk, [])
    try:
        return first.run()
    except BackupDamaged as error:
        if not first.damaged:
            raise
        logger.warning("%s parts are not built upon: %s", len(first.damaged), error.message)
    return _Making(source, shelf, tell, disk, first.damaged).run()


class _Making:
    def __init__(
        self, source: Source, shelf: Shelf, tell: Tell, disk: Disk, distrusted: list[Trouble]
    ) -> None:
        self._source = source
        self._shelf = shelf
        self._tell = tell
        self._disk = disk
        self._blocks = shelf.blocks()
        for each in distrusted:
            if each.block is not None:
                self._blocks.forget(each.block)
        self._lost = {each.original.sha256 for each in distrusted if each.original is not None}
        self._previous = self._last_contents()
        self.damaged: list[Trouble] = []

    def run(self) -> Kept:
        snapshot = Snapshot(self._source.database)
        taken_at, about = now(), snapshot.about
        try:
            try:
                names = snapshot.files()
                blocks = self._copy_database(snapshot)
            finally:
                snapshot.close()  # what was written meanwhile may leave the log again
            originals, missing = self._copy_originals(names)
            listed = sum(map(len, blocks)) + sum(len(line_of(each)) for each in originals)
            contents = Contents(
                _manifest(taken_at, about, originals, missing, self._disk.written + listed),
                blocks,
                originals,
            )
            write_contents(self._shelf.begin(), contents, self._disk)
            self._verify(contents)
            folder = self._shelf.finish(contents.manifest.name)
        finally:
            self._blocks.close()
        return Kept(folder, contents.manifest)

    def _last_contents(self) -> Contents | None:
        """The contents of the last readable backup: only changes are written."""
        for folder in reversed(self._shelf.names()):
            try:
                return read_contents(folder)
            except BackupDamaged as error:
                logger.warning("an earlier backup cannot be built upon: %s", error.message)
        return None

    def _copy_database(self, snapshot: Snapshot) -> list[bytes]:
        writer = PackWriter(self._blocks, self._shelf.blocks_folder, self._disk)
        before = self._previous.blocks if self._previous else []
        size, page = snapshot.about.size_bytes, snapshot.about.page_size
        cutter = _Cutter(size, lambda number, content: writer.add(content, _at(before, number)))

        def told(pages: int) -> None:
            self._tell(Step("database", pages * page, size))
            self._disk.rest()

        try:
            snapshot.copy(cutter.take, told)
            hashes = cutter.end()
            for path in writer.finish():
                self._blocks.learn(path)
        except BaseException:
            writer.give_up()
            raise
        return hashes

    def _copy_originals(self, names: list[str]) -> tuple[list[Original], list[str]]:
        """Those that the last backup has are there already: an original is never written again."""
        known = {each.name: each for each in self._previous.originals} if self._previous else {}
        found: list[Original] = []
        missing: list[str] = []
        fresh: list[Path] = []
        folders: set[Path] = set()
        for number, name in enumerate(names):
            original = known.get(name)
            if original is None or not self._has(original):
                original = self._copy_original(name, fresh)
            if original is None:
                missing.append(name)
            else:
                found.append(original)
            if len(fresh) >= _SYNC_TOGETHER:
                folders |= _sync(fresh)
                self._disk.rest()
            self._tell(Step("originals", number + 1, len(names)))
        _sync_folders(folders | _sync(fresh))
        return found, missing

    def _has(self, original: Original) -> bool:
        """Whether an earlier backup left it here, as far as is known as it was."""
        is_lost = original.sha256 in self._lost
        return not is_lost and self._shelf.original(original.sha256).is_file()

    def _copy_original(self, name: str, fresh: list[Path]) -> Original | None:
        scratch = self._shelf.scratch()
        try:
            sha256, size = self._disk.copy(self._source.files / name, scratch)
        except UnreadableOriginal as error:
            logger.warning("the original %s is not in the backup: %s", name, error)
            scratch.unlink(missing_ok=True)
            return None
        original = Original(name, sha256, size)
        place = self._shelf.place_for(original)
        # Where it is there already, earlier backups may need it, and what would take its place is
        # not safe on the disk yet. It is synced all the same: one that was killed may have left it.
        if self._has(original):
            scratch.unlink()
        else:
            os.replace(scratch, place)
        fresh.append(place)
        return original

    def _verify(self, contents: Contents) -> None:
        """Read everything again. Parts of earlier backups that the disk has damaged since are
        written again if the store still has them."""
        self._blocks.close()  # what is remembered of them is not what the disk has
        written = read_contents(self._shelf.unfinished)
        trouble = check(written, self._shelf, self._blocks, self._tell)
        mended = [each for each in trouble if self._mend(each)]
        if mended:
            logger.warning("mended in the folder of backups: %s", "; ".join(map(str, mended)))
            trouble = check(contents, self._shelf, self._blocks, self._tell)
        self.damaged = [each for each in trouble if each.block or each.original]
        if trouble and trouble[0].of_the_store:
            raise StoreDamaged(str(trouble[0]))
        if trouble:
            raise BackupDamaged(
                f"What was written into {self._shelf.path} cannot be read back: {trouble[0]}. "
                "Check that disk, or use another one"
            )

    def _mend(self, trouble: Trouble) -> bool:
        if trouble.original is None:
            return False
        self._lost.add(trouble.original.sha256)
        try:
            fresh: list[Path] = []
            again = self._copy_original(trouble.original.name, fresh)
            _sync_folders(_sync(fresh))
        except OSError:
            return False
        return again == trouble.original


class _Cutter:
    """Pages in any order in, whole blocks out; `keep(number, content)` gives their hashes."""

    def __init__(self, size: int, keep: Callable[[int, bytes], bytes]) -> None:
        self._size = size
        self._keep = keep
        self._begun: dict[int, tuple[bytearray, int]] = {}
        self._hashes: dict[int, bytes] = {}

    def take(self, offset: int, data: bytes) -> None:
        number, at = divmod(offset, BLOCK_BYTES)
        if number in self._hashes:
            raise BackupFailed("SQLite wrote a page twice")
        length = min(BLOCK_BYTES, self._size - number * BLOCK_BYTES)
        block, filled = self._begun.get(number) or (bytearray(length), 0)
        block[at : at + len(data)] = data
        filled += len(data)
        self._begun[number] = (block, filled)
        if filled == length:
            self._end(number)

    def end(self) -> list[bytes]:
        """The hashes of all blocks. One may lack a page: SQLite never writes that at a gigabyte."""
        for number in list(self._begun):
            self._end(number)
        return [self._hashes[number] for number in range(len(self._hashes))]

    def _end(self, number: int) -> None:
        block, _ = self._begun.pop(number)
        self._hashes[number] = self._keep(number, bytes(block))


def _at(blocks: list[bytes], number: int) -> bytes | None:
    return blocks[number] if number < len(blocks) else None


def _sync(paths: list[Path]) -> set[Path]:
    """The files, not their names: those are safe when the folders that this returns are synced,
    once for all of a backup."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            forget_cached(descriptor)
        finally:
            os.close(descriptor)
    folders = {path.parent for path in paths}
    paths.clear()
    return folders


def _sync_folders(folders: set[Path]) -> None:
    for folder in folders | {folder.parent for folder in folders}:
        sync(folder)


def _manifest(
    taken_at: str,
    about: AboutStore,
    originals: list[Original],
    missing: list[str],
    written: int,
) -> Manifest:
    return Manifest(
        name=new_name(),
        store_id=about.store_id,
        taken_at=taken_at,
        finished_at=now(),
        kb_version=__version__,
        schema_version=about.schema_version,
        commits=about.commits,
        documents=about.documents,
        notes=about.notes,
        chunks=about.chunks,
        jobs_waiting=about.jobs_waiting,
        database_bytes=about.size_bytes,
        originals=len(originals),
        original_bytes=sum(each.size for each in originals),
        missing=missing,
        written_bytes=written,
        page_size=about.page_size,
    )
