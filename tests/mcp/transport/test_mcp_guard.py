"""Who is let in, who is not, and what they are told."""

import socket

import pytest
from served import SHAKING, WAIT, Served, initialize, tool_call

from kb.mcp.transport.guard import MAX_BODY_BYTES
from kb.serving.lockout import FREE
from kb.serving.protocol import Limits

KEY = "a-key-of-sufficient-length"
BEARER = f"Bearer {KEY}"


@pytest.fixture(scope="module")
def served():
    """Without a token, as on a machine of one's own."""
    with Served(mcp_allowed_hosts=("mcp", "kb.example")) as started:
        yield started


@pytest.fixture
def locked():
    """With a token, nobody who has guessed before, and no time that passes."""
    with Served(mcp_api_key=KEY, clock=lambda: 1000.0) as started:
        yield started


# The token


def test_the_right_token_is_let_in(locked):
    for scheme in ("Bearer", "bearer", "BEARER "):
        answer = locked.call("echo", authorization=f"{scheme} {KEY}")
        assert answer.json()["result"]["isError"] is False


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", f"Bearer {KEY[:-1]}", f"Bearer {KEY}x", f"Basic {KEY}", KEY],
)
def test_without_the_right_token_there_is_nothing_but_a_refusal(locked, authorization):
    headers = {} if authorization is None else {"authorization": authorization}
    for message in (initialize(), tool_call("echo"), b"nonsense"):
        answer = locked.post(message, **headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'Bearer realm="kb"'
        body = answer.json()
        assert (body["jsonrpc"], body["id"]) == ("2.0", None)
        assert -32019 <= body["error"]["code"] <= -32000
        assert "Authorization: Bearer" in body["error"]["message"]


def test_a_missing_and_a_wrong_token_are_answered_alike(locked):
    missing, wrong = locked.call("echo"), locked.call("echo", authorization="Bearer wrong")
    assert missing.content == wrong.content


def test_two_tokens_are_none(locked):
    answer = locked.http.post(
        "/mcp",
        json=tool_call("echo"),
        headers=[("authorization", BEARER), ("authorization", BEARER)],
    )
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-protected-resource", "/.well-known/openid-configuration", "/x"]
)
def test_where_clients_look_for_a_login_there_is_nothing(locked, path):
    assert locked.http.get(path).status_code == 404


def test_health_needs_no_token(locked):
    assert locked.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_no_method_gets_by_without_the_token(locked, method, path):
    assert locked.http.request(method, path).status_code == 401


def test_callers_are_told_apart_by_a_fingerprint_of_their_token(served, locked):
    def caller(door, **headers):
        return door.call("who", **headers).json()["result"]["structuredContent"]["caller"]

    assert caller(served) == ""
    one, other = caller(served, authorization="Bearer a"), caller(served, authorization="Bearer b")
    assert one != other != ""
    mine = caller(locked, authorization=BEARER)
    assert mine not in ("", KEY)
    assert KEY not in mine


# Host and Origin


KNOWN = [
    "localhost",
    "localhost:3000",
    "127.0.0.1:1",
    "[::1]:3000",
    "[::1]",
    "192.168.1.5:3000",
    "mcp",
    "mcp:3000",
    "MCP:3000",
    "kb.example",
    "kb.example:443",
]


@pytest.mark.parametrize("host", KNOWN)
def test_hosts_that_we_know_are_served_with_and_without_a_port(served, host):
    assert served.call("echo", host=host).status_code == 200


UNKNOWN = [
    "evil.example",
    "evil.example:3000",
    "localhost.evil.example",
    "mcp.evil.example",
    "xmcp",
    "mcp:x",
    "localhost:3000@evil.example",
    "[::1",
    "kb.example:443:443",
]


@pytest.mark.parametrize("host", ["", *UNKNOWN])
def test_hosts_that_we_do_not_know_are_refused(served, host):
    for path in ("/mcp", "/healthz", "/uploads/x"):
        answer = served.http.post(path, json=tool_call("echo"), headers={"host": host})
        assert answer.status_code == 421
        assert "KB_MCP_ALLOWED_HOSTS" in answer.json()["error"]["message"]


def test_a_refused_name_is_told_with_the_setting_that_admits_it(served):
    error = served.call("echo", host="NAS.example:3000").json()["error"]
    assert "add nas.example to KB_MCP_ALLOWED_HOSTS" in error["message"]
    assert error["data"] == {
        "error_type": "wrong_host",
        "details": {"host": "NAS.example:3000", "setting": "KB_MCP_ALLOWED_HOSTS"},
    }


def test_a_refused_origin_is_told_beside_the_host_that_was_asked_for(served):
    error = served.call("echo", origin="https://kb.example", host="mcp:3000").json()["error"]
    assert error["data"] == {
        "error_type": "foreign_origin",
        "details": {"origin": "https://kb.example", "host": "mcp:3000"},
    }


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6274", 200),
        ("http://127.0.0.1:3000", 200),
        ("https://[::1]", 200),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://192.168.1.5:3000", 403),
        ("null", 403),
        ("file://", 403),
        ("http://127.0.0.1@evil.example", 403),
    ],
)
def test_pages_of_this_machine_may_call_and_others_may_not(served, origin, status):
    assert served.call("echo", origin=origin).status_code == status


