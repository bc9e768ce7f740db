"""The official Python client of the first version, which most frameworks still build on."""

import errand
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main():
    async with (
        streamablehttp_client(errand.URL, headers=errand.HEADERS) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()

        async def call(name, arguments):
            answer = await session.call_tool(name, arguments)
            assert not answer.isError, answer
            return answer.structuredContent

        tools = (await session.list_tools()).tools
        await errand.run([tool.name for tool in tools], call, "mcp")


errand.start(main)
