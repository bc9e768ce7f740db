"""`python -m kb.mcp --stdio`: lines in, lines out."""

import json
import os
import signal
import subprocess
import sys

import pytest
from served import HANDSHAKE, MODERN, enveloped, initialize, request, tool_call

from programs import ended, own_environment_of

COMMAND = [sys.executable, "-P", "-m", "kb.mcp", "--stdio"]


@pytest.fixture
def environ(tmp_path):
    return own_environment_of(KB_ENGINE_URL="http://127.0.0.1:9", TMPDIR=str(tmp_path))


@pytest.fixture
def ask(environ):
    """The answers to lines, from a process of its own that is told nothing more after them."""

    def run(*lines):
        text = "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
        )
        done = ended(*COMMAND, env=environ, input=text)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_a_client_of_either_era_is_served(ask):
    hello, listed = ask(
        initialize("2025-06-18"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("tools/list", request_id=2),
    )
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert len(listed["result"]["tools"]) == 10
    [discovered] = ask(enveloped("server/discover")[0])
    assert discovered["result"]["supportedVersions"] == [*HANDSHAKE, MODERN]


def test_what_was_asked_is_answered_though_nothing_more_will_come(ask):
    """The engine is not there; the answer says so, and where it was looked for."""
    _, answer = ask(initialize(), tool_call("kb_status", request_id=2))
    assert answer["id"] == 2
    assert answer["result"]["isError"] is True
    assert "http://127.0.0.1:9" in answer["result"]["content"][0]["text"]


def test_lines_that_are_no_messages_are_answered_and_the_rest_is_served(ask):
    answers = ask("nonsense", "[]", "", '{"jsonrpc": "2.0", "id": 9}', request("ping"))
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        -32700,
        -32600,
        -32600,
        None,
    ]
    assert [answer["id"] for answer in answers] == [None, None, 9, 1]
    kinds = [answer["error"]["data"]["error_type"] for answer in answers[:3]]
    assert kinds == ["parse_error", "invalid_request", "invalid_request"]


def test_every_error_says_what_kind_it_is_and_an_unknown_version_those_that_are_served(ask):
    _, method, tool = ask(
        initialize(), request("tools/explode", request_id=2), tool_call("nothing", request_id=3)
    )
    assert method["error"]["data"]["error_type"] == "method_not_found"
    assert tool["error"]["data"]["error_type"] == "invalid_params"
    [unknown] = ask(enveloped("tools/list", version="1999-01-01")[0])
    data = unknown["error"]["data"]
    assert data["error_type"] == "unsupported_protocol_version"
    assert (data["requested"], data["supported"]) == ("1999-01-01", [*HANDSHAKE, MODERN])


def test_a_line_may_be_as_long_as_a_million_characters_in_escapes(ask):
    """Its engine is not there: that it was asked for is told, and nothing of the length."""
    _, answer = ask(initialize(), tool_call("kb_addnote", {"text": "🦦" * 1_000_000}, request_id=2))
    assert answer["result"]["structuredContent"]["error"] == "engine_unreachable"


def test_an_upload_has_no_address_to_put_its_bytes_to(ask):
    """There is no server that could take them."""
    start = tool_call("kb_upload_start", {"filename": "a.txt", "total_size": 3}, request_id=2)
    _, answer = ask(initialize(), start)
    assert "http" not in answer["result"]["content"][0]["text"].replace("http://127.0.0.1:9", "")


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_its_client_waits(environ, tmp_path, number):
    process = subprocess.Popen(
        COMMAND,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write(json.dumps(initialize()) + "\n")
    process.stdin.flush()
    assert "serverInfo" in process.stdout.readline()
    process.send_signal(number)
    assert process.wait(30) == 0
    assert list(tmp_path.iterdir()) == []
    process.communicate()
