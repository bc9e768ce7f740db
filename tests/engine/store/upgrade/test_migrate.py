"""Migrations: each whole or not at all, and no step back."""

from pathlib import Path

import apsw
import pytest

from kb.engine.errors import StartupError
from kb.engine.store import Store
from kb.engine.store.file.database import Database
from kb.engine.store.upgrade import migrate
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import NewJob


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def version(path):
    connection = apsw.Connection(str(path))
    [(found,)] = connection.execute("PRAGMA user_version").fetchall()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()
    return found, tables


def run(path, monkeypatch, migrations):
    monkeypatch.setattr(migrate, "_migrations", lambda: migrations)
    database = Database(path)
    try:
        migrate.migrate(database)
    finally:
        database.close()


def sql(path, *statements):
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def made_before(path, monkeypatch):
    """To make a store as it was before a migration, with these rows in it."""

    def made_before(number, *statements):
        older = {n: script for n, script in migrate._migrations().items() if n < number}
        with monkeypatch.context() as patch:
            run(path, patch, older)
        sql(path, *statements)

    return made_before


@pytest.fixture
def upgraded(path):
    """To open the store as it is today."""
    opened = []

    def upgraded():
        opened.append(Store(path, terms, TERMS_VERSION, "hash-384"))
        return opened[-1]

    yield upgraded
    for store in opened:
        store.close()


def test_a_new_store_has_the_latest_schema_and_opening_it_again_changes_nothing(path):
    for _ in range(2):
        Store(path, terms, TERMS_VERSION, "hash-384").close()
        found, tables = version(path)
        assert found == max(migrate._migrations())
        assert {"documents", "chunks", "words", "vectors", "jobs"} <= tables


def test_documents_and_jobs_from_before_origins_are_of_no_machine(made_before, upgraded):
    made_before(
        6,
        "INSERT INTO documents (uid, title, doc_type, format, source_path, content_hash, "
        "size_bytes, metadata, processing_method, chunk_count, created_at) VALUES ('u', 't', "
        "'text', 'txt', '/a', 'h', 1, '{}', 'text_extraction', 0, '2026-01-01T00:00:00.000000Z')",
        "INSERT INTO jobs (uid, status, kind, outcome, created_at) "
        "VALUES ('j', 'done', 'file', 'updated', '2026-01-01T00:00:00.000000Z')",
    )
    store = upgraded()
    assert store.documents.get(1).origin is None
    assert store.jobs.get(1).changed is None


def test_a_store_of_a_newer_kb_is_refused_in_one_clear_line(path):
    Store(path, terms, TERMS_VERSION, "hash-384").close()
    sql(path, "PRAGMA user_version = 99")
    with pytest.raises(StartupError, match=r"newer kb .*99.*upgrade kb") as caught:
        Store(path, terms, TERMS_VERSION, "hash-384")
    assert "\n" not in caught.value.message
    assert version(path)[0] == 99


def test_only_what_is_missing_is_run(path, monkeypatch):
    scripts = {1: "CREATE TABLE a (x);\n"}
    run(path, monkeypatch, scripts)
    run(path, monkeypatch, {**scripts, 2: "CREATE TABLE b (x);\nCREATE TABLE c (x);\n"})
    assert version(path) == (2, {"a", "b", "c"})


def test_a_script_that_fails_leaves_the_step_before_it_and_can_be_run_again(path, monkeypatch):
    first = {1: "CREATE TABLE a (x);\n"}
    with pytest.raises(apsw.SQLError):
        run(path, monkeypatch, {**first, 2: "CREATE TABLE b (x);\nCREATE TABLE a (x);\n"})
    assert version(path) == (1, {"a"})
    run(path, monkeypatch, {**first, 2: "CREATE TABLE b (x);\nINSERT INTO a VALUES ('; ');\n"})
    assert version(path) == (2, {"a", "b"})


def test_jobs_that_were_queued_by_an_older_kb_keep_their_order(made_before, upgraded):
    job = (
        "INSERT INTO jobs (uid, status, text, kind, metadata, content_hash, size_bytes, created_at)"
        " VALUES ({}, 'note', '{{}}', 'h', 8000, 'now')"
    )
    rows = "'a', 'done', NULL", "'b', 'queued', 'x'", "'c', 'queued', 'x'"
    made_before(7, *(job.format(row) for row in rows), "UPDATE jobs SET content_hash = uid")
    store = upgraded()
    new, _ = store.jobs.add(NewJob("note", "d", 10, text="x", batch="new"))
    assert store.jobs.places([3])[3].ahead == 2
    assert store.jobs.places([3])[3].expected == 23
    taken = [store.jobs.take() for _ in range(3)]
    assert [job.uid for job in taken] == ["b", new.uid, "c"]
    assert [job.request.text for job in taken] == ["x", "x", "x"]


def test_a_job_that_an_older_kb_was_at_when_it_died_is_taken_at_once(made_before, upgraded):
    made_before(
        18,
        "INSERT INTO jobs (uid, status, kind, has_text, metadata, content_hash, size_bytes, "
        "attempts, lease, turn, created_at) VALUES ('a', 'running', 'note', 1, '{}', 'a', 1, 1, "
        "'theirs', 1, 'then')",
        "INSERT INTO job_texts VALUES (1, 'otters')",
    )
    taken = upgraded().jobs.take()
    assert (taken.id, taken.attempts, taken.request.text) == (1, 2, "otters")


def test_a_store_from_before_engines_took_turns_at_sweeping_can_be_swept(made_before, upgraded):
    made_before(20)
    with upgraded().sweeping.turn() as is_ours:
        assert is_ours()


def test_each_migration_has_a_number_of_its_own():
    folder = Path(migrate.__file__).parents[1] / "sql" / "sqlite"
    numbers = sorted(int(file.name[:4]) for file in folder.glob("*.sql"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_log_of_changes_from_before_it_had_readers_is_read_on(made_before, upgraded):
    made_before(
        19,
        "INSERT INTO change_log (chunk_id, document_id, chunk_seq, change) "
        "VALUES (1, 1, 0, 'removed'), (2, 1, 1, 'removed')",
    )
    store = upgraded()
    assert store.upkeep.tidy() == 1
    with store.look() as look:
        assert look.view.ids.tolist() == []
