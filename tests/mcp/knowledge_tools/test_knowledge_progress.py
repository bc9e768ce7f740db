"""How far an add is, under the client's own token; and what stops it."""

import contextlib
import json
import re
import socket as sockets
import uuid
from urllib.parse import urlsplit

import anyio
import pytest
from knowledge_examples import PROGRESS, same_form
from knowledge_world import BOTH, KEY, answered, official, raw, socket

TASK = re.compile(r"\(task ([0-9a-f-]{36})\)$")


def add(path, token="my-token", **more):
    params = {"name": "knowledge-add", "arguments": {"file_path": str(path)} | more}
    return params | ({"_meta": {"progressToken": token}} if token is not None else {})


def check_progress(told, token):
    """In the form of the contract, from 0 to 1, never falling, each naming the same task."""
    for message in told:
        same_form(PROGRESS, message | {"params": message["params"] | {"progressToken": "x"}})
        assert message["params"]["progressToken"] == token
        assert message["params"]["total"] == 1.0
    values = [message["params"]["progress"] for message in told]
    assert values == sorted(set(values))
    assert 0 <= values[0] <= values[-1] <= 1
    named = {task_of(message) for message in told}
    assert len(named) == 1
    return values, named.pop()


def task_of(message):
    return TASK.search(message["params"]["message"])[1]


async def events(response):
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def let_go_half_way(file, progress):
    """As soon as it was told that some of it is done."""
    if 0 < progress < 1:
        file.let_go()


async def told_until_its_end(stream, file):
    """All that is told, and nothing is done before half of it has been."""
    told = []
    async for message in stream:
        told.append(message)
        if message.get("method") == "notifications/progress":
            let_go_half_way(file, message["params"]["progress"])
    return told


async def goes_on(door, task_id):
    """Nobody cancels the task, though there is time to."""
    for _ in range(20):
        task = await door("knowledge-task-status", task_id=task_id)
        assert task["status"] in ("queued", "running")


