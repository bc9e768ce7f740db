"""The scenarios of the specification delta: collections that change, deleting, and the client."""

import httpx
import pytest

from kb.mcp.engine import EngineClient

pytestmark = pytest.mark.anyio


def collections_of(document):
    return [tag for tag in document["tags"] if tag.startswith("collection:")]


class TestSetCollectionOnExistingDocumentViaMcp:
    async def test_assign_untagged_document_to_a_collection(self, remote_collections, engine):
        job = await engine.add_note(f"Untagged, {remote_collections.tag}.")
        document_id = await remote_collections.ready(job)
        answer = await remote_collections(
            "kb_set_collection", document_id=document_id, collection="workspace"
        )
        assert answer["collection"] == "workspace"
        assert answer["tags"] == []
        assert (await engine.document(document_id))["tags"] == ["collection:workspace"]

    async def test_change_document_from_one_collection_to_another(self, remote_collections, engine):
        document_id = await remote_collections.note("Moves.", collection="documents")
        assert collections_of(await engine.document(document_id)) == ["collection:documents"]
        answer = await remote_collections(
            "kb_set_collection", document_id=document_id, collection="memory"
        )
        assert answer["collection"] == "memory"
        assert answer["tags"] == [remote_collections.tag]
        assert collections_of(await engine.document(document_id)) == ["collection:memory"]

    @pytest.mark.parametrize("arguments", [{}, {"collection": None}], ids=["omitted", "null"])
    async def test_remove_document_from_all_collections(
        self, remote_collections, engine, arguments
    ):
        document_id = await remote_collections.note("Out of all.", collection="memory")
        answer = await remote_collections("kb_set_collection", document_id=document_id, **arguments)
        assert answer["collection"] is None
        assert answer["tags"] == [remote_collections.tag]
        assert (await engine.document(document_id))["tags"] == [remote_collections.tag]

    @pytest.mark.parametrize("arguments", [{}, {"collection": "memory"}], ids=["none", "one"])
    async def test_document_not_found(self, remote_collections, arguments):
        failed = await remote_collections.fails("kb_set_collection", document_id=10**9, **arguments)
        assert failed["error"] == "document_not_found"
        assert "Document 1000000000 not found" in failed["message"]


class TestDeleteDocumentViaMcp:
    async def test_successful_deletion(self, remote_collections, engine, asked):
        agent = remote_collections
        document_id = await agent.note("Delete the wolverine.", title="Wolverine")
        asked.clear()
        answer = await agent("kb_delete", document_id=document_id)
        assert [request.line for request in asked] == [f"DELETE /api/v1/documents/{document_id}"]
        assert answer["status"] == "deleted"
        assert answer["document_id"] == document_id
        assert answer["title"] == "Wolverine"
        gone = await agent.fails("kb_get", document_id=document_id)
        assert gone["error"] == "document_not_found"
        assert (await agent("kb_search", query="wolverine", tags=[agent.tag]))["results"] == []
        assert agent.tag not in [each["tag"] for each in (await engine.tags())["tags"]]

    async def test_document_not_found(self, remote_collections):
        failed = await remote_collections.fails("kb_delete", document_id=10**9)
        assert failed["error"] == "document_not_found"
        assert "Document 1000000000 not found" in failed["message"]


class TestEngineClientDeleteMethod:
    async def test_successful_engine_client_delete_call(self, engine_process):
        async with EngineClient(engine_process.url, "engine-key") as client:
            job = await client.wait_for_job((await client.add_note("Short life."))["job_id"])
            answer = await client.delete_document(job["document_id"])
        assert answer["status"] == "deleted"
        assert answer["document_id"] == job["document_id"]

    async def test_engine_client_delete_for_missing_document(self, engine_process):
        async with EngineClient(engine_process.url, "engine-key") as client:
            with pytest.raises(httpx.HTTPStatusError) as caught:
                await client.delete_document(10**9)
        assert caught.value.response.status_code == 404
