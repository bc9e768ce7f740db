"""Runs searches in threads of their own, a few at a time.

All other routes share the framework's threads. Without this, many slow searches would take them
all, and nobody could even list documents.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from kb.engine.errors import TooManySearches

MOST_WAITING = 200

_Answer = TypeVar("_Answer")


class SearchDesk:
    """Runs `threads` searches at once; a limited number of others wait."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._most = threads + MOST_WAITING
        self._asked = 0

    async def run(self, search: Callable[[], _Answer]) -> _Answer:
        if self._asked >= self._most:
            raise TooManySearches(
                f"{self._asked} searches are waiting already: try again in a moment", retry_after=1
            )
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, copy_context().run, search
            )
        finally:
            self._asked -= 1
