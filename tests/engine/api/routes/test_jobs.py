"""Jobs: taken in order, done once, never lost, and honest about how far they are."""

import threading
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfWriter
from raising import raising

from kb.engine.errors import EmbeddingFailed, JobLost, StorageFailed, StorageFull
from kb.engine.ingest import ocr
from kb.engine.ingest.expiry import Expiry
from kb.engine.ingest.ocr import tesseract
from kb.engine.ingest.pace import Pace
from kb.engine.ingest.progress import Board, Step
from kb.engine.values import Job

DOCUMENTS = Path(__file__).parents[3] / "fixtures/documents"

ALWAYS = {
    "id",
    "uid",
    "status",
    "progress",
    "step",
    "steps_done",
    "steps_total",
    "message",
    "created_at",
    "started_at",
    "finished_at",
    "elapsed_seconds",
    "remaining_seconds",
    "attempts",
    "filename",
    "ahead",
}
FULL = raising(StorageFull("The disk is full"))
LONG = "\n\n".join(f"Passage {number}. " + "Otters swim. " * 100 for number in range(40))


def statuses(api):
    return {job["id"]: job["status"] for job in api.get("/jobs").json()["jobs"]}


def stored_files(api):
    return sorted(api.engine.files.names())


class TestSubmitting:
    def test_a_job_is_accepted_with_an_estimate_and_is_then_queued(self, api):
        accepted = api.submit_note("Otters swim.")
        assert accepted["status"] == "queued"
        assert accepted["estimated_seconds"] > 0
        job = api.job(accepted["job_id"])
        assert set(job) >= ALWAYS
        assert (job["uid"], job["status"], job["progress"]) == (accepted["uid"], "queued", 0.0)
        assert job["remaining_seconds"] > 0
        assert (job["started_at"], job["finished_at"], job["attempts"]) == (None, None, 0)

    def test_the_estimate_counts_what_waits_before(self, api):
        first = api.submit_note("Otters swim.")["estimated_seconds"]
        second = api.submit_file(b"Herons wait. " * 100_000)["estimated_seconds"]
        assert second > 10 * first
        assert api.submit_note("Voles hide.")["estimated_seconds"] >= second

    def test_a_job_waits_for_those_before_it_but_not_for_those_behind_it(self, api):
        first = api.submit_note("Otters swim.")["job_id"]
        before = api.job(first)["remaining_seconds"]
        api.submit_file(b"Herons wait. " * 100_000)
        assert api.job(first)["remaining_seconds"] == before
        [last, listed] = api.get("/jobs").json()["jobs"]
        assert listed["remaining_seconds"] == before
        assert last["remaining_seconds"] > 10 * before

    def test_a_finished_job_says_what_came_of_it(self, api):
        job = api.add_file(b"Herons wait.\n", "heron.txt")
        assert set(job) >= ALWAYS | {"outcome", "document_id", "document_uid", "chunk_count"}
        assert (job["status"], job["outcome"], job["progress"]) == ("done", "added", 1.0)
        assert (job["filename"], job["attempts"], job["chunk_count"]) == ("heron.txt", 1, 1)
        assert job["document_uid"] == api.document(job["document_id"])["uid"]
        assert job["created_at"] <= job["started_at"] <= job["finished_at"]
        assert job["remaining_seconds"] == 0
        assert job["error"] is None

    @pytest.mark.parametrize("kind", ["note", "file"])
    def test_the_same_idempotency_key_gives_the_same_job(self, api, kind):
        headers = {"Idempotency-Key": "monday-7"}

        def submit(content):
            if kind == "file":
                return api.submit_file(content.encode(), headers=headers)["job_id"]
            return api.post("/jobs", {"text": content}, headers=headers).json()["job_id"]

        first = submit("Otters swim.")
        assert submit("Otters swim.") == first
        api.engine.worker.finish_jobs()
        assert submit("Otters swim.") == first
        assert api.get("/jobs").json()["total"] == 1
        assert len(stored_files(api)) == (kind == "file")

    @pytest.mark.parametrize(
        "other",
        [
            {"text": "Herons wait."},
            {"text": "Otters swim.", "tags": ["river"]},
            {"text": "Otters swim.", "tags": []},
            {"text": "Otters swim.", "title": "Otters"},
            {"text": "Otters swim.", "source_path": "/otters"},
            {"text": "Otters swim.", "metadata": {"by": "Ada"}},
        ],
    )
    def test_another_note_under_a_used_idempotency_key_is_a_conflict(self, api, other):
        headers = {"Idempotency-Key": "monday-7"}
        first = api.post("/jobs", {"text": "Otters swim."}, headers=headers).json()["job_id"]
        for _ in range(2):
            answer = api.post("/jobs", other, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_conflict")
            assert answer.json()["job_id"] == first
            api.engine.worker.finish_jobs()
        assert api.get("/jobs").json()["total"] == 1

    @pytest.mark.parametrize(
        ("content", "filename", "fields"),
        [
            (b"Herons wait.", "file.txt", {}),
            (b"Otters swim.", "other.txt", {}),
            (b"Otters swim.", "file.txt", {"tags": "river"}),
            (b"Otters swim.", "file.txt", {"origin": "nas"}),
            (b"Otters swim.", "file.txt", {"force_ocr": "true"}),
            (b"Otters swim.", "file.txt", {"metadata": '{"by": "Ada"}'}),
        ],
    )
    def test_so_is_another_file_and_nothing_of_it_is_kept(self, api, content, filename, fields):
        headers = {"Idempotency-Key": "monday-7"}
        api.submit_file(b"Otters swim.", headers=headers)
        before = stored_files(api)
        upload = {"file": (filename, content)}
        answer = api.post("/jobs", files=upload, data=fields, headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_conflict")
        assert stored_files(api) == before

    def test_a_job_from_before_requests_were_told_apart_is_given_as_it_was(self, api):
        headers = {"Idempotency-Key": "monday-7"}
        first = api.post("/jobs", {"text": "Otters swim."}, headers=headers).json()["job_id"]
        with api.engine.store.database.transaction() as query:
            query("UPDATE jobs SET fingerprint = NULL")
        again = api.post("/jobs", {"text": "Herons wait."}, headers=headers)
        assert (again.status_code, again.json()["job_id"]) == (202, first)

    def test_the_order_of_names_and_tags_makes_no_other_request(self, api):
        headers = {"Idempotency-Key": "monday-7"}
        one = {"text": "x", "tags": ["a", "b"], "metadata": {"a": 1, "b": {"c": 2, "d": 3}}}
        other = {"metadata": {"b": {"d": 3, "c": 2}, "a": 1}, "tags": ["b", "a"], "text": "x"}
        jobs = [api.post("/jobs", body, headers=headers).json()["job_id"] for body in (one, other)]
        assert jobs[0] == jobs[1]

    @pytest.mark.parametrize("key", ["", "x" * 201])
    def test_an_unusable_idempotency_key_is_refused(self, api, key):
        answer = api.post("/jobs", {"text": "x"}, headers={"Idempotency-Key": key})
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"titel": "x"}, "titel"),
            ({"metadata": "[1]"}, "metadata"),
            ({"metadata": "{"}, "metadata"),
            ({"metadata": '{"x": NaN}'}, "metadata"),
            ({"title": ["a", "b"]}, "title"),
            ({"tags": ["a", ""]}, "tags"),
            ({"force_ocr": "perhaps"}, "force_ocr"),
            ({"source_path": "a\nb"}, "source_path"),
        ],
    )
    def test_a_field_that_cannot_be_used_is_named_and_nothing_is_kept(self, api, fields, named):
        answer = api.post("/jobs", files={"file": ("a.txt", b"Otters")}, data=fields)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        assert named in answer.json()["message"]
        assert api.get("/jobs").json()["total"] == 0
        assert stored_files(api) == []

    def test_two_files_at_once_are_refused_since_only_one_would_be_kept(self, api):
        files = [("file", ("a.txt", b"Otters")), ("file", ("b.txt", b"Herons"))]
        answer = api.post("/jobs", files=files)
        assert answer.status_code in (400, 422)
        assert set(answer.json()) >= {"error", "message"}
        assert api.get("/jobs").json()["total"] == 0

    def test_an_upload_without_a_file_is_refused(self, api):
        answer = api.post("/jobs", files={"title": (None, "x")})
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        assert "file" in answer.json()["message"]

    @pytest.mark.parametrize(
        ("sent", "shown"),
        [
            ("../../etc/passwd", "passwd"),
            ('five "quoted" words.txt', 'five "quoted" words.txt'),
            ("C:\\Users\\me\\notes.txt", "notes.txt"),
            ("..", ".."),
            ("a\u202etxt.exe", "atxt.exe"),
            ("x" * 300 + ".txt", "x" * 251 + ".txt"),
        ],
    )
    def test_a_filename_is_only_ever_a_name(self, api, sent, shown):
        assert api.add_file(b"Otters swim.\n", sent)["filename"] == shown
        [name] = stored_files(api)
        assert len(name) == 32

    def test_a_file_beyond_the_limit_is_refused_and_not_kept(self, open_api, tmp_path):
        with open_api(tmp_path / "small", max_file_mb=1) as api:
            answer = api.post("/jobs", files={"file": ("big.txt", b"x" * (2**20 + 1))})
            assert (answer.status_code, answer.json()["error"]) == (413, "file_too_large")
            assert answer.json()["max_size_mb"] == 1
            assert stored_files(api) == []
            assert api.submit_file(b"x" * 2**20, "fits.txt")["status"] == "queued"

    def test_a_job_on_disk_is_acknowledged_where_the_queue_cannot_be_read(self, api, monkeypatch):
        unreadable = raising(StorageFailed("The engine's database cannot be read"))
        monkeypatch.setattr(api.engine.store.jobs, "places", unreadable)
        answer = api.post("/jobs", {"text": "Otters swim."})
        assert (answer.status_code, answer.json()["status"]) == (202, "queued")

    def test_a_file_stays_where_nobody_knows_whether_its_job_was_kept(self, api, monkeypatch):
        in_doubt = raising(StorageFailed("The disk failed", outcome="unknown"))
        monkeypatch.setattr(api.engine.store.jobs, "add", in_doubt)
        answer = api.post("/jobs", files={"file": ("a.txt", b"Otters swim.")})
        assert (answer.status_code, answer.json()["outcome"]) == (503, "unknown")
        assert len(stored_files(api)) == 1


