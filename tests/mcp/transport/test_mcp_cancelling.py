"""Whoever stops waiting stops the work."""

import contextlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from served import WAIT, Served, enveloped, events, initialize, tool_call

BOTH = "application/json, text/event-stream"


@pytest.fixture
def served():
    with Served() as started:
        yield started


@contextlib.contextmanager
def asked(served, message, **headers):
    """A client that has sent its request, and waits."""
    body = json.dumps(message).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"content-length: {len(body)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    with socket.create_connection(("127.0.0.1", served.port), WAIT) as peer:
        peer.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        assert served.tools.running.wait(WAIT)
        yield peer


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("tool", ["wait", "count_and_wait"])
def test_a_client_that_goes_away_cancels_what_it_asked_for(served, era, tool):
    """Whether the answer would have been JSON, or its stream has begun."""
    meta = {"_meta": {"progressToken": 1}} if tool == "count_and_wait" else {}
    message, headers = tool_call(tool), {}
    message["params"] |= meta
    if era == "modern":
        message, headers = enveloped("tools/call", {"name": tool, "arguments": {}} | meta)
    with asked(served, message, accept=BOTH, **headers) as peer:
        received = b""
        while meta and b"notifications/progress" not in received:
            received += peer.recv(65536)
    assert served.tools.cancelled.wait(WAIT)


def cancel(request_id):
    params = {"requestId": request_id, "reason": "not needed any more"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


@pytest.mark.parametrize("request_id", [7, "seven"])
def test_a_client_can_cancel_its_request(served, request_id):
    session = served.post(initialize()).headers["mcp-session-id"]
    with ThreadPoolExecutor(1) as elsewhere:
        message = tool_call("wait", request_id=request_id)
        waiting = elsewhere.submit(served.post, message, mcp_session_id=session)
        assert served.tools.running.wait(WAIT)
        assert served.post(cancel(request_id), mcp_session_id=session).status_code == 202
        answer = waiting.result(WAIT).json()
    assert served.tools.cancelled.wait(WAIT)
    assert answer["id"] == request_id
    data = {"error_type": "cancelled", "details": {}}
    assert answer["error"] == {"code": -32800, "message": "Request cancelled", "data": data}


def test_a_stream_that_has_begun_ends_when_its_request_is_cancelled(served):
    with ThreadPoolExecutor(1) as elsewhere:
        message = tool_call("count_and_wait", request_id=7, token=1)
        waiting = elsewhere.submit(served.post, message, mcp_session_id="mine", accept=BOTH)
        assert served.tools.running.wait(WAIT)
        served.post(cancel(7), mcp_session_id="mine")
        progress, last = events(waiting.result(WAIT))
    assert progress["params"]["progress"] == 0.5
    assert last["error"]["code"] == -32800


@pytest.mark.parametrize(
    ("session", "request_id"), [("another", 1), (None, 1), ("mine", 2), ("mine", "x")]
)
def test_nobody_else_can_cancel_it(served, session, request_id):
    """Many clients number their requests 1, 2, 3: only the session tells them apart."""
    headers = {} if session is None else {"mcp_session_id": session}
    with ThreadPoolExecutor(1) as elsewhere:
        waiting = elsewhere.submit(served.post, tool_call("wait"), mcp_session_id="mine")
        assert served.tools.running.wait(WAIT)
        assert served.post(cancel(request_id), **headers).status_code == 202
        served.tools.release()
        answer = waiting.result(WAIT).json()
    assert answer["result"]["structuredContent"] == {"waited": True}
    assert not served.tools.cancelled.is_set()


def test_cancelling_what_has_ended_is_no_error(served):
    served.call("echo", mcp_session_id="mine")
    assert served.post(cancel(1), mcp_session_id="mine").status_code == 202
    assert served.call("echo", mcp_session_id="mine").json()["result"]["isError"] is False


def test_a_quiet_stream_is_kept_alive(served, monkeypatch):
    monkeypatch.setattr("kb.mcp.transport.running.PING_SECONDS", 0.05)
    message = tool_call("count_and_wait", token=1)
    with asked(served, message, accept=BOTH) as peer:
        received = b""
        while received.count(b": still here\n\n") < 2:
            received += peer.recv(65536)
        served.tools.release()
        while b'"waited":true' not in received:
            received += peer.recv(65536)
    assert received.count(b"event: message") == 3
