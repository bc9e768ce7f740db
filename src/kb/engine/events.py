"""Passes events from any thread to the listeners of the event loop."""

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

_BACKLOG = 256
MOST_LISTENERS = 64  # of one peer
ALL_LISTENERS = 256


@dataclass(frozen=True, slots=True)
class Event:
    """`kind` is what happened: `job`, `document.added`, `document.changed`, `document.deleted`,
    `documents.cleared`."""

    id: int
    kind: str
    data: dict[str, Any]


class Events:
    """Nothing is kept: who connects later, or cannot keep up, reads the state and goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.Queue[Event | None], asyncio.AbstractEventLoop] = {}
        self._ids = itertools.count(1)
        self._closed = False
        self._shares = Counter[str]()

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        with self._lock:
            if not self._listeners:
                return
            event = Event(next(self._ids), kind, data)
            for queue, loop in self._listeners.items():
                loop.call_soon_threadsafe(_offer, queue, event)

    def heard(self) -> bool:
        """Whether anybody listens; otherwise events need not be made."""
        return bool(self._listeners)

    def full(self, peer: str = "") -> bool:
        """Whether there is no room for one more listener, or none for one more of this peer."""
        return len(self._listeners) >= ALL_LISTENERS or self._shares[peer] >= MOST_LISTENERS

    async def listen(self, heartbeat: float, peer: str = "") -> AsyncIterator[Event | None]:
        """Events as they happen; None if nothing happened for a while. Ends when we close."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_BACKLOG)
        with self._lock:
            if self._closed:
                return
            self._listeners[queue] = asyncio.get_running_loop()
            self._shares[peer] += 1
        try:
            yield None
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), heartbeat)
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    return
                yield event
        finally:
            with self._lock:
                self._listeners.pop(queue, None)
                self._shares[peer] -= 1
                if not self._shares[peer]:
                    del self._shares[peer]

    def close(self) -> None:
        """End every stream, so that a shutdown does not wait for listeners."""
        with self._lock:
            self._closed = True
            for queue, loop in self._listeners.items():
                loop.call_soon_threadsafe(_end, queue)


def _offer(queue: asyncio.Queue[Event | None], event: Event) -> None:
    """A listener that has fallen behind by the whole backlog is sent away to read the state."""
    if queue.full():
        _end(queue)
    else:
        queue.put_nowait(event)


def _end(queue: asyncio.Queue[Event | None]) -> None:
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)