class TestListing:
    def test_the_newest_comes_first_and_pages_follow(self, api):
        ids = [api.submit_note(f"Note {number}")["job_id"] for number in range(5)]
        page = api.get("/jobs?limit=2&offset=1").json()
        assert [job["id"] for job in page["jobs"]] == [ids[3], ids[2]]
        assert (page["total"], page["limit"], page["offset"]) == (5, 2, 1)

    def test_one_status_can_be_asked_for(self, api):
        done = api.add_note("Otters")["id"]
        failed = api.add_file(b"\0\1" * 100)["id"]
        queued = api.submit_note("Herons")["job_id"]
        cancelled = api.submit_note("Voles")["job_id"]
        api.delete(f"/jobs/{cancelled}")
        jobs = {"done": done, "failed": failed, "queued": queued, "cancelled": cancelled}
        for status, job_id in jobs.items():
            page = api.get(f"/jobs?status={status}").json()
            assert ([job["id"] for job in page["jobs"]], page["total"]) == ([job_id], 1)
        assert api.get("/jobs?status=running").json()["total"] == 0


class TestWorking:
    def test_jobs_are_done_in_order_of_arrival(self, api):
        ids = [api.submit_note(f"Note {number}")["job_id"] for number in range(5)]
        ended = []
        api.at_each_end(ended.append)
        assert api.engine.worker.finish_jobs() == 5
        assert ended == ids

    def test_a_failing_file_says_why_and_the_next_one_goes_on(self, api):
        bad = api.submit_file(b"MZ\0\0\1" * 100, "setup.exe")["job_id"]
        empty = api.submit_file(b"  \n\n", "empty.txt")["job_id"]
        good = api.submit_note("Otters swim.")["job_id"]
        api.engine.worker.finish_jobs()
        assert statuses(api) == {bad: "failed", empty: "failed", good: "done"}
        job = api.job(bad)
        assert job["error"]["code"] == "unsupported_format"
        assert "setup.exe" in job["error"]["message"]
        assert job["message"] == job["error"]["message"]
        assert (job["document_id"], job["outcome"]) == (None, None)
        assert api.job(empty)["error"]["code"] == "no_text_found"

    @pytest.mark.parametrize("bytes_", [b"", b"Egrets wade.", b"Otters swim in it."])
    def test_a_file_whose_stored_bytes_have_changed_is_not_read(self, api, bytes_):
        job_id = api.submit_file(b"Otters swim.", "otter.txt")["job_id"]
        [name] = stored_files(api)
        api.engine.files.path(name).write_bytes(bytes_)
        api.engine.worker.finish_jobs()
        error = api.job(job_id)["error"]
        assert error["code"] == "file_changed"
        assert "stored bytes have changed" in error["message"]
        api.engine.files.path(name).write_bytes(b"Otters swim.")
        api.post(f"/jobs/{job_id}/retry")
        api.engine.worker.finish_jobs()
        assert api.job(job_id)["status"] == "done"

    def test_a_bug_while_ingesting_fails_the_job_without_showing_its_inside(self, api, monkeypatch):
        broken = raising(ZeroDivisionError("secret detail"))
        monkeypatch.setattr("kb.engine.ingest.pipeline.chunk", broken)
        job = api.add_note("Otters swim.")
        assert (job["status"], job["error"]["code"]) == ("failed", "internal_error")
        assert "secret" not in job["error"]["message"]

    def test_a_failed_embedding_stores_nothing_and_can_be_tried_again(self, api, monkeypatch):
        broken = raising(EmbeddingFailed("The model failed on a text of 3 tokens"))
        monkeypatch.setattr(api.engine.embedder.current(), "embed", broken)
        job = api.add_note("Otters swim.")
        assert (job["status"], job["error"]["code"]) == ("failed", "embedding_failed")
        assert api.get("/documents").json()["total"] == 0
        monkeypatch.undo()
        assert api.post(f"/jobs/{job['id']}/retry").json()["status"] == "queued"
        api.engine.worker.finish_jobs()
        assert api.job(job["id"])["outcome"] == "added"


