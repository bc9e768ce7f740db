"""What the design of v3 decided, decision by decision, as far as the MCP server carries it."""

import base64
import hashlib

import httpx
from served import WAIT

from conftest import connected
from programs import ended


def base64_of(data):
    return base64.b64encode(data).decode()


class TestD2Collections:
    async def test_exclusive_membership_when_adding(self, remote_collections, engine):
        agent = remote_collections
        tags = [agent.tag, "collection:documents", "collection:workspace"]
        job = await agent("kb_addnote", text="Just memory.", tags=tags, collection="memory")
        document = await engine.document(await agent.ready(job))
        assert document["tags"] == ["collection:memory", agent.tag]

    async def test_names_are_validated_against_a_known_list(self, remote_collections, asked):
        for tool, arguments in (
            ("kb_search", {"query": "x"}),
            ("kb_get", {}),
            ("kb_addnote", {"text": "x"}),
            ("kb_upload_start", {"filename": "x", "total_size": 1}),
            ("kb_set_collection", {"document_id": 1}),
        ):
            failed = await remote_collections.fails(tool, **arguments, collection="memeory")
            assert failed["error"] == "invalid_parameter"
            assert "collection must be one of documents, memory, workspace" in failed["message"]
        assert asked == []

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


class TestD5ChunkedUpload:
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

    async def test_curl_can_send_the_file_and_finish_works(self, remote_kb, engine, tmp_path):
        """The command as it was handed out, where curl is at hand; else the same PUT."""
        content = b"Sent by one command.\n" * 1000
        (tmp_path / "notes (1).txt").write_bytes(content)
        begun = await remote_kb(
            "kb_upload_start",
            filename="notes (1).txt",
            total_size=len(content),
            tags=[remote_kb.tag],
            title="Of curl",
            source_path=f"/{remote_kb.tag}/notes.txt",
            sha256=hashlib.sha256(content).hexdigest(),
        )
        sent = ended("sh", "-c", begun["curl"], cwd=tmp_path)
        if sent.returncode == 127:
            assert httpx.put(begun["put_url"], content=content, timeout=WAIT).status_code == 200
        else:
            assert '"complete":true' in sent.stdout, sent.stderr
        job = await remote_kb("kb_upload_finish", upload_id=begun["upload_id"])
        document = await engine.document(await remote_kb.ready(job))
        assert document["content_hash"] == hashlib.sha256(content).hexdigest()
        assert (document["title"], document["filename"]) == ("Of curl", "notes (1).txt")
        assert document["source_path"] == f"/{remote_kb.tag}/notes.txt"
        assert httpx.put(begun["put_url"], content=content, timeout=WAIT).status_code == 404

    async def test_a_put_takes_only_what_was_announced(self, remote_kb):
        begun = await remote_kb("kb_upload_start", filename="a.txt", total_size=4)
        assert begun["put_url"].startswith(remote_kb.server.url.replace("/mcp", "/uploads/"))
        assert httpx.get(begun["put_url"], timeout=WAIT).status_code == 405
        refused = httpx.put(begun["put_url"], content=b"abcde", timeout=WAIT)
        assert refused.status_code == 413
        assert set(refused.json()) >= {"error", "message"}
        pieces = (b"x" * 65536 for _ in range(100))
        assert httpx.put(begun["put_url"], content=pieces, timeout=WAIT).status_code in (400, 413)
        assert httpx.put(begun["put_url"], content=b"abc", timeout=WAIT).status_code == 400
        assert httpx.put(begun["put_url"], content=b"abcd", timeout=WAIT).status_code == 200


class TestD7Version:
    async def test_the_server_says_version_3(self, remote_kb):
        assert remote_kb.client.server_info.name == "kb"
        assert remote_kb.client.server_info.version.startswith("3.")
