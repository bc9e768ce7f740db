"""The progress of a backup, a check or a restore, and whom it is reported to."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """`done` of `total`: bytes of the database, or a number of originals or blocks."""

    step: str
    done: int
    total: int


Tell = Callable[[Step], None]


def tell_nobody(_: Step) -> None:
    """For callers that wait for the end."""
