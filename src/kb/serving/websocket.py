"""uvicorn's WebSocket protocol, guarded: nobody holds a connection by being slow.

uvicorn sends pings and drops peers that do not answer. This handles what a hostile peer can still
do: send an unreadable handshake, endless fragments of a message, or thousands of empty ones, or not
read our answers when its connection is about to be closed.
"""

import asyncio
import logging
from math import inf
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Response
from websockets.server import ServerProtocol

from kb.serving.exchange import ISOLATED, Refusal
from kb.serving.protocol import Limits, refuse

logger = logging.getLogger(__name__)

MESSAGE_BYTES = 2**20
FRAGMENTS = 1024  # of one message
PING_SECONDS = 20.0  # between two pings, and for the answer to one

WAITING = 1024  # messages that came at once and were not looked at yet

TOO_BIG, TOO_MANY = 1009, 1008


class _Handshake(ServerProtocol):
    """Gives every answer to a handshake our headers, its own refusals too."""

    def send_response(self, response: Response) -> None:
        for name, value in ISOLATED:
            response.headers.setdefault(name.decode(), value.decode())
        super().send_response(response)


class GuardedWebSocket(WebSocketsSansIOProtocol):
    """One connection."""

    limits = Limits()
    malformed: Refusal

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.conn = _Handshake(max_size=self.config.ws_max_size, logger=self.conn.logger)
        self._close_by = inf
        self._is_refused = False

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        super().data_received(data)
        # The first data is the whole handshake: if nothing came of it, nothing will.
        if not self.handshake_initiated and not self.transport.is_closing():
            refuse(self.transport, self.malformed)

    def handle_text(self, event: Frame) -> None:
        super().handle_text(event)
        _empty(event)

    def handle_bytes(self, event: Frame) -> None:
        super().handle_bytes(event)
        _empty(event)

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < FRAGMENTS:
            super().handle_cont(event)
            _empty(event)
        elif not self.close_sent:
            self.conn.fail(TOO_BIG, "too many fragments")
            self.handle_parser_exception()

    def handle_ping(self) -> None:
        """A peer that does not read gets no more answers to its pings: they would pile up here."""
        if self.writable.is_set() and not self.close_sent:
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_parser_exception(self) -> None:
        """Say why it ends, then take what the peer is still sending, and look at none of it.

        Closed at once, with something unread, the system would send a reset, and the peer might
        never see our last words.
        """
        transport, close = self.transport, self.conn.close_sent
        assert close is not None
        self.stop_keepalive()
        self.queue.put_nowait(
            {"type": "websocket.disconnect", "code": close.code, "reason": close.reason}
        )
        transport.write(b"".join(self.conn.data_to_send()))
        transport.write_eof()
        transport.resume_reading()
        self.read_paused, self.close_sent, self.disconnected = False, True, True
        self._is_refused = True
        # When the app has ended, uvicorn closes what no timer is to close.
        self.close_timer = self.loop.call_later(self.limits.linger_seconds, transport.abort)

    def send_receive_event_to_app(self) -> None:
        """Nothing more is read while a message waits, but many small ones may come in one read."""
        if self.queue.qsize() < WAITING:
            super().send_receive_event_to_app()
        elif not self.close_sent:
            self.frames = []
            self.conn.fail(TOO_MANY, "too many messages at once")
            self.handle_parser_exception()

    def look(self, now: float) -> None:
        """Drop the connection if it is closed, and its peer does not take what was sent before."""
        if self.transport.is_closing():
            self._close_by = min(self._close_by, now + self.limits.write_seconds)
            if now >= self._close_by:
                self.transport.abort()


def _empty(frame: Frame) -> None:
    """The parser holds the last frame until the next one comes, which may take for ever."""
    frame.data = b""


def guarded_websocket(limits: Limits, malformed: Refusal) -> dict[str, Any]:
    """What uvicorn is to be configured with. It makes the protocol itself, so what that should
    know stands on the class. Nothing is compressed: a few bytes must not become megabytes."""
    namespace = {"limits": limits, "malformed": malformed}
    return {
        "ws": type("LimitedWebSocket", (GuardedWebSocket,), namespace),
        "ws_max_size": MESSAGE_BYTES,
        "ws_ping_interval": PING_SECONDS,
        "ws_ping_timeout": PING_SECONDS,
        "ws_per_message_deflate": False,
    }
