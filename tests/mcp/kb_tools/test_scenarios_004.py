"""The scenarios of the specification delta: collections that change."""

import pytest


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
