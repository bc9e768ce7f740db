"""What stays of a message in memory: of one that says hello, next to nothing."""

import json

import anyio
import httpx
import pytest
import websockets
from served import Served, initialize, request

from kb.mcp.transport import client_hello
from kb.mcp.transport.messages import LONGEST_ID
from kb.mcp.transport.sessions import Sessions
from kb.serving.shape import MOST_VALUES, is_overgrown
from programs import Program, megabytes, settled

REQUESTS = 200
MEGABYTES = 4  # of each message, where the transport takes it
MOST_GROWTH = 30  # megabytes
WAIT = 60.0


@pytest.fixture(scope="module")
def served():
    with Served() as started:
        yield started


def hellos(size):
    """Messages of about this many bytes that would have to be kept, if what they say were."""
    text = "x" * size
    lists = [[] for _ in range(MOST_VALUES // 2 - 100)]
    names = {f"{text[: size // 200]}{number}": {} for number in range(200)}
    return [
        declaring({"experimental": {"x": {"y": text}}}),
        declaring({"experimental": {"x": {"y": lists}}}),
        declaring({"experimental": names}),
        declaring({"elicitation": {"form": {"x": text}}}),
        declaring({"extensions": {"x": {"y": text}}}),
        declaring({}, clientInfo={"name": text, "version": "1"}),
        declaring({}, more=lists),
        declaring({}, _meta={"x": text}),
        declaring({"experimental": {"x": {"y": [[]] * (size // 3)}}}),
    ]


def declaring(capabilities, **more):
    message = initialize()
    message["params"] |= {"capabilities": capabilities} | more
    return json.dumps(message, separators=(",", ":")).encode()


@pytest.fixture(params=["kb", "collections", "knowledge"])
def process(request):
    started = Program("kb.mcp", KB_MCP_TOOLS=request.param).start()
    started.url += "/mcp"
    started.tools = request.param
    yield started
    started.stop()


@pytest.mark.long
def test_two_hundred_large_hellos_leave_no_memory_behind(process):
    with httpx.Client(headers={"content-type": "application/json"}, timeout=WAIT) as http:
        assert http.post(process.url, content=declaring({})).status_code == 200
        before = megabytes(process.pid)
        messages = hellos(MEGABYTES * 2**20)
        for number in range(REQUESTS):
            answer = http.post(process.url, content=messages[number % len(messages)])
            assert answer.status_code in (200, 400)
    assert settled(process.pid, before + MOST_GROWTH) <= before + MOST_GROWTH


@pytest.mark.long
@pytest.mark.parametrize("process", ["knowledge"], indirect=True)
async def test_so_it_is_over_connections_that_stay_open(process):
    messages = hellos(2**20 - 2**13)[:-1]

    async def connect(open_ones):
        door = await websockets.connect(process.url.replace("http", "ws"))
        open_ones.append(door)
        return door

    async def greet(door, message):
        await door.send(message.decode())
        await door.recv()

    open_ones = []
    for _ in range(40):
        await greet(await connect(open_ones), declaring({}))
    before = megabytes(process.pid)
    with anyio.fail_after(WAIT * 2):
        for number in range(REQUESTS):
            await greet(open_ones[number % 40], messages[number % len(messages)])
    assert settled(process.pid, before + MOST_GROWTH) <= before + MOST_GROWTH
    for door in open_ones:
        await door.close()


def test_of_a_hello_only_a_version_a_name_and_the_questions_it_takes_are_kept():
    said = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"form": {"x": 1}, "url": {}}, "experimental": {"x": {}}},
        "clientInfo": {"name": "n" * 1000, "version": "1", "icons": [1]},
        "more": [1, 2],
    }
    assert client_hello.needed(said) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "n" * 200, "version": "1"},
    }
    assert client_hello.needed({"capabilities": {"elicitation": {}}}) == {
        "capabilities": {"elicitation": {}}
    }


def test_what_is_no_hello_is_refused_as_before(served):
    for params in ([], {"capabilities": 1}, {"protocolVersion": 1}, {"clientInfo": "x"}):
        answer = served.post(request("initialize", params)).json()
        assert answer["error"]["code"] in (-32600, -32602)


def test_the_new_era_knows_no_hello_and_says_so(served):
    answer = served.modern("initialize", initialize()["params"])
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)


def test_a_session_remembers_no_more_of_a_client_than_how_to_ask_its_user(served):
    answer = served.post(declaring({"elicitation": {}, "experimental": {"x": {"y": "z" * 10**6}}}))
    session = answer.headers["mcp-session-id"]
    assert served.guard._endpoint._sessions.declared(session) == {"elicitation": {}}


def test_an_ended_session_of_a_name_that_we_never_gave_is_not_remembered():
    sessions = Sessions()
    sessions.end("x" * 30_000)
    assert sessions._ended == {}
    name = sessions.new()
    sessions.end(name)
    assert sessions.has_ended(name)


def test_a_message_of_too_many_values_is_refused_before_it_is_read(served):
    for many in ([[]], [{}], [0], ["", "a"], [{"a": 1}]):
        body = json.dumps(request("tools/list", {"x": many * MOST_VALUES})).encode()
        answer = served.post(body)
        assert answer.status_code == 400
        assert "values" in answer.json()["error"]["message"]


def test_commas_and_brackets_in_a_text_are_no_values(served):
    text = ',[{"\\' * 100_000
    assert served.call("echo", {"text": text}).json()["result"]["structuredContent"]["said"] == text
    assert not is_overgrown(json.dumps({"text": text}).encode())
    assert is_overgrown(b'"' * (2 * MOST_VALUES + 2))


def test_a_long_id_is_refused_and_not_sent_back(served):
    answer = served.post({"jsonrpc": "2.0", "id": "x" * (LONGEST_ID + 1), "method": "ping"})
    assert answer.status_code == 400
    assert len(answer.content) < 1000
