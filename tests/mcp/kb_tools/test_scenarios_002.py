"""What the design of v3 decided, decision by decision, as far as the MCP server carries it."""

import base64
import hashlib
import subprocess
import sys

import httpx
import pytest
from served import WAIT

from conftest import MCP_KEY, connected

pytestmark = pytest.mark.anyio


def base64_of(data):
    return base64.b64encode(data).decode()


class TestD1SeparateServerWithItsOwnAuth:
    async def test_the_server_asks_for_a_key_of_its_own(self, kb_server, asked):
        """The engine's key opens the engine, not the MCP server."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kb_status"}}
        async with httpx.AsyncClient(timeout=WAIT) as http:
            for key in (None, "engine-key"):
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                answer = await http.post(kb_server.url, json=body, headers=headers)
                assert answer.status_code == 401
        assert asked == []

    async def test_the_callers_key_never_reaches_the_engine(self, remote_kb, asked):
        await remote_kb("kb_status")
        assert MCP_KEY not in (asked[0].key or "")


class TestD2Collections:
    async def test_exclusive_membership(self, remote_collections, engine):
        agent = remote_collections
        document_id = await agent.note("In one place only.", collection="documents")
        for collection in ("memory", "workspace", "documents"):
            await agent("kb_set_collection", document_id=document_id, collection=collection)
            tags = (await engine.document(document_id))["tags"]
            held = [tag for tag in tags if tag.startswith("collection:")]
            assert held == [f"collection:{collection}"]

    async def test_exclusive_membership_when_adding(self, remote_collections, engine):
        agent = remote_collections
        tags = [agent.tag, "collection:documents", "collection:workspace"]
        job = await agent("kb_addnote", text="Just memory.", tags=tags, collection="memory")
        document = await engine.document(await agent.ready(job))
        assert document["tags"] == ["collection:memory", agent.tag]

    async def test_tag_stripping_in_mcp_responses(self, remote_collections):
        agent = remote_collections
        await agent.note("Prefers email.", "feedback", "email", collection="memory")
        (hit,) = (await agent("kb_search", query="prefers email", tags=[agent.tag]))["results"]
        assert hit["collection"] == "memory"
        assert hit["tags"] == sorted(["feedback", "email", agent.tag])

    async def test_names_are_validated_against_a_known_list(self, remote_collections, asked):
        for tool, arguments in (
            ("kb_search", {"query": "x"}),
            ("kb_addnote", {"text": "x"}),
            ("kb_upload_start", {"filename": "x", "total_size": 1}),
            ("kb_set_collection", {"document_id": 1}),
        ):
            failed = await remote_collections.fails(tool, **arguments, collection="memeory")
            assert "one of documents, memory, workspace" in failed["message"]
        assert asked == []

    async def test_the_standard_names_are_in_the_descriptions(self, remote_collections):
        listed = (await remote_collections.client.list_tools()).tools
        for tool in listed:
            collection = tool.input_schema["properties"].get("collection")
            if collection is not None:
                assert collection["enum"] == ["documents", "memory", "workspace"]

    async def test_the_known_names_can_be_set(self, start_server):
        server = start_server(KB_MCP_TOOLS="collections", KB_COLLECTIONS="documents,recipes")
        async with connected(server.url) as client:
            job = await client.call_tool("kb_addnote", {"text": "Soup.", "collection": "recipes"})
            assert not job.is_error
            other = await client.call_tool("kb_addnote", {"text": "Soup.", "collection": "memory"})
            assert other.is_error


class TestD3NoteMutationWithFullChunking:
    async def test_a_long_text_is_searchable_to_its_end(self, remote_kb):
        document_id = await remote_kb.note("Short at first.")
        text = "Filler sentences come first. " * 300 + "At the very end: a platypus."
        updated = await remote_kb("kb_update_note", document_id=document_id, text=text)
        assert updated["chunk_count"] > 1
        found = await remote_kb("kb_search", query="platypus", tags=[remote_kb.tag], fts_only=True)
        assert [hit["document_id"] for hit in found["results"]] == [document_id]


class TestD4UpdatedAt:
    async def test_it_is_null_until_something_changes(self, remote_collections):
        agent = remote_collections
        document_id = await agent.note("Never changed.")
        assert (await agent("kb_get", document_id=document_id))["updated_at"] is None
        await agent("kb_set_collection", document_id=document_id, collection="memory")
        assert (await agent("kb_get", document_id=document_id))["updated_at"] is not None


class TestD5ChunkedUpload:
    async def test_three_steps_bring_a_file_to_the_engine(self, remote_collections, engine):
        agent = remote_collections
        content = b"Line.\n" * 2000
        begun = await agent(
            "kb_upload_start",
            filename="lines.txt",
            total_size=len(content),
            tags=[agent.tag],
            collection="workspace",
        )
        for index in range(3):
            data = base64_of(content[index * 4000 : (index + 1) * 4000])
            answer = await agent(
                "kb_upload_chunk", upload_id=begun["upload_id"], data=data, chunk_index=index
            )
        assert answer["received_bytes"] == len(content)
        job = await agent("kb_upload_finish", upload_id=begun["upload_id"])
        document = await engine.document(await agent.ready(job))
        assert document["content_hash"] == hashlib.sha256(content).hexdigest()
        assert document["tags"] == sorted([agent.tag, "collection:workspace"])

    async def test_a_chunk_of_a_megabyte_passes(self, remote_kb):
        content = bytes(2**20)
        begun = await remote_kb("kb_upload_start", filename="a.bin", total_size=len(content))
        answer = await remote_kb(
            "kb_upload_chunk",
            upload_id=begun["upload_id"],
            data=base64_of(content),
            chunk_index=0,
        )
        assert answer["complete"]

    async def test_upload_ids_are_uuids_that_nobody_can_guess(self, remote_kb):
        started = [
            (await remote_kb("kb_upload_start", filename="a.txt", total_size=1))["upload_id"]
            for _ in range(2)
        ]
        assert len(set(started)) == 2

    async def test_curl_can_send_the_file_and_finish_works_as_ever(
        self, remote_kb, engine, tmp_path
    ):
        """The command as it was handed out, where curl is at hand; else the same PUT."""
        content = b"Sent by one command.\n" * 1000
        (tmp_path / "notes (1).txt").write_bytes(content)
        begun = await remote_kb(
            "kb_upload_start",
            filename="notes (1).txt",
            total_size=len(content),
            tags=[remote_kb.tag],
        )
        command = ["sh", "-c", begun["curl"]]
        sent = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        if sent.returncode == 127:
            assert httpx.put(begun["put_url"], content=content, timeout=WAIT).status_code == 200
        else:
            assert '"complete":true' in sent.stdout, sent.stderr
        job = await remote_kb("kb_upload_finish", upload_id=begun["upload_id"])
        document = await engine.document(await remote_kb.ready(job))
        assert document["content_hash"] == hashlib.sha256(content).hexdigest()
        assert httpx.put(begun["put_url"], content=content, timeout=WAIT).status_code == 404

    async def test_a_put_takes_only_what_was_announced(self, remote_kb):
        begun = await remote_kb("kb_upload_start", filename="a.txt", total_size=4)
        assert httpx.put(begun["put_url"], content=b"abcde", timeout=WAIT).status_code == 413
        assert httpx.put(begun["put_url"], content=b"abc", timeout=WAIT).status_code == 400
        assert httpx.put(begun["put_url"], content=b"abcd", timeout=WAIT).status_code == 200


class TestD6DescriptionsCarryTheSearchPatterns:
    async def test_expansion_and_reranking_are_documented_not_parameters(self, remote_kb):
        listed = (await remote_kb.client.list_tools()).tools
        search = next(tool for tool in listed if tool.name == "kb_search")
        assert "2-3 phrasings" in search.description
        assert "rerank" in search.description
        assert not {"expand", "rerank"} & set(search.input_schema["properties"])


class TestD7Version:
    async def test_the_server_says_version_3(self, remote_kb):
        assert remote_kb.client.server_info.name == "kb"
        assert remote_kb.client.server_info.version.startswith("3.")

    def test_the_server_stands_without_the_engine_packages(self):
        program = (
            "import sys; import kb.mcp.app\n"
            "heavy = {'kb.engine', 'numpy', 'onnxruntime', 'apsw', 'fastapi'} & set(sys.modules)\n"
            "sys.exit(str(heavy) if heavy else 0)"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr
