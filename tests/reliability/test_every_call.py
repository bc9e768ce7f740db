"""Whichever call on the disk fails, what is answered is true, and nothing is lost or half done."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# The whole takes half an hour on a quiet machine: KB_EVERY_CALL_SECONDS=7200.
SECONDS = int(os.environ.get("KB_EVERY_CALL_SECONDS", "60"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what a sync costs does not matter here."""
    place = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=place if place.is_dir() else tmp_path))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 240)
def test_each_call_of_sixty_operations_may_fail(memory: Path) -> None:
    """As many of them as there is time for; always the same ones first."""
    ended = subprocess.run(
        [sys.executable, "-m", "reliability.every_call", str(memory), str(SECONDS)],
        cwd=TESTS,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    report = json.loads(ended.stdout)
    violations = report.pop("violations")
    print(report)
    assert violations == []
    assert report["operations"] >= 60
    assert report["tried"] > 0
