"""What the proposal of v3 promises of the MCP server, its collections and notes that change."""

import base64

from kb.mcp.kb_tools.collections import PREFIX

TABLE = {
    "kb_search": {"query", "top", "tags", "doc_type", "collection", "fts_only", "vec_only"},
    "kb_addnote": {"text", "tags", "collection"},
    "kb_upload_start": {"filename", "total_size", "tags", "collection"},
    "kb_upload_chunk": {"upload_id", "data", "chunk_index"},
    "kb_upload_finish": {"upload_id"},
    "kb_update_note": {"document_id", "text"},
    "kb_get": {"document_id", "source_path"},
    "kb_status": set(),
    "kb_jobs": {"status"},
    "kb_delete": {"document_id"},
    "kb_set_collection": {"document_id", "collection"},
}


class TestMcpServer:
    async def test_the_tool_surface_is_the_table(self, remote_collections):
        listed = (await remote_collections.client.list_tools()).tools
        parameters = {tool.name: set(tool.input_schema["properties"]) for tool in listed}
        for name, named in TABLE.items():
            assert named <= parameters[name]

    async def test_the_list_of_tools_is_affordable(self, remote_kb, remote_collections):
        for agent, most in ((remote_kb, 2000), (remote_collections, 2300)):
            listed = await agent.client.list_tools()
            sent = listed.model_dump_json(by_alias=True, exclude_none=True)
            assert len(sent) / 4 <= most

    async def test_top_n_as_the_table_calls_it_is_understood(self, remote_collections, asked):
        await remote_collections("kb_search", query="x", top_n=3)
        assert asked[0].json["top"] == 3

    async def test_each_tool_maps_to_its_route(self, remote_collections, asked):
        agent = remote_collections
        document_id = await agent.note("Mapped.")
        content = b"Bytes."
        begun = await agent("kb_upload_start", filename="a.txt", total_size=len(content))
        upload_id = begun["upload_id"]
        data = base64.b64encode(content).decode()
        asked.clear()
        await agent("kb_search", query="x")
        await agent("kb_addnote", text="Mapped too.")
        await agent("kb_upload_chunk", upload_id=upload_id, data=data, chunk_index=0)
        await agent("kb_upload_finish", upload_id=upload_id)
        await agent("kb_update_note", document_id=document_id, text="Mapped again.")
        await agent("kb_get", document_id=document_id)
        await agent("kb_status")
        await agent("kb_jobs")
        assert [request.line.partition("?")[0] for request in asked] == [
            "POST /api/v1/search",
            "POST /api/v1/jobs",
            "POST /api/v1/jobs",
            f"PATCH /api/v1/notes/{document_id}",
            f"GET /api/v1/documents/{document_id}",
            "GET /api/v1/status",
            "GET /api/v1/jobs",
        ]


class TestCollectionTagConventions:
    async def test_a_collection_is_a_tag_filter_in_a_search(self, remote_collections, asked):
        await remote_collections("kb_search", query="x", tags=["a"], collection="memory")
        assert asked[0].json["tags"] == ["a", "collection:memory"]
        assert asked[0].json["plain"] is True

    async def test_a_note_goes_to_documents_unless_told_otherwise(self, remote_collections, asked):
        await remote_collections("kb_addnote", text="By default.")
        assert asked[-1].json["tags"] == ["collection:documents"]
        await remote_collections("kb_addnote", text="By choice.", collection="memory")
        assert asked[-1].json["tags"] == ["collection:memory"]

    async def test_what_others_tag_by_the_convention_is_in_it(self, remote_collections, engine):
        tags = [remote_collections.tag, "collection:memory"]
        job = await engine.add_note("From the command line.", tags)
        document_id = await remote_collections.ready(job)
        found = await remote_collections(
            "kb_search", query="command line", tags=[remote_collections.tag], collection="memory"
        )
        assert [hit["document_id"] for hit in found["results"]] == [document_id]
        assert found["results"][0]["collection"] == "memory"

    async def test_the_engine_knows_nothing_of_collections(self, remote_collections, asked):
        await remote_collections.note("Only tags.", collection="workspace")
        for request in asked:
            assert b'"collection"' not in request.body
            assert "collection=" not in request.path
        assert any(PREFIX.encode() in request.body for request in asked)


class TestAgentSideSearchPatterns:
    async def test_results_of_several_phrasings_can_be_merged_by_chunk_id(self, remote_collections):
        agent = remote_collections
        await agent.note("The deadline for the tax return is in July.")
        phrasings = ("tax return deadline", "when is the tax return due", "July deadline")
        found = [
            await agent("kb_search", query=phrasing, tags=[agent.tag]) for phrasing in phrasings
        ]
        assert len({hit["chunk_id"] for each in found for hit in each["results"]}) == 1
