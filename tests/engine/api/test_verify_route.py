"""`/verify`: a check that is started, followed and ended."""

import threading

import pytest


@pytest.fixture
def file(api):
    return api.add_file(b"Herons stand in the reeds.\n", "heron.txt")["document_id"]


def checked(api, **body):
    assert api.post("/verify", body).status_code == 202
    api.engine.verification._thread.join(90)
    return api.get("/verify").json()


def test_none_was_made_yet(api):
    assert api.get("/verify").json()["state"] == "never"
    assert api.delete("/verify").json()["state"] == "never"


def test_a_whole_store_is_said_to_be_whole(api, file):
    answer = checked(api)
    assert (answer["state"], answer["whole"], answer["progress"]) == ("done", True, 1.0)
    assert answer["checked"]["originals"] == 1
    assert answer["findings"] == []


def test_what_is_wrong_is_named_by_document_and_known_to_the_status(api, file):
    api.engine.files.path(api.engine.store.documents.stored_file(file)[1]).unlink()
    answer = checked(api)
    assert (answer["whole"], answer["findings_total"]) == (False, 1)
    [finding] = answer["findings"]
    assert (finding["document_id"], finding["title"]) == (file, "heron")
    assert api.get("/status").json()["health"]["issues"][0]["code"] == "originals_missing"


def test_one_at_a_time_and_it_can_be_ended(api, file, monkeypatch):
    go = threading.Event()

    def slow(*_):
        assert go.wait(60)
        yield from ()

    monkeypatch.setattr("kb.engine.verify.verification.run", slow)
    api.post("/verify", {})
    refused = api.post("/verify", {})
    assert (refused.status_code, refused.json()["error"]) == (409, "verify_running")
    threading.Timer(0.05, go.set).start()
    assert api.delete("/verify").json()["state"] in ("cancelled", "done")
    monkeypatch.undo()
    assert checked(api)["whole"] is True


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE totals SET value = 9 WHERE name = 'notes'",
        "INSERT INTO tags (name) VALUES ('lonely')",
        "DELETE FROM chunk_terms",
        "INSERT INTO words (rowid, body, head) VALUES (1, 'more', '')",
        "UPDATE exact_vectors SET vector = zeroblob(768)",
    ],
)
def test_what_was_made_of_passages_is_made_again_while_the_engine_runs(api, file, sql):
    before = [hit["chunk_id"] for hit in api.search("herons in the reeds")]
    with api.engine.store.database.transaction() as query:
        query(sql)
    assert checked(api)["whole"] is False
    answer = checked(api, repair=True)
    assert answer["repaired"]
    assert (answer["whole"], answer["left"], answer["lost"]) == (False, [], [])
    while api.engine.store.upkeep.renew_words():
        pass
    api.engine.renewal.finish()
    assert checked(api)["findings"] == []
    assert [hit["chunk_id"] for hit in api.search("herons in the reeds")] == before
    assert api.get("/status").json()["health"]["status"] == "healthy"


def test_a_damaged_database_is_left_to_a_repair_at_rest(api, file):
    with api.engine.store.database.transaction() as query:
        query("UPDATE chunks SET text = 'x'")
    answer = checked(api, repair=True)
    assert answer["repaired"] == []
    assert "Stop kb, then run `kb verify --repair`" in answer["findings"][-1]["what"]
    health = api.get("/status").json()["health"]
    assert health["status"] == "failed"
    assert "stop kb and run `kb verify --repair`" in health["issues"][0]["message"]


@pytest.mark.parametrize("repair", [False, True])
def test_a_store_that_is_known_to_be_damaged_is_not_whole(api, file, repair):
    api.engine.store.database.distrust("1 change is missing from it")
    answer = checked(api, repair=repair)
    assert answer["whole"] is False
    assert answer["repaired"] == []
    [finding] = answer["findings"]
    assert finding["kind"] == "database"
    assert "1 change is missing from it. Stop kb" in finding["what"]


def test_what_is_lost_is_not_called_repaired(api, file):
    for name in api.engine.files.names():
        api.engine.files.path(name).unlink()
        api.engine.files.path(name).mkdir()
    answer = checked(api, repair=True)
    assert answer["findings"][0]["what"] == "A folder is in its original's place"
    assert answer["repaired"] == []
    assert [each["document_id"] for each in answer["left"]] == [file]
    assert "" not in answer["checked"]
    assert ["A folder is in its original's place" in line for line in answer["lost"]] == [True]
