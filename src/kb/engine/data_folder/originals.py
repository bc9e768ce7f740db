"""Keeps the originals, each under a random name, durable before any row names it."""

import errno
import hashlib
import logging
import os
import re
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kb.engine import errors
from kb.platform import DISK_ERRORS, sync

logger = logging.getLogger(__name__)

_BLOCK = 1 << 20
OURS = re.compile(r"\.?[0-9a-f]{32}")
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class StoredFile:
    name: str
    size: int
    sha256: str


class FileStore:
    """A flat folder. What a person called a file is never part of a path here.

    `needed` says which of these files a row names: they stay, whoever gives them up. `deleted` is
    told of each file that goes, `met_wrong` of each that is not as it was.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        needed: Callable[[Sequence[str]], set[str]] = lambda _: set(),
        deleted: Callable[[str], None] = lambda _: None,
        met_wrong: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._needed = needed
        self._deleted = deleted
        self.met_wrong = met_wrong
        self._holding = threading.Lock()
        self._holders = 0
        self._deleted_meanwhile: list[str] = []
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def folder(self) -> Path:
        return self._folder

    def names(self) -> set[str]:
        """What is there under a name that we give; half an upload is, too."""
        return {name for name in os.listdir(self._folder) if OURS.fullmatch(name)}

    def refused(self) -> str | None:
        """Why the files cannot be read or new ones stored, in the system's words, if so."""
        inside = f"{self._folder}/."  # of a file that took the folder's place there is no inside
        if os.access(inside, os.R_OK | os.W_OK | os.X_OK):
            return None
        try:
            os.stat(inside)
        except OSError as error:
            return error.strerror
        return os.strerror(errno.EACCES)

    def check(self) -> None:
        """Raise FilesInaccessible where a file could not be read, stored or deleted."""
        why = self.refused()
        if why is not None:
            raise errors.FilesInaccessible(self._folder.name, why)

    def save(self, source: BinaryIO, filename: str) -> StoredFile:
        """Copy to disk and sync: when this returns, the bytes survive a power loss."""
        name = uuid.uuid4().hex
        temporary, final = self._folder / f".{name}", self._folder / name
        try:
            with naming_trouble(self._folder.name):
                size, digest = self._write(source, temporary, filename)
                os.rename(temporary, final)
                sync(self._folder)
        except BaseException:
            with suppress(OSError):  # what was wrong before is told, not that this fails too
                temporary.unlink(missing_ok=True)
                final.unlink(missing_ok=True)
            raise
        return StoredFile(name, size, digest)

    def adopt(self, original: Path) -> str:
        """Take in a file that is on this disk already; the original stays where it is."""
        name = uuid.uuid4().hex
        try:
            os.link(original, self._folder / name)
        except OSError:
            shutil.copyfile(original, self._folder / name)
            sync(self._folder / name)
        sync(self._folder)
        return name

    def path(self, name: str) -> Path:
        return self._folder / name

    def original(self, name: str, filename: str) -> Path:
        """The path of a file that is there. Raises FilesInaccessible or FileMissing."""
        path = self.path(name)
        if not os.path.isfile(path):
            self.check()
            self.met_wrong(name)
            raise errors.FileMissing(filename)
        return path

    def to_hand_out(
        self, name: str, filename: str, size: int, sha256: str, is_doubted: bool
    ) -> Path:
        """The same, unless the file is known to have changed. It is read completely only if
        `is_doubted`: it may have been repaired since."""
        path = self.original(name, filename)
        try:
            if not is_doubted and path.stat().st_size == size:
                return path
            return self.unchanged(name, filename, size, sha256)
        except FileNotFoundError:  # deleted since we looked
            raise errors.FileMissing(filename) from None

    def unchanged(self, name: str, filename: str, size: int, sha256: str) -> Path:
        """The same, of a file that has the bytes that were stored. Else raises FileChanged."""
        path = self.original(name, filename)
        with naming_trouble(self._folder.name), open(path, "rb") as file:
            is_same = os.fstat(file.fileno()).st_size == size
            is_same = is_same and hashlib.file_digest(file, "sha256").hexdigest() == sha256
        if not is_same:
            self.met_wrong(name)
            raise errors.FileChanged(filename)
        return path

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Meanwhile deleted files stay on the disk; they go when the last holder releases them.
        Code that first holds and then looks at the database finds every file that it names."""
        with self._holding:
            self._holders += 1
        try:
            yield
        finally:
            with self._holding:
                self._holders -= 1
                gone = []
                if not self._holders:
                    gone, self._deleted_meanwhile = self._deleted_meanwhile, []
            self._unlink(gone)

    def delete(self, names: Iterable[str | None]) -> None:
        """Forget files that nothing names any more; one that is gone already is fine, and one that
        something still names stays: after damage a job may name the original of a document.

        One that cannot be deleted now goes at the next start: the database has noted its name.
        """
        gone = [name for name in names if name is not None]
        with self._holding:
            if self._holders:
                self._deleted_meanwhile += gone
                return
        self._unlink(gone)

    def _unlink(self, names: Sequence[str]) -> None:
        try:
            needed = self._needed(names) if names else set()
        except errors.KbError as error:  # what a damaged database names cannot be known
            logger.warning("%s files stay until the next start: %s", len(names), error.message)
            return
        for name in (name for name in names if name not in needed):
            try:
                self.path(name).unlink(missing_ok=True)
                self._deleted(name)
            except OSError as error:
                logger.warning("the file %s stays until the next start: %s", name, error)

    def _write(self, source: BinaryIO, target: Path, filename: str) -> tuple[int, str]:
        digest, size = hashlib.sha256(), 0
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:  # buffered, since a bare write may stop short
            while block := source.read(_BLOCK):
                size += len(block)
                if size > self._max_bytes:
                    raise too_large(filename, self._max_bytes)
                digest.update(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        return size, digest.hexdigest()


@contextmanager
def naming_trouble(folder: str) -> Iterator[None]:
    """The system's word for a full or failing disk, or for a folder that is out of reach, in, ours
    out."""
    try:
        yield
    except ConnectionError:  # of whoever sends: no fault of ours
        raise
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise errors.StorageFull() from error
        if error.errno in DISK_ERRORS:
            raise errors.StorageFailed(
                f"The disk failed: {error.strerror} ({folder}). Nothing was changed. Check the "
                "disk of the data folder (KB_DATA_DIR), then try again"
            ) from error
        raise errors.FilesInaccessible(folder, error.strerror or str(error)) from error


def too_large(filename: str, max_bytes: int) -> errors.FileTooLarge:
    limit = max_bytes // 2**20
    return errors.FileTooLarge(
        f"{filename} is larger than the {limit} MB that are allowed: split it, or raise "
        "KB_MAX_FILE_MB",
        max_size_mb=limit,
    )
