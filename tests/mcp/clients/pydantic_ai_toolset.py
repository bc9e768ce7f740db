"""Pydantic AI's toolset, called without a model."""

import errand
from pydantic_ai.mcp import MCPToolset


async def main():
    async with MCPToolset(errand.URL, headers=errand.HEADERS) as toolset:
        tools = await toolset.list_tools()
        await errand.run(
            [tool.name for tool in tools], toolset.direct_call_tool, "pydantic-ai-slim"
        )


errand.start(main)
