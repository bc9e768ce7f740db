"""Builds the server from its settings; the only module that knows every concrete class."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette

from kb.client import EngineClient
from kb.mcp.contract import Contract
from kb.mcp.kb_tools import collections
from kb.mcp.kb_tools import tool_set as kb_tools
from kb.mcp.knowledge_tools import tool_set as knowledge_tools
from kb.mcp.sdk import Server
from kb.mcp.server import build_server
from kb.mcp.settings import McpSettings
from kb.mcp.transport.guard import Guard
from kb.mcp.transport.routes import UploadRoute, health
from kb.mcp.transport.streamable_http import Endpoint
from kb.mcp.transport.websocket import WebSocketEndpoint
from kb.mcp.uploads.open_uploads import Uploads

CONTRACTS: dict[str, Callable[[McpSettings], Contract]] = {
    "kb": kb_tools.build,
    "collections": collections.build,
    "knowledge": knowledge_tools.build,
}


THREADS = 8  # for files: each is short, and each thread would keep its stack


def build(
    settings: McpSettings, contract: Contract | None = None
) -> tuple[Server[Any], EngineClient, Uploads]:
    """What runs behind either transport. Client and uploads want to be entered and left."""
    engine = EngineClient(settings.engine_url, settings.api_key, origin=settings.origin)
    uploads = Uploads(settings.mcp_upload_ttl)
    contract = contract or CONTRACTS[settings.mcp_tools](settings)
    return build_server(contract, engine, uploads), engine, uploads


def build_app(settings: McpSettings) -> Guard:
    contract = CONTRACTS[settings.mcp_tools](settings)
    server, engine, uploads = build(settings, contract)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        async with engine, uploads:
            yield

    return Guard(
        settings,
        endpoint=Endpoint(server),
        uploads=UploadRoute(uploads),
        health=health,
        lifespan=Starlette(lifespan=lifespan),
        websocket=WebSocketEndpoint(server) if contract.websocket else None,
    )
