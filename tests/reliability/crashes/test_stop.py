"""SIGTERM ends the engine soon and cleanly, whatever it is doing, and nothing is lost."""

import itertools
import threading
import time
from pathlib import Path

import pytest

from ..engine_process import PATIENCE, EngineProcess, Zygote, wait_until
from ..store_check import copied
from .crash import CrashRun

EXIT_SECONDS = 60.0  # on a busy machine; how long it took is printed
SLOW = "reliability.plants:embedding_takes_its_time"


def test_a_stop_under_load_is_clean_and_loses_nothing(zygote: Zygote, folder: Path) -> None:
    stop_under_load(zygote, folder, times=2)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ten_stops_under_load_are_clean_and_lose_nothing(zygote: Zygote, folder: Path) -> None:
    stop_under_load(zygote, folder, times=10)


def stop_under_load(zygote: Zygote, folder: Path, times: int) -> None:
    run = CrashRun(zygote, folder, seed=4)
    slowest = 0.0

    def stop() -> None:
        nonlocal slowest
        threading.Event().wait(run.random.uniform(0.1, 0.5))
        began = time.monotonic()
        run.engine.terminate()
        assert run.engine.exit_code(EXIT_SECONDS) == 0
        slowest = max(slowest, time.monotonic() - began)

    run.engine.start()
    for number in itertools.count(1):
        run.crash(stop)
        assert attempts_of_unfinished_jobs(folder) <= {("queued", 0)}
        run.engine.start()
        run.verify()
        if run.is_enough(number >= times, None, 5 * times):
            break
    run.engine.kill()
    print(f"{times} stops, the slowest in {slowest:.2f} s; {run.report.acknowledged} writes")
    assert run.report.violations == []
    assert run.report.acknowledged > 5 * times


def attempts_of_unfinished_jobs(folder: Path) -> set[tuple[str, int]]:
    copy = copied(folder / "store.db")
    unfinished = "SELECT status, attempts FROM jobs WHERE status IN ('queued', 'running')"
    found = set(copy.execute(unfinished))
    copy.close()
    return found


def test_a_stop_puts_the_running_job_back_as_if_never_taken(zygote: Zygote, folder: Path) -> None:
    engine = EngineProcess(zygote, folder, plants=[SLOW])
    engine.start()
    content = " ".join(f"word{number}" for number in range(40_000)).encode()
    job_id = engine.upload("long.txt", content, {}).body["job_id"]
    path = f"/api/v1/jobs/{job_id}"
    wait_until(
        lambda: engine.get(path).body["step"] == "Generating embeddings", PATIENCE, "the job runs"
    )
    engine.terminate()
    assert engine.exit_code(EXIT_SECONDS) == 0
    assert attempts_of_unfinished_jobs(folder) == {("queued", 0)}
    with EngineProcess(zygote, folder) as engine:
        assert engine.is_idle_within(PATIENCE)
        job = engine.get(path).body
        assert (job["status"], job["attempts"]) == ("done", 1)
