"""Makes the protocol's server of a contract. It knows no tool by name.

The SDK's low-level server dispatches, validates and shapes messages for every protocol version; the
contract decides what a tool answers and how it fails.
"""

import logging
import time
from typing import Any

import mcp_types as types
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from kb import __version__
from kb.mcp.calls import Asker, Calls, Context
from kb.mcp.contract import (
    Contract,
    Instead,
    Method,
    Result,
    Tool,
    UnknownTool,
    as_failure,
)
from kb.mcp.engine import EngineClient
from kb.mcp.sdk import InitializationOptions, MCPError, NotificationOptions, Server
from kb.mcp.uploads.open_uploads import Uploads

__all__ = ["Asker", "answer", "build_server", "failed"]

logger = logging.getLogger(__name__)


def build_server(contract: Contract, engine: EngineClient, uploads: Uploads) -> Server[Any]:
    tools = {tool.name: tool for tool in contract.tools}
    calls = Calls(engine, uploads)
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in contract.tools])

    async def list_tools(
        _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        ongoing = calls.call(context, params)
        started = time.perf_counter()
        try:
            result = await contract.call(params.name, params.arguments, ongoing.call)
        except UnknownTool:
            message = f"Unknown tool: {params.name[:100]}"
            raise MCPError(code=types.INVALID_PARAMS, message=message) from None
        except Instead as instead:
            return instead.result
        _note(tools[params.name], result, time.perf_counter() - started)
        if not result.is_error:
            await ongoing.done()
        return answer(result)

    server = _Server(
        contract.announces,
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
    for method in contract.methods:
        _add(server, contract, method, calls)
    for extension in contract.extensions:
        server.extensions[extension] = {}
    return server


class _Server(Server[Any]):
    """The SDK's server, with the capabilities that a contract announces to clients at hello.

    `tools` says that the list of tools may change, `prompts` that there is a list of prompts: it
    is empty, but a client that was promised one may ask for it.
    """

    def __init__(self, announces: frozenset[str], name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._announces = announces
        self.add_request_handler("server/discover", types.RequestParams, self._discover)
        if "prompts" in announces:
            self.add_request_handler("prompts/list", types.PaginatedRequestParams, _list_no_prompts)

    async def _discover(
        self, context: Context, _params: types.RequestParams | None
    ) -> types.DiscoverResult:
        """As the SDK has it, with the versions of both eras: all of them are served here."""
        return types.DiscoverResult(
            supported_versions=list(KNOWN_PROTOCOL_VERSIONS),
            capabilities=self.get_capabilities(protocol_version=context.protocol_version),
            instructions=self.instructions,
        )

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        announced = NotificationOptions(tools_changed="tools" in self._announces)
        return super().create_initialization_options(
            notification_options or announced, experimental_capabilities, extensions
        )


async def _list_no_prompts(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[])


def _add(server: Server[Any], contract: Contract, method: Method, calls: Calls) -> None:
    """Serve a method of the contract's own."""

    async def run(context: Context, params: Any) -> dict[str, Any]:
        try:
            return await method.run(calls.call(context).call, params)
        except MCPError:
            raise
        except Exception as error:
            failure = as_failure(method.name, error, contract.advice)
            return contract.report_failure(failure).content

    async def take(context: Context, params: Any) -> None:
        await run(context, params)

    server.add_request_handler(method.name, method.params, run)
    if method.also_notified:
        server.add_notification_handler(method.name, method.params, take)


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


def answer(result: Result) -> dict[str, Any]:
    """What a tool answers, as it is sent."""
    return {
        "resultType": "complete",  # demanded since 2026-07-28; the SDK drops it for older clients
        "content": [{"type": "text", "text": result.text}],
        "structuredContent": result.content,
        "isError": result.is_error,
    }


def _note(tool: Tool, result: Result, seconds: float) -> None:
    """One line a call, but not for every question: what changes nothing is told for debugging."""
    outcome = result.content.get("error", "failed") if result.is_error else "done"
    changes = not tool.annotations.get("readOnlyHint", False)
    level = logging.INFO if changes or result.is_error else logging.DEBUG
    logger.log(level, "tool %s %s %.1f ms", tool.name, outcome, seconds * 1e3)
