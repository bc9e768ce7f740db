"""Leases: which worker holds a running job, and until when others leave it alone.

A lease has a token and an end. The token is the fence: every write about a job names it in the
transaction that writes, so a worker that was paused for too long and comes back changes nothing.
The end lets others go on without it: a job whose lease has ended may be taken by anybody, and then
gets another token. Until somebody takes it, its worker may still finish it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from kb.engine.errors import JobLost
from kb.engine.store.file.database import Query
from kb.engine.values import TakenJob, written

# Longer than a busy machine keeps a worker from putting it off, and short enough to be waited for.
LEASE_SECONDS = 60.0

Clock = Callable[[], datetime]


class Leases:
    """Each method runs inside a transaction. `clock` tells every worker the same time, in UTC."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def give(self, query: Query, job_id: int, token: str) -> None:
        """Let a job be this worker's for a while."""
        query(
            "UPDATE jobs SET lease = :lease, lease_until = :until WHERE id = :id",
            id=job_id,
            lease=token,
            until=self._after(LEASE_SECONDS),
        )

    def over(self, query: Query) -> list[int]:
        """The running jobs that nobody holds any more."""
        rows = query(
            "SELECT id FROM jobs WHERE status = 'running' "
            "AND (lease_until IS NULL OR lease_until <= :now)",
            now=self._after(0),
        )
        return [job_id for (job_id,) in rows]

    def due(self, query: Query, taken: Sequence[TakenJob]) -> list[TakenJob]:
        """Those of these jobs, still this worker's, whose lease has run for a third of its time."""
        due = self._after(LEASE_SECONDS * 2 / 3)
        return [
            each
            for each in taken
            if query(
                "SELECT 1 FROM jobs WHERE id = :id AND lease = :lease AND lease_until <= :due",
                id=each.id,
                lease=each.lease,
                due=due,
            )
        ]

    def put_off(self, query: Query, taken: Sequence[TakenJob]) -> None:
        """Have these leases end later. One that was lost meanwhile stays lost."""
        for each in taken:
            query(
                "UPDATE jobs SET lease_until = :until WHERE id = :id AND lease = :lease",
                id=each.id,
                lease=each.lease,
                until=self._after(LEASE_SECONDS),
            )

    def _after(self, seconds: float) -> str:
        return written(self._clock() + timedelta(seconds=seconds))


def check_lease(query: Query, taken: TakenJob) -> None:
    """Raise JobLost where the job is somebody else's, or nobody's, by now."""
    if query("SELECT lease FROM jobs WHERE id = :id", id=taken.id) != [(taken.lease,)]:
        raise JobLost(f"Job {taken.id} is no longer this worker's", job_id=taken.id)
