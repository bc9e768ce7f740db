"""The layer that every request passes first; it refuses what must not come in.

After the checks of every server (`serving/door.py`) it checks the size of the request. It denies by
default, on `scope["path"]` as the router sees it, so no spelling of a path slips by.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from kb.engine import errors
from kb.engine.api.bodies.multipart import FIELDS_BYTES
from kb.engine.api.errors import PEER, REQUEST_ID, internal_error, render
from kb.engine.api.metrics import Metrics
from kb.engine.errors import KbError
from kb.serving.door import Denied, Door, body_length, content_kind, refusal_headers
from kb.serving.exchange import ISOLATED, Exchange, Headers, Refusal
from kb.serving.hosts import Fields, has_body
from kb.serving.protocol import Refusals
from kb.serving.shares import Shares
from kb.settings import Network

logger = logging.getLogger(__name__)

PREFIX = "/api/v1"
HEALTH_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
PAGE_PATHS = frozenset({"/"})
IMPORT = ("POST", "/api/v1/import")
UPLOADS = frozenset({("POST", "/api/v1/jobs"), IMPORT})
NOTES = "/api/v1/notes/"
READING_POSTS = frozenset(
    {"/api/v1/search", "/api/v1/import/check", "/api/v1/jobs/check"}
)  # a POST for its body's sake; it changes nothing

_MULTIPART = b"multipart/form-data"
JSON_BYTES = 2 * 2**20
# A million characters, of which JSON may spell each in twelve bytes, and what stands beside them.
NOTE_BYTES = 16 * 2**20
RECORD_BYTES = 96 * 2**20  # what is known of a document that is imported, beside its file
LARGE_BYTES = 2**20
LARGE_EACH, LARGE_ALL = 32, 128  # such bodies on their way at once, of one peer and of all

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Guard:
    """The engine's only door. An empty `api_key` lets everybody in, as the settings say."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        api_key: str,
        allowed_hosts: frozenset[str],
        host: str,
        version: str,
        metrics: Metrics,
        max_json_bytes: int = JSON_BYTES,
        max_note_bytes: int = NOTE_BYTES,
        max_upload_bytes: int = 100 * 2**20,
        page_paths: frozenset[str] = PAGE_PATHS,
        uploads: frozenset[tuple[str, str]] = UPLOADS,
        trusted_proxies: tuple[Network, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._door = Door(
            api_key,
            key_name="key",
            key_setting="KB_API_KEY",
            hosts=(*allowed_hosts, host),
            hosts_setting="KB_ALLOWED_HOSTS",
            trusted_proxies=trusted_proxies,
            clock=clock,
        )
        self._page_paths = page_paths
        self._open_paths = HEALTH_PATHS | page_paths
        self._uploads = uploads
        self._max_json_bytes = max_json_bytes
        self._max_note_bytes = max_note_bytes
        self._max_multipart_bytes = max_upload_bytes + FIELDS_BYTES
        self._metrics = metrics
        self._clock = clock
        self._large = Shares()
        self.draining = False
        self._page_headers: Headers = [(b"kb-version", version.encode()), *ISOLATED]
        self._api_headers: Headers = [
            *self._page_headers,
            (b"cache-control", b"no-store"),
            (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        ]

    def drain(self) -> None:
        """From now on take nothing new but health checks; what runs may finish."""
        self.draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # we speak none, so none is let through unchecked
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._app(scope, receive, send)
            return
        request_id = scope[REQUEST_ID] = self._door.next_request_id()
        page = scope["path"] in self._page_paths
        headers = self._page_headers if page else self._api_headers
        exchange = Exchange(send, [*headers, (b"x-request-id", request_id.encode())])
        started = self._clock()
        fields = dict(scope["headers"])
        try:
            max_bytes = self._admit(scope, fields)
        except (KbError, Denied) as refusal:
            if isinstance(refusal, Denied):
                refusal = await self._door.after_a_wait(scope, fields, refusal)
            await exchange.refuse(_refusal(refusal), receive if has_body(fields) else None)
        else:
            await self._run(scope, receive, exchange, max_bytes)
        self._note(scope, exchange.status, self._clock() - started)

    async def _run(
        self, scope: Scope, receive: Receive, exchange: Exchange, max_bytes: int | None
    ) -> None:
        peer = scope[PEER] = self._door.peers.of(scope)
        is_large = max_bytes is not None and _is_large(dict(scope["headers"]))
        if is_large and not self._large.take(peer, LARGE_EACH, LARGE_ALL):
            await exchange.refuse(_refusal(_too_many_uploads()), receive)
            return
        if max_bytes is not None:
            kind = content_kind(dict(scope["headers"]))
            receive = exchange.counting(
                receive, max_bytes, lambda most: _refusal(self._too_large(most, kind))
            )
        try:
            await self._app(scope, receive, exchange.send)
        except asyncio.CancelledError:
            if not self.draining:
                raise
            logger.warning("request %s was cut off by the shutdown", scope[REQUEST_ID])
        except Exception as bug:
            logger.error("request %s failed", scope[REQUEST_ID], exc_info=bug)
            if not exchange.status:
                await exchange.refuse(_refusal(internal_error(scope[REQUEST_ID])), None)
        finally:
            if is_large:
                self._large.give_back(peer)

    # Who may come in

    def _admit(self, scope: Scope, fields: dict[bytes, bytes]) -> int | None:
        """Raise the refusal, or return how many bytes of body to accept; None if none is sent."""
        self._door.check_headers(scope, fields)
        host = self._door.check_host(fields)
        self._door.check_origin(fields, host)
        path = scope["path"]
        if path not in self._open_paths:
            self._door.check_key(fields)
            if self.draining:
                raise errors.ShuttingDown("The engine is shutting down", retry_after=5)
        if b"content-length" in fields or b"transfer-encoding" in fields:
            return self._body_limit(scope["method"], path, fields)
        return None

    def _body_limit(self, method: str, path: str, fields: Fields) -> int | None:
        length = body_length(fields)
        if length == 0:
            return None
        kind = content_kind(fields)
        takes_notes = (method, path) in self._uploads or path.startswith(NOTES)
        if kind == b"application/json":
            limit = self._max_note_bytes if takes_notes else self._max_json_bytes
        elif kind == _MULTIPART and (method, path) in self._uploads:
            limit = self._max_multipart_bytes + (RECORD_BYTES if (method, path) == IMPORT else 0)
        else:
            raise errors.UnsupportedMediaType("A body here must be application/json")
        if length is not None and length > limit:
            raise self._too_large(limit, kind)
        return limit

    def _too_large(self, max_bytes: int, kind: bytes) -> errors.BodyTooLarge:
        """Of a file the limit is said as it was set."""
        if kind == _MULTIPART:
            megabytes = (self._max_multipart_bytes - FIELDS_BYTES) // 2**20
            said = (
                f"The file is larger than the {megabytes} MB that are allowed: split it, or raise "
                "KB_MAX_FILE_MB and start the engine again"
            )
        else:
            said = f"The body is larger than the {max_bytes:,} bytes allowed: send less at a time"
        return errors.BodyTooLarge(said, max_bytes=max_bytes)

    # What is told afterwards

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        route = route_template(scope)
        self._metrics.request_took(method, route, status, seconds)
        changing = method in CHANGING and route not in READING_POSTS
        level = logging.INFO if changing or status >= 400 else logging.DEBUG
        if logger.isEnabledFor(level):
            request_id = scope[REQUEST_ID]
            logger.log(
                level, "%s %s %d %.1f ms %s", method, route, status, seconds * 1e3, request_id
            )


def route_template(scope: Scope) -> str:
    """`/api/v1/documents/{document_id}` for any document; `other` where no route was reached.

    A route may know its path below the prefix alone, by which the whole API is put into the app.
    """
    template: str | None = getattr(scope.get("route"), "path_format", None)
    if template is None:
        return "other"
    is_whole = template.startswith(PREFIX) or not scope["path"].startswith(PREFIX)
    return template if is_whole else PREFIX + template


def _is_large(fields: Fields) -> bool:
    length = fields.get(b"content-length", b"")
    return not length.isdigit() or int(length[:20]) > LARGE_BYTES


def _too_many_uploads() -> errors.TooManyUploads:
    return errors.TooManyUploads(
        f"More than {LARGE_EACH} large bodies are on their way from this address, or {LARGE_ALL} in"
        " all: send fewer at a time",
        retry_after=1,
    )


def _refusal(error: KbError | Denied) -> Refusal:
    body = render(error.code, error.message, error.details)
    return Refusal(error.status, body, refusal_headers(error.status, error.details))


REFUSALS = Refusals(
    malformed=_refusal(errors.MalformedRequest("This is not a proper HTTP/1.1 request")),
    headers_too_large=_refusal(errors.HeadersTooLarge("The headers of this request are too long")),
)
