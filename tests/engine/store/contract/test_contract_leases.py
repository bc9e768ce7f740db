"""Leases: a job has one worker at a time, and none that is gone keeps it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kb.engine.errors import JobLost
from kb.engine.store.leases import LEASE_SECONDS


@pytest.fixture
def second(open_store, store):
    """The same store once more, as another process has it."""
    return open_store()


def test_a_job_is_left_alone_until_its_lease_is_over(store, second, made, clock):
    job = made.job()
    taken = store.jobs.take()
    clock.go_on(LEASE_SECONDS - 1)
    assert second.jobs.take() is None
    clock.go_on(1)
    again = second.jobs.take()
    assert (again.id, again.attempts) == (job.id, 2)
    assert again.lease != taken.lease
    assert store.jobs.take() is None


def test_of_two_who_take_at_one_moment_one_gets_the_job(store, made, clock):
    """The first looks at the clock while it chooses, and goes on when the second asks, too."""
    with ThreadPoolExecutor(1) as other_thread:
        for number in range(20):
            job = made.job(str(number))
            chooses, asked = threading.Event(), threading.Event()

            def wait_for_the_second(chooses=chooses, asked=asked):
                chooses.set()
                assert asked.wait(60)

            clock.before_it_tells = wait_for_the_second
            first = other_thread.submit(store.jobs.take)
            assert chooses.wait(60)
            asked.set()
            taken = [each for each in (store.jobs.take(), first.result()) if each]
            assert [(each.id, each.attempts) for each in taken] == [(job.id, 1)]
            assert store.jobs.get(job.id).attempts == 1
            assert made.finish(taken[0], "otters").job.status == "done"


def test_what_another_has_taken_is_not_the_firsts_any_more(store, second, made, clock):
    job = made.job("otters swim")
    taken = store.jobs.take()
    clock.go_on(LEASE_SECONDS)
    again = second.jobs.take()
    assert not store.jobs.holds(taken)
    assert second.jobs.holds(again)
    made.nothing_of(taken)
    found = store.jobs.get(job.id)
    assert (found.status, store.totals.read().documents) == ("running", 0)
    assert made.finish(again, "otters swim").job.outcome == "added"
    with pytest.raises(JobLost):
        made.finish(taken, "otters swim")
    assert store.totals.read().documents == 1


def test_a_lease_that_is_over_is_still_good_while_nobody_has_taken_the_job(store, made, clock):
    made.job("otters swim")
    taken = store.jobs.take()
    clock.go_on(LEASE_SECONDS * 10)
    assert store.jobs.holds(taken)
    assert made.finish(taken, "otters swim").job.outcome == "added"


def test_whoever_still_works_puts_the_end_off(store, second, made, clock):
    made.job("otters swim")
    taken = store.jobs.take()
    for _ in range(5):
        clock.go_on(LEASE_SECONDS / 2)
        store.jobs.keep([taken])
        assert second.jobs.take() is None
    assert made.finish(taken, "otters swim").job.attempts == 1


@pytest.mark.parametrize("after", [LEASE_SECONDS / 3, LEASE_SECONDS / 2, LEASE_SECONDS - 1])
def test_the_end_is_put_off_before_it_comes(store, second, made, clock, after):
    made.job()
    taken = store.jobs.take()
    clock.go_on(after)
    store.jobs.keep([taken])
    clock.go_on(LEASE_SECONDS - 1)
    assert second.jobs.take() is None
    clock.go_on(1)
    assert second.jobs.take().id == taken.id


def test_what_was_lost_is_not_kept(store, second, made, clock):
    made.job("otters swim")
    taken = store.jobs.take()
    clock.go_on(LEASE_SECONDS)
    again = second.jobs.take()
    store.jobs.keep([taken])
    assert not store.jobs.holds(taken)
    clock.go_on(LEASE_SECONDS)
    assert store.jobs.take().id == again.id


def test_recovery_takes_back_only_what_nobody_holds(store, second, made, clock):
    first, other = made.job("a", batch="a"), made.job("b", batch="b")
    gone = store.jobs.take()
    clock.go_on(LEASE_SECONDS / 2)
    held = second.jobs.take()
    clock.go_on(LEASE_SECONDS / 2)
    second.jobs.recover()
    assert [store.jobs.get(job.id).status for job in (first, other)] == ["queued", "running"]
    assert (store.jobs.holds(gone), second.jobs.holds(held)) == (False, True)


def test_who_is_alone_need_not_wait_for_the_end_of_a_lease(store, second, made):
    job = made.job()
    taken = store.jobs.take()
    second.jobs.recover(alone=True)
    assert second.jobs.get(job.id).status == "queued"
    assert not store.jobs.holds(taken)


@pytest.mark.parametrize("how", ["alone", "over"])
def test_what_took_three_workers_along_is_given_up(store, made, clock, how):
    job = made.job()
    for _ in range(3):
        assert store.jobs.take().id == job.id
        if how == "alone":
            store.jobs.recover(alone=True)
        else:
            clock.go_on(LEASE_SECONDS)
    assert store.jobs.take() is None
    failed = store.jobs.get(job.id)
    assert (failed.status, failed.error.code) == ("failed", "worker_killed")


def test_what_took_two_workers_along_runs_alone(store, made, clock):
    suspect, other = made.job("a", batch="a"), made.job("b", batch="b")
    assert store.jobs.take("oldest").id == suspect.id
    store.jobs.recover(alone=True)
    assert store.jobs.take("oldest").id == suspect.id
    beside = store.jobs.take()
    assert beside.id == other.id
    clock.go_on(LEASE_SECONDS / 2)
    store.jobs.keep([beside])
    clock.go_on(LEASE_SECONDS / 2)
    assert store.jobs.take("oldest") is None
    made.finish(beside, "b")
    last = made.job("c", batch="c")
    alone = store.jobs.take("oldest")
    assert (alone.id, alone.attempts) == (suspect.id, 3)
    assert [store.jobs.take(which) for which in ("next", "small", "oldest")] == [None] * 3
    made.finish(alone, "a")
    assert store.jobs.take().id == last.id


def test_what_was_given_back_or_has_ended_is_not_taken_back(store, second, made, clock):
    released, done = made.job("a", batch="a"), made.job("b", batch="b")
    store.jobs.release(store.jobs.take())
    store.jobs.release(store.jobs.take())
    taken = [store.jobs.take(), store.jobs.take()]
    made.finish(taken[1], "b")
    store.jobs.release(taken[0])
    clock.go_on(LEASE_SECONDS)
    second.jobs.recover()
    assert [store.jobs.get(job.id).status for job in (released, done)] == ["queued", "done"]
    assert store.jobs.take().attempts == 1
