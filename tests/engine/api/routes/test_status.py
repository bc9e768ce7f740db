"""/status, the health pages, and the one shape of every error."""

import os
import re

import pytest
from raising import raising

from kb import __version__
from kb.engine.ingest.passages.chunk import CHUNK_TOKENS

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def test_status_counts_what_is_in_the_store(api):
    api.add_note("A note about otters.", tags=["river"])
    api.add_file(b"A file about herons.\n", "heron.txt", tags=["river", "bird"])
    api.submit_note("Still waiting.")
    status = api.get("/status").json()
    assert status["version"] == __version__
    assert status["counts"] == {
        "documents": 2,
        "notes": 1,
        "chunks": 2,
        "tags": 2,
        "vectors_missing": 0,
        "words_outdated": 0,
    }
    assert status["queue"] == {"queued": 1, "running": 0, "failed": 0}
    assert status["store"]["files_bytes"] == len(b"A file about herons.\n")
    assert status["store"]["size_bytes"] > 0
    assert status["store"]["free_bytes"] > 0
    assert status["model"]["state"] == "ready"
    assert status["health"] == {"status": "healthy", "issues": []}


def test_the_model_has_the_name_that_the_world_knows_it_by(tmp_path, open_api):
    with open_api(tmp_path / "data", embedder="minilm") as api:
        model = api.get("/status").json()["model"]
        assert model["name"] == "all-MiniLM-L6-v2"
        assert model["public_name"] == "sentence-transformers/all-MiniLM-L6-v2"
        [listed] = [row for row in api.get("/models").json()["models"] if row["state"] == "active"]
        assert listed["public_name"] == model["public_name"]


def test_a_failed_job_shows_in_the_queue(api):
    api.add_file(b"\0\1\2\3" * 100, "blob.bin")
    assert api.get("/status").json()["queue"]["failed"] == 1


def test_a_full_disk_is_named_as_an_issue(api, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5 * 2**20}))
    health = api.get("/status").json()["health"]
    assert health["status"] == "degraded"
    assert [issue["code"] for issue in health["issues"]] == ["disk_low"]


def test_a_folder_of_files_that_is_gone_is_named_as_an_issue(api):
    folder = api.engine.files.folder
    away = folder.rename(folder.with_name("away"))
    assert api.get("/status").json()["health"] == {
        "status": "degraded",
        "issues": [
            {
                "code": "files_inaccessible",
                "message": "Storage directory not accessible: No such file or directory",
            }
        ],
    }
    away.rename(folder)
    assert api.get("/status").json()["health"]["status"] == "healthy"


def test_a_folder_of_files_that_may_not_be_written_is_named_as_an_issue(api, monkeypatch):
    monkeypatch.setattr("os.access", lambda _path, mode: not mode & os.W_OK)
    [issue] = api.get("/status").json()["health"]["issues"]
    assert issue["message"] == "Storage directory not accessible: Permission denied"


def test_a_data_folder_that_is_gone_is_told_rather_than_failing(api, monkeypatch):
    gone = FileNotFoundError(2, "No such file or directory")
    monkeypatch.setattr("shutil.disk_usage", raising(gone))
    monkeypatch.setattr(api.engine.files, "refused", lambda: "No such file or directory")
    status = api.get("/status").json()
    assert status["store"]["free_bytes"] == 0
    assert [issue["code"] for issue in status["health"]["issues"]] == ["files_inaccessible"]


def test_status_tells_how_long_passages_are(api):
    assert api.get("/status").json()["chunk_tokens"] == CHUNK_TOKENS


def test_a_store_that_cannot_be_written_is_not_ready_and_says_why(api, monkeypatch):
    monkeypatch.setattr(api.engine.store.database, "_failure", "The disk failed")
    assert api.get("/status").json()["health"]["status"] == "failed"
    answer = api.get("http://127.0.0.1/readyz")
    assert answer.status_code == 503
    assert answer.json()["error"] == "not_ready"


