"""The knowledge contract over standard input and output."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest
from knowledge_examples import ADD_SYNC, same_form
from knowledge_world import ENGINE_KEY, OfficialDoor
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult
from served import initialize

from programs import own_environment_of

ARGUMENTS = ["-P", "-m", "kb.mcp", "--stdio"]


@pytest.fixture
def environ(knowledge_engine, library, tmp_path):
    return own_environment_of(
        KB_MCP_TOOLS="knowledge",
        KB_MCP_FILE_ROOTS=str(library),
        KB_ENGINE_URL=knowledge_engine.url,
        KB_API_KEY=ENGINE_KEY,
        TMPDIR=str(tmp_path),
    )


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_document_is_added_and_removed_once_the_user_agrees(environ, kept, library, era):
    asked = []

    async def user(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    started = StdioServerParameters(command=sys.executable, args=ARGUMENTS, env=environ)
    async with Client(started, mode=era, elicitation_callback=user) as client:
        door = OfficialDoor(client)
        added = await door("knowledge-add", file_path="page.html", **{"async": False})
        same_form(ADD_SYNC, added)
        await door("knowledge-remove", document_id=added["document_id"])
    assert len(asked) == 1
    assert (await kept.documents())["total"] == 0


@contextmanager
def adding(environ, **arguments):
    """A server that was asked to add a file, under the token t, as request 2."""
    with subprocess.Popen(
        [sys.executable, *ARGUMENTS],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        call = {"name": "knowledge-add", "arguments": arguments, "_meta": {"progressToken": "t"}}
        for message in (
            initialize("2025-06-18"),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        yield process


async def test_progress_goes_on_after_the_answer(environ, kept, slow):
    with adding(environ, file_path=str(slow)) as process:
        told, answered_after = [], None
        while not told or told[-1] < 1.0:
            message = json.loads(process.stdout.readline())
            if message.get("id") == 2:
                answered_after = len(told)
            elif message.get("method") == "notifications/progress":
                assert message["params"]["progressToken"] == "t"
                told.append(message["params"]["progress"])
            if answered_after is not None and any(told):
                slow.let_go()
        process.stdin.close()
    assert answered_after is not None
    assert len(told) > answered_after
    assert told == sorted(set(told))


async def test_a_server_that_is_stopped_cancels_what_its_client_waits_for(
    environ, kept, slow, nothing_is_left
):
    with adding(environ, file_path=str(slow), **{"async": False}) as process:
        while "notifications/progress" not in (line := process.stdout.readline()):
            assert line
        task_id = json.loads(line)["params"]["message"].rpartition("(task ")[2].rstrip(")")
        process.terminate()
    await nothing_is_left(task_id)
