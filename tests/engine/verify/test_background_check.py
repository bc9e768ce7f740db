"""The check that runs behind everything else: what it makes of what it finds."""

import json

import pytest


@pytest.fixture
def file(api):
    return api.add_file(b"Herons stand in the reeds.\n", "heron.txt")["document_id"]


def health(api):
    status = api.get("/status").json()
    issues = {issue["code"]: issue["message"] for issue in status["health"]["issues"]}
    return status["health"]["status"], issues, status["check"]


def original(engine, document_id):
    return engine.files.path(engine.store.stored_file(document_id)[1])


def test_a_whole_store_is_healthy_and_says_when_it_was_checked(api, file):
    assert health(api)[2] == {"state": "never", "finished_at": None, "findings": 0}
    api.engine.check.finish()
    status, issues, check = health(api)
    assert (status, issues) == ("healthy", {})
    assert (check["state"], check["findings"]) == ("done", 0)
    assert check["finished_at"]
    assert "kb_check_findings 0.0" in api.get("http://127.0.0.1/metrics").text


@pytest.mark.parametrize("code", ["originals_missing", "originals_changed"])
def test_an_original_that_is_not_there_as_it_was_is_named_and_writes_go_on(api, file, code):
    path = original(api.engine, file)
    path.unlink()
    if code == "originals_changed":
        path.write_bytes(b"Egrets stand in the reeds.\n")
    api.engine.check.finish()
    status, issues, check = health(api)
    assert (status, list(issues), check["findings"]) == ("degraded", [code], 1)
    assert "heron" in issues[code]
    assert api.put(f"/documents/{file}/tags", {"tags": ["reeds"]}).status_code == 200


def test_what_was_found_is_known_after_a_restart(open_engine, make_api, tmp_path):
    with open_engine(tmp_path) as engine:
        api = make_api(engine)
        file = api.add_file(b"Herons.\n", "heron.txt")["document_id"]
        original(engine, file).unlink()
        engine.check.finish()
    with open_engine(tmp_path) as engine:
        status, issues, check = health(make_api(engine))
        assert (status, list(issues)) == ("degraded", ["originals_missing"])
        assert check["state"] == "done"


def test_text_that_changed_makes_the_store_read_only(api):
    note = api.add_note("Otters swim.")["document_id"]
    with api.engine.store.database.transaction() as query:
        query("UPDATE chunks SET text = 'Otters swam.'")
    api.engine.check.finish()
    status, issues, _ = health(api)
    assert (status, list(issues)) == ("failed", ["store_damaged"])
    assert api.put(f"/documents/{note}/tags", {"tags": []}).status_code == 503


def test_an_index_that_does_not_fit_is_told_and_nobody_is_kept_from_writing(api):
    api.add_note("Otters swim.")
    with api.engine.store.database.transaction() as query:
        query("UPDATE totals SET value = 9 WHERE name = 'notes'")
    api.engine.check.finish()
    status, issues, _ = health(api)
    assert (status, list(issues)) == ("degraded", ["index_wrong"])
    assert api.add_note("Herons stand.")["status"] == "done"


def test_it_goes_on_where_it_was_when_the_engine_stopped(open_engine, make_api, tmp_path):
    with open_engine(tmp_path) as engine:
        make_api(engine).add_note("Otters swim.")
        check = engine.check
        check.let_go()
        check.finish()
        place = json.loads(engine.store.recall("check"))["place"]
        assert place[0] == "pages"
    with open_engine(tmp_path) as engine:
        seen = []
        engine.check._check(rest=lambda _: seen.append(engine.check._place.check))
        assert "pages" not in seen
        assert engine.check.result.finished_at


def test_documents_of_an_older_kb_get_their_hash(api):
    note = api.add_note("Otters swim.")["document_id"]
    database = api.engine.store.database
    [(before,)] = database.read("SELECT text_hash FROM documents WHERE id = :id", id=note)
    with database.transaction() as query:
        query("UPDATE documents SET text_hash = NULL")
    api.engine.check.finish()
    assert database.read("SELECT text_hash FROM documents") == [(before,)]
    assert health(api)[0] == "healthy"


def test_it_rests_many_times_as_long_as_it_works(api, monkeypatch):
    rests = []
    monkeypatch.setattr(api.engine.check._stop, "wait", rests.append)
    api.engine.check._rest(0.003)
    assert sum(rests) >= 0.1


def test_a_page_that_changed_is_found_at_start(open_engine, make_api, tmp_path):
    with open_engine(tmp_path) as engine:
        make_api(engine).add_note("Otters swim.")
        engine.store.database.checkpoint()
        [(page,)] = engine.store.database.read(
            "SELECT pageno FROM dbstat WHERE name = 'documents_by_path'"
        )
    with open(tmp_path / "store.db", "r+b") as file:
        file.seek((page - 1) * 4096 + 2000)
        file.write(b"\x07")
    with open_engine(tmp_path) as engine:
        assert f"page {page}" in engine.store.damage.why
        assert make_api(engine).search("otters")
