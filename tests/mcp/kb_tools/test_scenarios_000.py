"""The scenarios of the standing MCP specification, as tests of their names.

The official client calls a real MCP server, which asks a real engine; a relay between the two
tells what the engine was asked.
"""

import base64
import re
import uuid

import anyio
import pytest

from conftest import ERAS, connected

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TOOLS = [
    "kb_search",
    "kb_addnote",
    "kb_upload_start",
    "kb_upload_chunk",
    "kb_upload_finish",
    "kb_update_note",
    "kb_get",
    "kb_status",
    "kb_jobs",
    "kb_delete",
]


def base64_of(data):
    return base64.b64encode(data).decode()


async def start(agent, content, filename="report.txt", **more):
    arguments = {"filename": filename, "total_size": len(content), "tags": [agent.tag]} | more
    return (await agent("kb_upload_start", **arguments))["upload_id"]


class TestMcpServerTransportAndDeployment:
    async def test_mcp_server_starts_and_connects_to_engine(self, remote_kb, asked):
        listed = await remote_kb.client.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS
        await remote_kb("kb_status")
        await remote_kb("kb_search", query="anything")
        assert [request.line for request in asked] == [
            "GET /api/v1/status",
            "POST /api/v1/search",
        ]
        assert {request.key for request in asked} == {"Bearer engine-key"}

    async def test_engine_unreachable_at_startup(self, start_server):
        server = start_server(KB_ENGINE_URL="http://127.0.0.1:9")
        calls = {
            "kb_search": {"query": "x"},
            "kb_addnote": {"text": "x"},
            "kb_upload_start": {"filename": "x.txt", "total_size": 1},
            "kb_update_note": {"document_id": 1, "text": "x"},
            "kb_get": {"document_id": 1},
            "kb_status": {},
            "kb_jobs": {},
            "kb_delete": {"document_id": 1},
        }
        async with connected(server.url) as client:
            assert len((await client.list_tools()).tools) == len(TOOLS)
            for name, arguments in calls.items():
                answer = await client.call_tool(name, arguments)
                assert answer.is_error
                assert answer.structured_content["error"] == "engine_unreachable"
                words = answer.content[0].text
                assert words.startswith("The engine at http://127.0.0.1:9 cannot be reached")

    async def test_docker_compose_deployment(self, start_server, engine_process):
        """As far as it goes without Docker: the engine is found by a name, not by an address."""
        server = start_server(KB_ENGINE_URL=f"http://localhost:{engine_process.port}")
        async with connected(server.url) as client:
            assert not (await client.call_tool("kb_status", {})).is_error


class TestMcpServerAuthentication:
    @pytest.mark.parametrize("era", ERAS)
    @pytest.mark.parametrize("key", ["", "another-key", "engine-key"])
    async def test_missing_or_invalid_mcp_api_key(self, kb_server, key, era, asked):
        """The engine's key opens the engine, not the MCP server."""
        with pytest.raises(BaseException) as caught:  # noqa: PT011 - the client wraps it in groups
            async with connected(kb_server.url, key, era) as client:
                await client.call_tool("kb_status", {})
        assert re.search("unauthorized|KB_MCP_API_KEY|401", _all_words(caught.value), re.I)
        assert asked == []

    async def test_mcp_auth_disabled(self, start_server):
        server = start_server(KB_MCP_API_KEY="")
        for key in ("", "any-key"):
            async with connected(server.url, key) as client:
                assert not (await client.call_tool("kb_status", {})).is_error


def _all_words(error):
    inner = [_all_words(each) for each in getattr(error, "exceptions", ())]
    return " ".join([str(error), *inner])


