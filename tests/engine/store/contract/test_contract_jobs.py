"""Jobs: queued once, taken in turn, ended once, and nothing of them stored otherwise."""

from dataclasses import replace

import pytest

from kb.engine.errors import (
    IdempotencyConflict,
    JobEnded,
    JobNotFound,
    JobNotRetryable,
)
from kb.engine.values import Chunk, Filter, HowRead, NewJob, PicturesRead, now


def ids(jobs):
    return [job.id for job in jobs]


class TestQueued:
    def test_a_job_is_as_it_was_sent_when_it_is_taken(self, store):
        new = NewJob(
            kind="file",
            content_hash="c" * 64,
            size_bytes=12,
            stored_name="o" * 32,
            filename="a.pdf",
            title="Otters",
            source_path="/papers/a.pdf",
            tags=("river", "animal"),
            metadata={"year": 1990},
            force_ocr=True,
            origin="laptop",
            batch="b",
            expected=7,
        )
        job, is_new = store.jobs.add(new)
        assert (job.status, job.attempts, is_new) == ("queued", 0, True)
        taken = store.jobs.take()
        assert (taken.id, taken.uid, taken.attempts) == (job.id, job.uid, 1)
        assert taken.request == new
        running = store.jobs.get(job.uid)
        assert (running.status, running.attempts) == ("running", 1)
        assert running.started_at is not None

    def test_the_text_of_a_note_comes_with_it(self, store, made):
        made.job("otters swim", tags=None)
        request = store.jobs.take().request
        assert (request.text, request.tags) == ("otters swim", None)

    def test_one_key_makes_one_job(self, store, made):
        first = made.job("otters", idempotency_key="k")
        new = NewJob("note", "c", 1, text="x", idempotency_key="another")
        assert [store.jobs.add(new)[1] for _ in range(2)] == [True, False]
        assert made.job("otters", idempotency_key="k").id == first.id
        assert made.job("otters", idempotency_key="other").id != first.id
        with pytest.raises(IdempotencyConflict):
            made.job("herons", idempotency_key="k")

    def test_a_job_that_is_not_there_is_refused_by_name(self, store):
        for key in (7, "no-such-uid"):
            with pytest.raises(JobNotFound):
                store.jobs.get(key)

    def test_jobs_are_listed_newest_first_and_by_status_and_document(self, store, made):
        done = made.ingest("otters")
        queued = [made.job(text) for text in ("a", "b", "c")]
        page = store.jobs.listing("queued", 2, 0)
        assert (ids(page.jobs), page.total) == ([queued[2].id, queued[1].id], 3)
        assert ids(store.jobs.listing("queued", 2, 2).jobs) == [queued[0].id]
        assert ids(store.jobs.listing(None, 9, 0, done.document_id).jobs) == [done.id]
        assert len(store.jobs.listing(None, 9, 0).jobs) == 4

    def test_one_look_shows_what_runs_what_comes_and_what_ended(self, store, made):
        done = made.ingest("otters")
        first, second = made.job("a"), made.job("b")
        assert store.jobs.take().id == first.id
        queue = store.jobs.queue(5)
        assert (ids(queue.running), ids(queue.queued)) == ([first.id], [second.id])
        assert ids(queue.ended) == [done.id]
        assert (queue.counts.running, queue.counts.queued, queue.counts.done) == (1, 1, 1)
        assert ids(store.jobs.last_in_line()) == [second.id]


class TestTaken:
    def test_nothing_is_taken_from_an_empty_queue(self, store):
        assert store.jobs.take() is None

    @pytest.mark.parametrize(
        "same", [{"source_path": "/a.txt"}, {"content_hash": "c" * 64}], ids=["path", "content"]
    )
    def test_two_of_one_path_or_content_run_one_after_the_other(self, store, made, same):
        first, second = (made.file_job(text, batch=text, **same).id for text in "ab")
        taken = store.jobs.take()
        assert taken.id == first
        assert store.jobs.take() is None
        store.jobs.fail(taken, "x", "y")
        assert store.jobs.take().id == second

    def test_a_job_that_is_put_back_is_as_if_it_had_not_been_taken(self, store, made):
        job = made.job()
        store.jobs.release(store.jobs.take())
        found = store.jobs.get(job.id)
        assert (found.status, found.attempts, found.started_at) == ("queued", 0, None)
        assert store.jobs.take().attempts == 1


