"""A request in, a refusal or the app's answer out: one layer that everything passes first.

Order matters: who was asked (Host), from where (Origin), for what (path), by whom (token), how much
(body). Only the paths below exist; everything else is a plain 404, `/.well-known/…` above all: a
401 there would send clients looking for a login page.
"""

import hashlib
import hmac
import itertools
import logging
import os
import time
from collections.abc import Awaitable, Callable

from mcp_types.jsonrpc import INVALID_REQUEST
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.mcp.engine import Json
from kb.mcp.server import Asker
from kb.mcp.settings import McpSettings
from kb.mcp.transport.messages import (
    FOREIGN_ORIGIN,
    GUARD_FAILED,
    NOT_FOUND,
    TOO_MANY_ATTEMPTS,
    UNAUTHORIZED,
    WRONG_HOST,
)
from kb.mcp.transport.refusal import Refused, rpc
from kb.serving import logs
from kb.serving.exchange import ISOLATED, Exchange, Headers, Refusal
from kb.serving.hosts import (
    Fields,
    KnownHosts,
    has_body,
    host_refusal,
    is_loopback,
    origin_refusal,
    packed,
    repeated,
    same_origin,
)
from kb.serving.lockout import Attempts
from kb.serving.peers import Peers
from kb.serving.protocol import Refusals

logger = logging.getLogger(__name__)

ENDPOINTS = frozenset({"/mcp", "/mcp/"})
HEALTH = "/healthz"
UPLOADS = "/uploads/"

# Room for the longest note, of whose million characters JSON may spell each in twelve bytes, and
# for an upload's largest piece in base64.
MAX_BODY_BYTES = 16 * 2**20
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 2**10

_HEADERS: Headers = [
    *ISOLATED,
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]

Handler = Callable[[Asker, Scope, Receive, Send], Awaitable[None]]


