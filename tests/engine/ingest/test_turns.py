"""What is added beside a bulk import: it has its turn, and says how many are before it."""

import threading

import pytest
from small_archives import blank, saved

from kb.engine.ingest.inbox import Bursts
from kb.engine.ingest.worker import AT_ONCE, OLDEST_EVERY


def batch(name):
    return {"Batch-Id": name}


def submit_bulk(api, count, name="bulk"):
    return [
        api.submit_file(f"Otter {n}.\n".encode(), f"{n}.txt", headers=batch(name))["job_id"]
        for n in range(count)
    ]


def order_of_ending(api):
    ended = []
    api.at_each_end(ended.append)
    api.engine.worker.finish_jobs()
    return ended


def endings(api):
    """To wait for the end of jobs, and the ids of those that have ended, in their order."""
    ended, news = [], threading.Condition()

    def end(job_id):
        with news:
            ended.append(job_id)
            news.notify_all()

    def wait_for(*jobs):
        with news:
            assert news.wait_for(lambda: {*jobs} <= {*ended}, 120)

    api.at_each_end(end)
    return wait_for, ended


class TestOverTheApi:
    def test_a_job_says_how_many_are_before_it(self, api):
        jobs = submit_bulk(api, 13)
        last = api.job(jobs[-1])
        assert (last["ahead"], last["message"]) == (12, "12 jobs before this one")
        assert api.job(jobs[1])["message"] == "1 job before this one"
        assert (api.job(jobs[0])["ahead"], api.job(jobs[0])["message"]) == (0, "")
        listed = api.get("/jobs?limit=13").json()["jobs"]
        assert [job["ahead"] for job in listed] == list(range(12, -1, -1))
        api.engine.worker.finish_jobs()
        assert (api.job(jobs[-1])["ahead"], api.job(jobs[-1])["message"]) == (0, "")

    def test_a_file_beside_a_bulk_import_stands_behind_one_of_its_files(self, api):
        bulk = submit_bulk(api, 20)
        lone = api.submit_file(b"A vole.\n", "vole.txt", headers=batch("lone"))["job_id"]
        assert api.job(lone)["ahead"] == 1
        assert order_of_ending(api) == [bulk[0], lone, *bulk[1:]]

    def test_the_queue_shows_them_as_they_will_be_taken(self, api):
        bulk = submit_bulk(api, 20)
        lone = api.submit_file(b"A vole.\n", "vole.txt", headers=batch("lone"))["job_id"]
        queue = api.get("/queue?limit=3").json()
        assert [job["id"] for job in queue["queued"]] == [bulk[0], lone, bulk[1]]
        assert [job["ahead"] for job in queue["queued"]] == [0, 1, 2]
        assert queue["remaining_seconds"] == api.job(bulk[-1])["remaining_seconds"]

    def test_an_import_whose_sender_names_no_batch_is_one_all_the_same(self, api):
        now = [0.0]
        api.engine.inbox._bursts = Bursts(clock=lambda: now[0])
        bulk = [api.submit_file(f"{n}\n".encode(), f"{n}.txt")["job_id"] for n in range(10)]
        now[0] += 3
        lone = api.submit_file(b"A vole.\n", "vole.txt")["job_id"]
        note = api.submit_note("A heron.")["job_id"]
        assert order_of_ending(api) == [bulk[0], lone, note, *bulk[1:]]

    @pytest.mark.parametrize("name", ["", "x" * 201])
    def test_a_batch_that_cannot_be_one_is_refused(self, api, name):
        answer = api.post("/jobs", {"text": "x"}, headers=batch(name))
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        assert api.get("/jobs").json()["total"] == 0

    def test_scans_wait_for_each_other_and_say_so(self, api):
        jobs = [
            api.submit_file(saved(blank(shade=shade)), f"{shade}.png", headers=batch("scans"))[
                "job_id"
            ]
            for shade in (10, 20, 30)
        ]
        text = api.submit_file(b"A vole.\n", "vole.txt", headers=batch("scans"))["job_id"]
        assert api.engine.store.jobs.take().id == jobs[0]
        assert api.job(jobs[2])["message"] == "2 jobs with pictures before this one"
        assert api.job(text)["ahead"] == 0


