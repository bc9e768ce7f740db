"""Streamable HTTP at /mcp, without state.

All versions of the protocol are served at one address. A request of 2026-07-28 is complete in
itself. One of an older version refers to an earlier `initialize`, but we need nothing from that, so
it is served the same way. That is why a client survives a restart.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.jsonrpc import HEADER_MISMATCH, INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from kb.mcp import sdk
from kb.mcp.server import Asker
from kb.mcp.transport.http_answer import Answer
from kb.mcp.transport.messages import BadMessage, read_any, write_error
from kb.mcp.transport.running import notify, run
from kb.mcp.transport.sessions import Sessions
from kb.serving.exchange import Headers
from kb.serving.memory import Relief

# The extension's requests, whose name is not known to the SDK.
_ABOUT_TASKS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
_ALLOW: Headers = [(b"allow", b"POST, DELETE")]


@dataclass(frozen=True, slots=True)
class _Post:
    """One HTTP request, as its message is served."""

    asker: Asker
    fields: dict[str, str]
    headers: Headers
    receive: Receive
    send: Send

    @property
    def version(self) -> str:
        return self.fields.get("mcp-protocol-version", "")

    @property
    def session(self) -> str | None:
        return self.fields.get("mcp-session-id") or None

    async def body(self) -> bytes | None:
        """All of it, or None if the client went away."""
        pieces: list[bytes] = []
        while True:
            message = await self.receive()
            if message["type"] != "http.request":
                return None
            pieces.append(message.get("body", b""))
            if not message.get("more_body"):
                return b"".join(pieces)

    async def end(self, status: int, body: bytes = b"", headers: Headers | None = None) -> None:
        sent = [(b"content-length", str(len(body)).encode()), *(headers or [])]
        if body:
            sent.append((b"content-type", b"application/json"))
        await self.send({"type": "http.response.start", "status": status, "headers": sent})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, status: int, message: str, headers: Headers | None = None) -> None:
        error = ErrorData(code=INVALID_REQUEST, message=message)
        await self.end(status, write_error(None, error), headers)

    def answer(
        self, request: JSONRPCRequest, headers: Headers | None = None, **options: Any
    ) -> Answer:
        accept = self.fields.get("accept", "")
        return Answer(request, self.asker, accept, self.send, headers or [], **options)


class Endpoint:
    """Serves what the guard let in, as `asker`."""

    def __init__(self, server: sdk.Server[Any]) -> None:
        self._server = server
        self._sessions = Sessions()
        self._relief = Relief()

    async def __call__(self, asker: Asker, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope["headers"]
        fields = {
            name.decode("latin-1"): value.decode("latin-1").strip(" \t") for name, value in headers
        }
        post = _Post(asker, fields, headers, receive, send)
        if scope["method"] == "DELETE" and post.session is not None:
            self._sessions.end(post.session)
            await post.end(200)
        elif scope["method"] != "POST":
            await post.refuse(405, "POST a JSON-RPC message here", _ALLOW)
        elif post.session is not None and self._sessions.has_ended(post.session):
            await post.refuse(404, "This session has ended: initialize a new one")
        else:
            await self._serve(post)

    async def _serve(self, post: _Post) -> None:
        body = await post.body()
        if body is None:
            return
        try:
            message = read_any(body)
        except BadMessage as bad:
            await post.end(400, write_error(bad.request_id, bad.error))
            return
        finally:
            self._relief.after(len(body))
        del body  # it may be large, and the answer may take long
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._sessions.answered(post.session, message)
            await post.end(202)
        elif isinstance(message, JSONRPCNotification):
            await self._take(post, message)
        elif _is_modern(post.version, message):
            await self._answer_modern(post, message)
        else:
            await self._answer_handshake(post, message)

    async def _take(self, post: _Post, message: JSONRPCNotification) -> None:
        """Cancelling is for the handshake era: today's clients hang up instead."""
        unknown = _unknown_version(post.version)
        if unknown is not None:
            await post.end(400, write_error(None, _error(unknown)))
            return
        await post.end(202)
        if message.method == "notifications/cancelled":
            request_id = sdk.cancelled_request_id_from_params(message.params)
            if request_id is not None:
                self._sessions.cancel(post.session, request_id)
        version = post.version or DEFAULT_NEGOTIATED_VERSION
        await notify(self._server, message, version, post.asker)

    async def _answer_modern(self, post: _Post, request: JSONRPCRequest) -> None:
        answer = post.answer(request)
        verdict = _judge(post, request)
        if isinstance(verdict, sdk.InboundLadderRejection):
            await answer.error(_error(verdict), sdk.ERROR_CODE_HTTP_STATUS.get(verdict.code, 400))
            return
        connection = sdk.Connection.from_envelope(
            verdict.protocol_version, verdict.client_info, verdict.client_capabilities
        )
        await run(self._server, request, connection, answer, post.receive, modern=True)

    async def _answer_handshake(self, post: _Post, request: JSONRPCRequest) -> None:
        session, headers = post.session, list[tuple[bytes, bytes]]()
        if request.method == "initialize":
            session = self._sessions.new((request.params or {}).get("capabilities"))
            headers = [(b"mcp-session-id", session.encode())]
        connection = sdk.Connection.from_envelope(
            post.version or DEFAULT_NEGOTIATED_VERSION, None, self._sessions.declared(session)
        )
        question = None if session is None else partial(self._sessions.question, session)
        answer = post.answer(request, headers, lasting=True, question=question)
        await run(
            self._server,
            request,
            connection,
            answer,
            post.receive,
            running=lambda scope: self._sessions.running(session, request.id, scope),
        )


def _is_modern(version: str, request: JSONRPCRequest) -> bool:
    """By the header, or by the envelope that only requests of the new era carry."""
    if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return True
    meta = (request.params or {}).get("_meta")
    enveloped = isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
    return enveloped and request.method != "initialize"


def _judge(
    post: _Post, request: JSONRPCRequest
) -> sdk.InboundModernRoute | sdk.InboundLadderRejection:
    """Whether headers and body say the same, and ask for something that is served."""
    names = ((name.decode("latin-1"), "") for name, _ in post.headers)
    duplicate = sdk.find_duplicated_routing_header(names)
    if duplicate is not None:
        return sdk.InboundLadderRejection(HEADER_MISMATCH, f"The {duplicate} header stands twice")
    verdict = sdk.classify_inbound_request(
        {"method": request.method, "params": request.params}, headers=post.fields
    )
    named = post.fields.get("mcp-name")
    if request.method in _ABOUT_TASKS and named not in (None, (request.params or {}).get("taskId")):
        return sdk.InboundLadderRejection(HEADER_MISMATCH, "The Mcp-Name header names another task")
    if isinstance(verdict, sdk.InboundLadderRejection):
        # A version that nobody knows explains best why the rest of the request looks wrong.
        return _unknown_version(post.version) or verdict
    return verdict


def _unknown_version(version: str) -> sdk.InboundLadderRejection | None:
    if not version or version in KNOWN_PROTOCOL_VERSIONS:
        return None
    return sdk.unsupported_protocol_version_rejection(version)


def _error(rejection: sdk.InboundLadderRejection) -> ErrorData:
    return ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