class TestSearchTool:
    async def test_search_with_query_and_top(self, remote_kb, asked):
        text = b"The pension revaluation of 2025 follows the index."
        await remote_kb.upload(text, "pension.txt")
        asked.clear()
        found = await remote_kb("kb_search", query="pension revaluation", top=5)
        (request,) = asked
        assert request.line == "POST /api/v1/search"
        assert request.json == {"query": "pension revaluation", "top": 5, "plain": True}
        assert 1 <= len(found["results"]) <= 5
        hit = next(hit for hit in found["results"] if remote_kb.tag in hit["tags"])
        assert "pension revaluation" in hit["text"]
        assert hit["score"] > 0
        assert hit["relevance"] > 0
        assert hit["filename"] == "pension.txt"
        assert hit["doc_type"] == "text"
        assert hit["document_id"]
        assert hit["created_at"]

    async def test_search_with_tag_filter(self, remote_kb, asked):
        mine = await remote_kb.note("Email preferences: plain text.", "agent:mybot")
        await remote_kb.note("Email preferences: HTML.", "agent:other")
        asked.clear()
        tags = ["agent:mybot", remote_kb.tag]
        found = await remote_kb("kb_search", query="email preferences", tags=tags)
        assert asked[0].json["tags"] == tags
        assert [hit["document_id"] for hit in found["results"]] == [mine]

    async def test_search_with_mode_override(self, remote_kb, asked):
        await remote_kb("kb_search", query="error log", fts_only=True)
        assert asked[0].json == {"query": "error log", "fts_only": True, "plain": True}
        await remote_kb("kb_search", query="error log", vec_only=True)
        assert asked[1].json == {"query": "error log", "vec_only": True, "plain": True}


class TestAddNoteTool:
    async def test_add_a_note(self, remote_kb, asked):
        text = f"User prefers concise responses, says {remote_kb.tag}"
        job = await remote_kb("kb_addnote", text=text)
        (request,) = asked
        assert request.line == "POST /api/v1/jobs"
        assert request.json == {"text": text}
        assert isinstance(job["job_id"], int)
        document_id = await remote_kb.ready(job)
        assert (await remote_kb("kb_get", document_id=document_id))["tags"] == []

    async def test_add_a_note_with_tags(self, remote_kb, asked):
        text = f"User prefers concise responses, says {remote_kb.tag}"
        tags = ["agent:mybot", "feedback"]
        document_id = await remote_kb.ready(await remote_kb("kb_addnote", text=text, tags=tags))
        assert asked[0].json == {"text": text, "tags": tags}
        assert (await remote_kb("kb_get", document_id=document_id))["tags"] == tags


