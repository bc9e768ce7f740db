"""A tool call in, what the MCP server adds to it out: processor time, waiting, memory, start.

`python -m benchmarks.serving.mcp PORT URL` is the other side: one Starlette route on uvicorn with
uvloop and httptools, as the MCP server has them, that asks the engine for its status with httpx.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.filling.questions import asked
from benchmarks.running import API_KEY, Client, Server, connected, engine, free_port, running
from benchmarks.serving.overhead import load

MODERN = "2026-07-28"
SETTLE = 2.0
_META = "io.modelcontextprotocol"
_ENVELOPE = {f"{_META}/protocolVersion": MODERN, f"{_META}/clientCapabilities": {}}


@dataclass
class Found:
    """Microseconds of processor time per call, by era and beside; milliseconds per search."""

    handshake: list[float] = field(default_factory=list)
    modern: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)
    pss: float = 0.0
    starts: list[float] = field(default_factory=list)


def measure(folder: Path, requests: int, rounds: int, queries: int, starts: int) -> Found:
    """Everything with the same engine, and each in turns with what stands beside it."""
    found = Found()
    with engine(folder) as beside, _mcp(beside) as server, _bare(beside) as bare:
        time.sleep(SETTLE)
        found.pss = server.memory_mb("Pss")
        sides = [
            (found.handshake, server, _post(server, _call("kb_status"))),
            (found.modern, server, _post(server, _call("kb_status", MODERN), MODERN)),
            (found.bare, bare, _head("GET", "/status", bare.port)),
        ]
        for _, each, request in sides:
            load(each, request, requests // 4)
        for _ in range(rounds):
            for times, each, request in sides:
                times.append(load(each, request, requests))
        _search(found, folder, beside, server, queries)
        for _ in range(starts):
            found.starts.append(_start(beside))
    return found


def _search(found: Found, folder: Path, beside: Server, server: Server, queries: int) -> None:
    """Each question once over each, so that neither finds it remembered more often."""
    over_mcp, over_rest = Client(server.port), Client(beside.port)
    for number, query in enumerate(asked(folder, queries)):
        sides = [
            (found.search, lambda query=query: _search_tool(over_mcp, query)),
            (found.rest, lambda query=query: over_rest.search(query)),
        ]
        for times, ask in sides if number % 2 else reversed(sides):
            began = time.perf_counter()
            ask()
            times.append((time.perf_counter() - began) * 1e3)


def _search_tool(client: Client, query: str) -> None:
    answer = client.call("POST", "/mcp", json.dumps(_call("kb_search", query=query)).encode())
    if answer["result"]["isError"]:
        raise RuntimeError(answer)


def _start(beside: Server) -> float:
    """Seconds from the start of the process to the answer to `initialize`."""
    client = {"name": "benchmark", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    with _mcp(beside) as server:
        connected(server).call("POST", "/mcp", json.dumps(hello).encode())
        return time.perf_counter() - server.started


def _call(tool: str, version: str = "", **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if version:
        params["_meta"] = _ENVELOPE
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _post(server: Server, message: dict[str, Any], version: str = "") -> bytes:
    body = json.dumps(message).encode()
    routing = {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "kb_status"}
    head = _head(
        "POST",
        "/mcp",
        server.port,
        **{"content-type": "application/json", "content-length": str(len(body))},
        **(routing if version else {}),
    )
    return head + body


def _head(method: str, path: str, port: int, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{port}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"authorization: Bearer {API_KEY}", "accept: application/json, text/event-stream"]
    return "\r\n".join([*lines, "", ""]).encode()


@contextmanager
def _mcp(beside: Server) -> Iterator[Server]:
    port = free_port()
    environ = {
        "KB_ENGINE_URL": f"http://127.0.0.1:{beside.port}",
        "KB_API_KEY": API_KEY,
        "KB_MCP_PORT": str(port),
        "KB_MCP_API_KEY": API_KEY,
        "KB_LOG_LEVEL": "warning",
    }
    command = [sys.executable, "-P", "-m", "kb.mcp"]
    with running(Server(command, port, environ, Path("/dev/null"))) as server:
        yield server


@contextmanager
def _bare(beside: Server) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", __name__, str(port), f"http://127.0.0.1:{beside.port}"]
    with running(Server(command, port, {}, Path("/dev/null"))) as server:
        yield server


def _serve_bare(port: int, url: str) -> None:
    import httpx
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    engine = httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {API_KEY}"})

    async def status(_request: Request) -> JSONResponse:
        response = await engine.get("/api/v1/status")
        response.raise_for_status()
        return JSONResponse(response.json())

    uvicorn.run(
        Starlette(routes=[Route("/status", status)]),
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    _serve_bare(int(sys.argv[1]), sys.argv[2])
