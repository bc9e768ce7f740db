"""Tools in, a server over real sockets out, with everything but the engine."""

import asyncio
import json
import threading
import time

import httpx

from kb.mcp.contract import Contract, Tool, ToolFailed
from kb.mcp.server import build_server
from kb.mcp.settings import McpSettings
from kb.mcp.transport.guard import REFUSALS, Guard
from kb.mcp.transport.routes import UploadRoute, health
from kb.mcp.transport.streamable_http import Endpoint
from kb.mcp.transport.websocket import WebSocketEndpoint
from kb.serving.server import Server, bind

SHAKING = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
WAIT = 30.0  # for an answer or an end; far more than any of it takes
MODERN = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

READ_ONLY = {"readOnlyHint": True}


class Tools:
    """Some tools to be called over the wire."""

    def __init__(self):
        self.loop = None
        self.running = threading.Event()
        self.cancelled = threading.Event()
        self.released = asyncio.Event()

    def contract(self):
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        words = nothing | {"properties": {"text": {"type": "string"}}}
        return Contract(
            "test",
            "kb",
            "Read this first.",
            (
                Tool("echo", "Say it again.", words, READ_ONLY, self.echo),
                Tool("count", "Count to three.", nothing, READ_ONLY, self.count),
                Tool("wait", "Wait for long.", nothing, {}, self.wait),
                Tool("count_and_wait", "Begin, and wait.", nothing, {}, self.count_and_wait),
                Tool("fail", "Cannot be done.", nothing, {}, self.fail),
                Tool("break", "Has a bug.", nothing, {}, self.break_),
                Tool("who", "Tell who asks.", nothing, READ_ONLY, self.who),
                Tool("garbage", "Answer half a character.", nothing, READ_ONLY, self.garbage),
                Tool("object", "Answer what JSON cannot hold.", nothing, READ_ONLY, self.object),
            ),
        )

    async def echo(self, call, arguments):
        return {"said": arguments.get("text", "")}

    async def count(self, call, arguments):
        for number in (1, 2, 1, 3):  # the third goes back, which nobody may see
            await call.report(number / 4, f"{number} of 4")
        return {"counted": 3}

    async def wait(self, call, arguments):
        self.running.set()
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return {"waited": True}

    async def count_and_wait(self, call, arguments):
        await call.report(0.5, "half")
        return await self.wait(call, arguments)

    async def fail(self, call, arguments):
        raise ToolFailed("no_such_thing", "There is no such thing: look elsewhere", thing=3)

    async def break_(self, call, arguments):
        raise RuntimeError("secret inner words")

    async def who(self, call, arguments):
        return {"caller": call.caller, "base_url": call.base_url, "share": call.share}

    async def garbage(self, call, arguments):
        return {"half a character": "\ud800"}

    async def object(self, call, arguments):
        return {"object": object()}

    def release(self):
        self.loop.call_soon_threadsafe(self.released.set)


class Served:
    """A server in a thread, which stops at the end of a `with`, and how a client talks to it."""

    def __init__(
        self, uploads=None, limits=None, clock=time.monotonic, websockets=False, **settings
    ):
        self.tools = Tools()
        self.server = build_server(self.tools.contract(), None, uploads)
        self._sockets = WebSocketEndpoint(self.server) if websockets else None
        self.guard = Guard(
            McpSettings(**settings),
            endpoint=Endpoint(self.server),
            uploads=UploadRoute(uploads),
            health=health,
            lifespan=self._lifespan,
            websocket=self._sockets,
            clock=clock,
        )
        sockets = bind("127.0.0.1", 0, "KB_MCP_PORT")
        self.port = sockets[0].getsockname()[1]
        ready = threading.Event()
        self._web = Server(
            self.guard,
            refusals=REFUSALS,
            on_ready=lambda port: ready.set(),
            limits=limits,
            websockets=websockets,
        )
        self._thread = threading.Thread(
            target=self._web.run, kwargs={"sockets": sockets}, daemon=True
        )
        self._thread.start()
        assert ready.wait(WAIT)
        self.url = f"http://127.0.0.1:{self.port}"
        self.socket_url = f"ws://127.0.0.1:{self.port}/mcp"
        self.http = httpx.Client(base_url=self.url, timeout=WAIT)

    async def _lifespan(self, scope, receive, send):
        self.tools.loop = asyncio.get_running_loop()
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @property
    def connections(self):
        """WebSockets that are being answered."""
        return self._sockets._connections

    @property
    def open(self):
        """Connections that are not closed yet."""
        return self._web.server_state.connections

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if not self._thread.is_alive():
            return
        self.tools.release()
        self.http.close()
        self._web.should_exit = True
        self._thread.join(WAIT)
        assert not self._thread.is_alive()

    # Asking

    def post(self, message, **headers):
        """One HTTP exchange, with nothing in it that was not asked for."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(message, bytes):
            sent.setdefault("content-type", "application/json")
            request = self.http.build_request("POST", "/mcp", content=message)
        else:
            request = self.http.build_request("POST", "/mcp", json=message)
        del request.headers["accept"]
        request.headers.update(sent)
        return self.http.send(request)

    def call(self, name, arguments=None, **headers):
        return self.post(tool_call(name, arguments), **headers)

    def call_of(self, era, name):
        """Without arguments, as a client of that era does it."""
        if era == "modern":
            return self.modern("tools/call", {"name": name, "arguments": {}})
        return self.call(name)

    def modern(self, method, params=None, **headers):
        message, sent = enveloped(method, params)
        return self.post(message, **(sent | headers))


def request(method, params=None, request_id=1):
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message | ({"params": params} if params is not None else {})


def tool_call(name, arguments=None, request_id=1, token=None):
    params = {"name": name, "arguments": arguments or {}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return request("tools/call", params, request_id)


def initialize(version="2025-11-25"):
    client = {"name": "test", "version": "1"}
    return request(
        "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    )


def enveloped(method, params=None, version=MODERN):
    """A request of the new era, and the headers that repeat what is in it."""
    params = dict(params or {})
    params["_meta"] = params.get("_meta", {}) | {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    headers = {"mcp_protocol_version": version, "mcp_method": method}
    if "name" in params:
        headers["mcp_name"] = params["name"]
    return request(method, params), headers


def events(response):
    """The messages of a stream."""
    assert response.headers["content-type"] == "text/event-stream"
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