def opened(door, params):
    """A call whose answer is a stream."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return door.http.stream("POST", door.url, json=message, headers={"accept": BOTH})


@pytest.mark.parametrize("token", ["my-token", 0])
async def test_a_waiting_add_tells_its_progress_on_its_stream(http_knowledge, slow, token):
    async with opened(http_knowledge, add(slow, token, **{"async": False})) as response:
        assert response.headers["content-type"] == "text/event-stream"
        *told, answer = await told_until_its_end(events(response), slow)
    values, task_id = check_progress(told, token)
    assert any(0 < value < 1 for value in values)
    assert values[-1] == 1.0
    assert answered(answer["result"]).content["success"] is True
    assert (await http_knowledge("knowledge-task-status", task_id=task_id))["status"] == "completed"


async def test_an_add_that_does_not_wait_tells_its_progress_after_the_answer(http_knowledge, slow):
    async with opened(http_knowledge, add(slow)) as response:
        stream = events(response)
        first, answer = await anext(stream), await anext(stream)
        queued = answered(answer["result"]).content
        task = await http_knowledge("knowledge-task-status", task_id=queued["task_id"])
        assert task["status"] in ("queued", "running")
        later = await told_until_its_end(stream, slow)
    values, task_id = check_progress([first, *later], "my-token")
    assert any(0 < value < 1 for value in values)
    assert values[-1] == 1.0
    assert task_id == queued["task_id"]


async def test_who_hangs_up_after_the_answer_does_not_cancel_the_task(http_knowledge, slow):
    async with opened(http_knowledge, add(slow)) as response:
        stream = events(response)
        await anext(stream)
        queued = answered((await anext(stream))["result"]).content
    await goes_on(http_knowledge, queued["task_id"])
    slow.let_go()
    assert (await http_knowledge.finished(queued["task_id"]))["status"] == "completed"


async def test_without_a_token_nothing_is_told(http_knowledge, library):
    for arguments in ({"async": False}, {}):
        response = await http_knowledge.ask(
            "tools/call", add(library / "page.html", None, **arguments), accept=BOTH
        )
        assert response.headers["content-type"] == "application/json"


async def test_a_failed_add_does_not_tell_that_all_is_done(http_knowledge, library):
    (library / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is all there is of it\n")
    response = await http_knowledge.ask(
        "tools/call", add("broken.pdf", **{"async": False}), accept=BOTH
    )
    *told, answer = [message async for message in events(response)]
    assert answered(answer["result"]).content["success"] is False
    assert all(message["params"]["progress"] < 1.0 for message in told)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_official_client_hears_how_far_an_add_is(knowledge_server, kept, slow, era):
    told = []

    async def hear(progress, total, message):
        told.append((progress, total, message))
        let_go_half_way(slow, progress)

    async with official(knowledge_server.url, era) as door:
        result = await door.client.call_tool(
            "knowledge-add", {"file_path": str(slow), "async": False}, progress_callback=hear
        )
        assert json.loads(result.content[0].text)["success"] is True
    values = [progress for progress, _, _ in told]
    assert any(0 < value < 1 for value in values)
    assert sorted(values) == sorted(set(values))
    assert max(values) == 1.0
    assert {total for _, total, _ in told} == {1.0}


@pytest.mark.parametrize("waits", [True, False])
async def test_a_websocket_hears_the_progress(socket_knowledge, slow, waits):
    door = socket_knowledge
    request = await door.send("tools/call", add(slow, "socket-token", **{"async": not waits}))
    told = []
    while not slow.is_let_go:
        told.append(await door.until("notifications/progress"))
        let_go_half_way(slow, told[-1]["params"]["progress"])
    content = answered((await door.answer_to(request))["result"]).content
    if not waits:
        assert (await door.finished(content["task_id"]))["status"] == "completed"
        door.heard.append(await door.until("notifications/progress", progress=1.0))
    values, task_id = check_progress([*told, *door.heard], "socket-token")
    assert any(0 < value < 1 for value in values)
    assert values[-1] == 1.0
    assert task_id == content.get("task_id", task_id)


# Cancelling


async def test_a_closed_connection_cancels_an_add(knowledge_server, kept, slow, nothing_is_left):
    """In the middle of its stream."""
    with contextlib.closing(sockets.socket()) as peer:
        task_id = begin(peer, knowledge_server.url, add(slow, **{"async": False}))
    await nothing_is_left(task_id)


def begin(peer, url, params, headers=()):
    """Send a request over a socket of our own; the task, once it is being worked at."""
    address = urlsplit(url)
    peer.settimeout(30)
    peer.connect((address.hostname, address.port))
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    ).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        f"host: {address.netloc}",
        f"authorization: Bearer {KEY}",
        "content-type: application/json",
        f"accept: {BOTH}",
        f"content-length: {len(body)}",
        *headers,
    ]
    peer.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    received = b""
    while not re.search(rb'"progress":0\.0*[1-9]', received):
        piece = peer.recv(65536)
        assert piece, received
        received += piece
    return re.search(rb"\(task ([0-9a-f-]{36})\)", received)[1].decode()


async def test_closing_the_connection_cancels_though_no_progress_was_asked_for(
    knowledge_server, kept, slow, nothing_is_left
):
    async with raw(knowledge_server.url) as door, anyio.create_task_group() as group:
        group.start_soon(door.ask, "tools/call", add(slow, None, **{"async": False}))
        task_id = await running_task(kept)
        group.cancel_scope.cancel()
    await nothing_is_left(task_id)


async def running_task(kept):
    """The task that is being worked at, or that is about to be."""
    with anyio.fail_after(30):
        while True:
            for job in (await kept.jobs())["jobs"]:
                if job["status"] == "running":
                    return job["uid"]
            await anyio.sleep(0.01)


async def test_the_standard_notification_cancels_an_add(
    http_knowledge, slow, kept, nothing_is_left
):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    session = (await http_knowledge.ask("initialize", hello)).headers["mcp-session-id"]
    answers = []

    async def wait():
        params = add(slow, None, **{"async": False})
        answers.append(await http_knowledge.ask("tools/call", params, 7, mcp_session_id=session))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        task_id = await running_task(kept)
        told = await http_knowledge.ask(
            "notifications/cancelled", {"requestId": 7}, None, mcp_session_id=session
        )
        assert told.status_code == 202
    assert answers[0].json()["error"]["code"] == -32800
    await nothing_is_left(task_id)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_official_client_cancels_by_not_waiting(
    knowledge_server, kept, slow, nothing_is_left, era
):
    async with official(knowledge_server.url, era) as door, anyio.create_task_group() as group:
        arguments = {"file_path": str(slow), "async": False}
        group.start_soon(door.client.call_tool, "knowledge-add", arguments)
        task_id = await running_task(kept)
        group.cancel_scope.cancel()
    await nothing_is_left(task_id)


async def cancel_by_http(door, task_id):
    return (await door.ask("tools/cancel", {"taskId": task_id})).json()["result"]


async def test_a_task_is_cancelled_by_a_request(http_knowledge, slow, nothing_is_left):
    queued = await http_knowledge("knowledge-add", file_path=str(slow))
    task_id = queued["task_id"]
    expected = {"success": True, "task_id": task_id, "status": "cancelled"}
    assert await cancel_by_http(http_knowledge, task_id) == expected
    assert await cancel_by_http(http_knowledge, task_id.upper()) == expected
    told = await http_knowledge.fails("knowledge-task-status", task_id=task_id)
    assert (told["status"], told["error"]) == ("cancelled", "cancelled")
    await nothing_is_left(task_id)


async def test_a_task_is_cancelled_by_a_notification(http_knowledge, slow, nothing_is_left):
    """As the contract has it: without an id."""
    task_id = (await http_knowledge("knowledge-add", file_path=str(slow)))["task_id"]
    told = await http_knowledge.ask("tools/cancel", {"taskId": task_id}, None)
    assert (told.status_code, told.content) == (202, b"")
    assert (await http_knowledge.finished(task_id))["status"] == "cancelled"
    await nothing_is_left(task_id)


@pytest.mark.parametrize("as_request", [True, False])
async def test_a_websocket_cancels_a_task(socket_knowledge, slow, nothing_is_left, as_request):
    door = socket_knowledge
    task_id = (await door("knowledge-add", file_path=str(slow)))["task_id"]
    if as_request:
        answer = await door.ask("tools/cancel", {"taskId": task_id})
        assert answer == {"success": True, "task_id": task_id, "status": "cancelled"}
    else:
        await door.say({"method": "tools/cancel", "params": {"taskId": task_id}})
        assert (await door.finished(task_id))["status"] == "cancelled"
    await nothing_is_left(task_id)


async def add_in_vain(door, path, answers):
    """Wait for an add that is to fail, and note what it says."""
    answers.append(await door.fails("knowledge-add", file_path=str(path), **{"async": False}))


async def test_a_waiting_add_whose_task_is_cancelled_says_so(http_knowledge, slow, kept):
    answers = []
    async with anyio.create_task_group() as group:
        group.start_soon(add_in_vain, http_knowledge, slow, answers)
        task_id = await running_task(kept)
        await cancel_by_http(http_knowledge, task_id)
    assert (answers[0]["error"], answers[0]["status"]) == ("cancelled", "cancelled")
    assert answers[0]["task_id"] == task_id


async def test_a_waiting_add_says_that_everything_was_cleared(http_knowledge, slow, kept):
    answers = []
    async with anyio.create_task_group() as group:
        group.start_soon(add_in_vain, http_knowledge, slow, answers)
        await running_task(kept)
        await kept.clear("DELETE ALL")
    assert answers[0]["error"] == "cancelled"
    assert "cleared" in answers[0]["message"]
    assert (await kept.documents())["total"] == 0


async def test_cancelling_what_has_ended_changes_nothing(http_knowledge, library):
    (library / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is all there is of it\n")
    for name, status in (("page.html", "completed"), ("broken.pdf", "failed")):
        task_id = (await http_knowledge("knowledge-add", file_path=name))["task_id"]
        await http_knowledge.finished(task_id)
        answer = await cancel_by_http(http_knowledge, task_id)
        assert answer == {"success": True, "task_id": task_id, "status": status}
    assert (await http_knowledge("knowledge-show"))["total_count"] == 1


async def test_cancelling_what_nobody_knows_is_told(http_knowledge):
    for task_id in (str(uuid.uuid4()), "task-uuid", "5"):
        assert await cancel_by_http(http_knowledge, task_id) == {
            "success": False,
            "error": "task_not_found",
            "message": f"Task with ID '{task_id}' not found",
            "task_id": task_id,
        }
    told = await http_knowledge.ask("tools/cancel", {"taskId": "task-uuid"}, None)
    assert told.status_code == 202


@pytest.mark.parametrize("params", [None, {}, {"taskId": 5}, {"task_id": "x"}])
async def test_cancelling_without_an_id_is_an_invalid_request(http_knowledge, params):
    answer = (await http_knowledge.ask("tools/cancel", params)).json()
    assert answer["error"]["code"] == -32602


async def test_the_notification_cancels_over_a_websocket(
    socket_knowledge, slow, kept, nothing_is_left
):
    door = socket_knowledge
    request = await door.send("tools/call", add(slow, None, **{"async": False}))
    task_id = await running_task(kept)
    await door.say({"method": "notifications/cancelled", "params": {"requestId": request}})
    await nothing_is_left(task_id)
    assert (await door("knowledge-show"))["total_count"] == 0  # the connection goes on


async def test_closing_a_websocket_cancels_what_it_waits_for_and_nothing_else(
    knowledge_server, kept, slow, library, nothing_is_left
):
    async with socket(knowledge_server.url) as door:
        await door.send("tools/call", add(slow, None, **{"async": False}))
        task_id = await running_task(kept)
    await nothing_is_left(task_id)
    async with socket(knowledge_server.url) as door:
        slow.hold()
        queued = await door("knowledge-add", file_path=str(slow))
    async with socket(knowledge_server.url) as door:
        await goes_on(door, queued["task_id"])
        slow.let_go()
        assert (await door.finished(queued["task_id"]))["status"] == "completed"
