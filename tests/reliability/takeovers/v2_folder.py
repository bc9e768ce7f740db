"""An empty folder in, a v2 data folder out: as v2 left it when it was closed, or when it died."""

import hashlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import sqlite_vec  # type: ignore[import-untyped]

SCHEMA = Path(__file__).parents[2] / "fixtures" / "v2.sql"
WAYS = ("closed", "log", "journal")


@dataclass(frozen=True, slots=True)
class V2Chunk:
    id: int
    text: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class V2Document:
    """A document of v2. `created` is what v2 wrote, `time` the same moment as v3 shows it."""

    id: int
    title: str
    doc_type: str
    created: str
    time: str
    chunks: tuple[V2Chunk, ...]
    tags: tuple[str, ...] = ()
    source_path: str | None = None
    stored_path: str | None = None
    original: bytes | None = None
    format: str = ""

    @property
    def content_hash(self) -> str:
        return hashlib.sha256("".join(chunk.text for chunk in self.chunks).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class V2Job:
    id: int
    status: str
    filename: str | None = None
    document_id: int | None = None
    error: str | None = None
    finished: str | None = field(default="2026-02-03 10:00:09")


DOCUMENTS = (
    V2Document(
        1,
        "Größe & 日本語: a note",
        "note",
        "2025-12-31 23:59:59",
        "2025-12-31T23:59:59.000000Z",
        (
            V2Chunk(1, "Größe & 日本語: a note about the zebrafinch\n"),
            V2Chunk(2, "Second part 🦜."),
        ),
        tags=("agent:mybot", "collection:memory", "überblick"),
    ),
    V2Document(
        2,
        "Annual report",
        "pdf",
        "2026-01-02 03:04:05",
        "2026-01-02T03:04:05.000000Z",
        tuple(V2Chunk(2 + n, f"Page {n} of the report on ptarmigans.", n) for n in range(1, 5)),
        tags=("collection:documents", "work"),
        source_path="/home/anna/report.pdf",
        stored_path="files/report.pdf",
        original=b"%PDF-1.4 not much of one\n%%EOF\n",
        format="pdf",
    ),
    V2Document(
        3,
        "Read me",
        "markdown",
        "2026-01-02 03:04:05.678901",
        "2026-01-02T03:04:05.678901Z",
        (V2Chunk(7, "# Read me\n\nHow to feed a kakapo.\n"),),
        source_path="/home/anna/README.md",
        stored_path="originals/2026/README.md",
        original=b"# Read me\n\nHow to feed a kakapo.\n",
        format="md",
    ),
    V2Document(
        4,
        "plain",
        "text",
        "2026-01-03T00:00:00+01:00",
        "2026-01-02T23:00:00.000000Z",
        (V2Chunk(8, "Plain words on a hoopoe."),),
        tags=("work",),
        source_path="/home/anna/plain.txt",
        stored_path="files/vanished.txt",
        format="txt",
    ),
    V2Document(
        7,
        "A page",
        "html",
        "2026-02-03 10:00:00",
        "2026-02-03T10:00:00.000000Z",
        (V2Chunk(11, "A page on the quetzal."), V2Chunk(12, "")),
        source_path="/home/anna/page.html",
        stored_path="store/page.html",
        original=b"<p>A page on the quetzal.</p>",
        format="html",
    ),
)
JOBS = (
    V2Job(1, "done", "report.pdf", 2),
    V2Job(2, "failed", "broken.pdf", error="the file is encrypted"),
    V2Job(3, "running", "long.pdf", finished=None),
    V2Job(4, "queued", None, finished=None),
)
# Ids that v2 gave away and deleted again: at the end, and in a gap.
LAST_DOCUMENT_ID, LAST_CHUNK_ID, LAST_JOB_ID = 12, 40, 9


def build_v2(folder: Path, way: str) -> None:
    """A v2 data folder: closed cleanly, with commits in a log only, or with a hot journal."""
    folder.mkdir(parents=True)
    scratch = folder.with_name(f"{folder.name}-v2-at-work")
    scratch.mkdir()
    database = scratch / "kb.db"
    connection = _open(database)
    connection.execute(SCHEMA.read_text("utf-8"))
    if way == "log":
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    _fill(connection)
    if way == "closed":
        connection.close()
    elif way == "journal":
        _begin_and_spill(connection, database)
    for part in scratch.iterdir():
        shutil.copyfile(part, folder / part.name)
    connection.close()
    shutil.rmtree(scratch)
    for document in DOCUMENTS:
        if document.stored_path and document.original is not None:
            path = folder / document.stored_path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.original)


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    """What is v2's in a folder: each file's bytes, as a hash, and when it was written."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in files
        if not path.relative_to(folder).parts[0].startswith(("store.", "store-"))
    }


def _open(database: Path) -> apsw.Connection:
    connection = apsw.Connection(str(database))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    return connection


def _fill(connection: apsw.Connection) -> None:
    with connection:
        for document in DOCUMENTS:
            _insert(connection, document)
        for job in JOBS:
            connection.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, '2026-02-03 10:00:00', ?)",
                (job.id, job.status, job.filename, job.document_id, job.error, job.finished),
            )
    with connection:
        connection.execute(
            "INSERT INTO documents (id, title, doc_type, content_hash) "
            "VALUES (?, 'gone', 'note', 'x')",
            (LAST_DOCUMENT_ID,),
        )
        connection.execute(
            "INSERT INTO chunks VALUES (?, ?, 0, 'gone', NULL)", (LAST_CHUNK_ID, LAST_DOCUMENT_ID)
        )
        connection.execute("INSERT INTO jobs (id, status) VALUES (?, 'done')", (LAST_JOB_ID,))
        connection.execute("DELETE FROM chunks WHERE id = ?", (LAST_CHUNK_ID,))
        connection.execute("DELETE FROM documents WHERE id = ?", (LAST_DOCUMENT_ID,))
        connection.execute("DELETE FROM jobs WHERE id = ?", (LAST_JOB_ID,))


def _insert(connection: apsw.Connection, document: V2Document) -> None:
    connection.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            document.id,
            document.title,
            document.source_path,
            document.doc_type,
            document.content_hash,
            document.stored_path,
            document.created,
        ),
    )
    for index, chunk in enumerate(document.chunks):
        connection.execute(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?)",
            (chunk.id, document.id, index, chunk.text, chunk.page),
        )
        vector = sqlite_vec.serialize_float32([0.05] * 384)
        connection.execute("INSERT INTO chunks_vec VALUES (?, ?)", (chunk.id, vector))
    for tag in document.tags:
        connection.execute("INSERT OR IGNORE INTO tags (name) VALUES (?)", (tag,))
        connection.execute(
            "INSERT INTO document_tags SELECT ?, id FROM tags WHERE name = ?", (document.id, tag)
        )


def _begin_and_spill(connection: apsw.Connection, database: Path) -> None:
    """A transaction that is never committed, part of which is in the file already."""
    before = database.read_bytes()
    connection.execute("PRAGMA cache_size = 2; BEGIN")
    connection.execute("UPDATE documents SET title = 'never committed'")
    connection.execute("DELETE FROM document_tags")
    for number in range(200):
        connection.execute(
            "INSERT INTO chunks (document_id, chunk_index, text) VALUES (1, ?, ?)",
            (100 + number, f"never committed {number} " * 50),
        )
    assert database.read_bytes() != before
    assert database.with_name("kb.db-journal").stat().st_size > 0
