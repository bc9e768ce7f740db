"""Some work in, whether its time grows with its size and no faster out."""

import math
import time
from collections.abc import Callable

_TRIES = 5  # a busy machine may be slow by chance; work that grows too fast always is
_TIMES = 10
_SLOWER = 40  # quadratic time would be 100 times as long
_GRAIN = 0.05  # seconds, of the clock


def assert_in_proportion(work: Callable[[int], object], size: int) -> None:
    """Ten times as much takes about ten times as long. `work` is told how much to do."""
    little = much = math.inf
    for _ in range(_TRIES):
        little = min(little, _seconds(work, size))
        much = min(much, _seconds(work, _TIMES * size))
        if much < _SLOWER * little + _GRAIN:
            return
    raise AssertionError(f"{_TIMES} times as much takes {much:.2f} s instead of {little:.4f} s")


def _seconds(work: Callable[[int], object], size: int) -> float:
    began = time.process_time()
    work(size)
    return time.process_time() - began
