"""A contract in, the protocol's server out. It knows no tool by name.

The SDK's low-level server dispatches, validates and shapes messages for every protocol version;
what a tool answers, and how it fails, is the contract's.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from kb import __version__
from kb.mcp.contract import Call, Contract, Result, Tool, UnknownTool
from kb.mcp.engine import EngineClient
from kb.mcp.uploads import Uploads

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, by a fingerprint of the token, and under which address."""

    caller: str = ""
    base_url: str = ""


def build_server(contract: Contract, engine: EngineClient, uploads: Uploads) -> Server[Any]:
    """The server that offers this contract's tools."""
    tools = {tool.name: tool for tool in contract.tools}
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in contract.tools])

    async def list_tools(
        _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        asker = context.request if isinstance(context.request, Asker) else Asker()
        report = _rising(context.session.report_progress)
        call = Call(engine, uploads, asker.caller, asker.base_url, report)
        started = time.perf_counter()
        try:
            result = await contract.call(params.name, params.arguments, call)
        except UnknownTool:
            message = f"Unknown tool: {params.name[:100]}"
            raise MCPError(code=types.INVALID_PARAMS, message=message) from None
        _note(tools[params.name], result, time.perf_counter() - started)
        if not result.is_error:
            await report(1.0, "")
        return _answer(result)

    server: Server[Any] = Server(
        contract.server_name,
        version=__version__,
        instructions=contract.instructions,
        on_list_tools=list_tools,
        # Otherwise every call lists all tools first, to look for headers that name parameters.
        get_tool_input_schema=lambda name: tools[name].input_schema if name in tools else None,
    )
    # A dict passes through with half the work of a model; the SDK checks both the same way.
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.middleware.clear()  # spans that nobody collects
    return server


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(tool.annotations),
    )


def failed(text: str) -> dict[str, Any]:
    """A tool's result where no contract had a say in it."""
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": text}],
        "isError": True,
    }


def _answer(result: Result) -> dict[str, Any]:
    return {
        "resultType": "complete",  # demanded since 2026-07-28; the SDK drops it for older clients
        "content": [{"type": "text", "text": result.text}],
        "structuredContent": result.content,
        "isError": result.is_error,
    }


def _rising(
    send: Callable[[float, float | None, str | None], Awaitable[None]],
) -> Callable[[float, str], Awaitable[None]]:
    """Progress from 0 to 1 that only rises, as the protocol demands; sent if it was asked for."""
    last = -1.0

    async def report(progress: float, message: str) -> None:
        nonlocal last
        if last < progress <= 1.0:
            last = progress
            await send(progress, 1.0, message or None)

    return report


def _note(tool: Tool, result: Result, seconds: float) -> None:
    """One line a call, but not for every question: what changes nothing is told for debugging."""
    outcome = result.content.get("error", "failed") if result.is_error else "done"
    changes = not tool.annotations.get("readOnlyHint", False)
    level = logging.INFO if changes or result.is_error else logging.DEBUG
    logger.log(level, "tool %s %s %.1f ms", tool.name, outcome, seconds * 1e3)
