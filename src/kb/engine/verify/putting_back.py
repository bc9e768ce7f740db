"""Restores originals that are missing or changed.

They come from `store-lost`, from another original's place if two were exchanged, or from a backup.
A changed file that is replaced is kept in `store-lost`.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.engine.backup.disk import hash_of_file
from kb.engine.backup.rescue import Whereabouts
from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.data_folder.originals import FileStore
from kb.engine.store.file.database import Database
from kb.engine.store.rows.unproven_texts import missing, unproven
from kb.engine.verify.reading_again import queue_reading
from kb.engine.verify.report import Finding, documents
from kb.platform import sync

_FILE = "SELECT stored_name, content_hash FROM {} WHERE id = :id AND stored_name IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where an original may be that is not in its place."""

    files: FileStore
    lost: LostFiles
    backups: Whereabouts

    def find(self, name: str, sha256: str, others: Iterable[str] = ()) -> Path | None:
        """`others` are originals in whose places it may be."""
        for path in self._places(name, others):
            if _is(path, sha256):
                return path
        return self.backups.original(sha256)

    def _places(self, name: str, others: Iterable[str]) -> Iterator[Path]:
        yield self.lost.path(name)
        yield from (self.files.path(other) for other in others if other != name)


@dataclass(slots=True)
class PutBack:
    """What was restored and what is lost, both in words."""

    back: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def put_back(database: Database, sources: Sources, findings: Sequence[Finding]) -> PutBack:
    """Several findings may be about one file: a job may have that of a document.

    Documents whose text was lost are read again, if their originals are there by then.
    """
    about = {finding: row for finding in findings if (row := _wanted(database, finding))}
    wanted = dict(about.values())
    found = {
        name: path
        for name, sha256 in wanted.items()
        if (path := sources.find(name, sha256, wanted)) is not None
    }
    _exchange(sources, found)
    _note_sizes(database, sources.files, found)
    done = PutBack()
    with database.reading() as query:
        without_text = {each.id for each in missing(query)}
    for finding, (name, _) in about.items():
        if name in found:
            done.back.append(f"the original of {_of(finding)} is back, from {found[name].parent}")
        else:
            done.lost.append(_lost(finding, finding.document_id in without_text))
    read_again = _read_again(database, sources.files)
    if read_again:
        are = "is" if len(read_again) == 1 else "are"
        done.back.append(f"{documents(read_again)} {are} read again")
    return done


def _wanted(database: Database, finding: Finding) -> tuple[str, str] | None:
    """The name and hash of the file that a finding is about; None where nothing needs it now."""
    table, key = ("jobs", finding.job_id) if finding.job_id else ("documents", finding.document_id)
    rows = database.read(_FILE.format(table), id=key)
    return (rows[0][0], rows[0][1]) if rows else None


def _exchange(sources: Sources, found: Mapping[str, Path]) -> None:
    """Copies of all come first: two may be in each other's places."""
    files = sources.files
    staged = {name: _staged(files, name, path) for name, path in found.items()}
    for name, copy in staged.items():
        place = files.path(name)
        if place.is_symlink() or place.exists():
            sources.lost.put_aside(name, f"it was in the place of the original {name}")
        os.rename(copy, place)
    if staged:
        sync(files.folder)


def _note_sizes(database: Database, files: FileStore, names: Iterable[str]) -> None:
    """An original that has the right hash has the right size, whatever its row says: a row that was
    made again while the original was missing cannot know it."""
    with database.transaction() as query:
        for name in names:
            query(
                "UPDATE documents SET size_bytes = :size WHERE stored_name = :name "
                "AND size_bytes <> :size",
                name=name,
                size=files.path(name).stat().st_size,
            )


def _staged(files: FileStore, name: str, source: Path) -> Path:
    copy = files.path(f".{name}")
    shutil.copyfile(source, copy)
    sync(copy)
    return copy


def _read_again(database: Database, files: FileStore) -> list[int]:
    """Documents whose text was not the stored one, or may not have been: their originals tell."""
    with database.reading() as query:
        rows = [row for each in unproven(query) for row in query(_UNREAD, id=each)]
    ids = []
    for document_id, name, sha256 in rows:
        if _is(files.path(name), sha256):
            with database.transaction() as query:
                queue_reading(query, document_id, files.adopt(files.path(name)))
            ids.append(document_id)
    return ids


_UNREAD = (
    "SELECT id, stored_name, content_hash FROM documents WHERE id = :id "
    "AND stored_name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs "
    "WHERE document_id = documents.id AND status IN ('queued', 'running'))"
)


def _of(finding: Finding) -> str:
    if finding.job_id is not None:
        return f"job {finding.job_id} ({finding.title})"
    return f"document {finding.document_id} ({finding.title})"


def _lost(finding: Finding, is_without_text: bool) -> str:
    if finding.job_id is not None:  # which its finding names
        return finding.what
    rest = "so is its text" if is_without_text else "its text is there"
    return f"{_of(finding)}: {finding.what}; {rest}"


def _is(path: Path, sha256: str) -> bool:
    try:
        return path.is_file() and not path.is_symlink() and hash_of_file(path) == sha256
    except OSError:
        return False
