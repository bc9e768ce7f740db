"""Finds a request by its session and id, to cancel or answer it.

A session is only a name that a client of an older protocol version repeats, so that its
cancellations reach its own requests (many clients number theirs 1, 2, 3) and its answers reach our
questions. Its capabilities are kept as well, but nothing depends on them: a name from before a
restart is as good as a new one, and just cannot be asked anything.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from anyio import CancelScope, Event
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse, RequestId

from kb.mcp.sdk import MCPError

MOST_KNOWN = 4096
_LONGEST = 64  # characters of a name; ours have half of that

_Value = TypeVar("_Value")


class Question:
    """A request of ours to a client, until it is answered."""

    def __init__(self) -> None:
        self.id = f"kb-{secrets.token_hex(8)}"
        self._answered = Event()
        self._outcome: dict[str, Any] | ErrorData = {}

    def answer(self, response: JSONRPCResponse | JSONRPCError) -> None:
        self._outcome = response.error if isinstance(response, JSONRPCError) else response.result
        self._answered.set()

    async def outcome(self) -> dict[str, Any]:
        """What the client answered. Raises MCPError for an error."""
        await self._answered.wait()
        if isinstance(self._outcome, ErrorData):
            raise MCPError.from_error_data(self._outcome)
        return self._outcome


class Sessions:
    def __init__(self) -> None:
        self._running: dict[tuple[str, RequestId], CancelScope] = {}
        self._asked: dict[tuple[str, RequestId], Question] = {}
        self._declared: dict[str, Any] = {}
        self._ended: dict[str, None] = {}

    def new(self, capabilities: Any = None) -> str:
        session = secrets.token_hex(16)
        _remember(self._declared, session, capabilities)
        return session

    def declared(self, session: str | None) -> Any:
        """The capabilities that the client declared, if we know."""
        return None if session is None else self._declared.get(session)

    def end(self, session: str) -> None:
        """From now on nobody may use this name; the oldest are forgotten first."""
        self._declared.pop(session, None)
        if len(session) <= _LONGEST:
            _remember(self._ended, session, None)

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

    @contextmanager
    def question(self, session: str) -> Iterator[Question]:
        """While this lasts, an answer of this client to the question finds it."""
        question = Question()
        self._asked[session, question.id] = question
        try:
            yield question
        finally:
            del self._asked[session, question.id]

    def answered(self, session: str | None, response: JSONRPCResponse | JSONRPCError) -> None:
        """An answer to what nobody asked is no error either."""
        if session is not None and response.id is not None:
            question = self._asked.get((session, response.id))
            if question is not None:
                question.answer(response)


def _remember(known: dict[str, _Value], session: str, value: _Value) -> None:
    while len(known) >= MOST_KNOWN:
        del known[next(iter(known))]
    known[session] = value


def _as_sent_back(request_id: RequestId) -> RequestId:
    """Some clients send a number back as text."""
    if isinstance(request_id, str) and request_id.isascii() and request_id.isdigit():
        return int(request_id[:20])
    return request_id
