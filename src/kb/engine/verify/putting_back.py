"""Originals that are missing or changed in, the right ones in their places out.

They come from `store-lost`, from another original's place, if two were exchanged, or from the last
backup. What is in the place of a changed one is kept in `store-lost`.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kb.engine.backup.rescue import Rescue
from kb.engine.durable import sync
from kb.engine.store.database import Database
from kb.engine.verify.originals import sha256_of
from kb.engine.verify.report import Finding

_FILE = "SELECT stored_name, content_hash FROM documents WHERE id = :id AND stored_name IS NOT NULL"


def put_back(
    database: Database, files: Path, findings: Sequence[Finding], backup: Rescue | None
) -> tuple[list[str], list[str]]:
    """What was put back, and what is lost, both in words."""
    wrong = [finding for finding in findings if finding.document_id is not None]
    wanted = {
        finding.document_id: row
        for finding in wrong
        for row in database.read(_FILE, id=finding.document_id)
    }
    found = {
        document_id: source
        for document_id, (name, sha256) in wanted.items()
        if (source := _source(files, name, sha256, wanted.values(), backup)) is not None
    }
    staged = {key: _staged(files, wanted[key][0], source) for key, source in found.items()}
    for key, copy in staged.items():
        _exchange(files, wanted[key][0], copy)
    sync(files)
    back = [f"the original of document {key} is back, from {found[key].parent}" for key in found]
    lost = [finding.what for finding in findings if finding.document_id is None]
    lost += [
        f"document {finding.document_id} ({finding.title}): {finding.what}; its text is there"
        for finding in wrong
        if finding.document_id not in found
    ]
    return back, lost


def _source(
    files: Path, name: str, sha256: str, others: Iterable[tuple[str, str]], backup: Rescue | None
) -> Path | None:
    for path in _places(files, name, others):
        if path.is_file() and sha256_of(path) == sha256:
            return path
    return backup.original(name) if backup is not None else None


def _places(files: Path, name: str, others: Iterable[tuple[str, str]]) -> Iterator[Path]:
    yield files.with_name("store-lost") / name
    yield from (files / other for other, _ in others if other != name)


def _staged(files: Path, name: str, source: Path) -> Path:
    """A copy beside the originals, before anything is moved: two may be in each other's places."""
    copy = files / f".{name}"
    shutil.copyfile(source, copy)
    sync(copy)
    return copy


def _exchange(files: Path, name: str, copy: Path) -> None:
    if (files / name).exists():
        aside = files.with_name("store-lost")
        aside.mkdir(mode=0o700, exist_ok=True)
        os.rename(files / name, aside / f"{name}.changed")
    os.rename(copy, files / name)
