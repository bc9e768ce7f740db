"""Messages in, the protocol's answers out, in the very form of the knowledge contract."""

import json

import pytest
from knowledge_examples import HELLO

from kb import __version__
from kb.mcp.transport.messages import ERROR_TYPES


def hello(version, **capabilities):
    client = {"name": "test", "version": "1"}
    return {"protocolVersion": version, "capabilities": capabilities, "clientInfo": client}


async def test_version_and_capabilities_are_those_of_the_contract(http_knowledge, socket_knowledge):
    answer = (await http_knowledge.ask("initialize", hello("2025-06-18"))).json()["result"]
    over_a_socket = await socket_knowledge.ask("initialize", hello("2025-06-18"))
    server = {"name": "knowledge-server", "version": __version__}
    for told in (answer, over_a_socket):
        assert {name: told[name] for name in HELLO} == HELLO | {"serverInfo": server}
    assert "knowledge-search" in answer["instructions"]
    await socket_knowledge.say({"method": "notifications/initialized"})
    assert (await socket_knowledge("knowledge-show"))["total_count"] == 0


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ],
)
async def test_a_version_is_agreed_on(http_knowledge, socket_knowledge, asked, answered):
    answer = (await http_knowledge.ask("initialize", hello(asked))).json()["result"]
    assert answer["protocolVersion"] == answered
    answer = await socket_knowledge.ask("initialize", hello(asked))
    assert answer["protocolVersion"] == answered


async def test_the_contracts_own_request_is_answered_in_its_own_form(http_knowledge, library):
    """Byte for byte as an HTTP request, with nothing that the contract does not show."""
    await http_knowledge.added(library / "page.html")
    body = {
        "jsonrpc": "2.0",
        "id": "1",
        "method": "tools/call",
        "params": {
            "name": "knowledge-search",
            "arguments": {"query": "authentication", "top_k": 5},
        },
    }
    request = http_knowledge.http.build_request(
        "POST", http_knowledge.url, content=json.dumps(body, indent=2).encode()
    )
    for name in ("accept", "accept-encoding", "user-agent", "connection"):
        del request.headers[name]
    request.headers["content-type"] = "application/json"
    answer = await http_knowledge.http.send(request)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    message = answer.json()
    assert (message["jsonrpc"], message["id"]) == ("2.0", "1")
    [block] = message["result"]["content"]
    assert block["type"] == "text"
    found = json.loads(block["text"])
    assert found["success"] is True
    assert found["query"] == "authentication"


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"{not json", -32700, None),
        (b'{"jsonrpc": "2.0", "id": "1", "method": "\\ud800"}', -32700, None),
        (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", -32600, None),
        (b"[]", -32600, None),
        (b'"text"', -32600, None),
        (b'{"jsonrpc": "2.0", "id": "1"}', -32600, "1"),
        (b'{"jsonrpc": "1.0", "id": "1", "method": "ping"}', -32600, "1"),
        (b'{"jsonrpc": "2.0", "id": "1", "method": "tools/explode"}', -32601, "1"),
        (
            b'{"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"name": "kb_get"}}',
            -32602,
            "1",
        ),
        (b'{"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {}}', -32602, "1"),
    ],
)
async def test_the_protocols_own_errors_have_the_contracts_codes(
    http_knowledge, socket_knowledge, body, code, request_id
):
    kind = ERROR_TYPES[code]
    answer = await http_knowledge.http.post(
        http_knowledge.url, content=body, headers={"content-type": "application/json"}
    )
    message = answer.json()
    assert (message["jsonrpc"], message["id"]) == ("2.0", request_id)
    assert message["error"]["code"] == code
    assert message["error"]["message"]
    assert message["error"]["data"]["error_type"] == kind
    assert isinstance(message["error"]["data"]["details"], dict)
    await socket_knowledge.socket.send(body.decode())
    message = await socket_knowledge.hear()
    assert (message["id"], message["error"]["code"]) == (request_id, code)
    assert message["error"]["data"]["error_type"] == kind


async def test_the_promised_list_of_prompts_is_there_and_empty(http_knowledge):
    assert (await http_knowledge.ask("prompts/list")).json()["result"]["prompts"] == []
