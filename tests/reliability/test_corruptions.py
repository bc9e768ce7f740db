"""A store that was damaged somewhere is found out, serves no wrong text, and is put right."""

import os
import time
from pathlib import Path

import pytest

from .corruptions import Worlds, cases, table

# The whole of it: KB_CORRUPTIONS=200, or `python -m reliability.corruptions 200` in tests/.
COUNT = int(os.environ.get("KB_CORRUPTIONS", "40"))
SECONDS = 60.0 * COUNT / 40


@pytest.mark.long
@pytest.mark.timeout(int(300 + 10 * SECONDS))
def test_no_damage_is_overlooked_served_or_repaired_in_silence(tmp_path: Path) -> None:
    """Every fifth kind and place first, so that a slow machine tries some of each sort."""
    worlds = Worlds(tmp_path)
    listed = cases(worlds, COUNT)
    until = time.monotonic() + SECONDS
    outcomes = []
    for case in [case for first in range(5) for case in listed[first::5]]:
        outcomes.append(worlds.try_case(case))
        if time.monotonic() > until:
            break
    worlds.close()
    print(table(outcomes))
    for outcome in outcomes:
        told = (outcome.case.kind, outcome.case.seed, outcome.wrong, outcome.repaired)
        assert outcome.found, told
        assert not outcome.healthy, told
        assert outcome.wrong == [], told
        assert outcome.repaired in ("equal", "named"), told
