"""Lines on standard input in, lines on standard output out: the protocol for one local client.

There is no address, so uploads have no PUT link, and no token: who can start us may use us.
"""

import os
import signal
from typing import BinaryIO

import anyio
from anyio import CancelScope, to_thread
from anyio.abc import ObjectSendStream
from anyio.streams.memory import MemoryObjectSendStream
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from kb.mcp.app import build
from kb.mcp.sdk import ServerMessageMetadata, SessionMessage
from kb.mcp.server import Asker
from kb.mcp.settings import McpSettings
from kb.mcp.transport.messages import (
    BadMessage,
    Message,
    Response,
    read_any,
    write_any,
    write_error,
)

LAST_ANSWERS_SECONDS = 3.0  # for what still runs when the client has nothing more to say


def serve(settings: McpSettings) -> None:
    """Serve until the client closes its end, or a signal comes; the process ends with it."""
    lines = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not break into the protocol
    anyio.run(_serve, settings, lines, out)
    # The thread that waits for a line cannot be woken, and there is nothing left to do.
    os._exit(0)


async def _serve(settings: McpSettings, lines: BinaryIO, out: BinaryIO) -> None:
    server, engine, uploads = build(settings)
    incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers = _Answers(out)
    async with engine, uploads, anyio.create_task_group() as group:
        if os.name == "posix":
            group.start_soon(_stop_on_signal, group.cancel_scope)
        asker = Asker(after=group.start_soon, duplex=True)
        group.start_soon(_read, lines, incoming, answers, asker)
        await server.run(messages, answers, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _stop_on_signal(scope: CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


async def _read(
    lines: BinaryIO,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    answers: "_Answers",
    asker: Asker,
) -> None:
    async with incoming:
        while line := await to_thread.run_sync(lines.readline, abandon_on_cancel=True):
            if not line.strip():
                continue
            try:
                message = read_any(line)
            except BadMessage as bad:
                await answers.write(write_error(bad.request_id, bad.error))
                continue
            answers.expect(message)
            metadata = ServerMessageMetadata(request_context=asker)
            await incoming.send(SessionMessage(message, metadata))
        # A request that was piped in deserves its answer, though its sender has hung up.
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            await answers.complete()


class _Answers(ObjectSendStream[SessionMessage]):
    """The SDK's messages as lines, and how many requests still wait for one."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = anyio.Lock()
        self._open: set[int | str] = set()
        self._changed = anyio.Event()

    def expect(self, message: Message | Response) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)

    async def complete(self) -> None:
        while self._open:
            self._changed = anyio.Event()
            await self._changed.wait()

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        await self.write(write_any(message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._open.discard(message.id)
            self._changed.set()

    async def write(self, line: bytes) -> None:
        async with self._lock:
            await to_thread.run_sync(self._write, line, abandon_on_cancel=True)

    def _write(self, line: bytes) -> None:
        self._out.write(line + b"\n")
        self._out.flush()

    async def aclose(self) -> None:
        """The stream is the process's own; it closes with it."""
