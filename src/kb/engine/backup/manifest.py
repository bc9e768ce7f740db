"""The readable files that say what a backup is made of.

manifest.json    what this is: when, of which store, how much
database.blocks  the hashes of the database's blocks, in order, 32 bytes each
originals.tsv    a line for each original: its name in the store, its hash, its size
SHA256SUMS       the hashes of the three, as `sha256sum --check` reads them
"""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from kb.engine.backup.blocks import BLOCK_BYTES, HASH_BYTES, hash_of
from kb.engine.backup.disk import Disk, hash_of_file
from kb.engine.errors import BackupDamaged

FORMAT = "kb backup 1"
MANIFEST, BLOCK_LIST, ORIGINALS, SUMS = (
    "manifest.json",
    "database.blocks",
    "originals.tsv",
    "SHA256SUMS",
)


@dataclass(frozen=True, slots=True)
class Original:
    """A file of the store by its name there; equal files are kept once, by their hash."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a backup without reading it. `taken_at` is the instant that it holds.

    `missing` are originals that the store had lost already; `written_bytes` is what this backup
    had to write, beside what earlier ones had left.
    """

    name: str
    store_id: str
    taken_at: str
    finished_at: str
    kb_version: str
    schema_version: int
    commits: int
    documents: int
    notes: int
    chunks: int
    jobs_waiting: int
    database_bytes: int
    originals: int
    original_bytes: int
    missing: list[str] = field(default_factory=list)
    written_bytes: int = 0
    page_size: int = 4096
    block_bytes: int = BLOCK_BYTES
    format: str = FORMAT

    @classmethod
    def from_json(cls, found: Any) -> Self:
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise BackupDamaged(
                f"{MANIFEST} is not that of a backup that this kb can read; a newer kb may"
            )
        known = {each.name for each in fields(cls)}
        try:
            return cls(**{name: value for name, value in found.items() if name in known})
        except TypeError as error:
            raise BackupDamaged(f"{MANIFEST} lacks something: {error}") from error


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a backup names."""

    manifest: Manifest
    blocks: list[bytes]
    originals: list[Original]


def write_contents(folder: Path, contents: Contents, disk: Disk) -> None:
    shown = json.dumps(asdict(contents.manifest), indent=1, ensure_ascii=False) + "\n"
    parts = {
        MANIFEST: shown.encode(),
        BLOCK_LIST: b"".join(contents.blocks),
        ORIGINALS: "".join(map(line_of, contents.originals)).encode(),
    }
    for name, data in parts.items():
        disk.save(folder / name, data)
    sums = "".join(f"{hash_of(data).hex()}  {name}\n" for name, data in parts.items())
    disk.save(folder / SUMS, sums.encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest alone, for lists. Raises BackupDamaged."""
    try:
        return Manifest.from_json(json.loads((folder / MANIFEST).read_bytes()))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BackupDamaged(f"{MANIFEST}: {why}") from error


def read_contents(folder: Path) -> Contents:
    """All of it, compared with its hashes. Raises BackupDamaged."""
    try:
        sums = (folder / SUMS).read_text().splitlines()
        for name in (MANIFEST, BLOCK_LIST, ORIGINALS):
            if f"{hash_of_file(folder / name)}  {name}" not in sums:
                raise BackupDamaged(f"{folder / name} has changed since it was written")
        manifest = read_manifest(folder)
        listed = (folder / BLOCK_LIST).read_bytes()
        lines = (folder / ORIGINALS).read_text().splitlines()
        originals = [_original(line) for line in lines]
    except (OSError, ValueError) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        raise BackupDamaged(f"{folder} cannot be read: {why}") from error
    blocks = [listed[at : at + HASH_BYTES] for at in range(0, len(listed), HASH_BYTES)]
    if len(blocks) != -(-manifest.database_bytes // BLOCK_BYTES):
        raise BackupDamaged(f"{folder / BLOCK_LIST} does not list all blocks of the database")
    return Contents(manifest, blocks, originals)


def line_of(original: Original) -> str:
    return f"{original.name}\t{original.sha256}\t{original.size}\n"


def _original(line: str) -> Original:
    name, sha256, size = line.split("\t")
    return Original(name, sha256, int(size))