def test_a_flood_of_single_jobs_holds_a_bulk_import_up_by_a_known_number(api):
    """Two come for each that is done, each of a batch of its own, as long as the import goes on."""
    bulk = submit_bulk(api, 8)
    left, ended = set(bulk), []

    def end(job_id):
        ended.append(job_id)
        left.discard(job_id)
        for number in range(2 if left else 0):
            name = f"{len(ended)}-{number}"
            api.post("/jobs", {"text": f"Note {name}"}, headers=batch(name))

    api.at_each_end(end)
    api.engine.worker.finish_jobs()
    places = [ended.index(job) + 1 for job in bulk]
    assert places == sorted(places)
    for number, place in enumerate(places, 1):
        assert place <= OLDEST_EVERY * number


class TestBesideFullPlaces:
    """All places are taken by files that are embedded for as long as the test likes."""

    @pytest.fixture
    def full(self, api, monkeypatch):
        embedder = api.engine.embedder.current()
        embed, go_on, held = embedder.embed, threading.Event(), threading.Semaphore(0)

        def held_up(texts):
            if "Herons" in texts[0]:
                held.release()
                assert go_on.wait(60)
            return embed(texts)

        monkeypatch.setattr(embedder, "embed", held_up)
        worker = api.engine.worker
        wait_for, _ = endings(api)
        bulk = [
            api.submit_file(b"Herons %d" % n, f"{n}.txt", headers=batch("bulk"))["job_id"]
            for n in range(AT_ONCE + 3)
        ]
        worker.start()
        for _ in range(AT_ONCE):
            assert held.acquire(timeout=60)
        yield wait_for
        go_on.set()
        wait_for(*bulk)
        worker.stop(10)
        assert {api.job(job)["status"] for job in bulk} == {"done"}

    def test_a_note_and_small_files_are_done_meanwhile(self, api, full):
        note = api.submit_note("A vole.")["job_id"]
        full(note)
        files = [api.submit_file(b"Vole %d\n" % n, f"v{n}.txt")["job_id"] for n in range(3)]
        full(*files)
        assert api.get("/jobs?status=running").json()["total"] == AT_ONCE
        assert api.search("vole", fts_only=True)

    def test_a_large_file_is_not_done_there(self, api, full):
        large = api.submit_file(b"Voles. " * 20_000, "large.txt", headers=batch("large"))["job_id"]
        small = api.submit_file(b"A vole.\n", "vole.txt", headers=batch("small"))["job_id"]
        full(small)
        assert api.job(large)["status"] == "queued"

    def test_nor_is_one_that_turns_out_to_have_pictures(self, api, full):
        """It is called a text, and is a picture."""
        hidden = api.submit_file(saved(blank(shade=90)), "hidden.txt", headers=batch("hidden"))[
            "job_id"
        ]
        small = api.submit_file(b"A vole.\n", "vole.txt", headers=batch("small"))["job_id"]
        full(small)
        waiting = api.job(hidden)
        assert (waiting["status"], waiting["attempts"]) == ("queued", 0)


@pytest.mark.long
def test_a_note_and_a_small_file_are_done_long_before_a_bulk_import(api):
    bulk = submit_bulk(api, 300)
    wait_for, ended = endings(api)
    api.engine.worker.start()
    wait_for(bulk[0])
    note = api.submit_note("A heron.")["job_id"]
    small = api.submit_file(b"A vole.\n", "vole.txt", headers=batch("lone"))["job_id"]
    wait_for(note, small, *bulk)
    api.engine.worker.stop(10)
    assert max(ended.index(note), ended.index(small)) < len(bulk) / 2
    assert {api.job(job)["status"] for job in (note, small)} == {"done"}
