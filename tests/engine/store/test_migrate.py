"""Migrations: each whole or not at all, and no step back."""

import apsw
import pytest

from kb.engine.errors import StartupError
from kb.engine.store import Store, migrate
from kb.engine.store.database import Database
from kb.engine.terms import TERMS_VERSION, terms


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


def test_a_new_store_has_the_latest_schema_and_opening_it_again_changes_nothing(path):
    for _ in range(2):
        Store(path, terms, TERMS_VERSION, "hash-384").close()
        found, tables = version(path)
        assert found == max(migrate._migrations())
        assert {"documents", "chunks", "words", "vectors", "jobs"} <= tables


def test_the_numbers_of_the_scripts_have_no_gap():
    numbers = sorted(migrate._migrations())
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_store_of_a_newer_kb_is_refused_in_one_clear_line(path):
    Store(path, terms, TERMS_VERSION, "hash-384").close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
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
