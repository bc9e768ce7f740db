"""The official Python client, since its second version."""

import errand
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main():
    async with (
        httpx2.AsyncClient(headers=errand.HEADERS, timeout=30) as http,
        Client(streamable_http_client(errand.URL, http_client=http)) as client,
    ):

        async def call(name, arguments):
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer
            return answer.structured_content

        tools = (await client.list_tools()).tools
        await errand.run([tool.name for tool in tools], call, "mcp")


errand.start(main)
