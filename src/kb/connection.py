"""How the client talks HTTP with an engine: retries, errors, uploads."""

import ipaddress
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx

from kb import __version__

Json = dict[str, Any]

MIN_ENGINE_VERSION = "3.0.0"

_NUMBERS = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?")
_SHOWN = re.compile(r"\d[0-9A-Za-z.+-]{0,39}")  # of a header that may be anyone's

# Answers of a gateway that could not reach an engine: they say nothing about its version.
_GATEWAY = frozenset({502, 503, 504})

_RETRY_AFTER = 0.2

PATIENCE, CONNECT = 60.0, 3.0  # seconds
_TIMEOUT = httpx.Timeout(PATIENCE, connect=CONNECT)
# Requests at a time, and connections that stay open between them. Whoever waits for a turn here
# holds a few hundred bytes, and within httpx tens of thousands.
_AT_ONCE = 16
_LIMITS = httpx.Limits(max_keepalive_connections=4)
_ENDLESS = httpx.Timeout(PATIENCE, connect=CONNECT, read=None)


class EngineTooOld(httpx.HTTPStatusError):
    """The server is older than this client, or not an engine at all. It is an `HTTPStatusError`, so
    that callers who only know "the engine refused" stay right."""

    def __init__(self, base_url: str, response: httpx.Response) -> None:
        version = _SHOWN.match(response.headers.get("kb-version", ""))
        self.details = {
            "engine_url": base_url,
            "engine_version": version and version[0],
            "needed_version": MIN_ENGINE_VERSION,
        }
        super().__init__(
            f"the engine at {base_url} is version {version[0]}; this kb needs {MIN_ENGINE_VERSION}"
            " or newer: upgrade the engine"
            if version
            else f"what answers at {base_url} is no kb engine, or an old one: check KB_ENGINE_URL",
            request=response.request,
            response=response,
        )


class Connection:
    """HTTP with one engine: its key, its version, and one more try where that is safe.

    Every answer tells the version. What changes something is sent only to an engine that has told
    a good one: its first answer would come too late.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._turns = anyio.Semaphore(_AT_ONCE)
        self._knows_engine = False  # that what answers is an engine, and new enough
        address = urlsplit(self.base_url)
        headers = {"user-agent": f"kb/{__version__}", "accept": "application/json"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._http = httpx.AsyncClient(
            base_url=f"{self.base_url}/api/v1/",
            headers=headers,
            timeout=_TIMEOUT,
            limits=_LIMITS,
            follow_redirects=False,  # the key must not travel to wherever an answer points
            trust_env=not _is_loopback(address.hostname or ""),  # no proxy for local traffic
            # Loading certificates takes longer than a search, and plain http has no use for them.
            verify=address.scheme == "https",
            transport=transport,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        repeatable: bool = False,
        changes: bool | None = None,
        **content: Any,
    ) -> Json:
        """Send a request and return its parsed answer. All but a GET `changes` something, unless
        the caller knows better.

        A refused connection is tried once more, whatever the call: nothing was sent, and an engine
        that restarts is back in a moment. A connection that breaks in the middle is tried again
        only where twice is as good as once.
        """
        changes = method != "GET" if changes is None else changes
        again: tuple[type[httpx.TransportError], ...] = (httpx.ConnectError,)
        if repeatable or not changes:
            again += (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
        async with self._turns:
            try:
                response = await self._send(method, path, changes, content)
            except again as error:
                if isinstance(error, httpx.ConnectError):  # another may be there in a moment
                    self._knows_engine = False
                await anyio.sleep(_RETRY_AFTER)
                response = await self._send(method, path, changes, content)
        await self._check(response)
        answer: Json = response.json()
        return answer

    async def _send(self, method: str, path: str, changes: bool, content: Json) -> httpx.Response:
        request = self._http.build_request(method, path, **content)
        if changes and not self._knows_engine:
            await self._check(await self._http.get("status"))
        return await self._http.send(request)

    async def pieces(self, path: str) -> AsyncGenerator[bytes, None]:
        """The bytes of an answer, as they arrive."""
        async with self._http.stream("GET", path) as response:
            await self._check(response)
            async for piece in response.aiter_bytes():
                yield piece

    async def events(self, path: str, last_event_id: str | None) -> AsyncGenerator[Json, None]:
        """The server-sent events of an answer, as they arrive, until it ends."""
        headers = {"accept": "text/event-stream"}
        if last_event_id:
            headers["last-event-id"] = last_event_id
        async with self._http.stream("GET", path, headers=headers, timeout=_ENDLESS) as response:
            await self._check(response)
            async for event in _parse_events(response.aiter_lines()):
                yield event

    async def _check(self, response: httpx.Response) -> None:
        """Raise unless this is a success from an engine that is new enough."""
        version = response.headers.get("kb-version")
        from_gateway = version is None and response.status_code in _GATEWAY
        if not from_gateway:
            self._knows_engine = _numbers(version or "") >= _numbers(MIN_ENGINE_VERSION)
            if not self._knows_engine:
                raise EngineTooOld(self.base_url, response)
        if not response.is_success:
            await response.aread()
            raise httpx.HTTPStatusError(
                f"{response.status_code} {response.reason_phrase}",
                request=response.request,
                response=response,
            )


def problem(error: httpx.HTTPStatusError) -> Json:
    """The engine's own account of an error: at least `error` and `message`."""
    if isinstance(error, EngineTooOld):
        return {"error": "engine_too_old", "message": str(error), **error.details}
    try:
        body = error.response.json()
    except (ValueError, httpx.ResponseNotRead):
        body = None
    if isinstance(body, dict) and isinstance(body.get("message"), str) and "error" in body:
        return body
    status = f"{error.response.status_code} {error.response.reason_phrase}".strip()
    return {"error": "unexpected_answer", "message": f"the engine answered {status}"}


async def _parse_events(lines: AsyncIterator[str]) -> AsyncIterator[Json]:
    """Server-sent events: fields up to an empty line are one event, a leading colon a comment."""
    name, event_id, data = "message", None, list[str]()
    async for line in lines:
        if not line:
            if data:
                yield {"event": name, "id": event_id, "data": json.loads("\n".join(data))}
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "id":
            event_id = value
        elif field == "data":
            data.append(value)


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
