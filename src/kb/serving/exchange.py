"""One request and its single answer, with the body counted."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import Message, Receive, Send

# Most programs read an answer only when they have sent all of their body.
LINGER_SECONDS = 10.0
LINGER_BYTES = 2**30

Headers = list[tuple[bytes, bytes]]

# Every answer carries these, whoever makes it. A page of another site must not learn from it, not
# even by loading it as a picture or a script, and nothing in it is to be guessed at.
ISOLATED: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer given in place of the app's. The body is JSON."""

    status: int
    body: bytes
    headers: Headers = field(default_factory=list)


class Exchange:
    """Adds our headers to the answer, counts the body, and answers at most once."""

    __slots__ = ("_headers", "_refused", "_send", "status")

    def __init__(self, send: Send, headers: Headers) -> None:
        self._send = send
        self._headers = headers
        self._refused = False
        self.status = 0

    async def send(self, message: Message) -> None:
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._headers]
        await self._send(message)

    def counting(
        self, receive: Receive, max_bytes: int, too_large: Callable[[int], Refusal]
    ) -> Receive:
        """`receive`, until the body is too large: then the answer is sent and the app is told that
        the client has gone, which every app has to understand."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            if seen > max_bytes:
                return {"type": "http.disconnect"}
            message = await receive()
            seen += len(message.get("body", b""))
            if seen <= max_bytes:
                return message
            if not self.status:
                await self.refuse(too_large(max_bytes), receive)
            return {"type": "http.disconnect"}

        return counted

    async def refuse(self, refusal: Refusal, unread: Receive | None) -> None:
        """Send the refusal. With a body still on its way, close the connection after it.

        Closing while the client sends would reset the connection, often before the client has read
        why; so the answer goes out whole, and for a while what still arrives is thrown away.
        """
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(refusal.body)).encode()),
            *refusal.headers,
        ]
        if unread is not None:
            headers.append((b"connection", b"close"))
        await self.send(
            {"type": "http.response.start", "status": refusal.status, "headers": headers}
        )
        self._refused = True
        await self._send(
            {"type": "http.response.body", "body": refusal.body, "more_body": unread is not None}
        )
        if unread is not None:
            await _throw_away(unread)
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _throw_away(receive: Receive) -> None:
    seen = 0
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while seen < LINGER_BYTES:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body"):
                    return
                seen += len(message.get("body", b""))
    except TimeoutError:
        return
