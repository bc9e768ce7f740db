"""A knowledge server over an engine of its own, and the doors through which clients reach it.

Everything is real: processes, sockets, files. What is the same through every door is tested through
all of them.
"""

import json
import shutil
import uuid
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx
import httpx2
import pytest
import websockets
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

import holding
from kb.client import EngineClient
from programs import Program

DOCUMENTS = Path(__file__).parents[1] / "fixtures/documents"
KEY = "mcp-key-of-the-tests"
ENGINE_KEY = "engine-key"
MAX_FILE_MB = 1
BEARER = {"authorization": f"Bearer {KEY}"}
BOTH = "application/json, text/event-stream"
ENDED = ("completed", "failed", "cancelled")


class Answer(NamedTuple):
    content: dict[str, Any]
    is_error: bool


def answered(result: dict[str, Any]) -> Answer:
    """What a tool answered, from the result of a raw message."""
    [block] = result["content"]
    assert block["type"] == "text"
    content = json.loads(block["text"])
    assert result.get("structuredContent", content) == content
    return Answer(content, result["isError"])


class Door:
    """How a client calls a tool."""

    async def result(self, name, arguments):
        raise NotImplementedError

    async def __call__(self, name, **arguments):
        """The answer of a call that must succeed."""
        answer = await self.result(name, arguments)
        assert answer.content["success"] is True, answer
        assert answer.is_error is False
        return answer.content

    async def fails(self, name, **arguments):
        """The answer of a call that must fail."""
        answer = await self.result(name, arguments)
        assert answer.content["success"] is False, answer
        assert answer.is_error is True
        assert isinstance(answer.content["message"], str)
        return answer.content

    async def finished(self, task_id):
        """How a task stands once it has ended."""
        with anyio.fail_after(60):
            while True:
                answer = (await self.result("knowledge-task-status", {"task_id": task_id})).content
                if answer.get("status") in ENDED or answer.get("error") == "task_not_found":
                    return answer
                await anyio.sleep(0.02)

    async def added(self, path, **more):
        """The id of a document that can be found."""
        answer = await self("knowledge-add", file_path=str(path), **more | {"async": False})
        return answer["document_id"]


class OfficialDoor(Door):
    """The SDK's own client."""

    def __init__(self, client):
        self.client = client

    async def result(self, name, arguments):
        result = await self.client.call_tool(name, arguments)
        [block] = result.content
        content = json.loads(block.text)
        assert result.structured_content in (content, None)
        return Answer(content, bool(result.is_error))


class RawDoor(Door):
    """A bare POST: no handshake, no Accept, nothing but a JSON-RPC request."""

    def __init__(self, http, url):
        self.http = http
        self.url = url

    async def result(self, name, arguments):
        answer = await self.ask("tools/call", {"name": name, "arguments": arguments})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        message = answer.json()
        assert set(message) == {"jsonrpc", "id", "result"}
        assert message["id"] == "1"
        return answered(message["result"])

    async def ask(self, method, params=None, request_id="1", **headers):
        message = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            message["id"] = request_id
        if params is not None:
            message["params"] = params
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        request = self.http.build_request("POST", self.url, json=message, headers=sent)
        if "accept" not in sent:
            del request.headers["accept"]
        return await self.http.send(request)


class SocketDoor(Door):
    """One WebSocket; answers are matched by their ids, the rest is kept in `heard`."""

    def __init__(self, socket):
        self.socket = socket
        self.heard = []
        self._answers = {}
        self._next = 0

    async def result(self, name, arguments):
        return answered(await self.ask("tools/call", {"name": name, "arguments": arguments}))

    async def ask(self, method, params=None):
        """The result of a request."""
        message = await self.answer_to(await self.send(method, params))
        assert "result" in message, message
        return message["result"]

    async def send(self, method, params=None):
        """Send a request; the id it has."""
        self._next += 1
        await self.say({"id": self._next, "method": method, "params": params or {}})
        return self._next

    async def say(self, message):
        await self.socket.send(json.dumps({"jsonrpc": "2.0"} | message))

    async def hear(self):
        with anyio.fail_after(30):
            return json.loads(await self.socket.recv())

    async def answer_to(self, request_id):
        while request_id not in self._answers:
            await self._hear_one_more()
        return self._answers.pop(request_id)

    async def _hear_one_more(self):
        message = await self.hear()
        if "method" in message:
            self.heard.append(message)
        else:
            self._answers[message["id"]] = message

    async def until(self, method, **params):
        """The next message of this kind from the server."""
        while True:
            for place, message in enumerate(self.heard):
                told = message.get("params", {})
                if message["method"] == method and params.items() <= told.items():
                    return self.heard.pop(place)
            await self._hear_one_more()


