"""Collections in as a parameter and out as a field; underneath they are tags, one a document."""

import json
import uuid

import anyio
import pytest

from kb.mcp.contract import Call
from kb.mcp.kb_tools.collections import build, present
from kb.mcp.settings import McpSettings

NAMES = ("documents", "memory", "workspace")


@pytest.mark.parametrize(
    ("tags", "collection", "shown"),
    [
        ([], None, []),
        (["a"], None, ["a"]),
        (["a", "collection:memory", "b"], "memory", ["a", "b"]),
        (["collection:other"], "other", []),
        (["collection:other", "collection:memory"], "memory", []),
        (["collection:workspace", "collection:documents"], "documents", []),
        (["my-collection:x", "collections"], None, ["my-collection:x", "collections"]),
    ],
)
def test_the_collection_is_shown_apart_from_the_tags(tags, collection, shown):
    thing = {"id": 1, "tags": tags}
    assert present(NAMES, thing) == {"id": 1, "tags": shown, "collection": collection}
    assert thing["tags"] == tags


def test_the_names_are_those_that_were_set():
    contract = build(McpSettings(collections=("work", "home")))
    for name in ("kb_search", "kb_addnote", "kb_upload_start", "kb_set_collection"):
        parameter = contract.tool(name).input_schema["properties"]["collection"]
        assert parameter["enum"] == ["work", "home"]
    assert "work, home" in contract.instructions
    assert contract.tool("kb_addnote").input_schema["properties"]["collection"]["default"] == "work"


async def test_every_tool_that_adds_or_filters_takes_a_collection(collections):
    having = {
        tool.name
        for tool in collections.contract.tools
        if "collection" in tool.input_schema["properties"]
    }
    assert having == {"kb_search", "kb_get", "kb_addnote", "kb_upload_start", "kb_set_collection"}


@pytest.mark.parametrize("tag", ["collection:memory", " collection:memory"])
async def test_a_collection_among_the_tags_is_refused_unless_one_is_named(collections, tag):
    failed = await collections.fails("kb_addnote", text="Where to?", tags=["a", tag])
    assert "send collection=memory instead" in failed["message"]


async def test_an_uploaded_file_is_in_its_collection(collections, engine):
    document = await engine.document(
        await collections.upload(b"Hello", collection="workspace", tags=[])
    )
    assert document["tags"] == ["collection:workspace"]


async def test_a_file_uploaded_again_from_its_path_stays_in_its_collection(collections, engine):
    path = f"/home/anna/{collections.tag}.txt"
    first = await collections.upload(b"Hello", source_path=path, collection="workspace", tags=[])
    again = await collections.upload(b"Hello again", source_path=path, tags=["new"])
    assert again == first
    assert (await engine.document(first))["tags"] == ["collection:workspace", "new"]
    moved = await collections.fails(
        "kb_upload_start", filename="a.txt", total_size=5, source_path=path, collection="memory"
    )
    assert f"{path} is in workspace already" in moved["message"]
    await collections("kb_set_collection", document_id=first, collection="memory")
    await collections.upload(b"Hello", source_path=path, collection="memory", tags=[])
    assert (await engine.document(first))["tags"] == ["collection:memory", "new"]


async def test_a_bare_name_may_be_given_in_every_collection(collections, engine):
    name = f"plans/{collections.tag}"
    ids = {
        await collections.upload(b"Hello", source_path=name, collection=each, tags=[])
        for each in NAMES
    }
    assert len(ids) == len(NAMES)


async def test_a_search_looks_into_one_collection_or_everywhere(collections):
    ids = {}
    for name in NAMES:
        ids[name] = await collections.note(f"A quokka in {name}.", collection=name)
    for name in NAMES:
        found = await collections(
            "kb_search", query="quokka", tags=[collections.tag], collection=name
        )
        (hit,) = found["results"]
        assert hit["document_id"] == ids[name]
        assert (hit["collection"], hit["tags"]) == (name, [collections.tag])
    everywhere = await collections("kb_search", query="quokka", tags=[collections.tag])
    assert {hit["document_id"] for hit in everywhere["results"]} == set(ids.values())


async def test_every_document_in_an_answer_shows_its_collection(collections):
    path = f"memory/{collections.tag}"
    first = await collections.note("One.", source_path=path, collection="memory")
    shown = await collections("kb_get", document_id=first)
    assert (shown["collection"], shown["tags"]) == ("memory", [collections.tag])
    updated = await collections("kb_update_note", document_id=first, text="One, changed.")
    assert (updated["collection"], updated["tags"]) == ("memory", [collections.tag])
    await collections.note("Two.", source_path=path, collection="workspace")
    found = await collections("kb_get", source_path=path)
    assert {each["collection"] for each in found["documents"]} == {"memory", "workspace"}
    assert all(each["tags"] == [collections.tag] for each in found["documents"])


