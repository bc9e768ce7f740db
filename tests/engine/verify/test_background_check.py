"""The check that runs behind everything else: what it makes of what it finds."""

import json
from pathlib import Path

import apsw
import pytest

from kb.engine.store.file.page_checksums import connect

FIXTURES = Path(__file__).parents[2] / "fixtures" / "documents"


@pytest.fixture
def file(api):
    return api.add_file(b"Herons stand in the reeds.\n", "heron.txt")["document_id"]


def health(api):
    status = api.get("/status").json()
    issues = {issue["code"]: issue["message"] for issue in status["health"]["issues"]}
    return status["health"]["status"], issues, status["check"]


def original(engine, document_id):
    return engine.files.path(engine.store.documents.stored_file(document_id)[1])


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


def test_an_original_that_a_download_misses_is_known_at_once(open_api, tmp_path):
    with open_api(tmp_path) as api:
        ids = [api.add_file(b"Herons %d.\n" % n, f"heron {n}.txt")["document_id"] for n in (1, 2)]
        original(api.engine, ids[0]).unlink()
        original(api.engine, ids[1]).write_bytes(b"Egrets.\n")
        for document_id, status in zip(ids * 2, (404, 409) * 2, strict=True):
            assert api.get(f"/documents/{document_id}/file").status_code == status
        health_status, issues, check = health(api)
        assert (health_status, check["findings"]) == ("degraded", 0)  # no check has found it
        assert list(issues) == ["originals_missing", "originals_changed"]
        assert "1 original is missing: heron 1" in issues["originals_missing"]
        assert issues["originals_missing"].endswith("; its text is there")
        assert "Put it back" in issues["originals_changed"]
        assert issues == told_by_the_check(api)
    with open_api(tmp_path) as api:
        assert list(health(api)[1]) == list(issues)


def test_originals_that_are_gone_at_a_start_are_told_until_a_check_has_looked(open_api, tmp_path):
    with open_api(tmp_path) as api:
        ids = [api.add_file(b"Herons %d.\n" % n, f"heron {n}.txt")["document_id"] for n in (1, 2)]
        assert api.add_file(b"\0\1\2" * 1000, "noise.bin")["status"] == "failed"
        aside = {path: path.read_bytes() for path in api.engine.files.folder.glob("?" * 32)}
    for path in aside:
        path.unlink()
    with open_api(tmp_path) as api:
        status, issues, check = health(api)
        assert (status, list(issues), check["findings"]) == ("degraded", ["originals_missing"], 0)
        assert issues["originals_missing"].startswith("3 originals are missing")
        for name in ("heron 1", "heron 2", "noise.bin"):
            assert name in issues["originals_missing"]
        assert api.get(f"/documents/{ids[0]}/file").status_code == 404
        assert health(api)[1] == issues
        for path, content in aside.items():
            path.write_bytes(content)
        api.engine.check.finish()
        assert health(api)[:2] == ("healthy", {})
    for path in aside:
        path.unlink()
    with open_api(tmp_path) as api:
        api.engine.check.finish()  # now it is the last check that tells
        assert health(api)[2]["findings"] == 3
    with open_api(tmp_path) as api:
        assert health(api)[2]["findings"] == 3


def test_a_check_that_goes_on_forgets_no_original_that_the_start_missed(open_api, tmp_path):
    with open_api(tmp_path) as api:
        api.add_file(b"Herons.\n", "heron.txt")
        check = api.engine.check
        check._check(rest=lambda _: check.let_go() if check._place.check == "jobs" else None)
        assert not check.result.finished_at
    [path] = (tmp_path / "store-files").glob("?" * 32)
    path.unlink()
    with open_api(tmp_path) as api:
        api.engine.check.finish()
        assert list(health(api)[1]) == ["originals_missing"]


def told_by_the_check(api):
    api.engine.check.finish()
    assert health(api)[2]["findings"] == 2
    return health(api)[1]


def test_one_that_is_put_back_is_forgotten_by_the_next_check(api, file):
    path = original(api.engine, file)
    kept = path.read_bytes()
    path.unlink()
    assert api.get(f"/documents/{file}/file").status_code == 404
    path.write_bytes(kept)
    assert health(api)[0] == "degraded"
    api.engine.check.finish()
    assert health(api)[0] == "healthy"


def test_an_original_that_a_backup_or_a_picture_misses_is_known_at_once(api, file, tmp_path):
    api.engine.check.finish()
    checked = health(api)[2]
    page = (FIXTURES / "report.pdf").read_bytes()
    picture = api.add_file(page, "report.pdf")["document_id"]
    original(api.engine, picture).unlink()
    assert api.get(f"/documents/{picture}/pages/1.png").status_code == 404
    assert "1 original is missing" in health(api)[1]["originals_missing"]
    original(api.engine, file).unlink()
    api.engine.backups.begin(str(tmp_path / "backups"), keep=None)
    api.engine.backups.wait()
    assert "2 originals are missing" in health(api)[1]["originals_missing"]
    assert health(api)[2] == checked  # then nothing was wrong yet


def test_what_was_found_is_known_after_a_restart(open_api, tmp_path):
    with open_api(tmp_path) as api:
        file = api.add_file(b"Herons.\n", "heron.txt")["document_id"]
        original(api.engine, file).unlink()
        api.engine.check.finish()
    with open_api(tmp_path) as api:
        status, issues, check = health(api)
        assert (status, list(issues)) == ("degraded", ["originals_missing"])
        assert check["state"] == "done"


def test_an_index_that_lacks_rows_is_found_in_a_large_store_too(open_api, tmp_path, monkeypatch):
    monkeypatch.setattr("kb.engine.verify.background._MOST_PAGES", 0)
    with open_api(tmp_path) as api:
        api.add_note("Otters swim.")
        api.engine.check.finish()
        assert api.engine.check.result.findings == 0
    connection = connect(tmp_path / "store.db", apsw.SQLITE_OPEN_READWRITE)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, '(content_hash)', '(title)') "
        "WHERE name = 'documents_by_hash'"
    )
    connection.close()
    with open_api(tmp_path) as api:
        api.engine.check.finish()
        assert api.engine.check.result.database > 0
        assert health(api)[0] == "failed"


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


def test_it_goes_on_where_it_was_when_the_engine_stopped(open_engine, open_api, tmp_path):
    with open_api(tmp_path) as api:
        api.add_note("Otters swim.")
        check = api.engine.check
        check.let_go()
        check.finish()
        place = json.loads(api.engine.store.facts.recall("check"))["place"]
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


def test_a_page_that_changed_is_found_at_start(open_api, tmp_path):
    with open_api(tmp_path) as api:
        api.add_note("Otters swim.")
        api.engine.store.database.checkpoint()
        [(page,)] = api.engine.store.database.read(
            "SELECT pageno FROM dbstat WHERE name = 'documents_by_path'"
        )
    with open(tmp_path / "store.db", "r+b") as file:
        file.seek((page - 1) * 4096 + 2000)
        file.write(b"\x07")
    with open_api(tmp_path) as api:
        assert f"page {page}" in api.engine.store.health.damage.why
        assert api.search("otters")
