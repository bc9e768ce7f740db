"""Lets one engine of a store at a time delete leftovers of crashes and what has expired."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from kb.engine.errors import StorageFull
from kb.engine.store.file.database import Database
from kb.engine.store.leases import Clock
from kb.engine.values import written

logger = logging.getLogger(__name__)

# Longer than a step of it takes, with many files on a slow disk; nobody waits for sweeping.
SWEEP_SECONDS = 600.0


class Sweeping:
    """The part of the store that decides whose turn it is. A turn ends with its block, or after
    some time if its engine is gone. An engine that starts again gets its own turn back, by its
    `name`."""

    def __init__(self, database: Database, name: str, clock: Clock) -> None:
        self._database = database
        self._name = name
        self._clock = clock

    @contextmanager
    def turn(self) -> Iterator[Callable[[], bool]]:
        """What is handed out tells whether it is this engine's turn: to be asked before each step,
        since another has it once this one was paused for too long."""
        put_off_at: datetime | None = None

        def is_ours() -> bool:
            nonlocal put_off_at
            now = self._clock()
            if put_off_at is None or now >= put_off_at:
                put_off_at = now + timedelta(seconds=SWEEP_SECONDS / 3) if self._take() else None
            return put_off_at is not None

        try:
            yield is_ours
        finally:
            if put_off_at is not None:
                self._give_back()

    def _take(self) -> bool:
        """Have the turn for a while, or for longer; whether nobody else has it."""
        now = self._clock()
        values = {"name": self._name, "now": written(now)}
        try:
            with self._database.transaction(adds=False) as query:
                taken = query(
                    "INSERT INTO sweeping VALUES (1, :name, :until) ON CONFLICT DO UPDATE "
                    "SET holder = :name, until = :until WHERE holder = :name OR until <= :now "
                    "RETURNING 1",
                    until=written(now + timedelta(seconds=SWEEP_SECONDS)),
                    **values,
                )
            return bool(taken)
        except StorageFull:
            # Nobody else can write that it is theirs either, and sweeping makes room.
            others = "SELECT 1 FROM sweeping WHERE holder <> :name AND until > :now"
            return not self._database.read(others, **values)

    def _give_back(self) -> None:
        try:
            with self._database.transaction(adds=False) as query:
                query("DELETE FROM sweeping WHERE holder = :name", name=self._name)
        except StorageFull as error:
            logger.debug("the turn to sweep ends by itself: %s", error.message)
