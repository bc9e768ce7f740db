"""What a tool is, and what a set of tools (a contract) is.

The protocol (`server.py`) knows only this. A contract defines the names, the formats and the way
its tools report failures, so that another contract can differ in all three.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx

from kb.client import EngineClient, Json, problem
from kb.mcp.schema import BadArgument, check_arguments
from kb.settings import Risk

if TYPE_CHECKING:
    from kb.mcp.uploads.open_uploads import Uploads

logger = logging.getLogger(__name__)


# What a tool does, as the protocol tells clients.
READS = {"readOnlyHint": True, "openWorldHint": False}
ADDS = {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
CHANGES = {"destructiveHint": True, "idempotentHint": True, "openWorldHint": False}

Counts = dict[str, int]
Report = Callable[[float, str], Awaitable[None]]
Watch = Callable[[Report], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a user did about a question: whether they agreed to answer, and what they filled in."""

    agreed: bool
    content: Json


@dataclass(frozen=True, slots=True)
class View:
    """How a set of tools shows what the engine has: a hit or a document, and the counts of tags."""

    show: Callable[[Json], Json] = lambda thing: thing
    sort: Callable[[Counts], dict[str, Counts]] = lambda tags: {"tags": tags}


async def _tell_nobody(_progress: float, _message: str) -> None:
    """For a client that asked for no progress."""


async def _ask_nobody(_message: str, _schema: Json) -> Reply | None:
    """For a client that has no user to ask."""
    return None