def test_a_page_that_came_from_us_may_call(served):
    assert served.call("echo", origin="https://kb.example", host="kb.example").status_code == 200


# Addresses


def test_upload_links_start_with_the_address_that_was_asked(served):
    def base_url(door, **headers):
        return door.call("who", **headers).json()["result"]["structuredContent"]["base_url"]

    assert base_url(served) == served.url
    assert base_url(served, host="mcp:3000") == "http://mcp:3000"
    with Served(mcp_public_url="https://kb.example/agents") as public:
        assert base_url(public) == "https://kb.example/agents"


# Sizes


def test_a_message_that_turns_out_too_large_is_cut_off(served):
    pieces = (b"x" * 2**20 for _ in range(MAX_BODY_BYTES // 2**20 + 1))
    answer = served.http.post("/mcp", content=pieces, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_the_largest_message_is_taken(served):
    text = "x" * (MAX_BODY_BYTES - 1000)
    answer = served.call("echo", {"text": text})
    assert answer.json()["result"]["structuredContent"] == {"said": text}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_page_of_another_site_could_send_unasked_is_refused(served, kind):
    """Browsers ask before they send JSON to another site, but not before they send these."""
    assert served.post(b"{}", content_type=kind).status_code == 415


def test_a_charset_beside_the_type_is_fine(served):
    answer = served.post(tool_call("echo"), content_type="Application/JSON; charset=utf-8")
    assert answer.status_code == 200


def test_headers_that_are_too_long_are_refused(served):
    assert served.call("echo", x_long="x" * 40_000).status_code == 431
    many = [(f"x-{number}", "x") for number in range(120)]
    assert served.http.post("/mcp", json={}, headers=many).status_code == 431


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        ("Transfer-Encoding: gzip, chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
        ("Content-Length: 2\r\nContent-Encoding: gzip\r\n", "{}"),
    ],
)
def test_a_packed_body_is_refused(served, lines, body):
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", served.port), WAIT) as peer:
        peer.sendall(f"{head}{lines}\r\n{body}".encode())
        answer = b""
        while b"A body is read as it is" not in answer:  # which may come behind its head
            piece = peer.recv(65536)
            assert piece, answer
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400")


def test_a_websocket_where_none_is_spoken_is_told_what_is(served):
    answer = served.http.get("/mcp", headers=SHAKING)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, DELETE"
    error = answer.json()["error"]
    assert error["data"]["error_type"] == "invalid_request"
    assert "No WebSocket is spoken here: POST JSON-RPC messages" in error["message"]
    assert "KB_MCP_TOOLS=knowledge" in error["message"]


def test_what_is_no_http_is_refused_as_clients_of_the_protocol_expect(served):
    with socket.create_connection(("127.0.0.1", served.port), WAIT) as peer:
        peer.sendall(b"nonsense\r\n\r\n")
        answer = peer.recv(65536)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b'"code":-32600' in answer


def test_a_body_that_does_not_move_is_cut_off():
    with (
        Served(limits=Limits(body_seconds=0.2, body_bytes_per_second=1000)) as served,
        socket.create_connection(("127.0.0.1", served.port), WAIT) as peer,
    ):
        peer.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000\r\n\r\n{"
        )
        try:
            assert peer.recv(1000) == b""
        except ConnectionResetError:
            return


def test_answers_are_not_to_be_kept_or_guessed_at(served):
    for answer in (served.call("echo"), served.call("echo", host="evil.example")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-request-id"]
        assert "server" not in answer.headers


def test_the_address_it_listens_on_is_a_name_it_knows():
    with Served(mcp_host="nas.local") as served:
        assert served.call("echo", host="nas.local:3000").status_code == 200
        assert served.call("echo", host="other.local").status_code == 421


# What they are told


def test_every_refusal_is_an_error_of_the_protocol_that_tells_its_kind(served, locked, monkeypatch):
    monkeypatch.setattr("kb.serving.lockout.WAITING_EACH", 0)

    def kind(answer):
        data = answer.json()["error"]["data"]
        assert set(data) == {"error_type", "details"}
        return answer.status_code, data["error_type"]

    post = served.http.post
    assert kind(locked.call("echo")) == (401, "unauthorized")
    assert kind(served.call("echo", host="elsewhere.example")) == (421, "wrong_host")
    assert kind(served.call("echo", origin="http://evil.example")) == (403, "foreign_origin")
    assert kind(post("/elsewhere")) == (404, "not_found")
    assert kind(served.http.get("/mcp")) == (405, "invalid_request")
    assert kind(post("/mcp", content=b"a=1")) == (415, "invalid_request")
    assert kind(served.call("echo", x="x" * 40_000)) == (431, "invalid_request")
    assert kind(served.post(b" " * (MAX_BODY_BYTES + 1))) == (413, "invalid_request")
    for _ in range(FREE):
        locked.call("echo", authorization="Bearer wrong")
    guessed = locked.call("echo", authorization="Bearer wrong")
    assert kind(guessed) == (429, "too_many_attempts")
    assert guessed.headers["retry-after"] == "1"
