"""A real engine in a process of its own, and agents that call the tools over it."""

import base64
import json
import uuid
from contextlib import asynccontextmanager

import httpx2
import pytest
from knowledge_world import (  # noqa: F401 - fixtures
    http_knowledge,
    kept,
    knowledge,
    knowledge_engine,
    knowledge_server,
    library,
    nothing_is_left,
    slow,
    socket_knowledge,
)
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from relay import Relay

from kb.client import EngineClient
from kb.mcp.app import CONTRACTS
from kb.mcp.contract import Call, Result
from kb.mcp.settings import McpSettings
from kb.mcp.uploads.open_uploads import Uploads
from kb.mcp.uploads.staging import Staging
from programs import Program


@pytest.fixture(scope="session")
def engine_process(tmp_path_factory):
    """Shared by all tests, so each marks what is its own with a tag of its own."""
    process = Program(
        "kb.engine",
        KB_DATA_DIR=str(tmp_path_factory.mktemp("engine") / "data"),
        KB_MAX_FILE_MB="8",
        KB_API_KEY="engine-key",
        KB_EMBEDDER="hash",
    )
    yield process.start()
    process.stop()


@pytest.fixture
async def engine(engine_process):
    async with EngineClient(engine_process.url, "engine-key") as client:
        yield client


@pytest.fixture
async def uploads(tmp_path):
    async with Uploads(600, Staging(tmp_path)) as uploads:
        yield uploads


class Agent:
    """Calls tools as an agent would; what it adds carries `tag`, and is ready when it says so."""

    def __init__(self, contract, call):
        self.contract = contract
        self.call = call
        self.tag = f"test:{uuid.uuid4().hex[:8]}"

    async def result(self, name, **arguments):
        return await self.contract.call(name, arguments, self.call)

    async def __call__(self, name, **arguments):
        """The answer of a call that must succeed."""
        result = await self.result(name, **arguments)
        assert not result.is_error, result.text
        return result.content

    async def fails(self, name, **arguments):
        """The answer of a call that must fail."""
        result = await self.result(name, **arguments)
        assert result.is_error, result.text
        assert result.text == result.content["message"]
        return result.content

    async def ready(self, job):
        """The document that a job made."""
        ended = await self.call.engine.wait_for_job(job["job_id"])
        assert ended["status"] == "done", ended
        return ended["document_id"]

    async def note(self, text, *tags, **more):
        """The id of a new note, ready to be found."""
        return await self.ready(await self("kb_addnote", text=text, tags=[self.tag, *tags], **more))

    async def upload(self, content, filename="file.txt", **more):
        """The id of a document that was sent in pieces."""
        return await self.ready(await self.send(content, filename, **more))

    async def send(self, content, filename="file.txt", **more):
        """The job of a file that was sent in pieces."""
        usual = {"filename": filename, "total_size": len(content), "tags": [self.tag]}
        upload_id = (await self("kb_upload_start", **usual | more))["upload_id"]
        for index in range(-(-len(content) // 2**20)):
            piece = content[index * 2**20 : (index + 1) * 2**20]
            data = base64.b64encode(piece).decode()
            await self("kb_upload_chunk", upload_id=upload_id, data=data, chunk_index=index)
        return await self("kb_upload_finish", upload_id=upload_id)


def _agent(tool_set, engine, uploads, **settings):
    contract = CONTRACTS[tool_set](McpSettings(**settings))
    return Agent(contract, Call(engine, uploads, "caller", "http://127.0.0.1:3000"))


@pytest.fixture
def kb(engine, uploads):
    """An agent with the default tools."""
    return _agent("kb", engine, uploads)


@pytest.fixture
def collections(engine, uploads):
    """An agent with the tools that know collections."""
    return _agent("collections", engine, uploads)


# The same agents, as they are in the world: the official client, and real processes.

MCP_KEY = "mcp-key-of-the-tests"
ERAS = ["legacy", "auto"]  # with a handshake; and without, since 2026-07-28


@asynccontextmanager
async def connected(url, key=MCP_KEY, era="auto"):
    """The official client over a connection of its own."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


class RemoteAgent(Agent):
    """An agent that has nothing but the protocol."""

    def __init__(self, client, engine, server):
        self.client = client
        self.server = server
        self.begun = []
        super().__init__(None, Call(engine, None))

    async def result(self, name, **arguments):
        answer = await self.client.call_tool(name, arguments)
        (block,) = answer.content
        if not answer.is_error:
            assert json.loads(block.text) == answer.structured_content
            if name == "kb_upload_start":
                self.begun.append((answer.structured_content, arguments["total_size"]))
        return Result(answer.structured_content, block.text, answer.is_error)

    async def leave(self):
        """Drop the uploads that were not finished: only so many may be open at a time."""
        async with httpx2.AsyncClient(timeout=30) as http:
            for begun, size in self.begun:
                await http.put(begun["put_url"], content=bytes(size))
                finish = {"upload_id": begun["upload_id"], "sha256": "0" * 64}
                await self.client.call_tool("kb_upload_finish", finish)


@asynccontextmanager
async def remote(server, engine, era):
    async with connected(server.url, era=era) as client:
        agent = RemoteAgent(client, engine, server)
        yield agent
        await agent.leave()


@pytest.fixture(scope="session")
def relay(engine_process):
    """Between every MCP server and the engine: it knows what was really sent."""
    relay = Relay(engine_process.port)
    yield relay
    relay.close()


@pytest.fixture
def asked(relay):
    """What the engine was asked since the test began."""
    relay.requests.clear()
    return relay.requests


@pytest.fixture(scope="session")
def start_server(relay, tmp_path_factory):
    """To start an MCP server: a process of its own, on a port of its own."""
    running = []

    def start(**settings):
        folder = tmp_path_factory.mktemp("mcp")
        usual = {
            "KB_ENGINE_URL": relay.url,
            "KB_API_KEY": "engine-key",
            "KB_MCP_API_KEY": MCP_KEY,
            "TMPDIR": str(folder),
        }
        server = Program("kb.mcp", **usual | settings).start()
        server.url, server.folder = f"{server.url}/mcp", folder
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def kb_server(start_server):
    return start_server()


@pytest.fixture(scope="session")
def collections_server(start_server):
    return start_server(KB_MCP_TOOLS="collections")


@pytest.fixture(params=ERAS)
async def remote_kb(request, kb_server, engine, asked):
    async with remote(kb_server, engine, request.param) as agent:
        yield agent


@pytest.fixture(params=ERAS)
async def remote_collections(request, collections_server, engine, asked):
    async with remote(collections_server, engine, request.param) as agent:
        yield agent


@pytest.fixture(scope="session")
def hasty_servers(start_server, engine_process):
    """For whoever leaves uploads behind: servers that forget them after a second."""
    settings = {"KB_MCP_UPLOAD_TTL": "1", "KB_ENGINE_URL": engine_process.url}
    return {name: start_server(KB_MCP_TOOLS=name, **settings) for name in ("kb", "collections")}


@pytest.fixture
def hasty_agent(hasty_servers, engine):
    """To call the tools of a set on such a server."""

    @asynccontextmanager
    async def connect(tool_set):
        server = hasty_servers[tool_set]
        async with connected(server.url) as client:
            yield RemoteAgent(client, engine, server)

    return connect
