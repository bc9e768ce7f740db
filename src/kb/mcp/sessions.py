"""A client's session and the id of its request in, that request cancelled out.

A session is only a name that a client of the handshake era repeats, so that its cancellations
reach its own requests: many clients number theirs 1, 2, 3. Nothing else is kept under it, so a
name from before a restart is as good as a new one.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from anyio import CancelScope
from mcp_types import RequestId

MOST_ENDED = 4096


class Sessions:
    def __init__(self) -> None:
        self._running: dict[tuple[str, RequestId], CancelScope] = {}
        self._ended: dict[str, None] = {}

    def new(self) -> str:
        return secrets.token_hex(16)

    def end(self, session: str) -> None:
        """From now on nobody may use this name; the oldest are forgotten first."""
        while len(self._ended) >= MOST_ENDED:
            del self._ended[next(iter(self._ended))]
        self._ended[session] = None

    def has_ended(self, session: str) -> bool:
        return session in self._ended

    @contextmanager
    def running(
        self, session: str | None, request_id: RequestId, scope: CancelScope
    ) -> Iterator[None]:
        """While this lasts, `cancel` finds the request. Without a session, nobody can name it."""
        if session is None:
            yield
            return
        key = (session, _as_sent_back(request_id))
        self._running[key] = scope
        try:
            yield
        finally:
            if self._running.get(key) is scope:
                del self._running[key]

    def cancel(self, session: str | None, request_id: RequestId) -> None:
        """Too late is no error: what has ended was not cancelled."""
        if session is not None:
            scope = self._running.get((session, _as_sent_back(request_id)))
            if scope is not None:
                scope.cancel()


def _as_sent_back(request_id: RequestId) -> RequestId:
    """Some clients send a number back as text."""
    if isinstance(request_id, str) and request_id.isascii() and request_id.isdigit():
        return int(request_id[:20])
    return request_id