def test_health_pages_need_no_key_and_everything_else_does(open_api, make_api, tmp_path):
    key = "a-key-that-is-long-enough"
    with open_api(tmp_path / "data", api_key=key) as stranger:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert stranger.get(f"http://127.0.0.1{path}").status_code == 200
        for method, path in (("GET", "/status"), ("POST", "/search"), ("GET", "/openapi.json")):
            answer = stranger.request(method, path)
            assert answer.status_code == 401
            assert answer.json()["error"] == "unauthorized"
        for sent, status in (("another-key-of-some-length", 401), (key, 200)):
            assert make_api(stranger.engine, key=sent).get("/status").status_code == status


def test_metrics_count_documents_and_jobs(api):
    api.add_note("A note about otters.")
    page = api.get("http://127.0.0.1/metrics").text
    assert "kb_documents 1.0" in page
    assert 'kb_jobs_total{status="done"} 1.0' in page


@pytest.fixture(scope="module")
def empty(tmp_path_factory, open_api):
    """One engine for all requests that it refuses."""
    with open_api(tmp_path_factory.mktemp("empty") / "data") as api:
        yield api


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        ("GET", "/nowhere", {}, 404, "not_found"),
        ("GET", "http://127.0.0.1/nowhere", {}, 404, "not_found"),
        ("PUT", "/search", {}, 405, "method_not_allowed"),
        ("POST", "/search", {"json": {}}, 422, "invalid_request"),
        ("POST", "/search", {"json": {"query": "x", "tpo": 3}}, 422, "invalid_request"),
        ("POST", "/search", {"json": ["x"]}, 422, "invalid_request"),
        ("GET", "/documents?tags=x", {}, 422, "invalid_request"),
        ("GET", "/documents?limit=0", {}, 422, "invalid_request"),
        ("GET", "/jobs?status=lost", {}, 422, "invalid_request"),
        ("GET", "/status?verbose=1", {}, 422, "invalid_request"),
        ("GET", "/documents/0", {}, 422, "invalid_request"),
        ("GET", "/documents/9223372036854775808", {}, 404, "document_not_found"),
        ("GET", "/documents/17", {}, 404, "document_not_found"),
        ("GET", "/jobs/17", {}, 404, "job_not_found"),
        ("GET", "/jobs/00000000-0000-4000-8000-000000000000", {}, 404, "job_not_found"),
        ("POST", "/jobs", {"json": {"text": "x", "tag": ["y"]}}, 422, "invalid_request"),
        ("POST", "/jobs", {"content": b"text=x"}, 415, "unsupported_media_type"),
    ],
)
def test_every_error_has_a_code_and_a_message(empty, method, path, options, status, code):
    answer = empty.request(method, path, **options)
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert answer.json()["message"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", ["/search", "/jobs"])
@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"query": "x"', b"[" * 100_000, b""])
def test_a_malformed_body_is_refused_in_the_same_shape(empty, path, body):
    answer = empty.send("POST", path, body)
    assert answer.status_code in (400, 422)
    assert set(answer.json()) >= {"error", "message"}


def test_a_typo_in_a_field_is_named(empty):
    answer = empty.post("/search", {"query": "x", "tpo": 3})
    assert "tpo" in answer.json()["message"]
    assert answer.json()["fields"][0]["field"] == "tpo"


def test_a_missing_document_is_named_in_the_error(empty):
    assert empty.get("/documents/17").json()["document_id"] == 17


def test_every_time_is_utc_with_microseconds(api):
    job = api.add_note("A note about otters.")
    api.patch(f"/notes/{job['document_id']}", {"text": "A note about herons."})
    document = api.document(job["document_id"])
    [hit] = api.search("herons")
    times = [job["created_at"], job["started_at"], job["finished_at"]]
    times += [record[name] for record in (document, hit) for name in ("created_at", "updated_at")]
    assert all(TIME.fullmatch(time) for time in times)
