"""The data folder taken away under a running engine: what is asked of it then, by name."""

import logging
import shutil
from pathlib import Path

import apsw
import pytest
from raising import raising

from kb.engine.errors import StorageFailed

PDF = Path(__file__).parents[1] / "fixtures/documents/report.pdf"


def told(answer):
    """The status and the code, where the message says what to do."""
    body = answer.json()
    assert "data folder" in body["message"]
    return answer.status_code, body["error"]


def issues(api):
    health = api.get("/status").json()["health"]
    return health["status"], [issue["code"] for issue in health["issues"]]


@pytest.fixture
def note(api):
    return api.add_note("Otters swim in the river.")["document_id"]


@pytest.fixture
def file(api):
    return api.add_file(b"Herons stand in the reeds.\n", "heron.txt")["document_id"]


@pytest.fixture
def data(engine):
    return engine.settings.data_dir


class TestADatabaseThatIsGone:
    """Without it, what is written goes into a file that has no name any more, and is lost."""

    @pytest.fixture(params=["removed", "moved", "replaced", "folder"])
    def gone(self, request, note, file, data):
        if request.param == "folder":
            shutil.rmtree(data)
        elif request.param == "moved":
            data.rename(data.with_name("away"))
        else:
            for path in data.glob("store.db*"):
                path.unlink()
            if request.param == "replaced":
                (data / "store.db").write_bytes(b"")

    def test_takes_no_change(self, api, gone, note):
        changes = [
            api.post("/jobs", {"text": "A new note."}),
            api.patch(f"/notes/{note}", {"text": "Other words."}),
            api.put(f"/documents/{note}/tags", {"tags": ["river"]}),
            api.patch(f"/documents/{note}", {"title": "Otters"}),
        ]
        assert {told(answer) for answer in changes} == {(503, "storage_failed")}

    def test_takes_no_file_and_deletes_nothing(self, api, gone, note, file):
        answers = [
            api.post("/jobs", files={"file": ("a.txt", b"New words.\n")}),
            api.delete(f"/documents/{note}"),
            api.delete(f"/documents/{file}"),
            api.delete("/documents", {"confirm": "DELETE ALL"}),
        ]
        codes = {told(answer) for answer in answers}
        assert codes <= {(503, "storage_failed"), (503, "files_inaccessible")}

    def test_is_not_ready_and_a_named_issue(self, api, gone):
        assert told(api.get("http://127.0.0.1/readyz")) == (503, "not_ready")
        status, codes = issues(api)
        assert (status, codes[0]) == ("failed", "storage_failed")

    def test_is_not_made_anew_by_whoever_reads(self, api, gone, data):
        """Readers beyond the first are opened when they are needed."""
        before, database = (data / "store.db").exists(), api.engine.store.database
        with database.reading(), pytest.raises(StorageFailed):
            database.read("SELECT 1 FROM documents")
        assert (data / "store.db").exists() == before


def test_a_folder_that_comes_back_needs_no_restart(api, note, data):
    away = data.rename(data.with_name("away"))
    assert told(api.put(f"/documents/{note}/tags", {"tags": ["a"]})) == (503, "storage_failed")
    away.rename(data)
    assert api.put(f"/documents/{note}/tags", {"tags": ["b"]}).json()["tags"] == ["b"]
    assert issues(api) == ("healthy", [])


@pytest.mark.parametrize("error", [apsw.IOError, apsw.CantOpenError])
def test_a_database_that_cannot_be_read_is_named_everywhere(api, note, monkeypatch, error):
    """And still there is a status, with what was last known."""
    before = api.get("/status").json()["counts"]
    api.put(f"/documents/{note}/tags", {"tags": []})
    broken = raising(error("the disk says no"))
    monkeypatch.setattr("kb.engine.store.file.database.Query.__call__", broken)
    asked = [
        api.get("/documents"),
        api.get(f"/documents/{note}"),
        api.get("/tags"),
        api.get("/stats"),
        api.get("/jobs"),
        api.post("/search", {"query": "otters"}),
        api.post("/jobs", {"text": "A new note."}),
    ]
    assert {told(answer) for answer in asked} == {(503, "storage_failed")}
    status = api.get("/status").json()
    assert status["counts"] == before
    assert [issue["code"] for issue in status["health"]["issues"]] == ["storage_failed"]
    assert told(api.get("http://127.0.0.1/readyz")) == (503, "not_ready")


class TestAFolderOfFilesThatIsGone:
    @pytest.fixture(params=["removed", "a file"])
    def gone(self, request, api, note, file):
        folder = api.engine.files.folder
        shutil.rmtree(folder)
        if request.param == "a file":
            folder.write_bytes(b"")

    def test_is_named_by_whatever_needs_it(self, api, gone, file):
        asked = [
            api.get(f"/documents/{file}/file"),
            api.post("/jobs", files={"file": ("a.txt", b"New words.\n")}),
            api.delete(f"/documents/{file}"),
            api.delete("/documents", {"confirm": "DELETE ALL"}),
        ]
        assert {told(answer) for answer in asked} == {(503, "files_inaccessible")}
        assert issues(api) == ("degraded", ["files_inaccessible"])

    def test_keeps_nobody_from_notes(self, api, gone, note):
        assert api.patch(f"/notes/{note}", {"text": "Otters dive."}).status_code == 200
        assert api.add_note("Another.")["status"] == "done"


def test_a_job_whose_file_is_gone_fails_by_name_and_can_be_tried_again(api):
    accepted = api.submit_file(b"Herons.\n", "heron.txt")
    folder = api.engine.files.folder
    away = folder.rename(folder.with_name("away"))
    api.engine.worker.finish_jobs()
    error = api.job(accepted["job_id"])["error"]
    assert error["code"] == "files_inaccessible"
    assert "data folder" in error["message"]
    away.rename(folder)
    api.post(f"/jobs/{accepted['job_id']}/retry")
    api.engine.worker.finish_jobs()
    assert api.job(accepted["job_id"])["status"] == "done"

    accepted = api.submit_file(b"Egrets.\n", "egret.txt")
    for path in folder.iterdir():
        path.unlink()
    api.engine.worker.finish_jobs()
    error = api.job(accepted["job_id"])["error"]
    assert error["code"] == "file_missing"
    assert "egret.txt" in error["message"]


def test_a_picture_whose_folder_is_gone_is_drawn_and_kept_anew(api, data):
    document = api.add_file(PDF.read_bytes(), "report.pdf")["document_id"]
    page = f"/documents/{document}/pages/1.png"
    shutil.rmtree(data / "store-pictures")
    assert api.get(page).status_code == 200
    shutil.rmtree(data / "store-pictures")
    (data / "store-pictures").write_bytes(b"")
    assert told(api.get(page)) == (503, "files_inaccessible")


def test_the_worker_says_once_what_it_waits_for(api, note, data, caplog, monkeypatch):
    worker, rounds = api.engine.worker, []

    def rest(_seconds):
        rounds.append(1)
        if len(rounds) == 3:
            worker.let_go()
        return False

    monkeypatch.setattr(worker._stop, "wait", rest)
    data.rename(data.with_name("away"))
    with caplog.at_level(logging.ERROR):
        worker._run()
    [line] = [record for record in caplog.records if "the worker waits" in record.message]
    assert "database is gone" in line.message
    assert len(rounds) == 3