def _follow_nothing(_watch: Watch) -> None:
    """For a client that hears no more after the answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool may use while it runs.

    `caller` is a fingerprint of the bearer token, empty without one: uploads are bound to it.
    `base_url` is the address the client used, or the public one, without a final slash.
    `report` takes progress from 0 to 1 and a message; `follow` goes on reporting after the answer,
    for work that the answer does not end. `ask` puts a question with a form to the user; None is
    that nobody can be asked. `takes_tasks` says that the client knows the protocol's own tasks.
    `risk` is what is wrong with the key of the address the client used. `share` names whose share
    of what is scarce this call takes: callers with one token may be many.
    """

    engine: EngineClient
    uploads: "Uploads"
    caller: str = ""
    base_url: str = ""
    report: Report = _tell_nobody
    ask: Callable[[str, Json], Awaitable[Reply | None]] = _ask_nobody
    follow: Callable[[Watch], None] = _follow_nothing
    takes_tasks: bool = False
    risk: Risk | None = None
    share: str = ""
    view: View = View()

    async def status(self) -> Json:
        """The engine's state, with the risk of this server's own key among its issues."""
        status = await self.engine.status()
        if self.risk is None:
            return status
        health = status["health"]
        issues = [*health["issues"], {"code": self.risk.code, "message": self.risk.message}]
        state = "degraded" if health["status"] == "healthy" else health["status"]
        return status | {"health": {"status": state, "issues": issues}}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` gets checked arguments and returns the structured content.

    `aliases` are names that are accepted for a parameter without being shown to everyone.
    `checked_by` says what a parameter is checked by, where that is less than what is shown; whether
    it is there is then the tool's to check, too.
    """

    name: str
    description: str
    input_schema: Json
    annotations: Json
    run: Callable[[Call, Json], Awaitable[Json]]
    output_schema: Json | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    checked_by: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Method:
    """A request that a contract answers beside its tools, and may take as a notification too.

    `params` is a model of the protocol's library, which checks them.
    """

    name: str
    params: type[Any]
    run: Callable[[Call, Any], Awaitable[Json]]
    also_notified: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What goes back: the same thing as structured content and as text."""

    content: Json
    text: str
    is_error: bool = False


class ToolFailed(Exception):
    """A tool could not do what was asked: a public code, a sentence, and details."""

    def __init__(self, code: str, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class Instead(Exception):
    """The protocol's own kind of answer in place of a tool's: a question, or a task."""

    def __init__(self, result: Json) -> None:
        super().__init__(result.get("resultType"))
        self.result = result


class UnknownTool(LookupError):
    """No tool of the contract has this name. The protocol has its own error for that."""


def as_json(content: Any) -> str:
    """JSON as it is sent: no spaces, and letters as themselves, since every token costs."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def in_words(failure: ToolFailed) -> Result:
    """A sentence as text for the model, code and details as structured content for programs."""
    content = {"error": failure.code, "message": failure.message, **failure.details}
    return Result(content, failure.message, is_error=True)


# What an agent can do about an answer of the engine, where its message does not say so already.
_ADVICE = {
    "not_a_note": "title and tags of a file can be, without text; to change what it says, upload it"
    " again with the same source_path and tags",
    "conflict": "call kb_get, then write again",
    "unauthorized": "the MCP server's KB_API_KEY is not the engine's, tell whoever runs it",
    "model_loading": "try again in a few seconds",
    "shutting_down": "try again in a minute",
    "internal_error": "try once more, then tell whoever runs the engine",
}


@dataclass(frozen=True, slots=True)
class Contract:
    """A set of tools with one way to report failure.

    `advice` is added to what the engine says, by its code. The rest is what a contract may demand
    of the protocol: more `methods`, `extensions` and capabilities (`announces`), and a WebSocket.
    """

    name: str
    server_name: str
    instructions: str
    tools: tuple[Tool, ...]
    report_failure: Callable[[ToolFailed], Result] = in_words
    advice: Mapping[str, str] = field(default_factory=lambda: _ADVICE)
    methods: tuple[Method, ...] = ()
    extensions: tuple[str, ...] = ()
    announces: frozenset[str] = frozenset()
    websocket: bool = False
    view: View = View()

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    async def call(self, name: str, arguments: Mapping[str, Any] | None, call: Call) -> Result:
        """Check the arguments and run the tool; whatever goes wrong comes back as a result.

        Raises UnknownTool and Instead only. Being cancelled is no failure: that travels on.
        """
        tool = self.tool(name)
        if tool is None:
            raise UnknownTool(f"There is no tool {name}")
        try:
            checked = _arguments(tool, dict(arguments or {}))
            content = await tool.run(replace(call, view=self.view), checked)
            return Result(content, as_json(content))
        except Instead:
            raise
        except Exception as error:
            return self.report_failure(as_failure(tool.name, error, self.advice))


def _arguments(tool: Tool, arguments: Json) -> Json:
    for alias, name in tool.aliases.items():
        if alias not in arguments:
            continue
        value = arguments.pop(alias)
        if arguments.setdefault(name, value) != value:
            raise BadArgument(alias, f"{alias} and {name} are the same: send only {name}")
    schema = tool.input_schema
    required = [name for name in schema.get("required", ()) if name not in tool.checked_by]
    properties = schema["properties"] | tool.checked_by
    return check_arguments({"properties": properties, "required": required}, arguments)


def as_failure(name: str, error: Exception, advice: Mapping[str, str]) -> ToolFailed:
    """Any exception of the tool `name`, as the caller may see it."""
    match error:
        case ToolFailed():
            return error
        case BadArgument(missing=missing):
            code = "missing_required_parameter" if missing else "invalid_parameter"
            return ToolFailed(code, f"{name}: {error.message}", parameter=error.parameter)
        case httpx.HTTPStatusError():
            return _refused(error, advice)
        case httpx.RequestError():
            return _unreachable(error)
    logger.error("tool %s failed", name, exc_info=error)
    return ToolFailed(
        "internal_error",
        f"{name} failed inside the MCP server, whose log has the reason:"
        " try once more, then tell whoever runs it",
    )


def _refused(error: httpx.HTTPStatusError, advice: Mapping[str, str]) -> ToolFailed:
    """The engine's own code and message, with what to do next."""
    body = dict(problem(error))
    code, message = str(body.pop("error")), str(body.pop("message"))
    told = f"{message}: {advice[code]}" if code in advice else message
    return ToolFailed(code, told, **body)


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
