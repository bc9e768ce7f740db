"""The client as programs that build on the MCP server import it."""

import httpx
import pytest

from kb.mcp.engine import EngineClient


async def test_a_document_that_is_not_there_cannot_be_deleted(engine_process):
    async with EngineClient(engine_process.url, "engine-key") as client:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await client.delete_document(doc_id=10**9)
    assert refused.value.response.status_code == 404
