"""MCP Inspector on the command line: one process for each call."""

import asyncio
import json
import os
from pathlib import Path

import errand

MODULES = Path(os.environ["CLIENT_MODULES"]) / "node_modules"
PACKAGE = MODULES / "@modelcontextprotocol/inspector"


async def ask(*arguments):
    """What the Inspector printed: the answer as JSON."""
    about = json.loads((PACKAGE / "package.json").read_text())
    process = await asyncio.create_subprocess_exec(
        os.environ["CLIENT_NODE"],
        str(PACKAGE / about["bin"]["mcp-inspector"]),
        *("--cli", errand.URL, "--transport", "http"),
        *("--header", f"Authorization: {errand.HEADERS['Authorization']}"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed
    return json.loads(printed)


async def call(name, arguments):
    pairs = [f"{key}={json.dumps(value)}" for key, value in arguments.items()]
    given = [part for pair in pairs for part in ("--tool-arg", pair)]
    answer = await ask("--method", "tools/call", "--tool-name", name, *given)
    assert not answer.get("isError"), answer
    return answer["structuredContent"]


async def main():
    tools = (await ask("--method", "tools/list"))["tools"]
    about = json.loads((PACKAGE / "package.json").read_text())
    await errand.run([tool["name"] for tool in tools], call, about)


errand.start(main)
