"""A change of models under load, killed half-way: searches never fail and never mix vectors."""

from pathlib import Path

import pytest

from ..engine_process import Zygote
from .model_change import ModelChange


def test_a_change_that_is_killed_is_ended_by_the_next_start(zygote: Zygote, folder: Path) -> None:
    change = ModelChange(zygote, folder, seed=1)
    change.run(changes=1, kills=2, interrupted=1)
    print(f"{change.searches} searches, {change.notes} notes, {change.interrupted} interrupted")
    assert change.wrong == []
    assert change.searches > 5


@pytest.mark.long
@pytest.mark.timeout(900)
def test_many_changes_with_many_kills_lose_nothing(zygote: Zygote, folder: Path) -> None:
    change = ModelChange(zygote, folder, seed=2)
    change.run(changes=5, kills=4, interrupted=6)
    print(f"{change.searches} searches, {change.notes} notes, {change.interrupted} interrupted")
    assert change.wrong == []
    assert change.searches > 100