class TestCancelling:
    def test_a_queued_job_is_cancelled_with_its_bytes(self, api):
        job = api.submit_file(b"Otters swim.\n")["job_id"]
        answer = api.delete(f"/jobs/{job}").json()
        assert (answer["status"], answer["document_id"]) == ("cancelled", None)
        assert answer["finished_at"] is not None
        assert stored_files(api) == []
        assert api.engine.worker.finish_jobs() == 0

    def test_the_text_of_a_cancelled_note_is_soon_gone_from_the_disk(self, api):
        job = api.submit_note("The zugzwang of otters.")["job_id"]
        api.delete(f"/jobs/{job}")
        api.settle()
        folder = api.engine.settings.data_dir
        assert not [path for path in folder.glob("store.db*") if b"zugzwang" in path.read_bytes()]

    @pytest.mark.parametrize("step", ["Reading", "Generating embeddings", "Storing"])
    def test_a_running_job_that_is_cancelled_stores_nothing(self, api, step):
        job = api.submit_file(LONG.encode(), "long.txt")["job_id"]
        show = api.engine.board.show

        def cancel_at(taken, shown):
            show(taken, shown)
            if shown.name == step and statuses(api)[job] == "running":
                assert api.delete(f"/jobs/{job}").status_code == 200

        api.engine.board.show = cancel_at
        api.engine.worker.finish_jobs()
        assert api.job(job)["status"] == "cancelled"
        assert api.get("/documents").json()["total"] == 0
        assert stored_files(api) == []
        assert api.add_note("Otters swim.")["status"] == "done"

    def test_a_cancelled_job_is_worked_on_no_further(self, api, monkeypatch):
        job = api.submit_note(LONG)["job_id"]
        embedder = api.engine.embedder.current()
        embed, calls = embedder.embed, []

        def cancelling(texts):
            calls.append(len(texts))
            api.delete(f"/jobs/{job}")
            return embed(texts)

        monkeypatch.setattr(embedder, "embed", cancelling)
        api.engine.worker.finish_jobs()
        assert api.job(job)["status"] == "cancelled"
        assert len(calls) == 1

    def test_clearing_everything_ends_the_job_in_hand(self, api):
        job = api.submit_file(LONG.encode(), "long.txt")["job_id"]
        show = api.engine.board.show

        def clear_at(taken, shown):
            show(taken, shown)
            api.delete("/documents", {"confirm": "DELETE ALL"})

        api.engine.board.show = clear_at
        api.engine.worker.finish_jobs()
        api.engine.board.show = show
        assert api.get(f"/jobs/{job}").status_code == 404
        assert api.get("/documents").json()["total"] == 0
        assert stored_files(api) == []
        assert api.add_note("Otters swim.")["status"] == "done"

    def test_what_has_ended_cannot_be_cancelled_and_stays_as_it_is(self, api):
        job = api.add_note("Otters swim.")
        answer = api.delete(f"/jobs/{job['id']}")
        assert (answer.status_code, answer.json()["error"]) == (409, "job_ended")
        assert answer.json()["status"] == "done"
        assert api.job(job["id"]) == job

    def test_a_worker_that_is_told_to_stop_puts_its_job_back(self, api):
        job = api.submit_note(LONG)["job_id"]
        taken = api.engine.store.jobs.take()
        with pytest.raises(JobLost):
            api.engine.pipeline.ingest(taken, stopped=lambda: True)
        api.engine.store.jobs.release(taken)
        assert (api.job(job)["status"], api.job(job)["attempts"]) == ("queued", 0)
        assert api.job(job)["started_at"] is None


