"""Keeps files that no row names in a folder for a while, instead of deleting them.

Nobody asked to delete them: a kill may have come between an original and its row, or a damaged
database may lack rows. So they are moved aside, with a line in a manifest, and come back as soon as
a row names them again.
"""

import hashlib
import json
import logging
import os
import threading
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kb.engine.data_folder.originals import OURS, FileStore
from kb.engine.values import now, written
from kb.platform import sync

logger = logging.getLogger(__name__)

_MANIFEST = "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class Line:
    """The manifest's entry for a file."""

    name: str
    sha256: str
    size: int
    when: str
    why: str


class LostFiles:
    """The folder `store-lost`. A file is kept there for `days`; 0 means for ever."""

    def __init__(self, folder: Path, files: FileStore, days: int) -> None:
        self._folder = folder
        self._files = files
        self._days = days
        self._moving = threading.Lock()
        self.files, self.bytes = 0, 0
        self.missing: set[str] = set()  # what rows named, and is neither here nor there
        self._count()

    def sweep(self, needed: set[str], newest: str | None) -> int:
        """Move what no row names out of the way; how many files that were.

        One that is younger than the `newest` row stays: a database that knows nothing of its time
        has no say about it. What does not have a name that we give is not ours.
        """
        left = [
            name
            for name in sorted(self._files.names() - needed)
            if newest is not None and _modified(self._files.path(name)) <= newest
        ]
        with self._moving:
            moved = self._take({name: name for name in left}, "no document and no job names it")
        if moved:
            logger.warning("moved %s files that no row names to %s", moved, self._folder)
        return moved

    def take_back(self, needed: set[str]) -> list[str]:
        """Put files back that a row names and that are missing among the originals; their names."""
        with self._moving:
            self.missing = needed - self._files.names()
            wanted = sorted(self.missing & self._names())
            for name in wanted:
                os.rename(self._folder / name, self._files.path(name))
                self.missing.remove(name)
            if wanted:
                sync(self._files.folder)
                sync(self._folder)
                self._write(line for line in self._lines().values() if line.name not in wanted)
                logger.warning("took %s files back from %s", len(wanted), self._folder)
            self._count()
        return wanted

    def put_away(self, names: Iterable[str], why: str) -> None:
        """Move originals here; each comes back when a row names it."""
        with self._moving:
            self._take({name: name for name in names}, why)

    def path(self, name: str) -> Path:
        """The path of a file that was moved here, if it was."""
        return self._folder / name

    def put_aside(self, name: str, why: str) -> None:
        """Keep the wrong file in an original's place under another name, so that it does not come
        back if the original goes missing again."""
        path, aside = self._files.path(name), uuid.uuid4().hex
        with self._moving:
            if path.is_symlink() or not path.is_file():
                self._folder.mkdir(mode=0o700, exist_ok=True)
                os.rename(path, self._folder / f"{aside}.no-file")  # a person has to look at it
            else:
                self._take({name: aside}, why)

    def expire(self) -> int:
        """Delete what has been here for long enough; how many files that were."""
        if not self._days or not self.files:
            return 0
        before = written(datetime.now(UTC) - timedelta(days=self._days))
        with self._moving:
            lines, names = self._lines(), self._names()
            found = [lines.get(name) or self._described(name, "found here") for name in names]
            old = [line for line in found if line.when < before]
            for line in old:
                (self._folder / line.name).unlink()
            kept = [line for line in found if line not in old]
            if kept != list(lines.values()):
                self._write(kept)
            self._count()
        if old:
            logger.info("deleted %s lost files after %s days", len(old), self._days)
        return len(old)

    def _take(self, names: dict[str, str], why: str) -> int:
        """Move originals here, by their new names. The line comes first: a file without one would
        have no date to be deleted at."""
        if not names:
            return 0
        self._folder.mkdir(mode=0o700, exist_ok=True)
        described = [
            replace(self._described(name, why, self._files.folder), name=new)
            for name, new in names.items()
        ]
        self._write([*self._lines().values(), *described])
        for name, new in names.items():
            os.rename(self._files.path(name), self._folder / new)
        sync(self._folder)
        sync(self._files.folder)
        self._count()
        return len(names)

    def _described(self, name: str, why: str, folder: Path | None = None) -> Line:
        path = (folder or self._folder) / name
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Line(name, digest, path.stat().st_size, now(), why)

    def _names(self) -> set[str]:
        try:
            return {name for name in os.listdir(self._folder) if OURS.fullmatch(name)}
        except FileNotFoundError:
            return set()

    def _count(self) -> None:
        sizes = [(self._folder / name).stat().st_size for name in self._names()]
        self.files, self.bytes = len(sizes), sum(sizes)

    def _lines(self) -> dict[str, Line]:
        """By name. A line that cannot be read is passed over."""
        found: dict[str, Line] = {}
        try:
            text = (self._folder / _MANIFEST).read_text("utf-8", "replace")
        except FileNotFoundError:
            return found
        for line in text.splitlines():
            try:
                values = Line(**json.loads(line))
            except (ValueError, TypeError):
                continue
            found[values.name] = values
        return found

    def _write(self, lines: Iterable[Line]) -> None:
        temporary = self._folder / f"{_MANIFEST}.new"
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(line)) + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._folder / _MANIFEST)
        sync(self._folder)


def _modified(path: Path) -> str:
    """When a file was written, as rows say it."""
    return written(datetime.fromtimestamp(path.stat().st_mtime, UTC))
