"""Whichever call on the disk fails, what is answered is true, and nothing is lost or half done."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]
# The whole takes half an hour on a quiet machine: KB_EVERY_CALL_SECONDS=7200, or in four parts:
# `python -m reliability.disks.every_call FOLDER 7200 0/4`.
SECONDS = int(os.environ.get("KB_EVERY_CALL_SECONDS", "60"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what a sync costs does not matter here."""
    place = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=place if place.is_dir() else tmp_path))
    yield folder
    shutil.rmtree(folder)


def report_of(*arguments: object) -> dict[str, Any]:
    """What the run in a process of its own found; nothing that is wrong may be in it."""
    ended = subprocess.run(
        [sys.executable, "-m", "reliability.disks.every_call", *map(str, arguments)],
        cwd=TESTS,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    report: dict[str, Any] = json.loads(ended.stdout)
    violations = report.pop("violations")
    print(report)
    assert violations == []
    return report


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 900)
def test_each_call_of_sixty_operations_may_fail(memory: Path) -> None:
    """As many of them as there is time for; always the same ones first."""
    report = report_of(memory, SECONDS)
    assert report["operations"] >= 60
    assert report["tried"] > 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_each_of_sixty_operations_may_meet_a_full_disk(small_disk: Path, memory: Path) -> None:
    report = report_of(small_disk, "full", memory)
    assert report["tried"] == report["operations"] >= 60
