"""The protocol over a WebSocket at /mcp, with many requests at a time.

One message is one JSON-RPC message. The connection outlasts its requests, so the client can be
asked, and hears of its tasks while they run. When it ends, the work it waits for is cancelled.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCRequest,
)
from starlette.types import Receive, Scope, Send

from kb.mcp import sdk
from kb.mcp.server import Asker
from kb.mcp.transport.answers import Answers
from kb.mcp.transport.messages import BUSY, FAILED, BadMessage, read_any, write_error
from kb.mcp.transport.refusal import rpc
from kb.serving import memory
from kb.serving.logs import current_request
from kb.serving.shares import Shares

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 256  # of one peer
ALL_CONNECTIONS = 512
MOST_REQUESTS = 64  # of one connection at a time
SUBPROTOCOL = "mcp"
VERSION = "2025-06-18"  # until the client says which: it need not
_REST = 1.0  # seconds without a connection

Params = Mapping[str, Any] | None


class WebSocketEndpoint:
    """Serves what the guard let in, as `asker`."""

    def __init__(self, server: sdk.Server[Any]) -> None:
        self._server = server
        self._connections = 0
        self._shares = Shares()
        self._relief = memory.Relief()

    async def __call__(self, asker: Asker, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._shares.take(asker.peer, MOST_CONNECTIONS, ALL_CONNECTIONS):
            told = f"{MOST_CONNECTIONS} of this address, or {ALL_CONNECTIONS} in all, are connected"
            raise rpc(503, BUSY, f"{told} already: try again later")
        self._connections += 1
        try:
            await receive()
            offered = scope.get("subprotocols") or ()
            subprotocol = SUBPROTOCOL if SUBPROTOCOL in offered else None
            await send({"type": "websocket.accept", "subprotocol": subprotocol})
            await _Conversation(self._server, asker, receive, send, self._relief).run()
        except OSError:
            return  # nobody is left to be told
        finally:
            self._connections -= 1
            self._shares.give_back(asker.peer)
            if not self._connections:
                asyncio.get_running_loop().call_later(_REST, self._give_back)

    def _give_back(self) -> None:
        """After a crowd has gone, so has the memory that it took."""
        if not self._connections:
            memory.give_back()


class _Conversation:
    """One connection, from its acceptance to its end."""

    def __init__(
        self,
        server: sdk.Server[Any],
        asker: Asker,
        receive: Receive,
        send: Send,
        relief: memory.Relief,
    ) -> None:
        self._server = server
        self._asker = asker
        self._receive = receive
        self._relief = relief
        self._answers = Answers(_frames_to(send), MOST_REQUESTS)

    async def run(self) -> None:
        incoming, messages = anyio.create_memory_object_stream[sdk.SessionMessage | Exception](0)
        dispatcher: sdk.JSONRPCDispatcher[sdk.TransportContext] = sdk.JSONRPCDispatcher(
            messages, self._answers, inline_methods=frozenset({"initialize"})
        )
        async with anyio.create_task_group() as group, incoming:
            asker = replace(self._asker, after=group.start_soon, duplex=True)
            group.start_soon(self._serve, dispatcher)
            await self._read(incoming, asker)
            group.cancel_scope.cancel()

    async def _read(
        self, incoming: MemoryObjectSendStream[sdk.SessionMessage | Exception], asker: Asker
    ) -> None:
        # Each in a call of its own: what waits for the next one holds nothing of the last.
        while await self._read_one(incoming, asker):
            continue

    async def _read_one(
        self, incoming: MemoryObjectSendStream[sdk.SessionMessage | Exception], asker: Asker
    ) -> bool:
        """Pass on one message; False when there are no more."""
        frame = await self._receive()
        if frame["type"] != "websocket.receive":
            return False
        text = frame.get("text")
        data = text if text is not None else frame["bytes"]
        self._relief.after(len(data))
        metadata = sdk.ServerMessageMetadata(request_context=asker)
        try:
            message = read_any(data)
            if isinstance(message, JSONRPCRequest):
                metadata.on_request_unanswered = self._answers.expect(message)
        except BadMessage as bad:
            await self._answers.write(write_error(bad.request_id, bad.error))
        else:
            await incoming.send(sdk.SessionMessage(message, metadata))
        return True

    async def _serve(self, dispatcher: sdk.JSONRPCDispatcher[sdk.TransportContext]) -> None:
        """Who says nothing about itself is served like one that has said hello."""
        connection = sdk.Connection.from_envelope(VERSION, None, None, outbound=dispatcher)
        runner = sdk.ServerRunner(self._server, connection, None)

        async def on_request(
            context: sdk.DispatchContext[sdk.TransportContext], method: str, params: Params
        ) -> dict[str, Any]:
            try:
                if method != "initialize" and _is_enveloped(params):
                    return await self._serve_modern(dispatcher, context, method, params)
                return await runner.on_request(context, method, params)
            except Exception as error:
                raise _foreseen(error, method) from error

        try:
            await dispatcher.run(on_request, runner.on_notify)
        finally:
            await sdk.aclose_shielded(connection)

    async def _serve_modern(
        self,
        dispatcher: sdk.JSONRPCDispatcher[sdk.TransportContext],
        context: sdk.DispatchContext[sdk.TransportContext],
        method: str,
        params: Params,
    ) -> dict[str, Any]:
        """A request of the new era brings everything with it, here as over HTTP."""
        verdict = sdk.classify_inbound_request({"method": method, "params": params})
        if isinstance(verdict, sdk.InboundLadderRejection):
            raise sdk.MCPError(code=verdict.code, message=verdict.message, data=verdict.data)
        connection = sdk.Connection.from_envelope(
            verdict.protocol_version,
            verdict.client_info,
            verdict.client_capabilities,
            outbound=sdk.NotifyOnlyOutbound(dispatcher),
        )
        return await sdk.serve_one(
            self._server, context, method, params, connection=connection, lifespan_state=None
        )


def _frames_to(send: Send) -> Callable[[bytes], Awaitable[None]]:
    async def write(message: bytes) -> None:
        try:
            await send({"type": "websocket.send", "text": message.decode()})
        except OSError as error:
            raise anyio.BrokenResourceError from error

    return write


def _is_enveloped(params: Params) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


def _foreseen(error: Exception, method: str) -> sdk.MCPError:
    """What may be told of a failure; the log has the rest."""
    told = sdk.handler_exception_to_error_data(error)
    if told is None:
        logger.error("%s failed", method, exc_info=error)
        message = f"The MCP server failed; its log has the reason under {current_request()}"
        told = ErrorData(code=FAILED, message=message)
    return sdk.MCPError(code=told.code, message=told.message, data=told.data)