class TestRetrying:
    def test_only_a_failed_job_can_be_retried(self, api):
        done = api.add_note("Otters")["id"]
        queued = api.submit_note("Herons")["job_id"]
        cancelled = api.submit_note("Voles")["job_id"]
        api.delete(f"/jobs/{cancelled}")
        for job in (done, queued, cancelled):
            answer = api.post(f"/jobs/{job}/retry")
            assert (answer.status_code, answer.json()["error"]) == (409, "job_not_retryable")
        assert api.post("/jobs/17/retry").json()["error"] == "job_not_found"

    def test_a_retried_job_counts_its_attempts_anew_and_forgets_its_error(self, api):
        job = api.add_file(b"\0\1" * 100)["id"]
        again = api.post(f"/jobs/{job}/retry").json()
        assert (again["status"], again["attempts"], again["error"]) == ("queued", 0, None)
        assert (again["started_at"], again["finished_at"], again["message"]) == (None, None, "")
        api.engine.worker.finish_jobs()
        assert (api.job(job)["status"], api.job(job)["attempts"]) == ("failed", 1)


class TestWhatAFailedJobHolds:
    @pytest.fixture
    def failed(self, api):
        job = api.add_file(b"\0\1\2" * 100, "noise.bin", title="Noise")
        assert (job["status"], job["held_bytes"]) == ("failed", 300)
        return job["id"]

    def test_is_counted(self, api, failed):
        assert api.get("/status").json()["store"]["failed_bytes"] == 300

    def test_is_deleted_on_request_and_the_job_says_what_it_was(self, api, failed):
        answer = api.delete(f"/jobs/{failed}")
        assert answer.status_code == 200
        assert (answer.json()["status"], answer.json()["held_bytes"]) == ("failed", 0)
        assert answer.json()["error"]["code"] == "unsupported_format"
        assert stored_files(api) == []
        assert api.get("/status").json()["store"]["failed_bytes"] == 0
        again = api.delete(f"/jobs/{failed}")
        assert (again.status_code, again.json()["error"]) == (409, "job_ended")

    def test_cannot_be_tried_again_after_that(self, api, failed):
        api.delete(f"/jobs/{failed}")
        answer = api.post(f"/jobs/{failed}/retry")
        assert (answer.status_code, answer.json()["error"]) == (409, "job_not_retryable")
        assert "not kept any more" in answer.json()["message"]

    def test_is_deleted_after_some_days_and_not_before(self, api, failed):
        expiry = Expiry(api.engine.store, api.engine.files, days=30)
        assert expiry.expire(lambda: True) == 0
        with api.engine.store.database.transaction() as query:
            query("UPDATE jobs SET finished_at = '2020-01-01T00:00:00.000000Z'")
        note = api.add_note("Otters swim.")
        assert Expiry(api.engine.store, api.engine.files, days=0).expire(lambda: True) == 0
        assert expiry.expire(lambda: False) == 0
        assert expiry.expire(lambda: True) == 1
        assert stored_files(api) == []
        job = api.job(failed)
        assert (job["status"], job["held_bytes"], job["filename"]) == ("failed", 0, "noise.bin")
        assert api.job(note["id"]) == note

    def test_is_looked_at_when_the_engine_starts(self, tmp_path, open_api):
        with open_api(tmp_path / "other") as api:
            job = api.add_file(b"\0\1\2" * 100, "noise.bin")["id"]
            with api.engine.store.database.transaction() as query:
                query("UPDATE jobs SET finished_at = '2020-01-01T00:00:00.000000Z'")
        with open_api(tmp_path / "other") as api:
            assert api.job(job)["held_bytes"] == 0


