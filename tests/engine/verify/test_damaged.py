"""A store whose database is damaged: only read, as far as it can be, and said everywhere."""

import apsw
import pytest

from kb.engine.errors import StartupError

DAMAGED = (503, "store_damaged")
TEXT = "Otters swim in the river."


def told(answer):
    """The status and the code, where the message says what to do."""
    body = answer.json()
    assert "`kb verify --repair`" in body["message"]
    return answer.status_code, body["error"]


@pytest.fixture
def note(api):
    return api.add_note(TEXT, tags=["river"])["document_id"]


@pytest.fixture
def damaged(api, note):
    api.engine.store.health.note_damage("page 7 is wrong")


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def written(open_api, data):
    """The id of a note in a folder that no engine uses."""
    with open_api(data) as api:
        return api.add_note(TEXT)["document_id"]


def overwrite(path, table):
    """Fill every page of a table with something else."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    [(size,)] = connection.execute("PRAGMA page_size")
    pages = connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,)).fetchall()
    connection.close()
    with open(path, "r+b") as file:
        for (page,) in pages:
            file.seek((page - 1) * size)
            file.write(b"\x07" * size)


def test_takes_no_change_and_answers_what_is_asked(api, note, damaged):
    changes = [
        api.post("/jobs", {"text": "A new note."}),
        api.post("/jobs", files={"file": ("a.txt", b"New words.\n")}),
        api.patch(f"/notes/{note}", {"text": "Other words."}),
        api.put(f"/documents/{note}/tags", {"tags": ["lake"]}),
        api.patch(f"/documents/{note}", {"title": "Otters"}),
        api.delete(f"/documents/{note}"),
        api.delete("/documents", {"confirm": "DELETE ALL"}),
    ]
    assert {told(answer) for answer in changes} == {DAMAGED}
    assert api.document(note)["tags"] == ["river"]
    assert [hit["document_id"] for hit in api.search("otters")] == [note]


def test_is_not_ready_and_failed_with_one_named_issue(api, note, damaged):
    ready = api.get("http://127.0.0.1/readyz")
    assert told(ready) == (503, "not_ready")
    health = api.get("/status").json()["health"]
    assert health["status"] == "failed"
    [issue] = health["issues"]
    assert issue["code"] == "store_damaged"
    assert "page 7 is wrong" in issue["message"]


def test_is_read_only_after_a_restart_too(open_engine, open_api, data, written):
    with open_engine(data) as engine:
        engine.store.health.note_damage("page 7 is wrong")
        engine.files.folder.joinpath("0" * 32).write_bytes(b"An original that no row names.")
    with open_api(data) as api:
        assert told(api.put(f"/documents/{written}/tags", {"tags": []})) == DAMAGED
        assert api.document(written)["text"] == TEXT
        assert [hit["document_id"] for hit in api.search("otters")] == [written]
        status = api.get("/status").json()
        assert status["counts"]["documents"] == 1
        assert status["model"]["state"] == "ready"
        assert api.engine.files.folder.joinpath("0" * 32).exists()


@pytest.mark.parametrize("table", ["jobs", "facts", "totals"])
def test_what_a_start_meets_makes_it_read_only(open_api, data, written, table):
    overwrite(data / "store.db", table)
    with open_api(data) as api:
        assert api.engine.store.health.damage is not None
        assert api.document(written)["text"] == TEXT
        assert told(api.post("/jobs", {"text": "A new note."})) == DAMAGED


def test_a_search_that_meets_it_says_so_and_other_questions_are_answered(open_api, data, written):
    overwrite(data / "store.db", "words_data")
    with open_api(data) as api:
        assert told(api.post("/search", {"query": "otters"})) == DAMAGED
        assert api.document(written)["text"] == TEXT


def test_vectors_that_cannot_be_loaded_are_told(open_api, data, written):
    overwrite(data / "store.db", "vectors")
    with open_api(data) as api:
        assert told(api.post("/search", {"query": "otters", "vec_only": True})) == DAMAGED
        answer = api.post("/search", {"query": "otters"}).json()
        assert answer["degraded"] == "store_damaged"
        assert [hit["document_id"] for hit in answer["results"]] == [written]
        assert api.get("/status").json()["model"]["state"] == "failed"


def test_one_that_cannot_be_opened_at_all_is_one_line(open_engine, data, written):
    with open(data / "store.db", "r+b") as file:
        file.write(b"\x07" * 4096)
    with pytest.raises(StartupError, match="damaged") as caught, open_engine(data):
        pass
    assert "kb verify" in caught.value.message
