"""The WebSocket at /mcp: who is let in, what may be said, and how it ends."""

import base64
import contextlib
import json
import os
import socket as sockets
from urllib.parse import urlsplit

import anyio
import pytest
import websockets
from knowledge_world import BEARER, KEY, answered, socket
from served import HANDSHAKE, MODERN, Served
from websockets.exceptions import ConnectionClosed, InvalidStatus

from kb.mcp.transport.websocket import MOST_REQUESTS
from kb.serving.protocol import Limits
from kb.serving.websocket import FRAGMENTS, MESSAGE_BYTES, guarded_websocket

# Who is let in


async def refusal(url, **options):
    """The HTTP answer that a handshake gets in place of a connection."""
    headers = {"additional_headers": BEARER} | options
    with pytest.raises(InvalidStatus) as caught:
        async with websockets.connect(url.replace("http://", "ws://"), **headers):
            pytest.fail("this should not have been let in")
    return caught.value.response


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Bearer wrong"}, {"authorization": KEY}, {"authorization": "Basic x"}],
)
async def test_without_the_key_nobody_is_let_in(knowledge_server, headers):
    response = await refusal(knowledge_server.url, additional_headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="kb"'
    assert json.loads(response.body)["error"]["code"] == -32010


async def test_another_site_is_not_let_in(knowledge_server):
    response = await refusal(knowledge_server.url, origin="https://evil.example")
    assert response.status_code == 403
    assert json.loads(response.body)["error"]["code"] == -32013


@pytest.mark.parametrize("origin", [None, "http://localhost:5173", "http://127.0.0.1"])
async def test_a_page_of_this_machine_is_let_in(knowledge_server, kept, origin):
    async with socket(knowledge_server.url, origin=origin) as door:
        assert (await door("knowledge-show"))["total_count"] == 0


async def test_another_host_name_is_misdirected(knowledge_server):
    address = urlsplit(knowledge_server.url)
    response = await refusal(
        f"http://evil.example:{address.port}/mcp", host="127.0.0.1", port=address.port
    )
    assert response.status_code == 421


async def test_there_is_only_one_address(knowledge_server):
    response = await refusal(knowledge_server.url.replace("/mcp", "/elsewhere"))
    assert response.status_code == 404


async def test_a_subprotocol_is_agreed_on_if_it_is_ours(knowledge_server):
    async with socket(knowledge_server.url, subprotocols=["chat", "mcp"]) as door:
        assert door.socket.subprotocol == "mcp"
    async with socket(knowledge_server.url, subprotocols=["chat"]) as door:
        assert door.socket.subprotocol is None


async def test_the_other_tool_sets_speak_none(kb_server):
    assert (await refusal(kb_server.url)).status_code == 405


# What may be said


async def test_many_requests_run_at_once_and_are_told_apart(socket_knowledge):
    door = socket_knowledge
    requests = [await door.send("tools/call", {"name": "knowledge-show"}) for _ in range(20)]
    for request in reversed(requests):
        assert answered((await door.answer_to(request))["result"]).content["success"]


async def test_a_binary_message_is_read_like_a_text(socket_knowledge):
    message = {"jsonrpc": "2.0", "id": "b", "method": "ping"}
    await socket_knowledge.socket.send(json.dumps(message).encode())
    assert await socket_knowledge.hear() == {"jsonrpc": "2.0", "id": "b", "result": {}}


async def test_a_bad_message_does_not_end_the_connection(socket_knowledge):
    for text in ("{", "[]", "null", '{"jsonrpc": "2.0", "id": {}, "method": "ping"}'):
        await socket_knowledge.socket.send(text)
        assert (await socket_knowledge.hear())["error"]["code"] in (-32700, -32600)
    assert (await socket_knowledge("knowledge-show"))["total_count"] == 0


async def test_an_answer_to_what_nobody_asked_is_ignored(socket_knowledge):
    await socket_knowledge.say({"id": "never", "result": {"action": "accept"}})
    assert (await socket_knowledge("knowledge-show"))["total_count"] == 0


async def closed_by(door, message):
    """The code with which the server closes the connection because of a message."""
    with anyio.fail_after(30):
        try:
            await door.socket.send(message)
            await door.socket.recv()
        except ConnectionClosed:
            return door.socket.close_code
    return None


@pytest.mark.parametrize(
    "message",
    [
        "x" * (MESSAGE_BYTES + 1),
        ["x" * 2**16] * (MESSAGE_BYTES // 2**16 + 1),
        [""] * (FRAGMENTS + 2),
    ],
    ids=["at once", "in pieces", "in too many pieces"],
)
async def test_a_message_that_is_too_large_ends_the_connection(socket_knowledge, message):
    assert await closed_by(socket_knowledge, message) == 1009


async def test_a_large_message_within_the_limit_is_read(socket_knowledge):
    padded = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + " " * (MESSAGE_BYTES - 100)
    await socket_knowledge.socket.send(padded)
    assert (await socket_knowledge.hear())["id"] == 1


async def test_nothing_is_compressed(socket_knowledge):
    assert socket_knowledge.socket.protocol.extensions == []


async def test_requests_of_the_new_era_are_understood_here_too(socket_knowledge):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    params = {"name": "knowledge-clear", "arguments": {}, "_meta": meta}
    result = await socket_knowledge.ask("tools/call", params)
    assert result["resultType"] == "input_required"
    meta["io.modelcontextprotocol/protocolVersion"] = "1999-01-01"
    request = await socket_knowledge.send("tools/call", params)
    error = (await socket_knowledge.answer_to(request))["error"]
    assert (error["code"], error["data"]["requested"]) == (-32022, "1999-01-01")
    assert error["data"]["supported"] == [*HANDSHAKE, MODERN]
    assert error["data"]["error_type"] == "unsupported_protocol_version"


# How it ends: a server in this process, whose clock and tools can be told what to do


@pytest.fixture
def served():
    with Served(websockets=True) as served:
        yield served


async def eventually(condition):
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0.01)


WAIT = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}