async def test_an_answer_stays_under_its_budget_with_the_field_in_it(collections):
    for number in range(12):
        await collections.note(f"Wombat {number}. " + "They dig. " * 60)
    for max_tokens in (500, 700, 1100):
        result = await collections.result(
            "kb_search", query="wombat", tags=[collections.tag], top=12, max_tokens=max_tokens
        )
        assert len(result.text) / 4 <= max_tokens
        assert result.content["truncated"]
        assert all("collection" in hit for hit in result.content["results"])


async def test_a_list_is_of_one_collection_or_of_all_and_counts_both_apart(collections, engine):
    for name in ("memory", "memory", "workspace"):
        await collections.note(f"Listed in {name}, {uuid.uuid4()}.", "listed", collection=name)
    everything = await collections("kb_get", tags=[collections.tag])
    assert everything["collections"] == {"memory": 2, "workspace": 1}
    assert everything["tags"] == {"listed": 3, collections.tag: 3}
    assert [each["collection"] for each in everything["documents"]] == [
        "workspace",
        *["memory"] * 2,
    ]
    assert all(set(each["tags"]) == {"listed", collections.tag} for each in everything["documents"])
    one = await collections("kb_get", tags=[collections.tag], collection="workspace")
    assert (one["total"], one["collections"]) == (1, {"workspace": 1})
    assert "collection:" not in json.dumps([everything, one])


async def test_what_reads_one_document_takes_no_collection(collections):
    document_id = await collections.note("In one.")
    failed = await collections.fails("kb_get", document_id=document_id, collection="memory")
    assert "filters list several" in failed["message"]


@pytest.mark.parametrize("parameter", ["add_tags", "remove_tags"])
@pytest.mark.parametrize("tag", ["collection:memory", " collection:memory"])
async def test_a_collection_is_not_changed_as_a_tag(collections, engine, parameter, tag):
    document_id = await collections.note("Stays where it is.")
    failed = await collections.fails(
        "kb_update_note", document_id=document_id, text="Moved.", **{parameter: ["a", tag]}
    )
    assert failed["error"] == "invalid_parameter"
    assert f"{parameter} cannot name a collection: use kb_set_collection" in failed["message"]
    document = await engine.document(document_id)
    assert document["tags"] == ["collection:documents", collections.tag]
    assert document["text"] == "Stays where it is."


async def test_tags_are_changed_beside_the_collection(collections, engine):
    document_id = await collections.note("Retagged.", "old", collection="memory")
    changed = await collections(
        "kb_update_note", document_id=document_id, add_tags=["new"], remove_tags=["old"]
    )
    assert (changed["collection"], changed["tags"]) == ("memory", ["new", collections.tag])


@pytest.mark.parametrize("tag", ["collection:unheard-of", "collection:"])
async def test_a_collection_that_is_not_known_is_not_proposed(collections, tag):
    failed = await collections.fails("kb_addnote", text="x", tags=[tag])
    assert f"send collection=<one of {', '.join(NAMES)}> instead" in failed["message"]


async def test_moving_keeps_the_other_tags_and_removes_every_other_collection(collections, engine):
    document_id = await collections.note("Moves.", "keep")
    await engine.add_tags(document_id, ["collection:memory", "collection:stray"])
    moved = await collections("kb_set_collection", document_id=document_id, collection="workspace")
    assert moved["collection"] == "workspace"
    assert moved["tags"] == sorted(["keep", collections.tag])
    tags = (await engine.document(document_id))["tags"]
    assert [tag for tag in tags if tag.startswith("collection:")] == ["collection:workspace"]


async def test_moving_to_where_it_is_changes_nothing(collections):
    document_id = await collections.note("Stays.", collection="memory")
    moved = await collections("kb_set_collection", document_id=document_id, collection="memory")
    assert moved["collection"] == "memory"


async def test_many_who_move_a_document_at_once_leave_it_in_one_collection(collections, engine):
    document_id = await collections.note("Everybody wants it.")
    for _ in range(5):
        async with anyio.create_task_group() as group:
            for name in NAMES * 2:
                group.start_soon(
                    collections.contract.call,
                    "kb_set_collection",
                    {"document_id": document_id, "collection": name},
                    Call(engine, collections.call.uploads),
                )
        tags = (await engine.document(document_id))["tags"]
        assert len([tag for tag in tags if tag.startswith("collection:")]) == 1
        assert collections.tag in tags


async def test_a_move_that_never_settles_says_so(collections):
    class Restless:
        """An engine where somebody else is always faster."""

        async def document(self, _document_id, _tags=()):
            return {"tags": ["collection:documents"]}

        add_tags = remove_tags = document

    call = Call(Restless(), None)
    arguments = {"document_id": 7, "collection": "memory"}
    result = await collections.contract.call("kb_set_collection", arguments, call)
    assert result.content["error"] == "conflict"
    assert "Document 7 is being moved by others" in result.text
