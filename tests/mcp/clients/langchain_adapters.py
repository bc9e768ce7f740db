"""LangChain's adapters: every tool as one of LangChain's own, called without a model."""

import errand
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    server = {"transport": "streamable_http", "url": errand.URL, "headers": errand.HEADERS}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"kb": server}).get_tools()}

    async def call(name, arguments):
        # The form in which a model's call arrives, since only that is answered with the artifact.
        asked = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        message = await tools[name].ainvoke(asked)
        assert message.status == "success", message
        return message.artifact["structured_content"]

    await errand.run(tools, call, "langchain-mcp-adapters")


errand.start(main)
