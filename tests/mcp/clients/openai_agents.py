"""The server class of OpenAI's Agents SDK, called without a model."""

import errand
from agents.mcp import MCPServerStreamableHttp


async def main():
    parameters = {"url": errand.URL, "headers": errand.HEADERS, "timeout": 30}
    async with MCPServerStreamableHttp(parameters, client_session_timeout_seconds=30) as server:

        async def call(name, arguments):
            answer = (await server.call_tool(name, arguments)).model_dump(by_alias=True)
            assert not answer["isError"], answer
            return answer["structuredContent"]

        tools = await server.list_tools()
        await errand.run([tool.name for tool in tools], call, "openai-agents")


errand.start(main)
