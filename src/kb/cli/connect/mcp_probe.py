"""Speaks MCP as an agent does, over HTTP or a process's pipes.

It is small and uses no MCP package, because the base install has none and must still be able to
check the server.
"""

import json
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import IO, Any, Protocol
from urllib.parse import urlsplit

import anyio
import anyio.abc
import httpx
from anyio.streams.buffered import BufferedByteReceiveStream

from kb import __version__
from kb.cli.connect.clients import LOOPBACK, Json

_PATIENCE = 20.0
_PATIENCE_AT_END = 5.0
_LONGEST_LINE = 4 * 2**20


class Trouble(Exception):
    """Why there is no answer: the message is a whole sentence. `step` is what did not work."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class Line(Protocol):
    """A connection to one server."""

    async def ask(self, method: str, params: Json) -> Json:
        """The result of a request, or Trouble."""

    async def tell(self, method: str) -> None:
        """Send a notification."""


class HttpLine:
    """Streamable HTTP: each message is a POST, its answer JSON or a stream of events."""

    def __init__(self, http: httpx.AsyncClient, url: str, *, has_key: bool) -> None:
        self._http = http
        self._url = url
        self._has_key = has_key
        self._session: dict[str, str] = {}
        self._number = 0

    async def ask(self, method: str, params: Json) -> Json:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        response = await self._post(message)
        session = response.headers.get("mcp-session-id")
        if session:
            self._session["mcp-session-id"] = session
        result = _result(_messages(response), self._number, self._url)
        if method == "initialize":
            self._session["mcp-protocol-version"] = str(result.get("protocolVersion"))
        return result

    async def tell(self, method: str) -> None:
        await self._post({"jsonrpc": "2.0", "method": method})

    async def _post(self, message: Json) -> httpx.Response:
        try:
            response = await self._http.post(self._url, json=message, headers=self._session)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise Trouble("server", f"nothing answers at {self._url}; {self._advice()}") from None
        except httpx.TimeoutException:
            raise Trouble("server", f"{self._url} took too long to answer") from None
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise Trouble("server", f"the connection to {self._url} broke ({reason})") from None
        if not response.is_success:
            raise self._refusal(response)
        return response

    def _advice(self) -> str:
        if urlsplit(self._url).hostname in LOOPBACK:
            return 'start it with "kb up", or alone with "kb mcp"'
        return "see that it runs there and can be reached from here"

    def _refusal(self, response: httpx.Response) -> Trouble:
        status, host = response.status_code, urlsplit(self._url).hostname
        key = (
            "does not know this key; send what its KB_MCP_API_KEY holds"
            if self._has_key
            else "asks for a key; set KB_MCP_API_KEY to the one it was started with"
        )
        other = f"{self._url} answers {status} {response.reason_phrase}, as no MCP server would;"
        reasons = {
            401: ("key", f"the server {key}"),
            421: (
                "server",
                f"the server refuses the name {host}; add it to its KB_MCP_ALLOWED_HOSTS",
            ),
            429: ("key", "too many wrong keys came from here; wait a moment, then try again"),
        }
        return Trouble(
            *reasons.get(status, ("server", f"{other} check the address: its path is /mcp"))
        )


class PipeLine:
    """A process's standard input and output, one message a line."""

    def __init__(self, process: anyio.abc.Process, command: str, log: IO[bytes]) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process has no pipes")
        self._in, self._out = process.stdin, BufferedByteReceiveStream(process.stdout)
        self._command = command
        self._log = log
        self._number = 0

    async def ask(self, method: str, params: Json) -> Json:
        self._number += 1
        await self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            message = await self._receive()
            if message.get("id") == self._number:
                return _result([message], self._number, self._command)

    async def tell(self, method: str) -> None:
        await self._send({"jsonrpc": "2.0", "method": method})

    async def _send(self, message: Json) -> None:
        # If it has ended, what is left to be read tells why.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._in.send(json.dumps(message).encode() + b"\n")

    async def _receive(self) -> Json:
        try:
            line = await self._out.receive_until(b"\n", _LONGEST_LINE)
            message = json.loads(line)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            raise self._ended() from None
        except (ValueError, anyio.DelimiterNotFound):
            raise Trouble("server", f"{self._command} does not speak MCP") from None
        return message if isinstance(message, dict) else {}

    def _ended(self) -> Trouble:
        """Its last output is most likely the reason."""
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        return Trouble("server", f"{self._command} ended at once: {last[:300]}")


@asynccontextmanager
async def open_line(entry: Json) -> AsyncIterator[Line]:
    """A connection as a client would make it from its configuration."""
    if entry.get("command"):
        async with _process(entry) as line:
            yield line
        return
    url = str(entry.get("url") or entry.get("httpUrl") or "")
    headers = {str(name).lower(): str(value) for name, value in _headers(entry).items()}
    address = urlsplit(url)
    async with httpx.AsyncClient(
        headers={
            "accept": "application/json, text/event-stream",
            "user-agent": f"kb/{__version__}",
            **headers,
        },
        timeout=httpx.Timeout(_PATIENCE, connect=3),
        trust_env=address.hostname not in LOOPBACK,  # no proxy for local traffic
        verify=address.scheme == "https",  # loading certificates takes long, and http needs none
    ) as http:
        yield HttpLine(http, url, has_key="authorization" in headers)


def _headers(entry: Json) -> dict[str, Any]:
    headers = entry.get("headers") or entry.get("http_headers") or {}
    variable = entry.get("bearer_token_env_var")
    if variable and os.environ.get(str(variable)):
        return {**headers, "Authorization": f"Bearer {os.environ[str(variable)]}"}
    return dict(headers)


@asynccontextmanager
async def _process(entry: Json) -> AsyncIterator[PipeLine]:
    command = [str(entry["command"]), *map(str, entry.get("args") or [])]
    shown = " ".join(command)
    environ = {**os.environ, **{str(k): str(v) for k, v in (entry.get("env") or {}).items()}}
    with tempfile.TemporaryFile() as log:
        try:
            process = await anyio.open_process(command, stderr=log, env=environ)
        except OSError as error:
            raise Trouble("server", f"{shown} cannot be run: {error.strerror}") from None
        try:
            yield PipeLine(process, shown, log)
        finally:
            await _stop(process)


async def _stop(process: anyio.abc.Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with anyio.move_on_after(_PATIENCE_AT_END):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


def _messages(response: httpx.Response) -> list[Any]:
    """The JSON-RPC messages in an answer, whichever of its two forms it has."""
    text = response.text
    if "text/event-stream" in response.headers.get("content-type", ""):
        data = [
            line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")
        ]
    else:
        data = [text]
    messages = []
    for each in data:
        try:
            messages.append(json.loads(each))
        except ValueError:
            continue
    return messages


def _result(messages: list[Any], number: int, where: str) -> Json:
    for message in messages:
        if not isinstance(message, dict) or message.get("id") != number:
            continue
        if isinstance(message.get("result"), dict):
            result: Json = message["result"]
            return result
        error = message.get("error")
        if isinstance(error, dict):
            raise Trouble("server", f"{where} answers: {error.get('message')}")
    raise Trouble("server", f"what answers at {where} is no MCP server")
