"""The protocol's own tasks, for clients that declare its extension."""

import json
import uuid
from typing import Literal

import anyio
import pytest
from knowledge_examples import ADD_SYNC, same_form
from knowledge_world import answered, official, raw
from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import Field

EXTENSION = "io.modelcontextprotocol/tasks"
VERSION = "2026-07-28"


def envelope(params=None, *, declares=True):
    capabilities = {"extensions": {EXTENSION: {}}} if declares else {}
    return (params or {}) | {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
    }


async def ask(door, method, params=None, *, declares=True, name=None):
    """A request of the new era, and the message that answers it."""
    headers = {"mcp_protocol_version": VERSION, "mcp_method": method}
    name = name or (params or {}).get("taskId") or (params or {}).get("name")
    if name is not None:
        headers["mcp_name"] = name
    answer = await door.ask(method, envelope(params, declares=declares), **headers)
    return answer.json()


async def add(door, path, *, declares=True, **arguments):
    arguments = {"file_path": str(path)} | arguments
    params = {"name": "knowledge-add", "arguments": arguments}
    return (await ask(door, "tools/call", params, declares=declares))["result"]


async def ended(door, task_id):
    with anyio.fail_after(60):
        while True:
            task = (await ask(door, "tasks/get", {"taskId": task_id}))["result"]
            if task["status"] != "working":
                return task
            await anyio.sleep(0.05)


async def test_the_extension_is_announced_to_clients_of_its_era(http_knowledge):
    discovered = (await ask(http_knowledge, "server/discover"))["result"]
    assert discovered["capabilities"]["extensions"] == {EXTENSION: {}}


@pytest.mark.parametrize("arguments", [{}, {"async": False}])
async def test_an_add_becomes_a_task_that_has_the_adds_answer(http_knowledge, library, arguments):
    task = await add(http_knowledge, library / "page.html", **arguments)
    assert task["resultType"] == "task"
    assert task["status"] == "working"
    assert task["ttlMs"] is None
    assert task["pollIntervalMs"] > 0
    assert uuid.UUID(task["taskId"]).version == 4
    assert task["taskId"] in task["statusMessage"]
    done = await ended(http_knowledge, task["taskId"])
    assert (done["resultType"], done["status"]) == ("complete", "completed")
    assert done["createdAt"] == task["createdAt"] <= done["lastUpdatedAt"]
    content, is_error = answered(done["result"])
    same_form(ADD_SYNC, content)
    assert content["filename"] == "page.html"
    assert not is_error


async def test_who_asks_for_the_contracts_task_may_follow_it_either_way(http_knowledge, library):
    queued = answered(await add(http_knowledge, library / "page.html", **{"async": True})).content
    assert queued["message"] == "Document queued for processing"
    assert (await ended(http_knowledge, queued["task_id"]))["status"] == "completed"
    assert (await http_knowledge.finished(queued["task_id"]))["status"] == "completed"


async def test_a_client_that_does_not_declare_it_gets_no_task(http_knowledge, library):
    result = await add(http_knowledge, library / "page.html", declares=False)
    assert result["resultType"] == "complete"
    assert answered(result).content["task_id"]


async def test_what_is_wrong_with_an_add_is_told_at_once(http_knowledge):
    result = await add(http_knowledge, "missing.pdf")
    assert result["resultType"] == "complete"
    assert answered(result).content["error"] == "file_not_found"


