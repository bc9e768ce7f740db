"""Checks a client's entry: what works, and what to do about the rest."""

from dataclasses import dataclass
from typing import Any

import anyio

from kb import __version__
from kb.cli.connect.clients import Json
from kb.cli.connect.mcp_probe import Line, Trouble, open_line
from kb.cli.terminal.safe_text import count

_PATIENCE = 30.0
_PROTOCOL = "2025-11-25"

# Steps in the order in which they are tried; the first that fails ends the check.
STEPS = ("server", "key", "tools", "engine")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `works` is None where it was not reached."""

    step: str
    works: bool | None
    message: str


def check(entry: Json) -> list[Finding]:
    """Call the server as an agent with this entry would."""
    found: list[Finding] = []
    try:
        anyio.run(_check, entry, found)
    except Trouble as trouble:
        done = [finding for finding in found if finding.step != trouble.step]
        if trouble.step == "key":
            done = [Finding("server", True, "answers")]
        found = [*done, Finding(trouble.step, False, str(trouble))]
    reached = {finding.step for finding in found}
    return [*found, *(Finding(step, None, "") for step in STEPS if step not in reached)]


async def _check(entry: Json, found: list[Finding]) -> None:
    try:
        with anyio.fail_after(_PATIENCE):
            async with open_line(entry) as line:
                await _ask_all(line, entry, found)
    except TimeoutError:
        raise Trouble("server", f"no answer within {_PATIENCE:.0f} s") from None


async def _ask_all(line: Line, entry: Json, found: list[Finding]) -> None:
    hello = await line.ask(
        "initialize",
        {
            "protocolVersion": _PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "kb-connect", "version": __version__},
        },
    )
    await line.tell("notifications/initialized")
    about = hello.get("serverInfo") or {}
    found.append(
        Finding(
            "server",
            True,
            f"{about.get('name')} {about.get('version')}, protocol {hello.get('protocolVersion')}",
        )
    )
    found.append(Finding("key", True, _about_key(entry)))
    tools = [str(tool.get("name")) for tool in (await line.ask("tools/list", {})).get("tools", [])]
    if not tools:
        raise Trouble("tools", "the server offers no tools; check its KB_MCP_TOOLS")
    found.append(Finding("tools", True, f"{len(tools)}: {', '.join(tools)}"))
    status = next((name for name in tools if name.endswith("status")), None)
    if status is not None:
        found.append(_about_engine(await line.ask("tools/call", {"name": status, "arguments": {}})))


def _about_key(entry: Json) -> str:
    if entry.get("command"):
        return "left to the command that the client runs"
    has_key = bool(entry.get("headers") or entry.get("http_headers"))
    if has_key or entry.get("bearer_token_env_var"):
        return "accepted"
    return "none asked: every program that reaches the address may use it"


def _about_engine(answer: Json) -> Finding:
    content: Any = answer.get("structuredContent") or {}
    if answer.get("isError"):
        text = " ".join(str(part.get("text", "")) for part in answer.get("content", []))
        return Finding("engine", False, str(content.get("message") or text))
    health = content.get("health") or {}
    told = [str(health.get("status", "answers"))]
    # The knowledge tools say it in another place, and do not tell the version.
    documents = (content.get("counts") or {}).get("documents")
    documents = (content.get("knowledge_base") or {}).get("document_count", documents)
    if documents is not None:
        told.append(count(documents, "document"))
    if content.get("version"):
        told.append(f"version {content['version']}")
    issues = [
        each["message"] if isinstance(each, dict) else each for each in health.get("issues", [])
    ]
    return Finding("engine", True, "; ".join([", ".join(told), *map(str, issues)]))
