"""A backup under writers is one instant of what was confirmed; one that was killed is none.

`KB_TEST_BACKUPS` says how many of each are made: more than fit into every run of all tests.
"""

import os
from pathlib import Path

import pytest

from ..engine_process import Zygote
from ..oracle import State
from ..store_check import Found, StoredDocument
from .backups import BackupRun, KilledRun
from .history import Historian, Write, compare

BACKUPS = int(os.environ.get("KB_TEST_BACKUPS", "6"))


@pytest.mark.long
@pytest.mark.timeout(300 + 100 * BACKUPS)
def test_each_backup_under_four_writers_is_one_instant_of_what_was_confirmed(
    zygote: Zygote, folder: Path
) -> None:
    report = BackupRun(zygote, folder, seed=21).run(BACKUPS)
    print(report)
    assert report.violations == []
    assert report.finished == BACKUPS
    assert report.during > BACKUPS


@pytest.mark.long
@pytest.mark.timeout(300 + 100 * BACKUPS)
def test_a_backup_that_is_killed_is_whole_or_none(zygote: Zygote, folder: Path) -> None:
    report = KilledRun(zygote, folder, seed=22).run_killed(BACKUPS)
    print(report)
    assert report.violations == []
    assert report.finished + report.unfinished >= BACKUPS
    assert report.refused == report.unfinished


A, B = (State(f"text {name}", frozenset(), name) for name in "ab")


def found(**documents: State) -> Found:
    stored = {
        path: [StoredDocument(1, state.text, state.tags)] for path, state in documents.items()
    }
    return Found(documents=stored)


@pytest.mark.parametrize(
    ("there", "violation"),
    [
        ({"x": B, "y": B}, None),
        ({"x": A, "y": B}, "no instant"),  # x became B before y did
        ({"x": A, "y": A}, "fit none"),  # that was before the backup began
        ({"x": B}, "fit none"),
        ({"x": B, "y": B, "z": A}, "nobody added"),
        ({"x": State("else", frozenset(), ""), "y": B}, "never had"),
    ],
)
def test_what_is_no_single_instant_is_noticed(
    there: dict[str, State], violation: str | None
) -> None:
    historian = Historian("b", "1")
    historian.writes = {
        "x": [Write(1.0, A, 2.0), Write(5.0, B, 6.0)],
        "y": [Write(1.0, A, 2.0), Write(7.0, B, 8.0)],
    }
    violations = compare([historian], found(**there), began=6.5, ended=9.0)
    assert bool(violations) == (violation is not None)
    assert all(violation and violation in each for each in violations)
