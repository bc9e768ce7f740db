"""Programs that die under an agent that goes on calling."""

import threading
import time
import uuid

import anyio
import httpx
import pytest
from mcp import Client
from served import enveloped, initialize, tool_call

from kb.client import EngineClient
from programs import engine, mcp_server

# Seconds, on a busy machine: whoever gave up would never come back, or wait out its own deadline.
LONGEST_CALL = 20.0
BACK_WITHIN = 10.0


class Agent(threading.Thread):
    """Adds one note after the other over one connection, whatever comes back, until it is to stop.

    It has no library between it and the server: the official one gives up for good when it is
    refused a connection.
    """

    def __init__(self, url, era):
        super().__init__(daemon=True)
        self._http = httpx.Client(base_url=url, timeout=30)
        self._modern = era == "modern"
        self._session = {}
        self.tag = f"test:{uuid.uuid4().hex}"
        self.calls = []  # when it began, how long it took, which note, whether it was taken
        self.stopped = threading.Event()

    def run(self):
        if not self._modern:
            hello = self._http.post("/mcp", json=initialize())
            self._session = {"mcp-session-id": hello.headers["mcp-session-id"]}
        while not self.stopped.wait(0.02):  # an agent thinks between its calls
            self._add_note(f"note {len(self.calls)}")
        self._http.close()

    def _add_note(self, text):
        arguments, headers = {"text": text, "tags": [self.tag]}, self._session
        message = tool_call("kb_addnote", arguments)
        if self._modern:
            params = {"name": "kb_addnote", "arguments": arguments}
            message, sent = enveloped("tools/call", params)
            headers = {name.replace("_", "-"): value for name, value in sent.items()}
        began = time.monotonic()
        try:
            answer = self._http.post("/mcp", json=message, headers=headers).json()
            taken = not answer.get("result", {"isError": True})["isError"]
        except httpx.TransportError:
            taken = False
        self.calls.append((began, time.monotonic() - began, text, taken))

    def wait_for_one_taken_since(self, moment):
        """When it was asked for."""
        until = time.monotonic() + 30
        while time.monotonic() < until and self.is_alive():
            for began, _, _, taken in list(self.calls):
                if taken and began >= moment:
                    return began
            self.stopped.wait(0.01)
        raise AssertionError(f"nothing was taken any more: {self.calls[-5:]}")


@pytest.fixture
def programs(tmp_path):
    beside = engine(tmp_path / "data").start()
    server = mcp_server(beside.url).start()
    yield beside, server
    server.stop()
    beside.stop()


@pytest.mark.parametrize(
    ("era", "end"),
    [
        ("handshake", "kill"),
        pytest.param("handshake", "stop", marks=pytest.mark.long),
        pytest.param("modern", "kill", marks=pytest.mark.long),
        pytest.param("modern", "stop", marks=pytest.mark.long),
    ],
)
def test_an_agent_survives_restarts_of_both_programs_and_nothing_is_added_twice(programs, era, end):
    beside, server = programs
    agent = Agent(server.url, era)
    agent.start()
    agent.wait_for_one_taken_since(0)
    for program in (beside, server):
        getattr(program, end)()
        program.start()
        healthy = time.monotonic()
        taken = agent.wait_for_one_taken_since(healthy)
        assert taken - healthy <= BACK_WITHIN
    agent.stopped.set()
    agent.join(60)
    assert max(took for _, took, _, _ in agent.calls) <= LONGEST_CALL
    left = anyio.run(notes, beside.url, agent.tag)
    assert sorted(left) == sorted(set(left))
    assert {text for _, _, text, taken in agent.calls if taken} <= set(left)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_goes_on_after_a_restart(programs, mode):
    _, server = programs
    async with Client(f"{server.url}/mcp", mode=mode) as client:
        assert (await client.call_tool("kb_status", {})).is_error is False
        await anyio.to_thread.run_sync(server.stop)
        await anyio.to_thread.run_sync(server.start)
        assert (await client.call_tool("kb_status", {})).is_error is False


async def notes(url, tag):
    """The titles of all notes with this tag, once nothing is waiting to be added."""
    async with EngineClient(url) as direct:
        while True:
            queue = (await direct.status())["queue"]
            if not queue["queued"] and not queue["running"]:
                break
            await anyio.sleep(0.05)
        found, total = [], 1
        while len(found) < total:
            page = await direct.documents(tag=[tag], limit=100, offset=len(found))
            total = page["total"]
            found += [document["title"] for document in page["documents"]]
    return found
