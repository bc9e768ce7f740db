"""The layer that every request passes first; it refuses what must not come in.

After the checks of every server (`serving/door.py`) it checks the path and the size of the request.
Only the paths below exist. Everything else is a plain 404, above all `/.well-known/…`: a 401 there
would make clients look for a login page.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial

from mcp_types.jsonrpc import INVALID_REQUEST
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.mcp.server import Asker
from kb.mcp.settings import McpSettings
from kb.mcp.transport import messages
from kb.mcp.transport.refusal import Refused, rpc
from kb.serving import logs
from kb.serving.door import Denied, Door, body_length, content_kind, refusal_headers
from kb.serving.exchange import ISOLATED, Exchange, Headers, Refusal
from kb.serving.hosts import Fields, has_body, is_loopback, same_origin
from kb.serving.protocol import Refusals

logger = logging.getLogger(__name__)

ENDPOINTS = frozenset({"/mcp", "/mcp/"})
HEALTH = "/healthz"
UPLOADS = "/uploads/"

# Room for the longest note, of whose million characters JSON may spell each in twelve bytes, and
# for an upload's largest piece in base64.
MAX_BODY_BYTES = 16 * 2**20

_HEADERS: Headers = [
    *ISOLATED,
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]

_CODES = {
    "wrong_host": messages.WRONG_HOST,
    "foreign_origin": messages.FOREIGN_ORIGIN,
    "unauthorized": messages.UNAUTHORIZED,
    "too_many_attempts": messages.TOO_MANY_ATTEMPTS,
}

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
        self._door = Door(
            settings.mcp_api_key,
            key_name="token",
            key_setting="KB_MCP_API_KEY",
            hosts=(*settings.mcp_allowed_hosts, settings.mcp_host),
            hosts_setting="KB_MCP_ALLOWED_HOSTS",
            origins_setting="KB_MCP_ALLOWED_ORIGINS",
            trusted_proxies=settings.trusted_proxies,
            clock=clock,
        )
        self._origins = frozenset(origin.encode() for origin in settings.mcp_allowed_origins)
        self._public_url = settings.mcp_public_url
        self._risk = settings.key_risk

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
        logs.name_request(self._door.next_request_id())
        fields = dict(scope["headers"])
        try:
            host = self._check_source(scope, fields)
            if scope["path"] not in ENDPOINTS:
                raise rpc(404, messages.NOT_FOUND, "There is nothing here: the endpoint is /mcp")
            asker = self._asker(scope, fields, host)
            await handler(asker, scope, receive, send)
        except (Refused, Denied) as refusal:
            refused = await self._in_our_words(scope, fields, refusal)
            logger.info("WebSocket refused: %s", refused)
            await _deny(send, refused.refusal)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = self._door.next_request_id()
        logs.name_request(request_id)
        exchange = Exchange(send, [(b"x-request-id", request_id.encode()), *_HEADERS])
        fields = dict(scope["headers"])
        try:
            handler, asker, max_bytes = self._admit(scope, fields)
            counted = receive
            if max_bytes is not None:
                counted = exchange.counting(receive, max_bytes, _too_large)
            await handler(asker, scope, counted, exchange.send)
        except (Refused, Denied) as refusal:
            refused = await self._in_our_words(scope, fields, refusal)
            logger.info("%s refused: %s", scope["method"], refused)
            await exchange.refuse(refused.refusal, receive if has_body(fields) else None)
        except Exception as bug:
            logger.error("%s failed", scope["method"], exc_info=bug)
            if not exchange.status:
                told = f"The MCP server failed; its log has it as {request_id}"
                failed = rpc(500, messages.GUARD_FAILED, told)
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
        raise rpc(404, messages.NOT_FOUND, "There is nothing here: the endpoint is /mcp")

    def _check_source(self, scope: Scope, fields: Fields) -> bytes:
        """Raise unless we are meant, and not by another site; under which host we are."""
        self._door.check_headers(scope, fields)
        body_length(fields)
        host = self._door.check_host(fields)
        self._door.check_origin(fields, host, partial(self._takes, scope))
        return host

    def _takes(self, scope: Scope, origin: bytes, host: bytes) -> bool:
        """Whether a page from there may call.

        Browsers ask us before a page of another origin may POST, and we never agree. Before a
        WebSocket they do not ask, so where no token is either, there is nothing but the Origin to
        tell our own page from any that some program on this machine happens to serve.
        """
        if origin.lower() in self._origins:
            return True
        if scope["type"] == "websocket" and self._door.is_open:
            scheme = self._door.peers.scheme(scope)
            return same_origin(origin, host) and (
                scheme is None or origin.lower().startswith(scheme + b"://")
            )
        return same_origin(origin, host) or is_loopback(origin)

    def _asker(self, scope: Scope, fields: Fields, host: bytes) -> Asker:
        caller = self._door.check_key(fields)
        base_url, peer = self._base_url(scope, host), self._door.peers.of(scope)
        return Asker(caller, base_url, risk=self._risk, peer=peer)

    async def _in_our_words(
        self, scope: Scope, fields: Fields, refusal: Refused | Denied
    ) -> Refused:
        if isinstance(refusal, Refused):
            return refusal
        denied = await self._door.after_a_wait(scope, fields, refusal)
        named = denied.details and denied.code in ("wrong_host", "foreign_origin")
        data = {"error_type": denied.code, "details": denied.details} if named else None
        code = _CODES.get(denied.code, INVALID_REQUEST)
        headers = refusal_headers(denied.status, denied.details)
        return rpc(denied.status, code, denied.message, headers, data)

    def _base_url(self, scope: Scope, host: bytes) -> str:
        scheme = scope["scheme"].replace("ws", "http")
        return self._public_url or f"{scheme}://{host.decode('ascii')}"


async def _deny(send: Send, refusal: Refusal) -> None:
    headers = [(b"content-type", b"application/json"), *_HEADERS, *refusal.headers]
    begin = {"type": "websocket.http.response.start", "status": refusal.status, "headers": headers}
    await send(begin)
    await send({"type": "websocket.http.response.body", "body": refusal.body})


def _body_limit(scope: Scope, fields: Fields) -> int:
    if (body_length(fields) or 0) > MAX_BODY_BYTES:
        raise rpc(413, INVALID_REQUEST, _TOO_LARGE)
    kind = content_kind(fields)
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


REFUSALS = Refusals(
    malformed=rpc(400, INVALID_REQUEST, "This is not a proper HTTP/1.1 request").refusal,
    headers_too_large=rpc(431, INVALID_REQUEST, "The headers are too long").refusal,
)