class TestFullDisk:
    def test_a_job_that_cannot_be_queued_leaves_no_bytes(self, api, monkeypatch):
        monkeypatch.setattr(api.engine.store.jobs, "add", FULL)
        answer = api.post("/jobs", files={"file": ("a.txt", b"Otters swim.")})
        assert (answer.status_code, answer.json()["error"]) == (507, "storage_full")
        assert stored_files(api) == []

    @pytest.mark.parametrize("method", ["finish", "finish_unread"])
    def test_a_job_is_put_back_and_done_when_there_is_room_again(self, api, monkeypatch, method):
        job = api.submit_note("Otters swim.")["job_id"]
        monkeypatch.setattr(api.engine.store.jobs, method, FULL)
        with pytest.raises(StorageFull):
            api.engine.worker.finish_jobs()
        assert (api.job(job)["status"], api.job(job)["attempts"]) == ("queued", 0)
        monkeypatch.undo()
        api.engine.worker.finish_jobs()
        assert (api.job(job)["status"], api.job(job)["attempts"]) == ("done", 1)

    @pytest.mark.parametrize("content", [b"Otters swim.\n", b"\0\1" * 100], ids=["good", "bad"])
    def test_a_job_that_could_not_even_be_put_back_is_not_lost(self, api, monkeypatch, content):
        job = api.submit_file(content)["job_id"]
        for method in ("finish", "release", "fail"):
            monkeypatch.setattr(api.engine.store.jobs, method, FULL)
        for _ in range(3):
            with pytest.raises(StorageFull):
                api.engine.worker.finish_jobs()
        monkeypatch.undo()
        api.engine.worker.finish_jobs()
        assert api.job(job)["status"] == ("done" if content[0] else "failed")
        assert api.job(job)["attempts"] == 1


