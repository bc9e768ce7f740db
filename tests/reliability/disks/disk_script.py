"""Eighty operations on a store, each a change that is made whole or not at all."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from kb.engine.embed import OtherHashEmbedder
from kb.engine.store.file.database import Query
from kb.engine.store.file.page_checksums import connect
from kb.engine.store.rows.chunk_rows import head_line
from kb.engine.store.rows.search_names import called
from kb.engine.store.search.word_search import as_row
from kb.engine.store.upgrade import migrate
from kb.engine.text.terms import terms

from .looking_after import (
    World,
    back_up,
    back_up_at_rest,
    check,
    check_at_rest,
    damage,
    export,
    import_again,
    leave_the_store_alone,
    lose_an_original,
    put_back,
    repair,
    repair_at_rest,
    restore,
)

if TYPE_CHECKING:
    from .every_call import Running

Do = Callable[["Running"], Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """`do` answers as the API does, in words, or with nothing. One that `opens` stops and starts
    the engine; `folder` puts another store in the place of the one that is there. What is done
    `at_rest` is done while no engine runs. `prepare` changes what lies there before."""

    name: str
    do: Do | None = None
    folder: Callable[[Path], None] | None = None
    at_rest: Callable[[World], str] | None = None
    prepare: Callable[[World], None] | None = None

    @property
    def is_all_or_nothing(self) -> bool:
        """Whether what was refused changed nothing. What the engine does by itself goes step by
        step, and so does an import: what came before it broke off stays, each document whole."""
        return self.do not in (_work, _tidy, _forget_words, _shrink, _renew, import_again)

    @property
    def mends(self) -> bool:
        """Whether it has to come to its end before the store is whole."""
        return self.at_rest is not None or self.prepare in (damage, lose_an_original)

    @property
    def opens(self) -> bool:
        return self.do is None and self.at_rest is None


def _words(count: int, about: str) -> str:
    lines = [f"Line {number} about {about} and the river near the mill." for number in range(count)]
    return "\n\n".join(lines)


def _note(text: str, **fields: Any) -> Do:
    return lambda running: running.client.post("/jobs", json={"text": text, **fields})


def _file(name: str, content: bytes, **fields: Any) -> Do:
    return lambda running: running.client.post(
        "/jobs", files={"file": (name, content)}, data={"source_path": f"/{name}", **fields}
    )


def _ask(method: str, path: str, body: Any = None) -> Do:
    return lambda running: running.client.request(method, path, json=body)


def _work(running: "Running") -> None:
    running.engine.worker.finish_jobs()


def _tidy(running: "Running") -> None:
    running.engine.store.upkeep.tidy()


def _forget_words(running: "Running") -> None:
    running.engine.store.upkeep.forget_words()


def _shrink(running: "Running") -> None:
    running.engine.store.upkeep.shrink()


def _renew(running: "Running") -> None:
    running.engine.renewal.step()


def _import(key: str, text: str) -> Do:
    """From elsewhere, as `kb import` sends it."""
    document = {
        "source": "elsewhere",
        "key": key,
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "title": key,
        "text": text,
        "tags": ["imported"],
    }
    return lambda running: running.client.post("/import", json=document)


def _search(running: "Running") -> Any:
    return running.client.post("/search", json={"query": "river mill", "fts_only": True})


_RESTART = Operation("stop and start")
_LATER = ("store_id", "numbering", "commits", "last_backup")  # what migrations bring
_OLDER = 5

SCRIPT: list[Operation] = [
    Operation("start on an empty folder", folder=lambda folder: shutil.rmtree(folder, True)),
    Operation("add a note", _note("Otters swim in the river.", tags=["a"])),
    Operation("work on the note", _work),
    Operation("add a second note", _note("Herons wait.", source_path="birds", metadata={"n": 1})),
    Operation("work on the second note", _work),
    Operation("add a long note", _note(_words(450, "voles"), title="Voles")),
    Operation("work on the long note", _work),
    Operation("add a file", _file("mill.txt", _words(30, "mills").encode(), tags=["a", "b"])),
    Operation("work on the file", _work),
    Operation("add a second file", _file("weir.md", b"# Weirs\n\nWater falls.\n")),
    Operation("work on the second file", _work),
    Operation("search", _search),
    Operation("update a note", _ask("PATCH", "/notes/1", {"text": "Otters sleep on the bank."})),
    Operation("set a title", _ask("PATCH", "/documents/1", {"title": "Otters"})),
    Operation("set metadata", _ask("PATCH", "/documents/2", {"metadata": {"n": 2, "m": "x"}})),
    Operation("set tags", _ask("PUT", "/documents/1/tags", {"tags": ["c", "d"]})),
    Operation("add tags", _ask("POST", "/documents/2/tags", {"tags": ["d", "e"]})),
    Operation("take a tag away", _ask("DELETE", "/documents/1/tags", {"tags": ["c"]})),
    Operation("back up", back_up(keep=2)),
    Operation("import a note", _import("Kites", "Kites circle.")),
    Operation("work on the imported note", _work),
    Operation("delete a tagged note", _ask("DELETE", "/documents/6")),
    Operation("back up once more, and keep one", back_up(keep=1)),
    Operation("check everything", check),
    Operation("repair what is whole", repair),
    Operation("export", export),
    Operation("delete an exported file", _ask("DELETE", "/documents/5")),
    Operation("import it again", import_again),
    Operation("make its vectors", _renew),
    Operation("restore a backup", at_rest=restore),
    Operation("back up at rest", at_rest=back_up_at_rest),
    Operation("check at rest", at_rest=check_at_rest),
    Operation("repair at rest what is whole", at_rest=repair_at_rest),
    Operation("put a lost original back", put_back, prepare=lose_an_original),
    Operation("rebuild what is damaged", at_rest=repair_at_rest, prepare=damage),
    Operation("tidy", _tidy, prepare=leave_the_store_alone),
    _RESTART,
    Operation("add a file again, changed", _file("mill.txt", _words(35, "rain").encode())),
    Operation("work on the changed file", _work),
    Operation(
        "add a file again, with tags", _file("weir.md", b"# Weirs\n\nWater falls.\n", tags=["t"])
    ),
    Operation("work on the tags", _work),
    Operation("add a note again", _note("Herons wait.", source_path="birds", tags=["d", "e"])),
    Operation("work on the same note", _work),
    Operation("add what cannot be read", _file("noise.bin", bytes(range(256)) * 4200)),
    Operation("work on what cannot be read", _work),
    Operation("try it again", _ask("POST", "/jobs/10/retry")),
    Operation("work on it again", _work),
    Operation("delete what it holds", _ask("DELETE", "/jobs/10")),
    Operation("add a note to cancel", _note("Never mind.")),
    Operation("cancel it", _ask("DELETE", "/jobs/11")),
    Operation("rename a long note", _ask("PATCH", "/documents/3", {"title": "Water voles"})),
    Operation("forget words of the old title", _forget_words),
    Operation("update the long note", _ask("PATCH", "/notes/3", {"text": _words(40, "moles")})),
    Operation("forget some words", _forget_words),
    Operation("forget some more words", _forget_words),
    Operation("choose another model", _ask("PUT", "/model", {"name": OtherHashEmbedder.name})),
    Operation("begin with its vectors", _renew),
    Operation("make some vectors", _renew),
    _RESTART,
    Operation("make some more vectors", _renew),
    Operation("make still more vectors", _renew),
    Operation("exchange the models", _renew),
    Operation("clear the old vectors", _renew),
    Operation("end the clearing", _renew),
    Operation("delete a note", _ask("DELETE", "/documents/2")),
    Operation("delete a file", _ask("DELETE", "/documents/4")),
    Operation("delete the long note", _ask("DELETE", "/documents/3")),
    Operation("give room back", _shrink),
    Operation("give more room back", _shrink),
    Operation("tidy after the deletions", _tidy),
    _RESTART,
    Operation("delete everything", _ask("DELETE", "/documents", {"confirm": "DELETE ALL"})),
    Operation("add a note after that", _note("Swifts scream.")),
    Operation("start after a crash", folder=lambda folder: _crash(folder)),
    Operation("work on what the crash left", _work),
    Operation("add a file after that", _file("swift.txt", _words(30, "swifts").encode())),
    Operation("work on that file", _work),
    Operation("start on an older schema", folder=lambda folder: _older(folder)),
    Operation("work on what was queued", _work),
    Operation("add a note to the older store", _note("Jackdaws chatter.")),
    Operation("work on that note", _work),
]


def _crash(folder: Path) -> None:
    """A job at work, and half an upload, as a kill leaves them."""
    connection = connect(folder / "store.db", apsw.SQLITE_OPEN_READWRITE)
    connection.execute("UPDATE jobs SET status = 'running', lease = 'x', attempts = 1")
    connection.execute(
        "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
        "VALUES (999, 99, 0, 'removed')"
    )
    connection.close()
    (folder / "store-incoming" / "tmp").write_bytes(b"half")


def _older(folder: Path) -> None:
    """The same documents in the schema of an earlier kb, with a note in its queue, without
    checksums."""
    kept = folder.with_name("newer")
    folder.rename(kept)
    folder.mkdir()
    shutil.copytree(kept / "store-files", folder / "store-files")
    (folder / "store-files" / "store-stamp").unlink()
    connection = apsw.Connection(str(folder / "store.db"), vfs="unix")
    connection.execute("PRAGMA journal_mode = WAL")
    query = Query(connection)
    for number in range(1, _OLDER + 1):
        migrate._run(query, migrate._migrations()[number])
    query(f"PRAGMA user_version = {_OLDER}")
    _take_over(connection, kept / "store.db")
    query(
        "INSERT INTO jobs (uid, status, kind, text, content_hash, size_bytes, source_path, tags, "
        "metadata, created_at) VALUES ('u', 'queued', 'note', 'Rooks caw.', :digest, 10, 'rooks', "
        "'[]', '{}', '2026-01-01T00:00:00.000000Z')",
        digest=hashlib.sha256(b"Rooks caw.").hexdigest(),
    )
    connection.close()
    shutil.rmtree(kept)


def _take_over(older: apsw.Connection, database: Path) -> None:
    """Every row, with the columns that there were; the words as they are made of them."""
    newer = connect(database, apsw.SQLITE_OPEN_READWRITE)
    for table in _TABLES:
        columns = {row[1] for row in newer.execute(f"PRAGMA table_info({table})")}
        names = [
            row[1] for row in older.execute(f"PRAGMA table_info({table})") if row[1] in columns
        ]
        listed, marks = ", ".join(names), ", ".join("?" * len(names))
        rows = newer.execute(f"SELECT {listed} FROM {table}").fetchall()
        if table in ("facts", "totals"):
            rows = [row for row in rows if row[0] not in _LATER]
        older.executemany(f"INSERT OR REPLACE INTO {table} ({listed}) VALUES ({marks})", rows)
    newer.close()
    for chunk_id, text, headings, *names in older.execute(
        "SELECT chunks.id, text, headings, title, filename, source_path FROM chunks "
        "JOIN documents ON documents.id = document_id"
    ).fetchall():
        head = terms(head_line(called(*names), json.loads(headings)))
        values = (chunk_id, as_row(terms(text)), as_row(head))
        older.execute("INSERT INTO words (rowid, body, head) VALUES (?, ?, ?)", values)


_TABLES = (
    *("documents", "chunks", "chunk_terms", "tags", "document_tags", "vectors", "exact_vectors"),
    *("other_vectors", "other_exact_vectors", "jobs", "facts", "totals"),
)
