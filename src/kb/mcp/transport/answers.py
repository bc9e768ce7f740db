"""Answers over a connection that outlasts its requests, and which requests still wait for one."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import ObjectSendStream
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from kb.mcp.sdk import SessionMessage
from kb.mcp.transport.messages import BUSY, FAILED, BadMessage, write_any


class Answers(ObjectSendStream[SessionMessage]):
    """Hands the SDK's messages to `write` as bytes. `most` requests may wait at a time."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]], most: int) -> None:
        self.write = write
        self._most = most
        self._open: set[int | str] = set()
        self._writing = 0
        self._changed = anyio.Event()

    def expect(self, request: JSONRPCRequest) -> Callable[[], Awaitable[None]]:
        """What to call if no answer comes, since it was cancelled.

        Raises BadMessage if it is one too many, or there is another of this id.
        """
        if request.id in self._open:
            raise BadMessage(FAILED, "A request with this id is still running", request.id)
        if len(self._open) >= self._most:
            told = f"{self._most} requests of this connection are running: wait for their answers"
            raise BadMessage(BUSY, told, request.id)
        self._open.add(request.id)

        async def forget() -> None:
            self._open.discard(request.id)
            self._changed.set()

        return forget

    async def complete(self) -> None:
        """Wait until every request has its answer."""
        while self._open or self._writing:
            self._changed = anyio.Event()
            await self._changed.wait()

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._open.discard(message.id)  # whoever has the answer may use its id again
        self._writing += 1
        try:
            await self.write(write_any(message))
        finally:
            self._writing -= 1
            self._changed.set()

    async def aclose(self) -> None:
        """The code that opened the connection closes it."""