class TestEnded:
    def test_the_document_is_there_and_the_job_says_so(self, store, made):
        job = made.job("otters swim", tags=("river",))
        finished = made.finish(store.jobs.take(), "otters", " swim")
        assert finished.job == store.jobs.get(job.id)
        assert (finished.job.status, finished.job.outcome) == ("done", "added")
        assert (finished.job.chunk_count, finished.unneeded_file) == (2, None)
        document = store.documents.get(finished.job.document_id)
        assert (document.uid, document.text) == (finished.job.document_uid, "otters swim")
        assert document.tags == ["river"]
        assert store.jobs.take() is None

    def test_neither_happens_where_the_document_cannot_be_stored(self, store, made):
        job = made.job("otters swim")
        taken = store.jobs.take()
        two = [Chunk("otters", 0), Chunk(" swim", 1)]
        with pytest.raises(ValueError, match="zip"):
            store.jobs.finish(taken, made.draft("x"), two, made.vectors_of(two[:1]))
        assert store.jobs.get(job.id).status == "running"
        assert store.documents.listing(Filter(), "created", "asc", 5, 0).total == 0
        assert made.finish(taken, "otters swim").job.outcome == "added"

    def test_a_file_that_is_here_by_its_path_gets_its_new_bytes(self, store, made):
        path = "/papers/a.txt"
        made.file_job("otters", source_path=path, tags=("old",), stored_name="first")
        before = made.finish(store.jobs.take(), "otters").job
        assert store.totals.current().file_bytes == len("otters")
        made.file_job("two herons", source_path=path, tags=("new",), stored_name="second")
        finished = made.finish(store.jobs.take(), "herons")
        assert store.totals.current().file_bytes == len("two herons")
        assert finished.job.document_id == before.document_id
        assert (finished.job.outcome, finished.unneeded_file) == ("updated", "first")
        assert finished.job.changed == ["content", "tags"]
        document = store.documents.get(before.document_id)
        assert document.tags == ["new", "old"]
        assert [chunk.text for chunk in document.chunks] == ["herons"]
        assert store.documents.stored_file(document.id)[1] == "second"
        assert (made.by_word("otter"), made.by_word("heron")) == ([], ["herons"])

    def test_what_is_here_already_is_not_read_again(self, store, made):
        same = {"source_path": "/a.txt", "tags": ("river",)}
        made.file_job("otters", **same)
        taken = store.jobs.take()
        assert store.jobs.finish_unread(taken) is None
        made.finish(taken, "otters")
        made.file_job("otters", **same, stored_name="again")
        finished = store.jobs.finish_unread(store.jobs.take())
        assert (finished.job.outcome, finished.unneeded_file) == ("unchanged", "again")
        made.file_job("otters", source_path="/a.txt", tags=("more",))
        finished = store.jobs.finish_unread(store.jobs.take())
        assert (finished.job.outcome, finished.job.changed) == ("updated", ["tags"])
        assert store.documents.get(finished.job.document_id).tags == ["more", "river"]

    @pytest.mark.parametrize(
        ("other", "is_same"),
        [
            ({}, True),
            ({"tags": ("lake",)}, False),
            ({"tags": ()}, False),
            ({"source_path": "/b"}, False),
            ({"text": "herons"}, False),
        ],
    )
    def test_a_note_is_the_same_only_by_text_path_and_tags(self, store, made, other, is_same):
        first = {"text": "otters", "source_path": "/a", "tags": ("river",)}
        notes = []
        for values in (first, first | other):
            made.job(**values)
            taken = store.jobs.take()
            notes.append(made.finish(taken, taken.request.text).job.document_id)
        assert len(set(notes)) == store.totals.read().documents == 2 - is_same

    def test_a_job_names_another_document_of_the_same_content(self, store, made):
        first = made.ingest("otters", source_path="/a")
        second = made.ingest("otters", source_path="/b")
        assert second.document_id != first.document_id
        assert (first.duplicate_of, second.duplicate_of) == (None, first.document_id)

    def test_one_that_failed_says_why_and_is_tried_again_from_the_start(self, store, made):
        job = made.job("otters swim")
        store.jobs.fail(store.jobs.take(), "extraction_failed", "It is damaged")
        failed = store.jobs.get(job.id)
        assert (failed.status, failed.held_bytes) == ("failed", 11)
        assert (failed.error.code, failed.error.message) == ("extraction_failed", "It is damaged")
        assert store.jobs.take() is None
        again = store.jobs.retry(job.id)
        assert (again.status, again.attempts, again.error) == ("queued", 0, None)
        assert store.jobs.take().request.text == "otters swim"
        with pytest.raises(JobNotRetryable):
            store.jobs.retry(job.id)

    def test_what_failed_long_ago_holds_nothing_any_more(self, store, made):
        long_ago = now()
        job = made.file_job("otters", stored_name="kept")
        store.jobs.fail(store.jobs.take(), "x", "y")
        assert store.jobs.expire_failed(long_ago) == (0, [])
        assert store.jobs.expire_failed(now()) == (1, ["kept"])
        assert store.jobs.get(job.id).held_bytes == 0
        with pytest.raises(JobNotRetryable):
            store.jobs.retry(job.id)

    def test_a_file_with_new_bytes_keeps_what_people_and_other_machines_said(self, store, made):
        path = "/papers/a.txt"
        made.file_job("otters", source_path=path, metadata={"a": 1, "b": 1}, origin="laptop")
        given = {"title": "Mine", "title_given": True}
        made.finish(store.jobs.take(), "otters", **given)
        made.file_job("herons", source_path=path, metadata={"b": 2})
        job = made.finish(store.jobs.take(), "herons", title="Found in it", message="Read").job
        document = store.documents.get(job.document_id)
        assert (document.title, document.origin) == ("Mine", "laptop")
        assert document.metadata == {"a": 1, "b": 2}
        assert (job.outcome, job.message) == ("updated", "Read")

    def test_bytes_are_needed_until_the_last_that_names_them_is_gone(self, store, made):
        failed, done = (made.file_job(text, stored_name=text) for text in ("failed", "done"))
        store.jobs.fail(store.jobs.take(), "x", "y")
        job = made.finish(store.jobs.take(), "otters").job
        assert job.held_bytes == 0
        assert store.originals.names() == {"failed", "done"}
        store.documents.delete(job.document_id)
        assert store.originals.names() == {"failed"}
        assert store.totals.current().failed_bytes == store.jobs.get(failed.id).held_bytes == 6
        assert done.id == job.id

    @pytest.mark.parametrize("how", ["fail", "cancel", "die"])
    def test_a_document_says_that_its_pictures_were_not_read(self, store, made, how):
        made.file_job("report")
        waiting = HowRead("docx", pictures_waiting=3)
        document_id = made.finish(store.jobs.take(), "text", how_read=waiting).job.document_id
        taken = store.jobs.take()
        if how == "fail":
            store.jobs.fail(taken, "x", "it is damaged")
        elif how == "cancel":
            store.jobs.cancel(taken.id)
        else:
            for _ in range(3):
                store.jobs.recover(alone=True)
                store.jobs.take()
        read = store.documents.get(document_id).how_read
        [warning] = read.warnings
        assert warning.startswith("the pictures inside were not read")
        assert read.pictures_waiting == 0

    def test_pictures_of_older_bytes_are_nobodys_any_more(self, store, made):
        made.file_job("report", source_path="/a.docx")
        waiting = HowRead("docx", pictures_waiting=3)
        made.finish(store.jobs.take(), "text", how_read=waiting)
        pictures = store.jobs.take()
        made.file_job("newer", source_path="/a.docx")
        document_id = made.finish(store.jobs.take(), "other text").job.document_id
        made.nothing_of(pictures)
        assert [c.text for c in store.documents.get(document_id).chunks] == ["other text"]

    def test_pictures_that_wait_become_a_job_that_adds_to_the_document(self, store, made):
        made.file_job("report")
        waiting = HowRead("docx", pictures_waiting=3)
        document_id = made.finish(store.jobs.take(), "text", how_read=waiting).job.document_id
        taken = store.jobs.take()
        assert (taken.request.kind, taken.request.document_id) == ("pictures", document_id)
        more = [Chunk("words in a picture", 0)]
        finished = store.jobs.add_pictures(taken, PicturesRead(1), more, made.vectors_of(more))
        assert finished.job.outcome == "updated"
        document = store.documents.get(document_id)
        assert [chunk.text for chunk in document.chunks] == ["text", "words in a picture"]
        assert (document.how_read.pictures_read, document.how_read.pictures_waiting) == (1, 0)
        assert made.by_word("word") == ["words in a picture"]

    def test_a_document_that_goes_takes_the_job_for_its_pictures_along(self, store, made):
        made.file_job("report")
        waiting = HowRead("docx", pictures_waiting=3)
        document_id = made.finish(store.jobs.take(), "text", how_read=waiting).job.document_id
        store.documents.delete(document_id)
        assert store.jobs.take() is None


