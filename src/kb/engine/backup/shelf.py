"""Finds the backups of each store in a folder."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kb.engine.backup.blocks import Blocks
from kb.engine.backup.manifest import MANIFEST, Manifest, Original, read_manifest
from kb.engine.errors import BackupDamaged, BackupFailed, BackupRunning
from kb.platform import NO_FOLLOW, sync, try_lock

_STORE = re.compile(r"kb-([0-9A-Za-z-]{1,64})")
_NAME = "%Y-%m-%dT%H%M%S.%fZ"
_BACKUP = re.compile(r"\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z")
_README = """\
Backups of a kb store, made by `kb backup`. Each folder named by a time is one backup: what it
says of itself is in manifest.json. Its database lies in blocks/, its files lie in originals/ under
their SHA-256, each once for all backups. `kb restore` makes a store of them again;
`kb backup --check` reads all of it and compares every hash.

Whoever can read this folder can read everything that is in the store.
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A finished backup and where it lies."""

    folder: Path
    manifest: Manifest

    @property
    def taken_at(self) -> str:
        return self.manifest.taken_at


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A finished backup whose manifest cannot be read, and why."""

    folder: Path
    why: str

    @property
    def taken_at(self) -> str:
        """As far as its name tells, which it got soon after."""
        return datetime.strptime(self.folder.name, _NAME).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Shelf:
    """The backups of one store below a folder. A backup is finished when it has its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks_folder = path / "blocks"
        self._originals = path / "originals"
        self._unfinished = path / "unfinished"

    @classmethod
    def of(cls, target: Path, store_id: str) -> "Shelf":
        return cls(target / f"kb-{store_id}")

    def finished(self) -> list[Kept | Unreadable]:
        """All that have their name, the oldest first: one of a backup that was killed has none."""
        found: list[Kept | Unreadable] = []
        for folder in self.names():
            try:
                found.append(Kept(folder, read_manifest(folder)))
            except BackupDamaged as error:
                found.append(Unreadable(folder, error.message))
        return found

    def kept(self) -> list[Kept]:
        """Those of them whose manifest can be read."""
        return [each for each in self.finished() if isinstance(each, Kept)]

    def names(self) -> list[Path]:
        """The folders of finished backups, the oldest first."""
        if not self.path.is_dir():
            return []
        return sorted(path for path in self.path.iterdir() if _BACKUP.fullmatch(path.name))

    def original(self, sha256: str) -> Path:
        return self._originals / sha256[:2] / sha256

    def blocks(self) -> Blocks:
        return Blocks(self.blocks_folder)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The sole right to change something here; what a killed backup left is gone."""
        try:
            for folder in (self.path, self.blocks_folder, self._originals):
                folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
        except OSError as error:
            raise BackupFailed(f"{self.path} cannot be written: {error.strerror}") from error
        try:
            if not try_lock(lock):
                raise BackupRunning(f"Another backup into {self.path} is being made")
            self._clear_remains()
            (self.path / "README.txt").write_text(_README)
            yield
        finally:
            os.close(lock)

    @property
    def unfinished(self) -> Path:
        """The path of a backup until it gets its name."""
        return self._unfinished

    def begin(self) -> Path:
        shutil.rmtree(self._unfinished, ignore_errors=True)
        self._unfinished.mkdir(mode=0o700)
        return self._unfinished

    def finish(self, name: str) -> Path:
        """Give the backup its name: from here on it is one."""
        sync(self._unfinished)
        final = self.path / name
        self._unfinished.rename(final)
        try:
            sync(self.path)
        except OSError:
            final.rename(self._unfinished)  # who is told that it failed is not to find it listed
            raise
        return final

    def remove(self, folder: Path) -> None:
        """A backup goes as it came: first it loses its name."""
        folder.rename(self._unfinished)
        sync(self.path)
        self._clear_remains()

    def remove_originals_but(self, needed: set[str]) -> None:
        for folder in self._originals.iterdir():
            for path in folder.iterdir():
                if path.name not in needed:
                    path.unlink()

    def place_for(self, original: Original) -> Path:
        path = self.original(original.sha256)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return path

    def scratch(self) -> Path:
        """The path of a copied original until its hash is known."""
        return self._originals / ".copying"

    def _clear_remains(self) -> None:
        shutil.rmtree(self._unfinished, ignore_errors=True)
        self.scratch().unlink(missing_ok=True)
        for path in self.blocks_folder.glob(".*"):
            path.unlink()


def new_name() -> str:
    return datetime.now(UTC).strftime(_NAME)


def is_single(target: Path) -> bool:
    """Whether this is one backup, with its manifest or by its name."""
    named = _BACKUP.fullmatch(target.name) is not None and target.is_dir()
    return named or (target / MANIFEST).is_file()


def shelves(target: Path) -> list[Shelf]:
    """Every store's backups below a folder that a person names: the folder for backups, one
    store's folder in it, or a single backup."""
    if is_single(target):
        return [Shelf(target.parent)]
    if _STORE.fullmatch(target.name) and (target / "blocks").is_dir():
        return [Shelf(target)]
    if not target.is_dir():
        return []
    return [Shelf(path) for path in sorted(target.iterdir()) if _STORE.fullmatch(path.name)]
