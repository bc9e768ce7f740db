"""The protocol over standard input and output, for one local client.

There is no address, so uploads have no PUT link. There is no token either: a program that can start
us may use us.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import BinaryIO

import anyio
from anyio import CancelScope, to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp_types import JSONRPCRequest

from kb.mcp import sdk
from kb.mcp.app import build
from kb.mcp.server import Asker
from kb.mcp.settings import McpSettings
from kb.mcp.transport.answers import Answers
from kb.mcp.transport.messages import BadMessage, read_any, write_error

MOST_REQUESTS = 1024  # at a time
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
    incoming, messages = anyio.create_memory_object_stream[sdk.SessionMessage | Exception](0)
    answers = Answers(_lines_to(out), MOST_REQUESTS)
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
    incoming: MemoryObjectSendStream[sdk.SessionMessage | Exception],
    answers: Answers,
    asker: Asker,
) -> None:
    async with incoming:
        while line := await to_thread.run_sync(lines.readline, abandon_on_cancel=True):
            if not line.strip():
                continue
            metadata = sdk.ServerMessageMetadata(request_context=asker)
            try:
                message = read_any(line)
                if isinstance(message, JSONRPCRequest):
                    metadata.on_request_unanswered = answers.expect(message)
            except BadMessage as bad:
                await answers.write(write_error(bad.request_id, bad.error))
            else:
                await incoming.send(sdk.SessionMessage(message, metadata))
        # A request that was piped in deserves its answer, though its sender has hung up.
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            await answers.complete()


def _lines_to(out: BinaryIO) -> Callable[[bytes], Awaitable[None]]:
    lock = anyio.Lock()

    def write(line: bytes) -> None:
        out.write(line + b"\n")
        out.flush()

    async def write_in_turn(line: bytes) -> None:
        async with lock:
            await to_thread.run_sync(write, line, abandon_on_cancel=True)

    return write_in_turn