@asynccontextmanager
async def official(url, era, **options):
    async with (
        httpx2.AsyncClient(headers=BEARER, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, **options) as client,
    ):
        yield OfficialDoor(client)


@asynccontextmanager
async def raw(url):
    async with httpx.AsyncClient(headers=BEARER, timeout=60) as http:
        yield RawDoor(http, url)


@asynccontextmanager
async def socket(url, **options):
    address = url.replace("http://", "ws://")
    headers = {"additional_headers": BEARER} | options
    async with websockets.connect(address, **headers) as connection:
        yield SocketDoor(connection)


DOORS = {
    "legacy": lambda url: official(url, "legacy"),
    "modern": lambda url: official(url, "auto"),
    "http": raw,
    "websocket": socket,
}


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The folder that the server may read."""
    folder = tmp_path_factory.mktemp("library")
    for document in DOCUMENTS.iterdir():
        shutil.copy(document, folder)
    return folder


class HeldFile(NamedTuple):
    """A web page whose task is at work, some of it done, until it is let go."""

    path: Path
    by: Path

    def __str__(self) -> str:
        return str(self.path)

    def hold(self) -> None:
        self.by.touch()

    def let_go(self) -> None:
        self.by.unlink(missing_ok=True)

    @property
    def is_let_go(self) -> bool:
        return not self.by.exists()


def long_page(word):
    """Its first passages are taken in at once."""
    parts = (f"<h2>Part {number}</h2><p>{'Wort ' * 60}</p>" for number in range(20))
    rest = (f"<h2>Rest {number}</h2><p>{holding.WORD} {'wort ' * 60}</p>" for number in range(20))
    return f"<html><body><p>It begins with {word}.</p>{''.join([*parts, *rest])}</body></html>"


@pytest.fixture
def slow(library, knowledge_engine):
    """A file that takes until it is let go to be added."""
    file = HeldFile(library / f"slow-{uuid.uuid4().hex[:8]}.html", knowledge_engine.held_by)
    file.path.write_text(long_page("slowwort"))
    file.hold()
    yield file
    file.let_go()
    file.path.unlink()


@pytest.fixture(scope="session")
def knowledge_engine(tmp_path_factory):
    """An engine of its own: these tests clear it."""
    folder = tmp_path_factory.mktemp("knowledge") / "data"
    process = Program(
        "kb.engine",
        holding.COMMAND,
        KB_DATA_DIR=str(folder),
        KB_MAX_FILE_MB=str(MAX_FILE_MB),
        KB_API_KEY=ENGINE_KEY,
        KB_EMBEDDER="hash",
        **{holding.WHERE: str(folder.with_name("held"))},
    )
    process.folder, process.held_by = folder, folder.with_name("held")
    yield process.start()
    process.stop()


@pytest.fixture(scope="session")
def knowledge_server(start_server, knowledge_engine, library):
    return start_server(
        KB_MCP_TOOLS="knowledge",
        KB_MCP_FILE_ROOTS=str(library),
        KB_ENGINE_URL=knowledge_engine.url,
        KB_ORIGIN="the-server's",
    )


@pytest.fixture
async def kept(knowledge_engine):
    """The engine behind the server, empty at first."""
    async with EngineClient(knowledge_engine.url, ENGINE_KEY) as engine:
        await engine.clear("DELETE ALL")
        yield engine


@pytest.fixture(params=list(DOORS))
async def knowledge(request, knowledge_server, kept):
    """An empty knowledge base, through each of the doors."""
    async with DOORS[request.param](knowledge_server.url) as door:
        yield door


@pytest.fixture
async def http_knowledge(knowledge_server, kept):
    """An empty knowledge base, through bare POSTs alone."""
    async with raw(knowledge_server.url) as door:
        yield door


@pytest.fixture
def nothing_is_left(kept, knowledge_engine):
    """To check that of a cancelled task nothing is left: no document, no file, nothing to find."""

    async def check(task_id):
        with anyio.fail_after(30):
            while (job := await kept.job(task_id))["status"] in ("queued", "running"):
                await anyio.sleep(0.02)
        knowledge_engine.held_by.unlink(missing_ok=True)  # and the worker may notice
        assert job["status"] == "cancelled"
        assert job["document_uid"] is None
        assert (await kept.documents())["total"] == 0
        assert (await kept.search("slowwort"))["results"] == []
        # The worker lets go of the file in its own time.
        files = knowledge_engine.folder / "store-files"
        with anyio.fail_after(30):
            while {path.name for path in files.iterdir()} != {"store-stamp"}:
                await anyio.sleep(0.02)

    return check


@pytest.fixture
async def socket_knowledge(knowledge_server, kept):
    """An empty knowledge base, through a WebSocket alone."""
    async with socket(knowledge_server.url) as door:
        yield door
