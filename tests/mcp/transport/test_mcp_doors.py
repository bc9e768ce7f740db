"""The doors as a hostile page or a guesser finds them: over real sockets, HTTP and WebSocket."""

import contextlib
import socket
from ipaddress import ip_network

import pytest
from served import SHAKING, WAIT, Served

KEY = "a-key-of-sufficient-length"


@pytest.fixture(scope="module")
def bare():
    """Without a token, as on a machine of one's own."""
    with Served(
        websockets=True,
        mcp_allowed_hosts=("kb.example",),
        mcp_allowed_origins=("http://localhost:6274",),
        trusted_proxies=(ip_network("127.0.0.1"),),
    ) as served:
        yield served


def shake(served, **headers):
    """The status and the headers with which a handshake is answered."""
    sent = SHAKING | {"host": f"127.0.0.1:{served.port}"} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in sent.items() if value]
    with socket.create_connection(("127.0.0.1", served.port), WAIT) as peer:
        peer.sendall("\r\n".join(["GET /mcp HTTP/1.1", *lines]).encode() + b"\r\n\r\n")
        head = peer.recv(65536).partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")
    return int(head[0].split()[1]), dict(line.split(": ", 1) for line in head[1:])


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:5173",
        "http://localhost",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://[::1]:{port}",
        "http://localhost:{port}",
        "null",
        "file://",
        "http://127.0.0.1:{port}@evil.example",
        "http://127.0.0.1:{port}.evil.example",
        "ws://127.0.0.1:{port}",
        "https://kb.example",
    ],
)
def test_without_a_token_no_page_but_our_own_may_open_a_websocket(bare, origin):
    assert shake(bare, origin=origin.format(port=bare.port))[0] == 403


def test_our_own_page_a_listed_one_and_who_is_no_page_may(bare):
    assert shake(bare)[0] == 101
    assert shake(bare, origin=f"http://127.0.0.1:{bare.port}")[0] == 101
    assert shake(bare, origin="http://localhost:6274")[0] == 101
    assert shake(bare, origin="https://kb.example", host="kb.example")[0] == 101


def test_behind_a_proxy_that_tells_it_the_scheme_counts_too(bare):
    secure = {"host": "kb.example", "x_forwarded_proto": "https"}
    assert shake(bare, origin="https://kb.example", **secure)[0] == 101
    assert shake(bare, origin="http://kb.example", **secure)[0] == 403


@pytest.fixture
def impatient(monkeypatch):
    """Nobody waits: who would have to is told to come back."""
    monkeypatch.setattr("kb.serving.lockout.WAITING_EACH", 0)


@pytest.mark.usefixtures("impatient")
def test_a_right_token_opens_a_websocket_amid_wrong_ones():
    with Served(websockets=True, mcp_api_key=KEY, clock=lambda: 1000.0) as served:
        wrong = [shake(served, authorization="Bearer wrong")[0] for _ in range(21)]
        assert wrong == [401] * 20 + [429]
        assert shake(served, authorization=f"Bearer {KEY}")[0] == 101
        twice = f"Bearer {KEY}\r\nauthorization: Bearer second"
        assert shake(served, authorization=twice)[0] // 100 == 4
        assert served.call("echo", authorization=f"Bearer {KEY}").status_code == 200


@pytest.mark.usefixtures("impatient")
def test_behind_a_trusted_proxy_each_guesser_is_slowed_alone():
    proxies = (ip_network("127.0.0.0/8"),)
    with Served(
        websockets=True, mcp_api_key=KEY, trusted_proxies=proxies, clock=lambda: 1000.0
    ) as served:

        def guess(told):
            guessed = {"authorization": "Bearer wrong", "x_forwarded_for": told}
            return served.call("echo", **guessed).status_code

        assert [guess("192.0.2.1") for _ in range(21)] == [401] * 20 + [429]
        assert guess("192.0.2.2") == 401
        assert guess("198.51.100.7, 192.0.2.1") == 429


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"origin": "http://localhost:5173"}, 403),
        ({"sec-websocket-version": "7"}, 400),
        ({"sec-websocket-key": ""}, 400),
        ({"x-long": "x" * 10_000}, 400),
        ({"host": "evil.example"}, 421),
    ],
)
def test_every_answer_to_a_handshake_is_closed_to_other_sites(bare, headers, status):
    found, answer = shake(bare, **headers)
    assert found == status
    assert answer["cross-origin-resource-policy"] == "same-origin"
    assert answer["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"PUT /uploads/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        b"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /elsewhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ],
    ids=["no HTTP", "endless header", "health", "HEAD", "upload", "preflight", "nothing there"],
)
def test_every_answer_is_closed_to_other_sites(bare, sent):
    with socket.create_connection(("127.0.0.1", bare.port), WAIT) as peer:
        with contextlib.suppress(ConnectionError):  # it may be refused before all is sent
            peer.sendall(sent)
        answer = peer.recv(65536)
    assert answer.startswith(b"HTTP/1.1 ")
    assert answer.count(b"cross-origin-resource-policy: same-origin\r\n") == 1
    assert b"access-control-allow" not in answer


def test_thousands_of_empty_messages_at_once_end_the_connection(bare):
    lines = [f"{name}: {value}" for name, value in SHAKING.items()]
    with socket.create_connection(("127.0.0.1", bare.port), WAIT) as peer:
        hello = "\r\n".join(["GET /mcp HTTP/1.1", "host: localhost", *lines])
        peer.sendall(hello.encode() + b"\r\n\r\n")
        assert b" 101 " in peer.recv(65536)
        with contextlib.suppress(ConnectionError):
            peer.sendall(b"\x81\x80\0\0\0\0" * 100_000)
            while peer.recv(65536):
                continue
    assert shake(bare)[0] == 101


def test_one_address_cannot_take_every_connection(monkeypatch):
    monkeypatch.setattr("kb.mcp.transport.websocket.MOST_CONNECTIONS", 2)
    with (
        Served(websockets=True, trusted_proxies=(ip_network("127.0.0.1"),)) as served,
        contextlib.ExitStack() as open_,
    ):

        def connect(peer):
            lines = [f"{name}: {value}" for name, value in SHAKING.items()]
            hello = ["GET /mcp HTTP/1.1", "host: localhost", f"x-forwarded-for: {peer}", *lines]
            made = open_.enter_context(socket.create_connection(("127.0.0.1", served.port), WAIT))
            made.sendall("\r\n".join(hello).encode() + b"\r\n\r\n")
            return int(made.recv(65536).split()[1])

        assert [connect("192.0.2.1") for _ in range(3)] == [101, 101, 503]
        assert connect("192.0.2.2") == 101


def test_a_caller_is_known_by_token_and_address():
    with Served(websockets=True, trusted_proxies=(ip_network("127.0.0.1"),)) as served:

        def share(**headers):
            return served.call("who", **headers).json()["result"]["structuredContent"]["share"]

        one = share(authorization="Bearer a", x_forwarded_for="192.0.2.1")
        assert one == share(authorization="Bearer a", x_forwarded_for="192.0.2.1")
        assert one != share(authorization="Bearer b", x_forwarded_for="192.0.2.1")
        assert one != share(authorization="Bearer a", x_forwarded_for="192.0.2.2")
