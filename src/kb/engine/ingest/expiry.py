"""Deletes the files of failed jobs after a while, to free room on the disk."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from kb.engine.data_folder.originals import FileStore
from kb.engine.store import Store
from kb.engine.values import written

logger = logging.getLogger(__name__)


class Expiry:
    """The content of a failed job is kept for `days`; 0 means for ever."""

    def __init__(self, store: Store, files: FileStore, days: int) -> None:
        self._store = store
        self._files = files
        self._days = days

    def expire(self, is_ours: Callable[[], bool]) -> int:
        """Delete older content if it is this engine's turn; returns the number of jobs. The jobs
        stay."""
        if not self._days:
            return 0
        before = written(datetime.now(UTC) - timedelta(days=self._days))
        total = 0
        while is_ours():
            count, stored_names = self._store.jobs.expire_failed(before)
            self._files.delete(stored_names)
            total += count
            if not count:
                break
        if total:
            logger.info("what %s failed jobs held was deleted after %s days", total, self._days)
        return total
