"""Streamable HTTP, as a client without any library sees it."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import (
    HANDSHAKE,
    MODERN,
    WAIT,
    Served,
    enveloped,
    events,
    initialize,
    request,
    tool_call,
)

BOTH = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def served():
    with Served() as started:
        yield started


# Answers


@pytest.mark.parametrize("version", HANDSHAKE)
def test_a_client_of_the_handshake_era_gets_the_version_it_asks_for(served, version):
    answer = served.post(initialize(version))
    result = answer.json()["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "kb"
    assert result["serverInfo"]["version"]
    assert result["instructions"] == "Read this first."
    assert result["capabilities"]["tools"] == {"listChanged": False}
    assert len(answer.headers["mcp-session-id"]) >= 32


def test_an_unknown_version_is_answered_with_the_newest_of_its_era(served):
    answer = served.post(initialize("2019-01-01")).json()
    assert answer["result"]["protocolVersion"] == HANDSHAKE[-1]


def test_a_client_of_the_new_era_needs_no_handshake(served):
    discovered = served.modern("server/discover").json()["result"]
    assert discovered["supportedVersions"] == [*HANDSHAKE, MODERN]
    assert discovered["instructions"] == "Read this first."
    tools = served.modern("tools/list").json()["result"]["tools"]
    assert [tool["name"] for tool in tools][:2] == ["echo", "count"]
    answer = served.modern("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    assert "mcp-session-id" not in answer.headers
    result = answer.json()["result"]
    assert result["structuredContent"] == {"said": "hi"}
    assert result["resultType"] == "complete"


def test_a_bare_post_works_without_a_handshake_and_without_an_accept_header(served):
    answer = served.call("echo", {"text": "hi"})
    assert answer.headers["content-type"] == "application/json"
    result = answer.json()["result"]
    assert result["structuredContent"] == {"said": "hi"}
    assert result["content"] == [{"type": "text", "text": '{"said":"hi"}'}]
    assert result["isError"] is False


def test_a_slash_at_the_end_is_the_same_endpoint(served):
    answer = served.http.post("/mcp/", json=tool_call("echo"))
    assert answer.json()["result"]["isError"] is False


@pytest.mark.parametrize("accept", [BOTH, "application/json", "*/*", "text/html"])
def test_the_answer_is_json_unless_progress_was_asked_for(served, accept):
    answer = served.call("count", accept=accept)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["structuredContent"] == {"counted": 3}


def test_who_can_read_nothing_but_events_gets_them(served):
    [message] = events(served.call("count", accept="text/event-stream"))
    assert message["result"]["structuredContent"] == {"counted": 3}


@pytest.mark.parametrize("token", [7, "mine"])
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_who_asks_for_progress_gets_a_stream_in_which_it_only_rises(served, era, token):
    if era == "handshake":
        answer = served.post(tool_call("count", token=token), accept=BOTH)
    else:
        params = {"name": "count", "arguments": {}, "_meta": {"progressToken": token}}
        answer = served.modern("tools/call", params, accept=BOTH)
    *progress, last = events(answer)
    assert {message["method"] for message in progress} == {"notifications/progress"}
    told = [message["params"] for message in progress]
    assert {each["progressToken"] for each in told} == {token}
    assert {each["total"] for each in told} == {1.0}
    assert [each["progress"] for each in told] == [0.25, 0.5, 0.75, 1.0]
    assert [each.get("message") for each in told] == ["1 of 4", "2 of 4", "3 of 4", None]
    assert last["id"] == 1
    assert last["result"]["structuredContent"] == {"counted": 3}


def test_progress_for_who_cannot_read_a_stream_is_left_out(served):
    answer = served.post(tool_call("count", token=7), accept="application/json")
    assert answer.json()["result"]["structuredContent"] == {"counted": 3}


def test_a_failure_before_the_first_event_has_its_own_status(served):
    params = {"name": "nothing", "arguments": {}, "_meta": {"progressToken": 1}}
    answer = served.modern("tools/call", params, accept=BOTH)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32602


# Messages that are none


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping"',
        b'{"a": NaN}',
        b"\xff\xfe",
        b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", MODERN])
def test_what_is_not_json_is_a_parse_error(served, body, version):
    answer = served.post(body, mcp_protocol_version=version)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["data"]["error_type"]) == (-32700, "parse_error")
    assert error["data"]["details"]["reason"]


PING = '{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"a": {}}}}}'


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (PING.format("[" * 200 + "]" * 200), "nested 200 levels deep"),
        (PING.format("[" * 100_000 + "]" * 100_000), "nested 200 levels deep"),
        ("[" * 100_000, "nested 200 levels deep"),
        ('{"a":' * 50_000, "nested 200 levels deep"),
        (PING.format("9" * 5000), "4,300 digits"),
    ],
)
def test_what_goes_too_deep_or_has_too_many_digits_is_told_so(served, body, told):
    answer = served.post(body.encode())
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["data"]["error_type"]) == (-32600, "invalid_request")
    assert told in error["message"]
    assert answer.json()["id"] is None


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        ([], None),
        ([request("ping")], None),
        ("ping", None),
        (None, None),
        (3, None),
        ({}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"id": 1, "method": "ping"}, 1),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a"),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 1),
        ({"jsonrpc": "2.0", "method": "notifications/initialized", "params": 3}, None),
    ],
)
def test_what_is_no_message_is_an_invalid_request(served, message, request_id):
    answer = served.post(json.dumps(message).encode())
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["data"]["error_type"]) == (-32600, "invalid_request")
    assert answer.json()["id"] == request_id


@pytest.mark.parametrize(("era", "status"), [("handshake", 200), ("modern", 404)])
def test_an_unknown_method_is_not_found(served, era, status):
    ask = served.modern if era == "modern" else lambda method: served.post(request(method))
    answer = ask("resources/list")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, -32601)
    assert answer.json()["error"]["data"]["error_type"] == "method_not_found"


@pytest.mark.parametrize(("era", "status"), [("handshake", 200), ("modern", 400)])
def test_an_unknown_tool_is_an_invalid_parameter(served, era, status):
    answer = served.call_of(era, "nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, -32602)
    assert answer.json()["error"]["data"]["error_type"] == "invalid_params"
    assert "nothing" in answer.json()["error"]["message"]


@pytest.mark.parametrize("params", [{}, {"name": 3}, {"name": "echo", "arguments": [1]}])
def test_parameters_of_the_wrong_shape_are_invalid(served, params):
    assert served.post(request("tools/call", params)).json()["error"]["code"] == -32602


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/nothing"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}},
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", MODERN])
def test_what_wants_no_answer_is_taken(served, message, version):
    answer = served.post(message, mcp_protocol_version=version)
    assert (answer.status_code, answer.content) == (202, b"")


# Eras


def test_a_version_that_nobody_knows_is_refused_with_those_that_are_served(served):
    for message in (tool_call("echo"), enveloped("tools/list", version="2099-01-01")[0]):
        answer = served.post(message, mcp_protocol_version="2099-01-01")
        assert answer.status_code == 400
        error = answer.json()["error"]
        _names_every_version(error, "2099-01-01")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    refused = served.post(note, mcp_protocol_version="1999-01-01")
    assert refused.status_code == 400
    _names_every_version(refused.json()["error"], "1999-01-01")


def test_an_older_version_in_a_request_of_the_new_era_is_told_which_it_may_be(served):
    message, headers = enveloped("tools/list", version="2025-06-18")
    error = served.post(message, **headers).json()["error"]
    assert (error["code"], error["data"]["supported"]) == (-32022, [MODERN])


def _names_every_version(error, requested):
    assert error["code"] == -32022
    told = {"supported": [*HANDSHAKE, MODERN], "requested": requested}
    assert error["data"] == told | {"error_type": "unsupported_protocol_version", "details": told}


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_method": "tools/call"},
        {"mcp_method": ""},
        {"mcp_protocol_version": "2025-06-18"},
        {"mcp_protocol_version": ""},
    ],
)
def test_headers_that_say_something_else_than_the_body_are_refused(served, headers):
    answer = served.modern("tools/list", **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


def test_a_routing_header_that_stands_twice_is_refused(served):
    message, headers = enveloped("tools/list")
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    answer = served.http.post("/mcp", json=message, headers=[*pairs, ("mcp-method", "ping")])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


def test_a_request_of_the_new_era_without_its_envelope_is_told_what_is_missing(served):
    answer = served.post(tool_call("echo"), mcp_protocol_version=MODERN, mcp_method="tools/call")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)
    assert "_meta" in answer.json()["error"]["message"]


# Sessions


@pytest.mark.parametrize("session", ["from-before-a-restart", "x" * 1000])
def test_a_session_from_before_a_restart_is_as_good_as_a_new_one(served, session):
    answer = served.call("echo", mcp_session_id=session, mcp_protocol_version="2025-06-18")
    assert answer.json()["result"]["isError"] is False


def test_a_session_that_its_client_ended_is_gone(served):
    session = served.post(initialize()).headers["mcp-session-id"]
    headers = {"mcp-session-id": session}
    assert served.call("echo", **headers).status_code == 200
    assert served.http.delete("/mcp", headers=headers).status_code == 200
    gone = served.call("echo", **headers)
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, -32600)
    assert served.post(initialize()).headers["mcp-session-id"] != session


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_not_allowed(served, method):
    answer = served.http.request(method, "/mcp")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, DELETE"


# Tools that fail


def test_a_tool_that_fails_answers_with_a_sentence_and_a_code(served):
    result = served.call("fail").json()["result"]
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "There is no such thing: look elsewhere"}]
    assert result["structuredContent"] == {
        "error": "no_such_thing",
        "message": "There is no such thing: look elsewhere",
        "thing": 3,
    }


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_bug_in_a_tool_is_a_clean_failure_and_the_log_has_it_all(served, era, caplog):
    with caplog.at_level(logging.ERROR):
        answer = served.call_of(era, "break")
    assert answer.status_code == 200
    assert answer.json()["result"]["isError"] is True
    assert "secret inner words" not in answer.text
    assert "Traceback" not in answer.text
    [record] = [record for record in caplog.records if record.exc_info]
    assert "secret inner words" in str(record.exc_info[1])


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_half_a_character_in_an_answer_becomes_a_question_mark(served, era):
    answer = served.call_of(era, "garbage")
    assert answer.json()["result"]["structuredContent"] == {"half a character": "?"}


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_an_answer_that_json_cannot_hold_is_a_clean_failure(served, era):
    answer = served.call_of(era, "object")
    assert answer.status_code == 200
    assert answer.json()["result"]["isError"] is True
    assert answer.json()["result"]["structuredContent"]["error"] == "internal_error"


def test_a_bug_beside_the_tools_is_a_clean_error_too():
    served = Served()

    async def broken(context, params):
        raise RuntimeError("secret inner words")

    for method in ("tools/list", "tools/call"):
        params = served.server.get_request_handler("tools/list").params_type
        served.server.add_request_handler(method, params, broken)
    try:
        listed, called = served.post(request("tools/list")), served.call("echo")
    finally:
        served.stop()
    error, result = listed.json()["error"], called.json()["result"]
    assert error["code"] == -32000
    assert listed.headers["x-request-id"] in error["message"]
    assert result["isError"] is True
    assert called.headers["x-request-id"] in result["content"][0]["text"]
    assert "secret" not in listed.text + called.text


# What stands beside


def test_health_is_told_to_everybody(served):
    answer = served.http.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert served.http.post("/healthz").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/register",
        "/sse",
        "/mcp/x",
        "/mcp%0A",
        "/MCP",
        "//mcp",
    ],
)
def test_there_is_nothing_else(served, path):
    for method in ("GET", "POST"):
        assert served.http.request(method, served.url + path).status_code == 404


def test_who_waits_for_long_keeps_nobody_else_waiting(served):
    with ThreadPoolExecutor(1) as elsewhere:
        waiting = elsewhere.submit(served.call, "wait")
        assert served.tools.running.wait(WAIT)
        meanwhile = served.call("echo", {"text": "meanwhile"})
        assert meanwhile.json()["result"]["structuredContent"] == {"said": "meanwhile"}
        served.tools.release()
        assert waiting.result(WAIT).json()["result"]["structuredContent"] == {"waited": True}


# Anything

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "server/discover",
        "resources/read",
        "logging/setLevel",
        "notifications/cancelled",
        "tasks/get",
    ]
)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | VALUES, "method": METHODS | VALUES},
    optional={
        "id": st.integers() | st.text(max_size=5) | VALUES,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["echo", "count", "fail", "break"]) | VALUES,
                "arguments": VALUES,
                "protocolVersion": VALUES,
                "requestId": VALUES,
                "_meta": st.fixed_dictionaries({}, optional={"progressToken": VALUES}) | VALUES,
            },
        )
        | VALUES,
    },
)


@given(MESSAGES | VALUES, st.sampled_from(["", "2025-06-18", MODERN]), st.sampled_from(["", BOTH]))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_the_answer_is_one_of_the_protocol(served, message, version, accept):
    headers = {"mcp_protocol_version": version} if version else {}
    body = json.dumps(message).encode()
    answer = served.post(body, **headers, **({"accept": accept} if accept else {}))
    assert answer.status_code in (200, 202, 400, 404), answer.text
    if answer.status_code == 202:
        assert answer.content == b""
        return
    streamed = answer.headers["content-type"] == "text/event-stream"
    last = events(answer)[-1] if streamed else answer.json()
    assert ("result" in last) != ("error" in last)
    assert last.get("error", {}).get("code") not in (0, -32603, -32000)
    assert "Traceback" not in answer.text
