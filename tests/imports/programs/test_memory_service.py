import hashlib
import sqlite3

import pytest

from kb.imports.item import Unreadable
from kb.imports.programs.memory_service import MemoryService

FIRST = """CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT,
    content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL, tags TEXT, memory_type TEXT,
    metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT, updated_at_iso TEXT"""
NEWEST = f"""{FIRST}, deleted_at REAL DEFAULT NULL, parent_id TEXT, version INTEGER DEFAULT 1,
    confidence REAL DEFAULT 1.0, last_accessed INTEGER, superseded_by TEXT"""
ROW = {
    "content_hash": "a" * 64,
    "content": "# Keys\nThe deploy key is rotated each March.",
    "tags": "ops, keys,",
    "memory_type": "note",
    "metadata": '{"source": "chat", "quality": 0.5}',
    "created_at": 1_700_000_000.25,
    "updated_at": 1_700_000_600.0,
    "created_at_iso": "2023-11-14T22:13:20.250000Z",
}


def database(folder, schema, *rows, log=False):
    path = folder / "sqlite_vec.db"
    connection = sqlite3.connect(path)
    if log:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(schema + ")")
    for row in rows:
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO memories ({names}) VALUES ({marks})", tuple(row.values()))
    connection.commit()
    if log:
        return path, connection
    connection.close()
    return path


@pytest.mark.parametrize("schema", [FIRST, NEWEST])
def test_a_memory_is_a_note(tmp_path, read, schema):
    [note], told = read(MemoryService(), database(tmp_path, schema, ROW))
    assert told == {}
    assert (note.key, note.title, note.text) == ("a" * 64, "Keys", ROW["content"])
    assert note.tags == ("ops", "keys")
    kept = {"source": "chat", "quality": 0.5, "memory_type": "note"}
    assert kept.items() <= note.metadata.items()
    assert note.created_at == "2023-11-14T22:13:20.250000Z"
    assert note.updated_at == "2023-11-14T22:23:20.000000Z"


def test_what_was_deleted_there_is_only_counted_and_what_was_replaced_says_so(tmp_path, read):
    rows = [
        ROW | {"superseded_by": "b" * 64},
        ROW | {"content_hash": "b" * 64},
        ROW | {"content_hash": "c" * 64, "deleted_at": 1_700_000_700.0},
    ]
    [old, new], told = read(MemoryService(), database(tmp_path, NEWEST, *rows))
    assert old.metadata["superseded_by"] == new.key
    assert told == {"1 memory": "deleted in mcp-memory-service"}


def test_associations_are_counted(tmp_path, read):
    path = database(tmp_path, NEWEST, ROW)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE memory_graph (source_hash TEXT, target_hash TEXT)")
        connection.execute("INSERT INTO memory_graph VALUES ('a', 'b')")
    connection.close()
    _, told = read(MemoryService(), path)
    assert told == {"1 association": "kb has no links between notes"}


def test_odd_values_are_no_crash(tmp_path, read):
    rows = [
        {"content_hash": "1", "content": "plain"},
        {"content_hash": "2", "content": "tags", "tags": '["a", "b"]', "metadata": "{broken"},
        {"content_hash": "3", "content": "times", "created_at": "2024-01-05T00:00:00Z", "tags": 7},
        {"content_hash": "4", "content": " \n"},
        {"content_hash": "5", "content": b"\xff\xfe bytes"},
        {"content_hash": "", "content": b"text in bytes", "tags": b"t"},
        {"content_hash": "6", "content": "list", "tags": "[a, b", "metadata": "[1]"},
    ]
    items, told = read(MemoryService(), database(tmp_path, FIRST, *rows))
    assert [item.key for item in items] == [
        "1",
        "2",
        "3",
        hashlib.sha256(b"text in bytes").hexdigest(),
        "6",
    ]
    assert [item.tags for item in items] == [(), ("a", "b"), ("7",), ("t",), ("a", "b")]
    assert items[1].metadata == {"metadata": "{broken"}
    assert items[2].created_at == "2024-01-05T00:00:00.000000Z"
    assert told == {
        "memory 4": "it has no text",
        "memory 5": "its text is no text: it is bytes that are not UTF-8",
    }


def test_damaged_characters_are_told(tmp_path, read):
    path = database(tmp_path, FIRST, ROW)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE memories SET content = CAST(x'53FF65' AS TEXT)")
    connection.close()
    [note], told = read(MemoryService(), path)
    assert note.text == "S\ufffde"
    assert list(told) == [f"memory {'a' * 64}"]


def test_only_a_table_is_read_since_a_view_may_have_no_end(tmp_path, read):
    path = tmp_path / "sqlite_vec.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE VIEW memories AS WITH RECURSIVE n(i) AS "
            "(SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i AS content_hash, 'x' || i AS content FROM n"
        )
    connection.close()
    assert not MemoryService().recognises(path)
    with pytest.raises(Unreadable, match="no table of memories"):
        read(MemoryService(), path)


def test_the_database_is_read_without_touching_it_or_its_folder(tmp_path, read):
    path = database(tmp_path, NEWEST, ROW)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    tmp_path.chmod(0o500)
    try:
        read(MemoryService(), path)
    finally:
        tmp_path.chmod(0o700)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [file.name for file in tmp_path.iterdir()] == ["sqlite_vec.db"]


def test_what_is_still_in_the_log_is_read_too(tmp_path, read):
    path, connection = database(tmp_path, NEWEST, ROW, log=True)
    log = tmp_path / "sqlite_vec.db-wal"
    before = [(file.name, file.read_bytes()) for file in (path, log)]
    assert MemoryService().recognises(path)
    items, _ = read(MemoryService(), tmp_path)
    assert len(items) == 1
    assert [(file.name, file.read_bytes()) for file in (path, log)] == before
    connection.close()


def test_only_such_a_database_is_recognised(tmp_path, read):
    assert MemoryService().recognises(database(tmp_path, FIRST))
    assert MemoryService().recognises(tmp_path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE memories (text)")
    connection.close()
    (tmp_path / "notes.txt").write_text("text")
    assert not any(
        MemoryService().recognises(tmp_path / name) for name in ("other.db", "notes.txt", "none")
    )
    with pytest.raises(Unreadable, match="has no table of memories"):
        read(MemoryService(), other)
    with pytest.raises(Unreadable, match="is not an SQLite database"):
        read(MemoryService(), tmp_path / "notes.txt")


def test_a_damaged_database_is_said_to_be_one(tmp_path, read):
    rows = [ROW | {"content_hash": str(number), "content": "x" * 3_000} for number in range(50)]
    path = database(tmp_path, FIRST, *rows)
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 8] = b"\xff" * 4096 * 5
    path.write_bytes(data)
    with pytest.raises(Unreadable, match=r"is damaged, .*take an older copy of it"):
        read(MemoryService(), path)
