"""kill -9 at any moment loses nothing that was acknowledged, and leaves nothing half done."""

from pathlib import Path

import pytest

from ..engine_process import Zygote
from .crash import CrashRun

MUTANT_KILLS = 80


@pytest.mark.parametrize(
    ("seed", "kills", "writes"),
    [(1, 6, 20), pytest.param(2, 50, 200, marks=[pytest.mark.long, pytest.mark.timeout(900)])],
)
def test_nothing_is_lost_when_the_engine_is_killed(
    zygote: Zygote, folder: Path, seed: int, kills: int, writes: int
) -> None:
    report = CrashRun(zygote, folder, seed=seed).run(kills=kills, writes=writes)
    print(report)
    assert report.violations == []
    assert report.acknowledged > writes


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_is_lost_that_is_put_off_for_long_documents(zygote: Zygote, folder: Path) -> None:
    plants = ["reliability.plants:every_document_of_two_passages_is_long"]
    report = CrashRun(zygote, folder, seed=5, plants=plants).run(kills=20)
    print(report)
    assert report.violations == []


def test_an_answer_before_the_commit_would_be_noticed(zygote: Zygote, folder: Path) -> None:
    assert_noticed(zygote, folder, "answer_before_commit", "lost")


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "violation"),
    [
        ("job_ends_in_a_second_transaction", "instead of added"),
        ("note_is_replaced_in_two_transactions", "chunk_count"),
        ("file_is_unlinked_before_the_commit", "its file is missing"),
        ("what_a_failed_job_holds_stays", "still holds what was deleted"),
        ("a_cancelled_job_goes_on", "neither what was acknowledged"),
        ("no_sweep_at_start", "files that nothing names"),
        ("no_recovery_of_jobs_at_start", "is running"),
    ],
)
@pytest.mark.timeout(900)
def test_a_planted_bug_would_be_noticed(
    zygote: Zygote, folder: Path, mutant: str, violation: str
) -> None:
    assert_noticed(zygote, folder, mutant, violation)


def assert_noticed(zygote: Zygote, folder: Path, mutant: str, violation: str) -> None:
    """The same run, on an engine with a bug in it, must report just what that bug does."""
    run = CrashRun(zygote, folder, seed=3, plants=[f"reliability.crashes.mutants:{mutant}"])
    run.patience = 5.0  # some bugs let the queue never get empty,
    run.engine.patience = 10.0  # and each command that waits for it, wait for ever
    report = run.run(kills=MUTANT_KILLS, until=violation)
    print(mutant, report)
    assert any(violation in each for each in report.violations), report.violations
