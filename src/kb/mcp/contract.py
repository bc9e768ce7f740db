"""A tool call in, a result out: what a tool is, and what a set of tools (a contract) is.

The protocol (`server.py`) knows only this. A contract owns the names, the shapes and the way its
tools report failure, so that another one can differ in all three without the protocol noticing.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from kb.client import EngineClient, Json, problem
from kb.mcp.schema import BadArgument, check_arguments

if TYPE_CHECKING:
    from kb.mcp.uploads import Uploads

__all__ = ["Call", "Contract", "Json", "Result", "Tool", "ToolFailed", "UnknownTool", "in_words"]

logger = logging.getLogger(__name__)


async def _tell_nobody(_progress: float, _message: str) -> None:
    """For a client that asked for no progress."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool may use while it runs.

    `caller` is a fingerprint of the bearer token, empty without one: uploads are bound to it.
    `base_url` is the address the client used, or the public one, without a final slash.
    `report` takes progress from 0 to 1 and a message.
    """

    engine: EngineClient
    uploads: "Uploads"
    caller: str = ""
    base_url: str = ""
    report: Callable[[float, str], Awaitable[None]] = _tell_nobody


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` gets checked arguments and returns the structured content.

    `aliases` are names that are accepted for a parameter without being shown to everyone.
    """

    name: str
    description: str
    input_schema: Json
    annotations: Json
    run: Callable[[Call, Json], Awaitable[Json]]
    output_schema: Json | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What goes back: the same thing as structured content and as text."""

    content: Json
    text: str
    is_error: bool = False


class ToolFailed(Exception):
    """A tool could not do what was asked: a public code, a sentence, and details."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class UnknownTool(LookupError):
    """No tool of the contract has this name. The protocol has its own error for that."""


def as_json(content: Any) -> str:
    """JSON as it is sent: no spaces, and letters as themselves, since every token costs."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def in_words(failure: ToolFailed) -> Result:
    """A sentence as text for the model, code and details as structured content for programs."""
    content = {"error": failure.code, "message": failure.message, **failure.details}
    return Result(content, failure.message, is_error=True)


@dataclass(frozen=True, slots=True)
class Contract:
    """A set of tools with one way to report failure."""

    name: str
    server_name: str
    instructions: str
    tools: tuple[Tool, ...]
    report_failure: Callable[[ToolFailed], Result] = in_words

    def tool(self, name: str) -> Tool | None:
        """The tool of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    async def call(self, name: str, arguments: Mapping[str, Any] | None, call: Call) -> Result:
        """Check the arguments and run the tool; whatever goes wrong comes back as a result.

        Raises UnknownTool only. Being cancelled is no failure: that travels on.
        """
        tool = self.tool(name)
        if tool is None:
            raise UnknownTool(f"There is no tool {name}")
        try:
            content = await tool.run(call, _arguments(tool, dict(arguments or {})))
            return Result(content, as_json(content))
        except Exception as error:
            return self.report_failure(_failure(tool, error))


def _arguments(tool: Tool, arguments: Json) -> Json:
    for alias, name in tool.aliases.items():
        if alias not in arguments:
            continue
        value = arguments.pop(alias)
        if arguments.setdefault(name, value) != value:
            raise BadArgument(alias, f"{alias} and {name} are the same: send only {name}")
    return check_arguments(tool.input_schema, arguments)


def _failure(tool: Tool, error: Exception) -> ToolFailed:
    """Any exception as what the caller may be told about it."""
    match error:
        case ToolFailed():
            return error
        case BadArgument(missing=missing):
            code = "missing_required_parameter" if missing else "invalid_parameter"
            return ToolFailed(code, f"{tool.name}: {error.message}", parameter=error.parameter)
        case httpx.HTTPStatusError():
            return _refused(error)
        case httpx.RequestError():
            return _unreachable(error)
    logger.error("tool %s failed", tool.name, exc_info=error)
    return ToolFailed(
        "internal_error",
        f"{tool.name} failed inside the MCP server, whose log has the reason:"
        " try once more, then tell whoever runs it",
    )


# What an agent can do about an answer of the engine, where its message does not say so already.
_ADVICE = {
    "document_not_found": "take the id from a new kb_search, it may have been deleted",
    "job_not_found": "call kb_jobs without job_id for the recent ones",
    "not_a_note": "to change a file, upload it again with the same source_path and tags",
    "conflict": "call kb_get, then write again",
    "unauthorized": "the MCP server's KB_API_KEY is not the engine's, tell whoever runs it",
    "model_loading": "try again in a few seconds",
    "shutting_down": "try again in a minute",
    "internal_error": "try once more, then tell whoever runs the engine",
}


def _refused(error: httpx.HTTPStatusError) -> ToolFailed:
    """The engine's own code and message, with what to do next."""
    body = dict(problem(error))
    code, message = str(body.pop("error")), str(body.pop("message"))
    advice = _ADVICE.get(code)
    return ToolFailed(code, f"{message}: {advice}" if advice else message, **body)


def _unreachable(error: httpx.RequestError) -> ToolFailed:
    url = error.request.url
    address = f"{url.scheme}://{url.netloc.decode('ascii')}"
    slow = isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout | httpx.PoolTimeout)
    what = "did not answer in time" if slow else "cannot be reached"
    return ToolFailed(
        "engine_unreachable",
        f"The engine at {address} {what}: start it with `kb up` or check KB_ENGINE_URL,"
        " then call again",
        engine_url=address,
    )