class TestChunkedFileUploadTools:
    async def test_start_an_upload(self, remote_kb):
        announced = {"filename": "report.pdf", "total_size": 5242880, "tags": ["insurance"]}
        ids = {(await remote_kb("kb_upload_start", **announced))["upload_id"] for _ in range(2)}
        assert len([each for each in ids if UUID.fullmatch(each)]) == 2

    async def test_upload_a_chunk(self, remote_kb):
        upload_id = await start(remote_kb, b"abcdef")
        answer = await remote_kb(
            "kb_upload_chunk", upload_id=upload_id, data=base64_of(b"abc"), chunk_index=0
        )
        assert answer["received_bytes"] == 3
        (staged,) = remote_kb.server.folder.glob(f"*/{upload_id}")
        assert staged.read_bytes() == b"abc"

    async def test_upload_multiple_chunks_in_sequence(self, remote_kb):
        upload_id = await start(remote_kb, b"abcdef")
        answers = [
            await remote_kb(
                "kb_upload_chunk", upload_id=upload_id, data=base64_of(data), chunk_index=index
            )
            for index, data in enumerate((b"ab", b"cd", b"ef"))
        ]
        assert [answer["received_bytes"] for answer in answers] == [2, 4, 6]
        assert [answer["complete"] for answer in answers] == [False, False, True]

    async def test_finish_an_upload(self, remote_kb, engine, asked):
        content = b"Otters sleep holding hands."
        upload_id = await start(remote_kb, content, tags=[remote_kb.tag, "insurance"])
        for index in (1, 0):
            data = base64_of(content[index * 14 : (index + 1) * 14])
            await remote_kb("kb_upload_chunk", upload_id=upload_id, data=data, chunk_index=index)
        asked.clear()
        job = await remote_kb("kb_upload_finish", upload_id=upload_id)
        (request,) = asked
        assert request.line == "POST /api/v1/jobs"
        assert request.content_type.startswith("multipart/form-data")
        document_id = await remote_kb.ready(job)
        document = await engine.document(document_id)
        assert document["filename"] == "report.txt"
        assert document["tags"] == sorted([remote_kb.tag, "insurance"])
        stored = [piece async for piece in engine.document_bytes(document_id)]
        assert b"".join(stored) == content
        assert list(remote_kb.server.folder.glob(f"*/{upload_id}*")) == []

    async def test_upload_with_invalid_upload_id(self, remote_kb):
        for unknown in (str(uuid.uuid4()), "nonsense"):
            chunk = await remote_kb.fails(
                "kb_upload_chunk", upload_id=unknown, data=base64_of(b"x"), chunk_index=0
            )
            finish = await remote_kb.fails("kb_upload_finish", upload_id=unknown)
            for failed in (chunk, finish):
                assert failed["error"] == "upload_not_found"
                assert f"Upload {unknown} not found" in failed["message"]

    async def test_abandoned_upload_cleanup(self, start_server, engine):
        """The ten minutes are those of the clock in test_uploads.py; here it is one second."""
        server = start_server(KB_MCP_UPLOAD_TTL="1")
        async with connected(server.url) as client:
            begun = await client.call_tool(
                "kb_upload_start", {"filename": "a.txt", "total_size": 4}
            )
            upload_id = begun.structured_content["upload_id"]
            piece = {"upload_id": upload_id, "data": base64_of(b"ab"), "chunk_index": 0}
            await client.call_tool("kb_upload_chunk", piece)  # too late, on a busy machine
            with anyio.fail_after(60):
                while list(server.folder.glob(f"*/{upload_id}")):
                    await anyio.lowlevel.checkpoint()
            answer = await client.call_tool("kb_upload_finish", {"upload_id": upload_id})
        assert answer.structured_content["error"] == "upload_not_found"

    async def test_mcp_server_restart_during_upload(self, start_server, engine):
        server = start_server()
        async with connected(server.url) as client:
            for end in (server.stop, server.kill):
                begun = await client.call_tool(
                    "kb_upload_start", {"filename": "a.txt", "total_size": 4}
                )
                upload_id = begun.structured_content["upload_id"]
                piece = {"upload_id": upload_id, "data": base64_of(b"ab"), "chunk_index": 0}
                assert not (await client.call_tool("kb_upload_chunk", piece)).is_error
                end()
                server.start()
                answer = await client.call_tool("kb_upload_finish", {"upload_id": upload_id})
                assert answer.structured_content["error"] == "upload_not_found"
                assert "kb_upload_start" in answer.content[0].text
                assert list(server.folder.glob(f"*/{upload_id}")) == []


class TestUpdateNoteTool:
    async def test_update_an_existing_note(self, remote_kb, asked):
        document_id = await remote_kb.note("User prefers long answers")
        before = await remote_kb("kb_get", document_id=document_id)
        asked.clear()
        text = "Updated preference: user prefers bullet points"
        updated = await remote_kb("kb_update_note", document_id=document_id, text=text)
        (request,) = asked
        assert request.line == f"PATCH /api/v1/notes/{document_id}"
        assert request.json == {"text": text}
        assert updated["id"] == document_id
        assert "".join(chunk["text"] for chunk in updated["chunks"]) == text
        assert updated["created_at"] == before["created_at"]
        assert before["updated_at"] is None
        assert updated["updated_at"] is not None
        assert updated["tags"] == [remote_kb.tag]
        for query, ids in (("long answers", []), ("bullet points", [document_id])):
            found = await remote_kb("kb_search", query=query, tags=[remote_kb.tag], fts_only=True)
            assert [hit["document_id"] for hit in found["results"]] == ids

    async def test_update_a_non_existent_document(self, remote_kb):
        failed = await remote_kb.fails("kb_update_note", document_id=10**9, text="x")
        assert failed["error"] == "document_not_found"
        assert "Document 1000000000 not found" in failed["message"]


