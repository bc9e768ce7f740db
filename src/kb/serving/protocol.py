"""uvicorn's HTTP protocol, guarded: nobody holds a connection by being slow.

uvicorn has a deadline for idle connections only. This adds deadlines for headers, bodies and
readers, and a cap on connections. Deadlines are fields that the server checks ten times a second
(`look`), since a timer per request would cost more than all the checks together.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any, Protocol, runtime_checkable

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from kb.serving.exchange import ISOLATED, Refusal

VERSIONS = frozenset({"1.1", "1.0"})


@dataclass(frozen=True, slots=True)
class Limits:
    header_seconds: float = 5.0  # from the first byte of a request, or of a connection
    idle_seconds: float = 75.0  # between requests
    body_seconds: float = 10.0  # in each such span of time a body must bring
    body_bytes_per_second: float = 1024.0  # this much per second
    rest_seconds: float = 2.0  # in each such span the rest of a body must move, once it is answered
    linger_seconds: float = 10.0  # and so long it may take in all
    write_seconds: float = 30.0  # for a reader to make room
    connections: int = 512
    header_bytes: int = 64 * 2**10
    framing_per_byte: int = 16  # of a body in chunks, beside as much as headers may take
    pipelined: int = 16


@dataclass(frozen=True, slots=True)
class Refusals:
    """The answers that never reach the app, in its words."""

    malformed: Refusal
    headers_too_large: Refusal


class Phase(Enum):
    """What the next byte of the peer would belong to."""

    HEADER = 0
    IDLE = 1
    BODY = 2


@runtime_checkable
class Looked(Protocol):
    """A connection whose deadlines are looked at now and then."""

    loop: asyncio.AbstractEventLoop

    def look(self, now: float) -> None: ...


class GuardedProtocol(HttpToolsProtocol):
    limits = Limits()
    refusals: Refusals

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._write_by = inf
        self._close_by = inf
        self._rest_by = inf
        self._header_bytes = 0
        self._body_bytes = 0
        self._whole_body_bytes = 0
        self._framing_bytes = 0
        self._expect(Phase.HEADER, self.limits.header_seconds)
        if len(self.connections) > self.limits.connections:
            self._shed()

    def _expect(self, phase: Phase, seconds: float) -> None:
        self._phase = phase
        self._since = self.loop.time()
        self._read_by = self._since + seconds

    # Parser callbacks: where in a request we are

    def data_received(self, data: bytes) -> None:
        before = self._whole_body_bytes
        super().data_received(data)
        if self._phase is Phase.HEADER:
            self._header_bytes += len(data)
            if self._header_bytes > self.limits.header_bytes:
                self._refuse(self.refusals.headers_too_large)
        elif self._phase is Phase.BODY:
            self._framing_bytes += len(data) - max(self._whole_body_bytes - before, 0)
            most = self.limits.framing_per_byte * self._whole_body_bytes
            if self._framing_bytes > 2 * self.limits.header_bytes + most:
                self._refuse(self.refusals.headers_too_large)

    def on_header(self, name: bytes, value: bytes) -> None:
        """What stands behind a body is no header: it would come too late to be checked, or just in
        time to be taken for one that the request began with."""
        if self._phase is Phase.HEADER:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self._expect(Phase.HEADER, self.limits.header_seconds)

    def on_headers_complete(self) -> None:
        # The parser turns whatever is raised here into a 400.
        if self.parser.get_http_version() not in VERSIONS:
            raise ValueError("HTTP/0.9 has no headers, so no Host to check")
        if len(self.pipeline) >= self.limits.pipelined:
            raise ValueError("too many requests at once")
        if not self.url.startswith(b"/"):
            self._check_whole_address()
        self._body_bytes = self._whole_body_bytes = self._framing_bytes = 0
        self._expect(Phase.BODY, self.limits.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._whole_body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._expect(Phase.IDLE, self.limits.idle_seconds if self._answered() else inf)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._answered():
            return  # the next of several pipelined requests is being answered
        if self._phase is Phase.IDLE:
            self._expect(Phase.IDLE, self.limits.idle_seconds)
        elif self._phase is Phase.BODY:
            # Whoever reads the answer only after sending all is to come to it.
            self._body_bytes = 0
            self._rest_by = self.loop.time() + self.limits.linger_seconds
            self._expect(Phase.BODY, self.limits.rest_seconds)

    def _answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _check_whole_address(self) -> None:
        """`GET http://host/path`: that host has to be the Host header's, which gets checked."""
        url = httptools.parse_url(self.url)
        named = url.host + (b":%d" % url.port if url.port else b"") if url.host else b""
        if [value.lower() for name, value in self.headers if name == b"host"] != [named.lower()]:
            raise ValueError("the address and the Host header disagree")

    # Slow readers

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_by = self.loop.time() + self.limits.write_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_by = inf

    # Being late

    def look(self, now: float) -> None:
        """Drop the connection if its peer is late with what it owes us."""
        if self.transport.is_closing():
            # Closed politely, so what is left is still being sent. Not for ever.
            self._close_by = min(self._close_by, now + self.limits.write_seconds)
            if now >= self._close_by:
                self.transport.abort()
        elif now >= self._write_by:
            self.transport.abort()
        elif now >= self._read_by:
            self._late()

    def _late(self) -> None:
        if self._phase is Phase.IDLE:
            self.transport.close()
        elif self._phase is Phase.BODY and self._body_moves():
            self._body_bytes = 0
            answered = self._answered()
            self._expect(
                Phase.BODY, self.limits.rest_seconds if answered else self.limits.body_seconds
            )
        else:
            self.transport.abort()

    def _body_moves(self) -> bool:
        """Also where it is we who do not read, or have not asked for the body yet."""
        if self._answered():
            owed = self.limits.rest_seconds * self.limits.body_bytes_per_second
            return self._body_bytes >= owed and self.loop.time() < self._rest_by
        owed = self.limits.body_seconds * self.limits.body_bytes_per_second
        waits_for_us = self.flow.read_paused or self.cycle.waiting_for_100_continue
        return waits_for_us or self._body_bytes >= owed

    def _shed(self) -> None:
        """Make room: the one we have waited for longest goes, or the newcomer if we wait for none.

        Those between or before requests go first: their clients just connect again.
        """
        others = [
            other
            for other in self.connections
            if isinstance(other, GuardedProtocol)
            and other is not self
            and not other.transport.is_closing()
        ]
        if len(others) < self.limits.connections:
            return
        waited_for = [other for other in others if min(other._read_by, other._write_by) < inf]
        victim = min(waited_for, key=lambda other: other._rank(), default=self)
        victim.transport.abort()

    def _rank(self) -> tuple[int, float]:
        if self._write_by < inf:
            return 2, self._write_by
        return int(self._phase is Phase.BODY), self._since

    # Answers that never reach the app

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words
        self._refuse(self.refusals.malformed)

    def _refuse(self, refusal: Refusal) -> None:
        if self.transport.is_closing():
            return
        if not self._answered():
            if self.cycle.response_started or self.pipeline:
                # Half an answer may be out already; ours would be read as part of it.
                self.transport.abort()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        refuse(self.transport, refusal)

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade is ignored, as HTTP allows; it is nothing to fill a log with."""


def refuse(transport: asyncio.Transport, refusal: Refusal) -> None:
    """Send an answer of our own, and close."""
    lines = [
        STATUS_LINE.get(refusal.status, b"HTTP/1.1 %d \r\n" % refusal.status),
        b"content-type: application/json\r\n",
        *(b"%s: %s\r\n" % header for header in ISOLATED),
        b"content-length: %d\r\nconnection: close\r\n\r\n" % len(refusal.body),
        refusal.body,
    ]
    transport.write(b"".join(lines))
    transport.close()


def guarded(limits: Limits, refusals: Refusals) -> type[GuardedProtocol]:
    """uvicorn makes the protocol itself, so what it should know stands on the class."""
    namespace: dict[str, Any] = {"limits": limits, "refusals": refusals}
    return type("LimitedProtocol", (GuardedProtocol,), namespace)