def crashed(open_engine, folder):
    """An engine that took a job and died with it."""
    with open_engine(folder) as engine:
        assert engine.store.jobs.take() is not None


class TestCrashes:
    def test_a_job_that_was_running_is_queued_again(self, open_engine, open_api, tmp_path):
        with open_api(tmp_path / "data") as api:
            job = api.submit_file(b"Otters swim.\n")["job_id"]
        crashed(open_engine, tmp_path / "data")
        with open_api(tmp_path / "data") as api:
            waiting = api.job(job)
            assert (waiting["status"], waiting["attempts"]) == ("queued", 1)
            assert (waiting["started_at"], waiting["elapsed_seconds"]) == (None, 0)
            api.engine.worker.finish_jobs()
            assert (api.job(job)["status"], api.job(job)["attempts"]) == ("done", 2)

    def test_a_job_that_kills_three_engines_is_given_up(self, open_engine, open_api, tmp_path):
        with open_api(tmp_path / "data") as api:
            bad = api.submit_note("Kills.")["job_id"]
            good = api.submit_note("Otters swim.")["job_id"]
        for _ in range(3):
            crashed(open_engine, tmp_path / "data")
        with open_api(tmp_path / "data") as api:
            api.engine.worker.finish_jobs()
            assert statuses(api) == {bad: "failed", good: "done"}
            assert api.job(bad)["error"]["code"] == "worker_killed"
            assert "3 times" in api.job(bad)["error"]["message"]
            assert api.post(f"/jobs/{bad}/retry").status_code == 200
            api.engine.worker.finish_jobs()
            assert api.job(bad)["status"] == "done"