class Guard:
    """The server's only door. An empty token lets everybody in, as the settings say."""

    def __init__(
        self,
        settings: McpSettings,
        *,
        endpoint: Handler,
        uploads: Handler,
        health: Handler,
        lifespan: ASGIApp,
        websocket: Handler | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._uploads = uploads
        self._health = health
        self._lifespan = lifespan
        self._websocket = websocket
        key = settings.mcp_api_key
        self._key_digest = hashlib.sha256(key.encode()).digest() if key else None
        self._hosts = KnownHosts((*settings.mcp_allowed_hosts, settings.mcp_host))
        self._origins = frozenset(origin.encode() for origin in settings.mcp_allowed_origins)
        self._peers = Peers(settings.trusted_proxies)
        self._public_url = settings.mcp_public_url
        self._risk = settings.key_risk
        self._attempts = Attempts(clock)
        self._request_ids = map(f"{os.urandom(4).hex()}-{{:x}}".format, itertools.count(1))

    @property
    def speaks_websocket(self) -> bool:
        return self._websocket is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif self._websocket is not None:
            await self._connect(self._websocket, scope, receive, send)
        else:  # no WebSocket is spoken, so none is let through unchecked
            await send({"type": "websocket.close", "code": 1008})

    async def _connect(self, handler: Handler, scope: Scope, receive: Receive, send: Send) -> None:
        """The same checks before a WebSocket is accepted; a refusal is an HTTP answer."""
        logs.name_request(next(self._request_ids))
        fields = dict(scope["headers"])
        try:
            host = self._check_source(scope, fields)
            if scope["path"] not in ENDPOINTS:
                raise rpc(404, NOT_FOUND, "There is nothing here: the endpoint is /mcp")
            asker = self._asker(scope, fields, host)
            await handler(asker, scope, receive, send)
        except Refused as refused:
            refused = await self._after_a_wait(scope, fields, refused)
            logger.info("WebSocket refused: %s", refused)
            await _deny(send, refused.refusal)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = next(self._request_ids)
        logs.name_request(request_id)
        exchange = Exchange(
            send,
            [(b"x-request-id", request_id.encode()), *_HEADERS],
        )
        fields = dict(scope["headers"])
        try:
            handler, asker, max_bytes = self._admit(scope, fields)
            counted = receive
            if max_bytes is not None:
                counted = exchange.counting(receive, max_bytes, _too_large)
            await handler(asker, scope, counted, exchange.send)
        except Refused as refused:
            refused = await self._after_a_wait(scope, fields, refused)
            logger.info("%s refused: %s", scope["method"], refused)
            await exchange.refuse(refused.refusal, receive if has_body(fields) else None)
        except Exception as bug:
            logger.error("%s failed", scope["method"], exc_info=bug)
            if not exchange.status:
                told = f"The MCP server failed; its log has it as {request_id}"
                failed = rpc(500, GUARD_FAILED, told)
                await exchange.refuse(failed.refusal, None)

    # Who may come in

    def _admit(self, scope: Scope, fields: Fields) -> tuple[Handler, Asker, int | None]:
        """Raise the refusal, or say who serves this, for whom, and how much body to accept."""
        host = self._check_source(scope, fields)
        path = scope["path"]
        if path in ENDPOINTS:
            asker = self._asker(scope, fields, host)
            if fields.get(b"upgrade", b"").lower() == b"websocket":
                raise _no_websocket()  # else it would have come as one
            return self._endpoint, asker, _body_limit(scope, fields)
        if path.startswith(UPLOADS):
            return self._uploads, Asker(), None  # each upload has a limit of its own
        if path == HEALTH:
            return self._health, Asker(), 0
        raise rpc(404, NOT_FOUND, "There is nothing here: the endpoint is /mcp")

    def _check_source(self, scope: Scope, fields: Fields) -> bytes:
        """Raise unless we are meant, and not by another site; under which host we are."""
        _check_headers(scope, fields)
        host = fields.get(b"host", b"")
        if not self._hosts.know(host):
            message, details = host_refusal(host, "KB_MCP_ALLOWED_HOSTS")
            raise rpc(421, WRONG_HOST, message, data=_typed("wrong_host", details))
        origin = fields.get(b"origin")
        if origin is not None and not self._takes(origin, host, scope):
            message, details = origin_refusal(origin, host, "KB_MCP_ALLOWED_ORIGINS")
            raise rpc(403, FOREIGN_ORIGIN, message, data=_typed("foreign_origin", details))
        return host

    def _takes(self, origin: bytes, host: bytes, scope: Scope) -> bool:
        """Whether a page from there may call; who sends no Origin is no page.

        Browsers ask us before a page of another origin may POST, and we never agree. Before a
        WebSocket they do not ask, so where no token is either, there is nothing but the Origin to
        tell our own page from any that some program on this machine happens to serve.
        """
        if origin.lower() in self._origins:
            return True
        if scope["type"] == "websocket" and self._key_digest is None:
            scheme = self._peers.scheme(scope)
            return same_origin(origin, host) and (
                scheme is None or origin.lower().startswith(scheme + b"://")
            )
        return same_origin(origin, host) or is_loopback(origin)

    def _asker(self, scope: Scope, fields: Fields, host: bytes) -> Asker:
        caller = self._caller(fields)
        base_url, peer = self._base_url(scope, host), self._peers.of(scope)
        return Asker(caller, base_url, risk=self._risk, peer=peer)

    def _caller(self, fields: Fields) -> str:
        """A fingerprint of the token, once it is known to be the right one."""
        scheme, _, token = fields.get(b"authorization", b"").partition(b" ")
        sent = token.strip() if scheme.lower() == b"bearer" else b""
        digest = hashlib.sha256(sent).digest()
        if self._key_digest is not None and not (
            sent and hmac.compare_digest(digest, self._key_digest)
        ):
            raise _unauthorized()
        return digest.hex()[:32] if sent else ""

    async def _after_a_wait(self, scope: Scope, fields: Fields, refused: Refused) -> Refused:
        """What a wrong token is told, when it is its turn; anything else is told at once."""
        if refused.refusal.status != 401 or b"authorization" not in fields:
            return refused
        if await self._attempts.failed(self._peers.of(scope)):
            return refused
        return rpc(
            429,
            TOO_MANY_ATTEMPTS,
            "Too many wrong tokens from this address",
            [(b"retry-after", b"1")],
        )

    def _base_url(self, scope: Scope, host: bytes) -> str:
        scheme = scope["scheme"].replace("ws", "http")
        return self._public_url or f"{scheme}://{host.decode('ascii')}"


def _typed(error_type: str, details: Json) -> Json:
    return {"error_type": error_type, "details": details}


async def _deny(send: Send, refusal: Refusal) -> None:
    headers = [(b"content-type", b"application/json"), *_HEADERS, *refusal.headers]
    await send(
        {
            "type": "websocket.http.response.start",
            "status": refusal.status,
            "headers": headers,
        }
    )
    await send({"type": "websocket.http.response.body", "body": refusal.body})


def _check_headers(scope: Scope, fields: Fields) -> None:
    headers = scope["headers"]
    size = len(b"".join(fields.values())) + len(scope["path"]) + len(scope["query_string"])
    if size > MAX_HEADER_BYTES or len(headers) > MAX_HEADERS:
        raise rpc(
            431,
            INVALID_REQUEST,
            f"Address and headers may take {MAX_HEADER_BYTES} bytes, in {MAX_HEADERS} headers",
        )
    twice = repeated(headers) if len(fields) != len(headers) else None
    if twice == b"host":
        raise rpc(421, WRONG_HOST, "The request has more than one Host header")
    if twice == b"authorization":
        raise _unauthorized()
    if twice is not None:
        message = f"The request has more than one {twice.decode()} header"
        raise rpc(400, INVALID_REQUEST, message)
    coding = packed(fields)
    if coding is not None:
        raise rpc(400, INVALID_REQUEST, f"A body is read as it is: send it without {coding}")


def _body_limit(scope: Scope, fields: Fields) -> int:
    length = fields.get(b"content-length", b"0")
    if not length.isdigit():
        raise rpc(400, INVALID_REQUEST, "The length of the body is no number")
    if int(length[:20]) > MAX_BODY_BYTES:
        raise rpc(413, INVALID_REQUEST, _TOO_LARGE)
    kind = fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if scope["method"] == "POST" and kind != b"application/json":
        raise rpc(415, INVALID_REQUEST, "Send JSON: Content-Type: application/json")
    return MAX_BODY_BYTES


_TOO_LARGE = f"A message may take {MAX_BODY_BYTES} bytes: send a file in smaller pieces"


def _too_large(_max_bytes: int) -> Refusal:
    return rpc(413, INVALID_REQUEST, _TOO_LARGE).refusal


def _no_websocket() -> Refused:
    return rpc(
        405,
        INVALID_REQUEST,
        "No WebSocket is spoken here: POST JSON-RPC messages to /mcp, or start the server with"
        " KB_MCP_TOOLS=knowledge, whose tools are offered over one",
        [(b"allow", b"POST, DELETE")],
    )


def _unauthorized() -> Refused:
    """One answer to a missing and to a wrong token: nobody learns which it was."""
    return rpc(
        401,
        UNAUTHORIZED,
        "A valid token is needed: Authorization: Bearer <KB_MCP_API_KEY>",
        [(b"www-authenticate", b'Bearer realm="kb"')],
    )


REFUSALS = Refusals(
    malformed=rpc(400, INVALID_REQUEST, "This is not a proper HTTP/1.1 request").refusal,
    headers_too_large=rpc(431, INVALID_REQUEST, "The headers are too long").refusal,
)