async def test_a_client_that_leaves_politely_is_let_go(served):
    async with websockets.connect(served.socket_url) as connection:
        await connection.send(json.dumps(WAIT))
        await eventually(served.tools.running.is_set)
        assert served.connections == 1
    assert connection.close_code == 1000
    await eventually(served.tools.cancelled.is_set)
    await eventually(lambda: served.connections == 0)


async def test_a_client_that_is_cut_off_is_noticed(served):
    connection = await websockets.connect(served.socket_url)
    await connection.send(json.dumps(WAIT))
    await eventually(served.tools.running.is_set)
    connection.transport.abort()
    await eventually(served.tools.cancelled.is_set)
    await eventually(lambda: served.connections == 0)


async def test_a_server_that_stops_says_so(served):
    async with websockets.connect(served.socket_url) as connection:
        await connection.send(json.dumps(WAIT | {"params": {"name": "echo"}}))
        await connection.recv()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(served.stop)
        with pytest.raises(ConnectionClosed):
            await connection.recv()
    assert connection.close_code == 1012


def open_by_hand(url, receive_bytes=None):
    """A connection without a library that would answer pings."""
    address = urlsplit(url)
    peer = sockets.socket()
    peer.settimeout(30)
    if receive_bytes is not None:
        peer.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, receive_bytes)
    peer.connect((address.hostname, address.port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        "GET /mcp HTTP/1.1",
        f"host: {address.netloc}",
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        f"sec-websocket-key: {key}",
    ]
    peer.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += peer.recv(1)  # a ping that comes right behind it is not ours to take
    assert answer.startswith(b"HTTP/1.1 101")
    return peer


@pytest.fixture
def hurried(monkeypatch):
    """A server whose pings come at once."""
    monkeypatch.setattr("kb.serving.websocket.PING_SECONDS", 0.1)
    with Served(websockets=True) as served:
        yield served


async def test_a_silent_client_is_pinged_and_then_given_up(hurried):
    with open_by_hand(hurried.socket_url) as peer:
        assert peer.recv(2)[0] == 0x89  # a ping
        received = b""
        while part := peer.recv(1024):
            received += part
        assert (1011).to_bytes(2) in received  # why it was closed
    await eventually(lambda: hurried.connections == 0)


def test_a_client_that_answers_pings_stays(monkeypatch):
    """A second ping comes only to who answered the first. There is time enough to answer."""
    configured = guarded_websocket
    soon = {"ws_ping_interval": 0.05, "ws_ping_timeout": 60}
    monkeypatch.setattr(
        "kb.serving.websocket.guarded_websocket", lambda *limits: configured(*limits) | soon
    )
    with Served(websockets=True) as served, open_by_hand(served.socket_url) as peer:
        for _ in range(2):
            ping = peer.recv(1024)
            assert ping[0] == 0x89
            peer.sendall(b"\x8a" + bytes([0x80 | ping[1]]) + bytes(4) + ping[2:])
        peer.sendall(masked(json.dumps(WAIT | {"params": {"name": "echo"}}).encode()))
        received = b""
        while b'"isError":false' not in received:
            piece = peer.recv(65536)
            assert piece, received
            received += piece


async def test_too_many_requests_at_once_are_refused_and_the_rest_goes_on(served):
    async with websockets.connect(served.socket_url) as connection:
        for number in range(MOST_REQUESTS):
            await connection.send(json.dumps(WAIT | {"id": number}))
        await connection.send(json.dumps(WAIT | {"id": "one too many"}))
        refused = json.loads(await connection.recv())
        assert (refused["id"], refused["error"]["code"]) == ("one too many", -32016)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        await connection.send(json.dumps(cancel))
        await eventually(served.tools.cancelled.is_set)
        await connection.send(json.dumps(WAIT | {"id": "again", "params": {"name": "echo"}}))
        assert json.loads(await connection.recv())["id"] == "again"
        served.tools.release()
        for _ in range(MOST_REQUESTS - 1):
            assert "result" in json.loads(await connection.recv())


async def test_an_id_that_is_in_use_is_refused(served):
    async with websockets.connect(served.socket_url) as connection:
        await connection.send(json.dumps(WAIT))
        await connection.send(json.dumps(WAIT))
        assert json.loads(await connection.recv())["error"]["code"] == -32000
        served.tools.release()
        assert "result" in json.loads(await connection.recv())
        await connection.send(json.dumps(WAIT))
        assert "result" in json.loads(await connection.recv())


async def test_too_many_connections_are_refused(served, monkeypatch):
    monkeypatch.setattr("kb.mcp.transport.websocket.MOST_CONNECTIONS", 2)
    async with websockets.connect(served.socket_url), websockets.connect(served.socket_url):
        with pytest.raises(InvalidStatus) as caught:
            await websockets.connect(served.socket_url)
        assert caught.value.response.status_code == 503
    await eventually(lambda: served.connections == 0)
    async with websockets.connect(served.socket_url):
        assert served.connections == 1


async def test_what_breaks_inside_is_not_told_outside(served):
    async with websockets.connect(served.socket_url) as connection:
        await connection.send(json.dumps(WAIT | {"params": {"name": "object"}}))
        answer = await connection.recv()
    assert "object at 0x" not in answer


def test_a_peer_that_is_still_sending_hears_why_it_is_closed():
    with (
        Served(websockets=True, limits=Limits(linger_seconds=300)) as served,
        open_by_hand(served.socket_url) as peer,
    ):
        peer.sendall(b"\x01\x80" + bytes(4) + (b"\x00\x80" + bytes(4)) * 500_000)
        assert (1009).to_bytes(2) in peer.recv(1024)
        assert peer.recv(1024) == b""  # and nothing after that


TOO_LARGE = b"\x81\xff" + (MESSAGE_BYTES + 1).to_bytes(8)  # so much is announced


async def test_a_peer_that_is_refused_is_listened_to_until_it_ends_its_side():
    """Though what would have answered it has ended long before."""
    with Served(websockets=True, limits=Limits(linger_seconds=300)) as served:
        with open_by_hand(served.socket_url) as peer:
            peer.sendall(TOO_LARGE)
            assert (1009).to_bytes(2) in peer.recv(1024)
            assert peer.recv(1024) == b""
            await eventually(lambda: served.connections == 0)
            for _ in range(10):
                peer.sendall(bytes(2**16))
                await anyio.sleep(0.01)
            assert served.open
        await eventually(lambda: not served.open)


async def test_a_peer_that_does_not_end_its_side_is_dropped_in_the_end():
    with (
        Served(websockets=True, limits=Limits(linger_seconds=0.2)) as served,
        open_by_hand(served.socket_url) as peer,
    ):
        peer.sendall(TOO_LARGE)
        assert (1009).to_bytes(2) in peer.recv(1024)
        await eventually(lambda: not served.open)


async def test_a_peer_that_reads_nothing_is_dropped_in_the_end(monkeypatch):
    """What was sent to it waits in a buffer, and the close behind it."""
    monkeypatch.setattr("kb.serving.websocket.PING_SECONDS", 0.1)
    with (
        Served(websockets=True, limits=Limits(write_seconds=0.2)) as served,
        open_by_hand(served.socket_url, receive_bytes=4096) as peer,
    ):
        big = {"name": "echo", "arguments": {"text": "x" * 500_000}}
        with contextlib.suppress(ConnectionError):  # it may be dropped before all is sent
            for number in range(10):
                peer.sendall(masked(json.dumps(WAIT | {"id": number, "params": big}).encode()))
        await eventually(lambda: served.connections == 0)
        await eventually(lambda: not served.open)


def masked(message):
    """A text frame as clients send it, under a mask of zeros."""
    return b"\x81\xff" + len(message).to_bytes(8) + bytes(4) + message