class TestGetDocumentTool:
    async def test_get_by_document_id(self, remote_kb, asked):
        document_id = await remote_kb.upload(b"Read me whole.", "report.txt")
        asked.clear()
        document = await remote_kb("kb_get", document_id=document_id)
        assert [request.line for request in asked] == [f"GET /api/v1/documents/{document_id}"]
        assert document["id"] == document_id
        assert document["filename"] == "report.txt"
        assert document["chunk_count"] == 1
        assert [chunk["text"] for chunk in document["chunks"]] == ["Read me whole."]

    async def test_get_by_source_path(self, remote_kb, asked):
        path = f"memory/{remote_kb.tag}/feedback_testing.md"
        document_id = await remote_kb.note("Tests first.", source_path=path)
        asked.clear()
        found = await remote_kb("kb_get", source_path=path)
        assert asked[0].line.startswith("GET /api/v1/documents?source_path=memory%2F")
        assert [document["id"] for document in found["documents"]] == [document_id]
        assert found["documents"][0]["source_path"] == path


class TestStatusTool:
    async def test_get_engine_status(self, remote_kb, asked):
        status = await remote_kb("kb_status")
        assert [request.line for request in asked] == ["GET /api/v1/status"]
        assert status["version"]
        assert status["model"]["name"]
        assert status["model"]["device"]
        assert status["counts"]["documents"] >= 0
        assert set(status["queue"]) == {"queued", "running", "failed"}


class TestJobsTool:
    async def test_list_recent_jobs(self, remote_kb, asked):
        job = await remote_kb("kb_addnote", text="For the list.", tags=[remote_kb.tag])
        asked.clear()
        found = await remote_kb("kb_jobs")
        assert asked[0].line.startswith("GET /api/v1/jobs")
        assert found["jobs"][0]["id"] == job["job_id"]
        assert found["jobs"][0]["status"] in ("queued", "running", "done")
        assert found["total"] >= 1

    async def test_filter_jobs_by_status(self, remote_kb, engine, asked):
        job = await remote_kb.send(bytes(range(256)), "broken.bin")
        await engine.wait_for_job(job["job_id"])
        asked.clear()
        found = await remote_kb("kb_jobs", status="failed")
        assert "status=failed" in asked[0].line
        assert {shown["status"] for shown in found["jobs"]} == {"failed"}
        assert job["job_id"] in [shown["id"] for shown in found["jobs"]]


class TestDeleteDocumentTool:
    async def test_successful_deletion(self, remote_kb, engine, asked):
        content = b"Delete me, says the zanzibar file."
        document_id = await remote_kb.upload(content, "report.txt")
        asked.clear()
        deleted = await remote_kb("kb_delete", document_id=document_id)
        assert [request.line for request in asked] == [f"DELETE /api/v1/documents/{document_id}"]
        assert deleted["status"] == "deleted"
        assert deleted["document_id"] == document_id
        assert deleted["title"] == "report"
        found = await remote_kb("kb_search", query="zanzibar", tags=[remote_kb.tag])
        assert found["results"] == []
        tags = [each["tag"] for each in (await engine.tags())["tags"]]
        assert remote_kb.tag not in tags
        for tool in ("kb_get", "kb_delete"):
            failed = await remote_kb.fails(tool, document_id=document_id)
            assert failed["error"] == "document_not_found"
            assert f"Document {document_id} not found" in failed["message"]


class TestTagsOnlyDocumentOrganisation:
    async def test_search_results_show_all_tags(self, remote_kb):
        tags = ["agent:mybot", "collection:documents", "draft"]
        await remote_kb.note("All tags are shown.", *tags)
        found = await remote_kb("kb_search", query="all tags", tags=[remote_kb.tag])
        assert found["results"][0]["tags"] == [*tags, remote_kb.tag]
        assert "collection" not in found["results"][0]
        document = await remote_kb("kb_get", document_id=found["results"][0]["document_id"])
        assert document["tags"] == [*tags, remote_kb.tag]
        assert "collection" not in document

    async def test_no_tool_knows_collections(self, remote_kb):
        for tool in (await remote_kb.client.list_tools()).tools:
            assert "collection" not in tool.model_dump_json()
