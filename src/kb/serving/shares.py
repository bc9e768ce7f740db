"""Gives each caller a share of a resource, so that nobody takes all of it."""

from collections import Counter


class Shares:
    """How many of something each caller has at the moment. Callers without any are forgotten."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def take(self, caller: str, each: int, altogether: int) -> bool:
        """Count one more, unless this caller has `each` already or all have `altogether`."""
        if self._taken[caller] >= each or self._taken.total() >= altogether:
            return False
        self._taken[caller] += 1
        return True

    def give_back(self, caller: str) -> None:
        self._taken[caller] -= 1
        if not self._taken[caller]:
            del self._taken[caller]
