"""The real programs, and the official client between an agent and them."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from programs import WAIT, engine, mcp_server

ENGINE_KEY = "engine-key-of-some-length"
MCP_KEY = "agents-key-of-some-length"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kb")
    beside = engine(folder / "data", KB_API_KEY=ENGINE_KEY).start()
    server = mcp_server(beside.url, KB_API_KEY=ENGINE_KEY, KB_MCP_API_KEY=MCP_KEY).start()
    yield beside, server
    assert (server.stop(), beside.stop()) == (0, 0)
    assert not [line for line in server.log if '"ERROR"' in line]


@pytest.fixture
def server(programs):
    return programs[1]


@pytest.fixture(params=["auto", "legacy"])
async def client(server, request):
    """The official client, in each era, with a token."""
    headers = {"authorization": f"Bearer {MCP_KEY}"}
    async with httpx2.AsyncClient(headers=headers, timeout=WAIT) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=request.param) as client:
            yield client


async def test_the_official_client_gets_progress(client):
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, total))

    await client.call_tool("kb_status", {}, progress_callback=on_progress)
    assert told[-1] == (1.0, 1.0)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="read from /proc")
def test_an_idle_server_stays_small(programs):
    """80 MB, each page counted once however many processes share it."""
    rollup = Path(f"/proc/{programs[1].pid}/smaps_rollup").read_text()
    assert int(re.search(r"Pss:\s+(\d+) kB", rollup)[1]) < 80_000


def test_a_token_is_in_no_line_of_the_log():
    server = mcp_server("http://127.0.0.1:9", KB_MCP_API_KEY=MCP_KEY).start()
    wrong = "a-wrong-token-that-nobody-knows"
    for token, status in ((wrong, 401), (MCP_KEY, 200)):
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {"authorization": f"Bearer {token}"}
        answer = httpx.post(f"{server.url}/mcp", json=message, headers=headers, timeout=WAIT)
        assert answer.status_code == status
    assert server.stop() == 0
    assert any("SIGTERM came" in line for line in server.log)
    assert not [line for line in server.log if MCP_KEY in line or wrong in line]


# Without the engine


def test_it_starts_without_the_engine_and_works_when_the_engine_is_there(tmp_path):
    beside = engine(tmp_path / "data")
    server = mcp_server(beside.url).start()
    try:
        missing = call(server, "kb_status")
        assert missing["isError"] is True
        assert missing["structuredContent"]["error"] == "engine_unreachable"
        assert beside.url in missing["content"][0]["text"]
        beside.start()
        assert call(server, "kb_status")["isError"] is False
        beside.stop()
        assert call(server, "kb_status")["structuredContent"]["error"] == "engine_unreachable"
    finally:
        assert server.stop() == 0
        beside.stop()


def call(server, name, key="", **arguments):
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    answer = httpx.post(f"{server.url}/mcp", json=message, headers=headers, timeout=30)
    return answer.json()["result"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="connections are read from /proc")
def test_a_call_under_way_is_answered_before_the_server_ends(tmp_path):
    """The engine is held for as long as it takes the server to hear that it shall end."""
    beside = engine(tmp_path / "data").start()
    server = mcp_server(beside.url).start()
    try:
        os.kill(beside.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as elsewhere:
            waiting = elsewhere.submit(call, server, "kb_status")
            wait_for(lambda: has_connection(beside.port))
            os.kill(server.pid, signal.SIGTERM)
            wait_for(lambda: any("SIGTERM came" in line for line in server.log))
            os.kill(beside.pid, signal.SIGCONT)
            assert waiting.result(30)["isError"] is False
        assert server.wait() == 0
    finally:
        os.kill(beside.pid, signal.SIGCONT)
        server.stop()
        beside.stop()


def has_connection(port):
    """Whether somebody has sent the program there a request that it has not read yet."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if local.endswith(f":{port:04X}") and state == "01" and not queues.endswith("00000000"):
            return True
    return False


def wait_for(condition):
    until = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"KB_MCP_PORT": "x"}, "kb: KB_MCP_PORT=x: "),
        (
            {"KB_MCP_HOST": "0.0.0.0", "KB_MCP_API_KEY": "secret", "KB_STRICT": "1"},
            "kb: KB_STRICT=1 refuses this: KB_MCP_API_KEY has fewer than 16 characters",
        ),
        (
            {"KB_MCP_HOST": "0.0.0.0", "KB_STRICT": "1"},
            "kb: KB_STRICT=1 refuses this: KB_MCP_API_KEY is not set",
        ),
        ({"KB_MCP_HOST": "192.0.2.1"}, "kb: Cannot listen on 192.0.2.1"),
    ],
)
def test_what_it_cannot_start_with_is_one_line_and_exit_code_2(settings, line):
    server = mcp_server("http://127.0.0.1:9", **settings).begin()
    assert server.wait() == 2
    wait_for(lambda: server.log)
    [said] = server.log
    assert said.startswith(line)


NO_KEY = "KB_MCP_API_KEY is not set, and with KB_MCP_HOST=0.0.0.0"
SHORT_KEY = "KB_MCP_API_KEY has fewer than 16 characters, and with KB_MCP_HOST=0.0.0.0"


@pytest.mark.parametrize(
    ("tools", "status", "key", "told"),
    [
        ("kb", "kb_status", "", NO_KEY),
        ("collections", "kb_status", "secret", SHORT_KEY),
        ("knowledge", "knowledge-status", "secret", SHORT_KEY),
    ],
)
def test_a_weak_key_where_others_come_is_told_by_log_and_status(programs, tools, status, key, told):
    settings = {"KB_MCP_HOST": "0.0.0.0", "KB_MCP_API_KEY": key, "KB_MCP_TOOLS": tools}
    server = mcp_server(programs[0].url, KB_API_KEY=ENGINE_KEY, **settings).start()
    try:
        wait_for(lambda: any("KB_MCP_API_KEY" in line for line in server.log))
        [warning] = [line for line in server.log if "KB_MCP_API_KEY" in line]
        assert '"WARNING"' in warning
        assert told in warning
        health = call(server, status, key)["structuredContent"]["health"]
        assert health["status"] == "degraded"
        assert told in str(health["issues"])
    finally:
        assert server.stop() == 0


def test_a_taken_port_is_one_line_that_names_the_setting(programs):
    server = mcp_server("http://127.0.0.1:9", KB_MCP_PORT=str(programs[1].port)).begin()
    assert server.wait() == 2
    assert "choose one with KB_MCP_PORT" in "".join(server.log)