async def test_an_add_that_fails_is_a_task_with_that_answer(http_knowledge, library):
    """Only an error of the protocol would fail the task itself."""
    (library / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is all there is of it\n")
    task = await add(http_knowledge, library / "broken.pdf")
    done = await ended(http_knowledge, task["taskId"])
    assert done["status"] == "completed"
    content, is_error = answered(done["result"])
    assert is_error
    assert content["status"] == "failed"


async def test_a_task_can_be_cancelled(http_knowledge, slow, nothing_is_left):
    task = await add(http_knowledge, slow)
    task_id = task["taskId"]
    answer = (await ask(http_knowledge, "tasks/cancel", {"taskId": task_id}))["result"]
    assert answer["resultType"] == "complete"
    done = await ended(http_knowledge, task_id)
    assert done["status"] == "cancelled"
    assert "result" not in done
    await nothing_is_left(task_id)
    again = await ask(http_knowledge, "tasks/cancel", {"taskId": task_id})
    assert again["result"]["resultType"] == "complete"


async def test_a_task_waits_for_no_input(http_knowledge, library):
    task_id = (await add(http_knowledge, library / "page.html"))["taskId"]
    answer = await ask(http_knowledge, "tasks/update", {"taskId": task_id, "inputResponses": {}})
    assert answer["result"]["resultType"] == "complete"


METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


@pytest.mark.parametrize("method", METHODS)
async def test_a_task_that_nobody_knows_is_an_invalid_parameter(http_knowledge, method):
    for task_id in (str(uuid.uuid4()), "no-task"):
        answer = await ask(http_knowledge, method, {"taskId": task_id})
        assert answer["error"]["code"] == -32602
        assert task_id in answer["error"]["message"]
    answer = await ask(http_knowledge, method, {"task": "x"})
    assert answer["error"]["code"] == -32602


@pytest.mark.parametrize("method", METHODS)
async def test_a_client_that_does_not_declare_it_may_not_use_it(http_knowledge, library, method):
    task_id = (await add(http_knowledge, library / "page.html"))["taskId"]
    error = (await ask(http_knowledge, method, {"taskId": task_id}, declares=False))["error"]
    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}
    assert error["data"]["error_type"] == "missing_capability"
    assert (await ended(http_knowledge, task_id))["status"] == "completed"
    older = (await http_knowledge.ask(method, {"taskId": task_id})).json()
    assert older["error"]["code"] == -32021


async def test_the_header_must_name_the_same_task(http_knowledge, library):
    task_id = (await add(http_knowledge, library / "page.html"))["taskId"]
    answer = await ask(http_knowledge, "tasks/get", {"taskId": task_id}, name=str(uuid.uuid4()))
    assert answer["error"]["code"] == -32020


async def test_an_engine_that_is_gone_is_an_error_that_says_so(start_server):
    server = start_server(KB_MCP_TOOLS="knowledge", KB_ENGINE_URL="http://127.0.0.1:9")
    async with raw(server.url) as door:
        error = (await ask(door, "tasks/get", {"taskId": str(uuid.uuid4())}))["error"]
    assert error["code"] == -32000
    assert "http://127.0.0.1:9 cannot be reached" in error["message"]


# The official client, with the extension


class Task(Result):
    task_id: str = Field(alias="taskId")
    status: str
    result_type: str = Field(alias="resultType")
    result: dict | None = None


class Started(Result):
    task_id: str = Field(alias="taskId")
    result_type: Literal["task"] = Field(alias="resultType")


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")


def TaskRequest(method, task_id):
    return Request[TaskParams, str](method=method, params=TaskParams(taskId=task_id))


class Tasks(ClientExtension):
    identifier = EXTENSION

    def __init__(self, file):
        self.file = file
        self.seen = []

    def claims(self):
        return [ResultClaim(result_type="task", model=Started, resolve=self.resolve)]

    async def resolve(self, started, context):
        with anyio.fail_after(60):
            while True:
                task = await context.session.send_request(
                    TaskRequest("tasks/get", started.task_id), Task
                )
                self.seen.append(task.status)
                self.file.let_go()
                if task.status != "working":
                    return CallToolResult.model_validate(task.result)
                await anyio.sleep(0.05)


async def test_the_official_client_follows_a_task_to_its_answer(knowledge_server, kept, slow):
    tasks = Tasks(slow)
    async with official(knowledge_server.url, "auto", extensions=[tasks]) as door:
        result = await door.client.call_tool("knowledge-add", {"file_path": str(slow)})
    content = json.loads(result.content[0].text)
    same_form(ADD_SYNC, content)
    assert tasks.seen[-1] == "completed"
    assert set(tasks.seen) == {"working", "completed"}
