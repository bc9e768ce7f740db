"""mcp-remote: the bridge for clients that only run commands, driven by the official client."""

import json
import os
from pathlib import Path

import errand
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

MODULES = Path(os.environ["CLIENT_MODULES"]) / "node_modules"
PACKAGE = MODULES / "mcp-remote"


async def main():
    # It splits its own arguments at spaces, so the key comes by the environment, as it advises.
    arguments = [errand.URL, "--header", "Authorization:${KB_AUTH}", "--transport", "http-only"]
    bridge = StdioServerParameters(
        command=os.environ["CLIENT_NODE"],
        args=[str(PACKAGE / "dist/proxy.js"), *arguments],
        env={**os.environ, "KB_AUTH": errand.HEADERS["Authorization"]},
    )
    async with Client(stdio_client(bridge)) as client:

        async def call(name, arguments):
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer
            return answer.structured_content

        tools = (await client.list_tools()).tools
        version = json.loads((PACKAGE / "package.json").read_text())
        await errand.run([tool.name for tool in tools], call, version)


errand.start(main)
