"""Answers a request over HTTP: as JSON, or as events if the client asked for progress.

It is the channel that the SDK hands to a running request. A stream begins with the first event, so
that earlier failures still have an HTTP status of their own.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import anyio
from mcp_types import ErrorData, JSONRPCRequest, RequestId
from starlette.types import Send

from kb.mcp import sdk
from kb.mcp.calls import Asker, Work
from kb.mcp.transport.messages import write, write_error, write_result
from kb.mcp.transport.sessions import Question
from kb.serving.exchange import Headers

PING = b": still here\n\n"

_STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"x-accel-buffering", b"no"),  # or a proxy would keep the events until the end
]


class _Channel:
    """What the SDK wants of a channel, for a client that nothing can be asked of."""

    can_send_request = False
    transport = sdk.TransportContext(kind="streamable-http", can_send_request=False)
    request_id: RequestId | None = None

    def __init__(self, asker: Asker) -> None:
        self.message_metadata = sdk.ServerMessageMetadata(request_context=asker)
        self.cancel_requested = anyio.Event()

    async def send_raw_request(
        self,
        method: str,
        _params: Mapping[str, Any] | None,
        _opts: sdk.CallOptions | None = None,
    ) -> dict[str, Any]:
        """Without state we could not receive the answer."""
        raise sdk.NoBackChannelError(method)

    async def notify(
        self,
        _method: str,
        _params: Mapping[str, Any] | None,
        _opts: sdk.CallOptions | None = None,
    ) -> None:
        """There is no stream that it could go out on."""

    async def progress(
        self, _progress: float, _total: float | None = None, _message: str | None = None
    ) -> None:
        """Nobody asked for it."""


class Silence(_Channel):
    """The channel of a notification, which nothing answers."""


class Answer(_Channel):
    """The one answer to one request, and the channel on which it runs.

    Where there is more to tell after it, a stream stays open for that. The new era forbids it, so
    its requests are not `lasting`. `question` is there where the client's answers would find us.
    """

    def __init__(
        self,
        request: JSONRPCRequest,
        asker: Asker,
        accept: str,
        send: Send,
        headers: Headers,
        *,
        lasting: bool = False,
        question: Callable[[], AbstractContextManager[Question]] | None = None,
    ) -> None:
        self.request_id = request.id
        self._token = sdk.progress_token_from_params(request.params)
        self._streams = _wants_stream(accept, self._token is not None)
        self._question = question if _reads_events(accept) else None
        self.can_send_request = self._question is not None
        self._afterwards: list[Work] = []
        if lasting and self._streams:
            asker = replace(asker, after=self._afterwards.append)
        super().__init__(asker)
        self._send = send
        self._headers = headers
        self.started = False
        self.ended = False  # the request is answered
        self._closed = False

    # What the SDK may do while the request runs

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        _opts: sdk.CallOptions | None = None,
    ) -> dict[str, Any]:
        """Ask the client on the stream of its request; it answers with a request of its own."""
        if self._question is None:
            raise sdk.NoBackChannelError(method)
        with self._question() as question:
            message = {"jsonrpc": "2.0", "id": question.id, "method": method}
            await self._event(write(message | {"params": dict(params or {})}))
            return await question.outcome()

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        _opts: sdk.CallOptions | None = None,
    ) -> None:
        if self._streams:
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
            if params is not None:
                message["params"] = dict(params)
            await self._event(write(message))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self._token is None:
            return
        told: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = message
        await self.notify("notifications/progress", told)

    # How it ends

    async def result(self, result: dict[str, Any]) -> None:
        body = write_result(self.request_id, result)
        if self._streams or self.started:
            await self._event(body, last=True)
        else:
            await self._json(200, body)

    async def finish(self) -> None:
        """Send what comes after the answer, and close the stream."""
        for work in self._afterwards:
            await work()
        if not self._closed:
            self._closed = True
            await self._body(b"", more=False)

    async def error(self, error: ErrorData, status: int) -> None:
        body = write_error(self.request_id, error)
        self._afterwards.clear()
        if self.started:
            await self._event(body, last=True)
        else:
            await self._json(status, body)

    async def ping(self) -> None:
        """Tell proxies that a stream is alive."""
        if self.started and not self._closed:
            await self._body(PING, more=True)

    # Sending

    async def _event(self, message: bytes, *, last: bool = False) -> None:
        if not self.started:
            await self._start(200, _STREAM_HEADERS)
        self.ended = self.ended or last
        self._closed = last and not self._afterwards
        await self._body(b"event: message\ndata: " + message + b"\n\n", more=not self._closed)

    async def _json(self, status: int, body: bytes) -> None:
        self.ended = self._closed = True
        length = str(len(body)).encode()
        await self._start(
            status, [(b"content-type", b"application/json"), (b"content-length", length)]
        )
        await self._body(body, more=False)

    async def _start(self, status: int, headers: Headers) -> None:
        self.started = True
        sent = [*headers, *self._headers]
        await self._send({"type": "http.response.start", "status": status, "headers": sent})

    async def _body(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


def _wants_stream(accept: str, asked_for_progress: bool) -> bool:
    """Events for clients that asked for progress and can read them, or can read nothing else."""
    if not _reads_events(accept):
        return False
    only_events = not _kinds(accept) & {"application/json", "application/*", "*/*"}
    return asked_for_progress or only_events


def _reads_events(accept: str) -> bool:
    return bool(_kinds(accept) & {"text/event-stream", "text/*", "*/*"})


def _kinds(accept: str) -> set[str]:
    return {kind.partition(";")[0].strip().lower() for kind in accept.split(",")}
