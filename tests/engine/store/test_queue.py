"""A long queue costs nothing, in steps of SQLite's machine: seconds would depend on the day."""

import itertools

import pytest

from kb.engine.values import NewJob

_numbers = itertools.count(1)


@pytest.fixture
def steps(shelf):
    def count(action):
        counted = [0]

        def step():
            counted[0] += 1
            return False

        connection = shelf.database._writer
        connection.set_progress_handler(step, 10)
        try:
            action()
        finally:
            connection.set_progress_handler(None)
        return 10 * counted[0]

    return count


def fill(shelf, count):
    with shelf.database.transaction() as query:
        query.many(
            "INSERT INTO jobs (uid, status, kind, batch, turn, source_path, content_hash, "
            "metadata, created_at) "
            "VALUES (:uid, 'queued', 'file', 'bulk', :turn, :uid, :uid, '{}', 'now')",
            ({"uid": f"{count}-{n}", "turn": n} for n in range(1, count + 1)),
        )


def test_queued_jobs_make_none_of_it_slower(shelf, steps):
    few, many = work(shelf, steps, 20), work(shelf, steps, 10_000)
    for what, before in few.items():
        assert many[what] <= 2 * before + 200, what


def work(shelf, steps, count):
    jobs = shelf.store.jobs

    def send(batch):
        digest = f"hash-{next(_numbers)}"
        jobs.add(NewJob("note", batch=batch, text="x", content_hash=digest, size_bytes=10))

    fill(shelf, count)
    found = {
        "taking": steps(jobs.take),
        "taking the oldest": steps(lambda: jobs.take("oldest")),
        "finding nothing small": steps(lambda: jobs.take("small")),
        "queueing to it": steps(lambda: send("bulk")),
        "queueing alone": steps(lambda: send("lone")),
        "taking what is small": steps(lambda: jobs.take("small")),
    }
    with shelf.database.transaction() as query:
        query("DELETE FROM jobs")
    return found
