"""Two processes work on one store: every job ends once, and one of them sweeps at a time."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from kb.engine.store.leases import LEASE_SECONDS
from kb.engine.store.sweeping import SWEEP_SECONDS
from kb.engine.values import Filter

SCRIPT = Path(__file__).with_name("worker_process.py")


class Worker:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, what):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()

    def do(self, what):
        self.begin(what)
        return self.answer()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


@pytest.fixture
def tell_time(clock, tmp_path):
    def tell():
        (tmp_path / "new").write_text(clock().isoformat())
        os.replace(tmp_path / "new", tmp_path / "clock")

    tell()
    return tell


@pytest.fixture
def workers(kind, tmp_path, store):
    started = [Worker(kind, str(tmp_path), str(tmp_path / "clock"), name) for name in "ab"]
    yield started
    for worker in started:
        if worker.process.poll() is None:
            worker.go_on()
        worker.process.stdin.close()
        worker.process.wait(30)
        worker.process.stdout.close()


def test_every_job_ends_once_though_one_worker_is_paused_for_longer_than_its_lease(
    store, made, workers, clock, tell_time
):
    paused, other = workers
    jobs = [made.job(f"otters swim {number}", batch=str(number)).id for number in range(12)]
    [held] = paused.do("take")
    paused.pause()
    assert str(jobs[0]) == held
    assert other.do("everything") == [str(job) for job in jobs[1:]]
    assert store.jobs.get(int(held)).status == "running"

    clock.time += timedelta(seconds=LEASE_SECONDS)
    tell_time()
    assert other.do("everything") == [held]
    paused.go_on()
    assert paused.do("finish") == ["lost"]

    more = [made.job(f"herons wade {number}", batch=str(number)).id for number in range(6)]
    for worker in workers:
        worker.begin("everything")
    ended = [worker.answer() for worker in workers]
    assert sorted(int(job) for its_own in ended for job in its_own) == more

    found = [store.jobs.get(job) for job in (*jobs, *more)]
    assert {(job.status, job.outcome) for job in found} == {("done", "added")}
    assert [job.attempts for job in found] == [2, *[1] * 17]
    assert len({job.document_id for job in found}) == 18
    assert store.documents.listing(Filter(), "created", "asc", 50, 0).total == 18


def test_one_that_is_paused_while_it_sweeps_finds_that_another_does(workers, clock, tell_time):
    paused, other = workers
    assert paused.do("sweep") == ["True"]
    paused.pause()
    clock.go_on(SWEEP_SECONDS - 1)
    tell_time()
    assert other.do("sweep") == ["False"]
    clock.go_on(1)
    tell_time()
    assert other.do("sweep") == ["True"]
    paused.go_on()
    assert paused.do("sweep") == ["False"]
    other.do("end sweeping")
    assert paused.do("sweep") == ["True"]


def test_one_that_dies_while_it_sweeps_is_waited_for_but_one_turn(workers, clock, tell_time):
    dying, other = workers
    assert dying.do("sweep") == ["True"]
    dying.process.kill()
    dying.process.wait()
    assert other.do("sweep") == ["False"]
    clock.go_on(SWEEP_SECONDS)
    tell_time()
    assert other.do("sweep") == ["True"]


def test_of_two_that_begin_at_once_one_sweeps(workers, tell_time):
    for worker in workers:
        worker.begin("sweep")
    assert sorted(worker.answer() for worker in workers) == [["False"], ["True"]]