class TestForeseen:
    """What sending a file would come to, where that is certain."""

    FILE = NewJob("file", "otters", 6, stored_name="o", filename="a.txt", source_path="/a.txt")

    @pytest.mark.parametrize(
        ("other", "outcome"),
        [
            ({}, "unchanged"),
            ({"source_path": "/b.txt"}, None),
            ({"content_hash": "herons"}, None),
            ({"tags": ("new",)}, None),
            ({"tags": ("river",)}, "unchanged"),
            ({"title": "Another"}, None),
            ({"metadata": {"a": 1}}, None),
            ({"origin": "laptop"}, None),  # so that the document's machine becomes known
        ],
    )
    def test_a_file_that_is_here_would_change_nothing(self, store, made, other, outcome):
        store.jobs.add(replace(self.FILE, tags=("river",)))
        job = made.finish(store.jobs.take(), "otters").job
        foreseen = store.jobs.foresee(replace(self.FILE, **other))
        assert foreseen.outcome == outcome
        assert foreseen.document_id == (job.document_id if outcome else None)

    def test_one_that_another_version_waits_for_may_be_another_by_then(self, store, made):
        store.jobs.add(self.FILE)
        made.finish(store.jobs.take(), "otters")
        store.jobs.add(replace(self.FILE, content_hash="herons"))
        assert store.jobs.foresee(self.FILE).outcome is None

    @pytest.mark.parametrize(
        ("code", "other", "outcome"),
        [
            ("damaged_file", {}, "failed"),
            ("damaged_file", {"source_path": "/b.txt"}, "failed"),
            ("damaged_file", {"filename": "b.txt"}, None),
            ("damaged_file", {"content_hash": "herons"}, None),
            ("damaged_file", {"force_ocr": True}, None),
            ("storage_full", {}, None),
        ],
    )
    def test_one_that_failed_for_what_it_is_would_fail_again(self, store, code, other, outcome):
        another = replace(self.FILE, content_hash="newts", source_path="/newts.txt")
        for file, why in ((another, "damaged_file"), (self.FILE, code)):
            store.jobs.add(file)
            failed = store.jobs.fail(store.jobs.take(), why, "It is so")
        foreseen = store.jobs.foresee(replace(self.FILE, **other))
        assert foreseen.outcome == outcome
        assert foreseen.job_id == (failed.id if outcome else None)