class TestProgress:
    def test_progress_rises_through_real_steps(self, api, monkeypatch):
        job = api.submit_note(LONG)["job_id"]
        seen = []
        show = api.engine.board.show

        def look(taken, step):
            show(taken, step)
            seen.append(api.engine.jobs.get(taken.id))

        monkeypatch.setattr(api.engine.board, "show", look)
        api.engine.worker.finish_jobs()
        assert {shown.id for shown in seen} == {job}
        assert [shown.step for shown in seen[:1] + seen[-1:]] == ["Reading", "Storing"]
        assert len([shown for shown in seen if shown.step == "Generating embeddings"]) > 2
        progress = [shown.progress for shown in seen]
        assert progress == sorted(progress)
        assert all(0 <= part <= 1 for part in progress)
        assert all(shown.steps_done < shown.steps_total for shown in seen)
        assert all(shown.remaining_seconds > 0 for shown in seen)
        assert all(shown.message for shown in seen)
        assert all(shown.status == "running" and shown.attempts == 1 for shown in seen)

    def test_the_remaining_time_runs_down_with_the_clock_as_far_as_the_step_in_hand(self, api):
        now = [100.0]
        board = Board(Pace(), clock=lambda: now[0])
        api.submit_note("Otters swim.")
        taken = api.engine.store.jobs.take()
        job = api.engine.store.jobs.get(taken.id)
        place = api.engine.store.jobs.places([taken.id])[taken.id]
        step = Step("Reading", 3, 12, "Page 4", 0.25, left=10.0, left_after=3.0)
        board.show(taken, step)
        assert board.completed(job, place, board.shown()).remaining_seconds == 10.0
        now[0] += 4
        shown = board.completed(job, place, board.shown())
        assert (shown.remaining_seconds, shown.progress) == (6.0, 0.25)
        assert (shown.step, shown.steps_done, shown.steps_total) == ("Reading", 3, 12)
        now[0] += 100
        assert board.completed(job, place, board.shown()).remaining_seconds == 3.0
        board.clear(taken)
        assert board.completed(job, place, board.shown()).step == "running"

    def test_a_job_that_ends_while_it_is_looked_at_is_told_as_ended(self, api, monkeypatch):
        job = api.submit_note("Otters swim.")["job_id"]
        places = api.engine.store.jobs.places

        def places_after_the_end(ids):
            api.engine.worker.finish_jobs()
            return places(ids)

        monkeypatch.setattr(api.engine.store.jobs, "places", places_after_the_end)
        seen = api.engine.jobs.get(job)
        assert (seen.status, seen.progress) == ("done", 1.0)

    def test_a_job_that_goes_while_it_is_looked_at_is_told_as_it_was(self, api, monkeypatch):
        job = api.submit_note("Otters swim.")["job_id"]
        places = api.engine.store.jobs.places

        def places_after_all_is_gone(ids):
            api.engine.worker.finish_jobs()
            api.engine.library.clear()
            return places(ids)

        monkeypatch.setattr(api.engine.store.jobs, "places", places_after_all_is_gone)
        assert api.engine.jobs.get(job).status == "queued"

    def test_a_job_of_the_store_alone_knows_its_end(self, api):
        job = api.engine.store.jobs.get(api.add_note("Otters swim.")["id"])
        assert isinstance(job, Job)
        assert (job.progress, job.steps_done, job.steps_total) == (1.0, 1, 1)


class TestSeveralAtOnce:
    """What may run beside what. The store decides; the worker only asks for the next one."""

    def test_a_job_that_two_engines_died_with_runs_alone(self, open_engine, open_api, tmp_path):
        with open_api(tmp_path / "data") as api:
            suspect = api.submit_note("Kills.")["job_id"]
        crashed(open_engine, tmp_path / "data")
        with open_api(tmp_path / "data") as api:
            other = api.submit_note("Otters swim.")["job_id"]
            assert [api.engine.store.jobs.take().id for _ in range(2)] == [suspect, other]
        with open_engine(tmp_path / "data") as engine:
            assert engine.store.jobs.take().id == suspect
            assert engine.store.jobs.take() is None

    def test_many_jobs_at_once_all_end_and_leave_nothing_running(self, api):
        ids = [api.submit_note(f"Note {number}: otters swim.")["job_id"] for number in range(40)]
        files = [api.submit_file(f"File {n}\n".encode(), f"{n}.txt")["job_id"] for n in range(40)]
        ended = threading.Event()
        left = {*ids, *files}

        def end(job_id):
            left.discard(job_id)
            if not left:
                ended.set()

        api.at_each_end(end)
        api.engine.worker.start()
        assert ended.wait(90)
        api.engine.worker.stop(5)
        assert set(statuses(api).values()) == {"done"}

    def test_what_a_worker_has_in_hand_stays_its_own_however_long_it_takes(self, api, monkeypatch):
        worker, jobs = api.engine.worker, api.engine.store.jobs
        ingest, keep = worker._pipeline.ingest, jobs.keep
        kept, ended = threading.Event(), threading.Event()

        def take_long(taken, stopped):
            worker.wake()  # another round of the worker's own thread
            assert kept.wait(90)
            return ingest(taken, stopped)

        def keep_and_tell(taken):
            keep(taken)
            kept.set()

        monkeypatch.setattr(worker._pipeline, "ingest", take_long)
        monkeypatch.setattr(jobs, "keep", keep_and_tell)
        api.at_each_end(lambda _: ended.set())
        api.submit_note("Otters swim.")
        worker.start()
        assert ended.wait(90)
        worker.stop(5)
        assert set(statuses(api).values()) == {"done"}


