"""Runs the handler of a request; if the caller stops waiting, the work stops.

Unforeseen exceptions end here: they are logged, and the client gets a clean failure.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import anyio
from anyio import CancelScope
from mcp_types import ErrorData, JSONRPCNotification, JSONRPCRequest
from mcp_types.jsonrpc import INTERNAL_ERROR
from starlette.types import Receive

from kb.mcp import sdk
from kb.mcp.server import Asker, failed
from kb.mcp.transport.http_answer import Answer, Silence
from kb.mcp.transport.messages import CANCELLED, FAILED
from kb.serving.logs import current_request

logger = logging.getLogger(__name__)

PING_SECONDS = 15.0
_CANCELLED = ErrorData(code=CANCELLED, message="Request cancelled")


def _alone(_scope: CancelScope) -> AbstractContextManager[None]:
    return nullcontext()


async def run(
    server: sdk.Server[Any],
    request: JSONRPCRequest,
    connection: sdk.Connection,
    answer: Answer,
    receive: Receive,
    *,
    modern: bool = False,
    running: Callable[[CancelScope], AbstractContextManager[None]] = _alone,
) -> None:
    """Serve one request. `running` lets others find the scope to cancel it."""
    async with anyio.create_task_group() as group:
        watch = _Watch(receive, answer, group.cancel_scope)
        group.start_soon(watch.run)
        with running(group.cancel_scope):
            outcome = await _outcome(server, request, connection, answer)
        if isinstance(outcome, ErrorData):
            status = sdk.ERROR_CODE_HTTP_STATUS.get(outcome.code, 200) if modern else 200
            await answer.error(outcome, status)
        else:
            await answer.result(outcome)
            await answer.finish()
        group.cancel_scope.cancel()
    if not answer.ended and not watch.gone:
        await answer.error(_CANCELLED, 200)


async def notify(
    server: sdk.Server[Any], message: JSONRPCNotification, version: str, asker: Asker
) -> None:
    """Hand a notification to its handler; nobody waits for the result."""
    if server.get_notification_handler(message.method) is not None:
        connection = sdk.Connection.from_envelope(version, None, None)
        runner = sdk.ServerRunner(server, connection, None)
        await runner.on_notify(Silence(asker), message.method, message.params)


async def _outcome(
    server: sdk.Server[Any], request: JSONRPCRequest, connection: sdk.Connection, answer: Answer
) -> dict[str, Any] | ErrorData:
    try:
        return await sdk.serve_one(
            server,
            answer,
            request.method,
            request.params,
            connection=connection,
            lifespan_state=None,
        )
    except Exception as error:
        foreseen = sdk.handler_exception_to_error_data(error)
        if foreseen is not None and foreseen.code != INTERNAL_ERROR:
            return foreseen
        logger.error("%s failed", request.method, exc_info=error)
    told = f"The MCP server failed; its log has the reason under {current_request()}"
    if request.method == "tools/call":
        return failed(told)
    return ErrorData(code=FAILED, message=told)


class _Watch:
    """Notices that the client has gone, and keeps a quiet stream alive meanwhile."""

    def __init__(self, receive: Receive, answer: Answer, scope: CancelScope) -> None:
        self._receive = receive
        self._answer = answer
        self._scope = scope
        self.gone = False

    async def run(self) -> None:
        while not self.gone:
            with anyio.move_on_after(PING_SECONDS):
                message = await self._receive()
                self.gone = message["type"] == "http.disconnect"
                continue
            await self._answer.ping()
        self._scope.cancel()