class TestCancelled:
    def test_one_that_is_queued_is_not_taken_any_more(self, store, made):
        job = made.file_job("a", stored_name="kept")
        cancelled = store.jobs.cancel(job.id)
        assert (cancelled.job.status, cancelled.unneeded_file) == ("cancelled", "kept")
        assert store.jobs.take() is None
        with pytest.raises(JobEnded):
            store.jobs.cancel(job.id)

    def test_one_that_runs_is_lost_to_its_worker_and_nothing_is_stored(self, store, made):
        job = made.job("otters")
        taken = store.jobs.take()
        assert store.jobs.holds(taken)
        store.jobs.cancel(job.id)
        assert not store.jobs.holds(taken)
        made.nothing_of(taken)
        assert store.jobs.get(job.id).status == "cancelled"
        assert store.totals.read().documents == 0

    def test_of_one_that_failed_what_it_holds_is_let_go(self, store, made):
        job = made.file_job("a", stored_name="kept")
        store.jobs.fail(store.jobs.take(), "x", "y")
        finished = store.jobs.cancel(job.id)
        assert (finished.job.status, finished.unneeded_file) == ("failed", "kept")
        with pytest.raises(JobEnded):
            store.jobs.cancel(job.id)

    def test_one_that_is_done_stays_done(self, store, made):
        job = made.ingest("otters")
        with pytest.raises(JobEnded):
            store.jobs.cancel(job.id)
        assert store.jobs.get(job.id).status == "done"