def test_a_scan_without_the_program_that_reads_it_fails_by_name(open_api, tmp_path, monkeypatch):
    """It was there when the engine started, or that would have been refused."""
    missing = tesseract.TesseractMissing("there is no tesseract on the PATH")
    monkeypatch.setattr(ocr, "check", lambda _ocr: None)
    monkeypatch.setattr(tesseract, "find", raising(missing))
    with open_api(tmp_path / "data", ocr_engine="tesseract") as api:
        job = api.add_file((DOCUMENTS / "sign.png").read_bytes(), "sign.png")
        assert job["error"] == {
            "code": "ocr_failed",
            "message": "OCR processing failed: there is no tesseract on the PATH",
        }


def test_a_job_that_is_done_says_how_the_text_was_had_though_the_document_is_gone(api):
    job = api.add_file(b"About herons.\n", "heron.txt")
    assert job["processing_method"] == "text_extraction"
    api.delete(f"/documents/{job['document_id']}")
    assert api.job(job["id"])["processing_method"] == "text_extraction"
    assert api.submit_note("Waits.")["status"] == "queued"
    assert api.get("/jobs?status=queued").json()["jobs"][0]["processing_method"] is None


class TestTheQueue:
    def test_it_has_what_runs_what_runs_next_and_what_ended_last(self, api):
        for text in ("first", "second", "third"):
            api.add_note(text)
        running = api.submit_note("Otters swim.")["job_id"]
        api.engine.store.jobs.take()
        waiting = [api.submit_note(f"Heron {number}")["job_id"] for number in range(3)]
        cancelled = api.submit_note("never mind")["job_id"]
        api.delete(f"/jobs/{cancelled}")

        queue = api.get("/queue", params={"limit": 2}).json()
        assert [job["id"] for job in queue["running"]] == [running]
        assert [job["id"] for job in queue["queued"]] == waiting[:2]
        assert [job["id"] for job in queue["ended"]] == [cancelled, 3]
        counts = {"queued": 3, "running": 1, "done": 3, "failed": 0, "cancelled": 1}
        assert queue["counts"] == counts

    def test_its_time_is_that_of_the_last_one_though_that_is_not_shown(self, api):
        api.submit_note("Otters swim.")
        alone = api.get("/queue").json()["remaining_seconds"]
        last = api.submit_file(b"Herons wait. " * 100_000)["job_id"]
        queue = api.get("/queue", params={"limit": 1}).json()
        assert queue["remaining_seconds"] == api.job(last)["remaining_seconds"] > alone > 0

    def test_without_work_it_is_empty_and_takes_no_time(self, api):
        queue = api.get("/queue").json()
        assert queue == {
            "running": [],
            "queued": [],
            "ended": [],
            "counts": dict.fromkeys(("queued", "running", "done", "failed", "cancelled"), 0),
            "remaining_seconds": 0.0,
        }


def test_a_text_that_has_become_a_document_takes_no_room_among_the_jobs(api):
    for number in range(40):
        api.submit_note(f"Otter {number} swims. " + "It sleeps on its back. " * 120)
    api.engine.worker.finish_jobs()
    [(size,)] = api.engine.store.database.read(
        "SELECT sum(pgsize) FROM dbstat WHERE name IN ('jobs', 'job_texts')"
    )
    assert size < 40_000


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"ocr_engine": "off"}, "turn OCR on (KB_OCR_ENGINE) and add it again"),
        ({"ocr_inside": "off"}, "have those read (KB_OCR_INSIDE) and add it again"),
        ({}, "open it to see whether it is empty"),
    ],
)
def test_a_document_without_text_says_what_to_check(open_api, tmp_path, settings, advice):
    blank = PdfWriter()
    blank.add_blank_page(200, 200)
    file = BytesIO()
    blank.write(file)
    with open_api(tmp_path / "data", **settings) as api:
        error = api.add_file(file.getvalue(), "blank.pdf")["error"]
    assert error["code"] == "no_text_found"
    assert error["message"].startswith("No text was found in blank.pdf: ")
    assert advice in error["message"]
