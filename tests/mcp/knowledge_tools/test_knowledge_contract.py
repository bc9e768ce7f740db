"""Every tool of the knowledge contract: what it takes, what it answers, how it fails.

Through the official client in both eras, through bare HTTP, and through the WebSocket.
"""

import json
import os
import uuid

import anyio
import knowledge_examples as examples
import pytest
from knowledge_world import ENGINE_KEY, MAX_FILE_MB, official, raw

from kb.client import EngineClient
from kb.mcp.app import CONTRACTS
from kb.mcp.settings import McpSettings

UNKNOWN = str(uuid.uuid4())
CONFIRMED = {"confirm": True, "confirmation_phrase": "DELETE ALL"}
CONTRACT = CONTRACTS["knowledge"](McpSettings())


# What they take


@pytest.mark.parametrize("tool", CONTRACT.tools, ids=lambda tool: tool.name)
def test_a_tool_has_the_parameters_of_the_contract_and_no_others(tool):
    expected = examples.PARAMETERS[tool.name]
    properties = tool.input_schema["properties"]
    assert set(properties) == set(expected)
    required = {name for name, (_, needed, _) in expected.items() if needed}
    assert set(tool.input_schema.get("required", ())) == required
    for name, (kind, _, default) in expected.items():
        assert properties[name]["type"] == kind
        assert properties[name].get("default") == default


def test_the_ranges_are_those_of_the_contract():
    properties = {tool.name: tool.input_schema["properties"] for tool in CONTRACT.tools}
    query, top_k = properties["knowledge-search"]["query"], properties["knowledge-search"]["top_k"]
    assert (query["minLength"], query["maxLength"]) == (1, 500)
    assert (top_k["minimum"], top_k["maximum"]) == (1, 50)
    relevance = properties["knowledge-search"]["min_relevance"]
    assert (relevance["minimum"], relevance["maximum"]) == (0, 1)
    limit = properties["knowledge-show"]["limit"]
    assert (limit["minimum"], limit["maximum"]) == (1, 1000)
    assert properties["knowledge-show"]["sort_by"]["enum"] == ["date_added", "filename", "size"]
    assert properties["knowledge-show"]["sort_order"]["enum"] == ["asc", "desc"]


def test_the_whole_list_costs_at_most_1600_tokens():
    """A token is counted as four characters of the JSON that is sent."""
    listed = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "annotations": tool.annotations,
        }
        for tool in CONTRACT.tools
    ]
    assert len(json.dumps(listed, separators=(",", ":"))) / 4 <= 1600


def schemas(schema):
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from schemas(inner)
    for inner in schema.get("anyOf", ()):
        yield from schemas(inner)
    if "items" in schema:
        yield from schemas(schema["items"])


@pytest.mark.parametrize("tool", CONTRACT.tools, ids=lambda tool: tool.name)
def test_schemas_use_only_what_every_client_understands(tool):
    """One type each: some refuse lists of types, and some what stands beside an `anyOf`."""
    for schema in schemas(tool.input_schema):
        assert not {"oneOf", "allOf", "$ref"} & set(schema)
        if "anyOf" in schema:
            assert set(schema) == {"anyOf"}
            continue
        assert schema["type"] in ("object", "string", "integer", "number", "boolean", "array")
        assert schema["type"] != "object" or "properties" in schema
        assert schema["type"] != "array" or "items" in schema


def optional(schema, path=()):
    """Where a parameter stands that need not be sent, and its schema."""
    for name, inner in schema.get("properties", {}).items():
        if name not in schema.get("required", ()):
            yield (*path, name), inner
        yield from optional(inner, (*path, name))


@pytest.mark.parametrize("tool", CONTRACT.tools, ids=lambda tool: tool.name)
def test_what_may_be_null_says_so_and_what_is_required_does_not(tool):
    said = {
        path
        for path, schema in optional(tool.input_schema)
        if any(each.get("nullable") for each in schema.get("anyOf", [schema]))
    }
    assert said == {path for path, _ in optional(tool.input_schema)}
    for name in tool.input_schema.get("required", ()):
        assert "nullable" not in tool.input_schema["properties"][name]


async def test_what_may_be_null_is_taken_as_null(http_knowledge, library):
    nothing = dict.fromkeys(("top_k", "min_relevance", "filters"))
    await http_knowledge.added(
        library / "page.html", metadata=dict.fromkeys(("title", "author", "tags")), force_ocr=None
    )
    assert (await http_knowledge("knowledge-search", query="page", **nothing))["results"]
    for filters in ({"format": None, "date_range": None}, {"date_range": {"start": None}}):
        found = await http_knowledge("knowledge-search", query="page", filters=filters)
        assert found["results"]
    shown = dict.fromkeys(("limit", "offset", "sort_by", "sort_order"))
    assert (await http_knowledge("knowledge-show", **shown))["limit"] == 100


async def test_a_format_is_one_or_a_list_also_one_that_came_as_text(http_knowledge, library):
    await http_knowledge.added(library / "page.html")
    for given in ("html", ["html"], ["pdf", "html"], '["pdf", "html"]'):
        found = await http_knowledge("knowledge-search", query="page", filters={"format": given})
        assert found["results"], given
    formats = CONTRACT.tool("knowledge-search").input_schema["properties"]["filters"]
    kinds = [each["type"] for each in formats["properties"]["format"]["anyOf"]]
    assert kinds == ["string", "array"]


def test_adding_says_what_adding_again_does():
    words = CONTRACT.tool("knowledge-add").description
    for part in ("same path again", "updated", "keeps its id", "tags are added", "unchanged"):
        assert part in words


MISSING = [
    ("knowledge-add", "file_path"),
    ("knowledge-search", "query"),
    ("knowledge-remove", "document_id"),
    ("knowledge-task-status", "task_id"),
]


async def test_what_is_required_and_missing_is_named(knowledge):
    for tool, parameter in MISSING:
        for arguments in ({}, {parameter: None}):
            failed = await knowledge.fails(tool, **arguments)
            assert failed["error"] == "missing_required_parameter"
            assert failed["parameter"] == parameter
            assert parameter in failed["message"]


INVALID = [
    ("knowledge-add", "file_path", {"file_path": 5}),
    ("knowledge-add", "file_path", {"file_path": ""}),
    ("knowledge-add", "metadata", {"file_path": "a.pdf", "metadata": "none"}),
    ("knowledge-add", "metadata", {"file_path": "a.pdf", "metadata": ["a"]}),
    ("knowledge-add", "metadata.title", {"file_path": "a.pdf", "metadata": {"title": 5}}),
    ("knowledge-add", "metadata.tags", {"file_path": "a.pdf", "metadata": {"tags": [1]}}),
    ("knowledge-add", "force_ocr", {"file_path": "a.pdf", "force_ocr": "maybe"}),
    ("knowledge-add", "async", {"file_path": "a.pdf", "async": 1}),
    ("knowledge-add", "path", {"file_path": "a.pdf", "path": "b.pdf"}),
    ("knowledge-search", "query", {"query": ""}),
    ("knowledge-search", "query", {"query": "   "}),
    ("knowledge-search", "query", {"query": "x" * 501}),
    ("knowledge-search", "top_k", {"query": "x", "top_k": 0}),
    ("knowledge-search", "top_k", {"query": "x", "top_k": 51}),
    ("knowledge-search", "top_k", {"query": "x", "top_k": 2.5}),
    ("knowledge-search", "min_relevance", {"query": "x", "min_relevance": -0.1}),
    ("knowledge-search", "min_relevance", {"query": "x", "min_relevance": 1.1}),
    ("knowledge-search", "min_relevance", {"query": "x", "min_relevance": "high"}),
    ("knowledge-search", "filters", {"query": "x", "filters": "pdf"}),
    ("knowledge-search", "filters.author", {"query": "x", "filters": {"author": "me"}}),
    ("knowledge-search", "filters.format", {"query": "x", "filters": {"format": 5}}),
    ("knowledge-search", "filters.format", {"query": "x", "filters": {"format": []}}),
    ("knowledge-search", "filters.date_range", {"query": "x", "filters": {"date_range": "2025"}}),
    (
        "knowledge-search",
        "filters.date_range",
        {"query": "x", "filters": {"date_range": {"from": "2025-01-01"}}},
    ),
    (
        "knowledge-search",
        "filters.date_range",
        {"query": "x", "filters": {"date_range": {"start": "2025-02-01", "end": "2025-01-01"}}},
    ),
    *(
        ("knowledge-search", "filters.format", {"query": "x", "filters": {"format": given}})
        for given in ("", " ", ".", "a\nb", ["pdf", ""], "a" * 51)
    ),
    *(
        (
            "knowledge-search",
            "filters.date_range.start",
            {"query": "x", "filters": {"date_range": {"start": day}}},
        )
        for day in ("yesterday", "2025-02-30", "20250101", 2025)
    ),
    ("knowledge-remove", "document_id", {"document_id": ""}),
    *(
        ("knowledge-remove", "confirm", {"document_id": UNKNOWN, "confirm": given})
        for given in ("sure", "true", "yes", 1, 1.0, ["true"], {})
    ),
    ("knowledge-show", "limit", {"limit": 0}),
    ("knowledge-show", "limit", {"limit": 1001}),
    ("knowledge-show", "offset", {"offset": -1}),
    ("knowledge-show", "offset", {"offset": 10**9 + 1}),
    ("knowledge-show", "sort_by", {"sort_by": "title"}),
    ("knowledge-show", "sort_order", {"sort_order": "down"}),
    ("knowledge-clear", "force", {"force": True}),
    ("knowledge-status", "verbose", {"verbose": True}),
    ("knowledge-task-status", "task_id", {"task_id": "not-a-uuid"}),
    ("knowledge-task-status", "task_id", {"task_id": "5"}),
]


async def test_what_cannot_be_used_is_refused_and_named(knowledge):
    for tool, parameter, arguments in INVALID:
        failed = await knowledge.fails(tool, **arguments)
        assert (failed["error"], failed["parameter"]) == ("invalid_parameter", parameter), arguments
        assert set(failed) == {"success", "error", "message", "parameter"}


async def test_numbers_and_objects_as_text_are_taken_as_they_are_meant(http_knowledge, library):
    await http_knowledge.added(library / "page.html")
    found = await http_knowledge(
        "knowledge-search",
        query="page",
        top_k="3",
        min_relevance="0.0",
        filters='{"format": "html"}',
    )
    assert found["total_results"] >= 1
    assert (await http_knowledge("knowledge-show", limit="1"))["limit"] == 1


# knowledge-add


async def test_an_add_is_queued_and_then_done(knowledge, library):
    queued = await knowledge("knowledge-add", file_path=str(library / "page.html"))
    examples.same_form(examples.ADD_ASYNC, queued)
    assert queued["message"] == examples.ADD_ASYNC["message"]
    assert uuid.UUID(queued["task_id"]).version == 4
    assert queued["estimated_time_seconds"] >= 1
    done = await knowledge.finished(queued["task_id"])
    examples.same_form(examples.TASK_COMPLETED, done)
    assert (done["status"], done["progress"]) == ("completed", 1.0)
    assert done["result"]["filename"] == "page.html"


async def test_an_add_can_be_waited_for(knowledge, library):
    arguments = {"file_path": str(library / "page.html"), "async": False}
    added = await knowledge("knowledge-add", **arguments)
    examples.same_form(examples.ADD_SYNC, added)
    assert uuid.UUID(added["document_id"]).version == 4
    assert added["filename"] == "page.html"
    assert added["chunks_created"] >= 1
    assert added["processing_time_seconds"] > 0


async def test_an_ending_that_is_not_taken_is_told_before_anything_else(knowledge):
    assert (
        await knowledge.fails("knowledge-add", file_path="/test/doc.xyz")
        == examples.ADD_UNSUPPORTED
    )
    for name in ("/etc/passwd", "README", "mail.eml", "notes.md", "archive.pdf.zip", ".pdf"):
        failed = await knowledge.fails("knowledge-add", file_path=name)
        assert failed["error"] == "unsupported_format"
        assert failed["supported_formats"] == examples.SUPPORTED


async def test_bytes_of_another_kind_than_the_ending_says_fail_the_task(http_knowledge, library):
    (library / "lies.pdf").write_bytes(b"\0\1\2\3 nothing of the kind " * 20)
    failed = await http_knowledge.fails(
        "knowledge-add", file_path=str(library / "lies.pdf"), **{"async": False}
    )
    formats = failed.pop("supported_formats")
    examples.same_form(examples.TASK_FAILED, failed)
    assert (failed["error"], formats) == (
        "unsupported_format",
        examples.ADD_UNSUPPORTED["supported_formats"],
    )
    assert failed["message"].endswith("Use PDF, DOCX, PPTX, XLSX, HTML, JPG, PNG, or SVG")
    assert (await http_knowledge("knowledge-show"))["total_count"] == 0


async def test_a_file_that_is_too_large_is_refused_by_its_size(knowledge, library):
    with (library / "large.pdf").open("wb") as file:
        file.truncate(MAX_FILE_MB * 2**20 + 2**19)
    failed = await knowledge.fails("knowledge-add", file_path=str(library / "large.pdf"))
    examples.same_form(examples.ADD_TOO_LARGE, failed)
    assert failed["message"] == "File size (1.5 MB) exceeds maximum allowed size (1 MB)"
    assert failed["max_size_mb"] == MAX_FILE_MB


async def test_a_file_that_is_not_there_is_told(knowledge, library):
    for path in (library / "missing.pdf", library / "missing" / "a.pdf", "missing.pdf"):
        failed = await knowledge.fails("knowledge-add", file_path=str(path))
        assert failed["error"] == "file_not_found"
        assert "missing" in failed["message"]


async def test_a_place_that_is_not_allowed_is_told(knowledge, library):
    for path in ("/etc/hosts.pdf", f"{library}/../a.pdf", "../a.pdf", f"{library}x/a.pdf"):
        failed = await knowledge.fails("knowledge-add", file_path=path)
        assert failed["error"] == "path_not_allowed"
        assert failed["file_path"] == path


async def test_what_leads_out_of_the_folder_is_refused_at_once(http_knowledge, library, tmp_path):
    (tmp_path / "secret.pdf").write_bytes((library / "report.pdf").read_bytes())
    (library / "link.pdf").symlink_to(tmp_path / "secret.pdf")
    (library / "linked").symlink_to(tmp_path)
    os.mkfifo(library / "pipe.pdf")
    try:
        for path in ("link.pdf", "linked/secret.pdf", "pipe.pdf", str(library / "link.pdf")):
            with anyio.fail_after(30):  # to open a pipe takes for ever
                failed = await http_knowledge.fails("knowledge-add", file_path=path)
            assert failed["error"] == "path_not_allowed"
    finally:
        for name in ("link.pdf", "linked", "pipe.pdf"):
            (library / name).unlink()
    assert (await http_knowledge("knowledge-show"))["total_count"] == 0


async def test_the_engines_own_folder_is_not_read(start_server, knowledge_engine, library, kept):
    """Though it lies below a root."""
    server = start_server(
        KB_MCP_TOOLS="knowledge",
        KB_MCP_FILE_ROOTS=str(knowledge_engine.folder.parent),
        KB_ENGINE_URL=knowledge_engine.url,
    )
    planted = knowledge_engine.folder / "store-files" / "planted.pdf"
    planted.write_bytes((library / "report.pdf").read_bytes())
    try:
        async with raw(server.url) as door:
            failed = await door.fails("knowledge-add", file_path=str(planted))
    finally:
        planted.unlink()
    assert failed["error"] == "path_not_allowed"
    assert "own folder" in failed["message"]


async def test_metadata_becomes_title_tags_and_the_rest(http_knowledge, library, kept):
    metadata = {"title": "The page", "tags": ["technical", "api-docs"], "author": "John Doe"}
    uid = await http_knowledge.added(library / "page.html", metadata=metadata)
    document = await kept.document(uid)
    assert document["title"] == "The page"
    assert document["tags"] == ["api-docs", "technical"]
    assert document["metadata"]["author"] == "John Doe"
    assert "tags" not in document["metadata"]
    assert document["source_path"] == str(library / "page.html")


async def test_metadata_that_the_engine_refuses_is_an_invalid_parameter(http_knowledge, library):
    failed = await http_knowledge.fails(
        "knowledge-add", file_path="page.html", metadata={"title": "x" * 501}
    )
    assert failed["error"] == "invalid_parameter"
    assert failed["parameter"] == "metadata"


async def test_the_same_path_again_is_the_same_document(http_knowledge, library, kept):
    path = library / "twice.html"
    path.write_text("<html><body><p>The first version of it, about herons.</p></body></html>")
    first = await http_knowledge.added(path)
    assert await http_knowledge.added(path) == first
    path.write_text("<html><body><p>The second version of it, about otters.</p></body></html>")
    assert await http_knowledge.added(path) == first
    found = await http_knowledge("knowledge-search", query="otters")
    assert "second version" in found["results"][0]["chunk_text"]


async def test_a_path_is_of_the_servers_machine(http_knowledge, knowledge_engine, library, kept):
    path = library / "otters.html"
    path.write_text("<p>Otters swim.</p>")
    ids = {}
    for origin in ("the-server's", "another's"):
        async with EngineClient(knowledge_engine.url, ENGINE_KEY, origin=origin) as client:
            job = await client.add_file(path, source_path=str(path), from_here=True)
            ids[origin] = (await client.wait_for_job(job["job_id"]))["document_uid"]
    path.write_text("<p>Otters swim and dive.</p>")
    assert await http_knowledge.added(path) == ids["the-server's"]
    assert (await kept.document(ids["another's"]))["updated_at"] is None


# knowledge-search


async def test_a_search_answers_in_the_form_of_the_contract(knowledge, library):
    await knowledge.added(library / "report.pdf")
    found = await knowledge("knowledge-search", query="leftwort opens the column")
    examples.same_form(examples.SEARCH, {**found, "results": found["results"][:1]})
    assert found["query"] == "leftwort opens the column"
    assert found["total_results"] == len(found["results"])
    scores = [result["relevance_score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    best = found["results"][0]
    assert best["filename"] == "report.pdf"
    assert "leftwort" in best["chunk_text"].lower()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("git clean -flaxwort", "Use git clean -flaxwort before a release"),
        ("tag:prodwort in a question", "Images with tag:prodwort are what users see"),
        ('"madderwort dyes"', "The madderwort, which dyes"),
    ],
)
async def test_a_query_is_text_and_nothing_in_it_a_condition(http_knowledge, library, query, words):
    path = library / "flags.html"
    path.write_text(f"<html><body><p>{words}.</p></body></html>")
    await http_knowledge.added(library / "page.html")
    await http_knowledge.added(path)
    found = await http_knowledge("knowledge-search", query=query)
    assert found["results"][0]["filename"] == "flags.html"
    assert words in found["results"][0]["chunk_text"]


async def test_a_search_that_finds_only_the_nearest_says_so(http_knowledge, library):
    path = library / "otter.html"
    path.write_text("<p>By day the otter swims, at night it sleeps between two stones.</p>")
    await http_knowledge.added(path)
    found = await http_knowledge("knowledge-search", query="qqqzzz xxyyzz the wwxxyy")
    assert found["results"]
    assert found["message"] == "Nothing fits well: these are only the nearest passages"


async def test_a_search_without_results_says_so_and_names_the_filters(knowledge, library):
    await knowledge.added(library / "page.html")
    found = await knowledge("knowledge-search", query="xyzzy", filters={"format": "pdf"})
    examples.same_form(examples.SEARCH_NOTHING, found)
    assert found == examples.SEARCH_NOTHING | {
        "query": "xyzzy",
        "search_time_ms": found["search_time_ms"],
        "message": f"{examples.SEARCH_NOTHING['message']} within filters.format: search without",
    }
    found = await knowledge("knowledge-search", query="xyzzy", min_relevance=1.0)
    assert "within min_relevance" in found["message"]


async def test_a_search_in_an_empty_knowledge_base_fails(knowledge):
    assert await knowledge.fails("knowledge-search", query="anything") == examples.SEARCH_EMPTY


async def test_min_relevance_is_absolute(http_knowledge, library):
    await http_knowledge.added(library / "report.pdf")
    every = (await http_knowledge("knowledge-search", query="leftwort column"))["results"]
    bound = every[0]["relevance_score"]
    assert bound > every[-1]["relevance_score"]
    some = await http_knowledge("knowledge-search", query="leftwort column", min_relevance=bound)
    assert [result["relevance_score"] for result in some["results"]] == [bound]
    none = await http_knowledge("knowledge-search", query="leftwort column", min_relevance=1.0)
    assert none["results"] == []


async def test_filters_are_applied(http_knowledge, library):
    await http_knowledge.added(library / "report.pdf")
    await http_knowledge.added(library / "page.html")

    async def formats(**filters):
        found = await http_knowledge("knowledge-search", query="the", top_k=50, filters=filters)
        return {result["metadata"]["format"] for result in found["results"]}

    assert await formats() == {"pdf", "html"}
    assert await formats(format="pdf") == {"pdf"}
    assert await formats(format=".PDF") == {"pdf"}
    assert await formats(format="htm") == {"html"}
    assert await formats(format=["pdf", "html"]) == {"pdf", "html"}
    shown = await http_knowledge("knowledge-show")
    today = shown["documents"][0]["date_added"][:10]
    assert await formats(date_range={"start": today, "end": today}) == {"pdf", "html"}
    assert await formats(date_range={"start": today}) == {"pdf", "html"}
    assert await formats(date_range={"end": today}) == {"pdf", "html"}
    assert await formats(date_range={"end": "2025-12-31"}) == set()
    assert await formats(date_range={"start": "2999-01-01"}) == set()


async def test_top_k_bounds_the_results(http_knowledge, library):
    await http_knowledge.added(library / "report.pdf")
    found = await http_knowledge("knowledge-search", query="the", top_k=2)
    assert found["total_results"] == 2


async def test_a_note_is_called_by_its_title(http_knowledge, kept):
    await kept.wait_for_job(
        (await kept.add_note("Ada likes short answers.", title="Ada"))["job_id"]
    )
    [result] = (await http_knowledge("knowledge-search", query="Ada short"))["results"]
    assert result["filename"] == "Ada"
    assert result["metadata"]["format"] == "note"
    assert result["metadata"]["page_num"] is None
    [shown] = (await http_knowledge("knowledge-show"))["documents"]
    assert shown["filename"] == "Ada"


# knowledge-remove


async def test_removing_needs_confirmation_and_then_removes(knowledge, library, kept):
    uid = await knowledge.added(library / "page.html")
    count = (await kept.document(uid))["chunk_count"]
    for arguments in ({}, {"confirm": False}):
        failed = await knowledge.fails("knowledge-remove", document_id=uid, **arguments)
        assert failed == examples.REMOVE_UNCONFIRMED | {
            "document": {"id": uid, "filename": "page.html", "chunks": count}
        }
    removed = await knowledge("knowledge-remove", document_id=uid.upper(), confirm=True)
    examples.same_form(examples.REMOVE, removed)
    assert removed == examples.REMOVE | {
        "document_id": uid,
        "filename": "page.html",
        "chunks_removed": count,
    }
    assert (await knowledge("knowledge-show"))["total_count"] == 0


async def test_what_is_not_there_cannot_be_removed(knowledge, kept):
    note = await kept.wait_for_job((await kept.add_note("Stays."))["job_id"])
    for given in (UNKNOWN, "uuid-v4-doc-id", str(note["document_id"]), "../documents"):
        for arguments in ({}, {"confirm": True}):
            failed = await knowledge.fails("knowledge-remove", document_id=given, **arguments)
            text = json.dumps(examples.REMOVE_UNKNOWN).replace("uuid-v4-doc-id", given)
            assert failed == json.loads(text)
    assert (await knowledge("knowledge-show"))["total_count"] == 1


# knowledge-show


async def test_a_list_has_the_form_of_the_contract(knowledge, library):
    examples.same_form(examples.SHOW_EMPTY, empty := await knowledge("knowledge-show"))
    assert empty == examples.SHOW_EMPTY
    await knowledge.added(library / "page.html")
    await knowledge.added(library / "drawing.svg")
    shown = await knowledge("knowledge-show")
    examples.same_form(examples.SHOW, shown)
    assert [document["filename"] for document in shown["documents"]] == ["drawing.svg", "page.html"]
    assert {document["processing_status"] for document in shown["documents"]} == {"completed"}
    size = (library / "page.html").stat().st_size
    assert shown["documents"][1]["size_bytes"] == size


async def test_a_list_is_sorted_and_paged(http_knowledge, library):
    names = ("page.html", "drawing.svg", "report.pdf")
    for name in names:
        await http_knowledge.added(library / name)

    async def shown(**arguments):
        answer = await http_knowledge("knowledge-show", **arguments)
        assert answer["total_count"] == 3
        return [document["filename"] for document in answer["documents"]]

    assert await shown() == list(reversed(names))
    assert await shown(sort_by="date_added", sort_order="asc") == list(names)
    assert await shown(sort_by="filename", sort_order="asc") == sorted(names)
    by_size = sorted(names, key=lambda name: (library / name).stat().st_size)
    assert await shown(sort_by="size", sort_order="asc") == by_size
    assert await shown(sort_by="size") == by_size[::-1]
    assert await shown(limit=1) == ["report.pdf"]
    assert await shown(limit=2, offset=1) == ["drawing.svg", "page.html"]
    assert await shown(offset=3) == []


# knowledge-clear

WRONG = [
    {},
    {"confirm": True},
    {"confirm": False, "confirmation_phrase": "DELETE ALL"},
    {"confirm": True, "confirmation_phrase": "delete all"},
    {"confirm": True, "confirmation_phrase": "DELETE ALL "},
    {"confirm": True, "confirmation_phrase": 5},
    {"confirm": 1, "confirmation_phrase": "DELETE ALL"},
    {"confirm": "yes", "confirmation_phrase": "DELETE ALL"},
    {"confirm": "true", "confirmation_phrase": "DELETE ALL"},
    {"confirm": "True", "confirmation_phrase": "DELETE ALL"},
    {"confirmation_phrase": "DELETE ALL"},
]


async def test_clearing_needs_its_whole_confirmation(knowledge, library):
    await knowledge.added(library / "page.html")
    for arguments in WRONG:
        failed = await knowledge.fails("knowledge-clear", **arguments)
        assert failed == examples.CLEAR_UNCONFIRMED | {"current_document_count": 1}, arguments
    cleared = await knowledge("knowledge-clear", **CONFIRMED)
    examples.same_form(examples.CLEAR, cleared)
    assert cleared["documents_removed"] == 1
    assert cleared["embeddings_removed"] >= 1
    assert cleared["message"] == examples.CLEAR["message"]
    assert await knowledge("knowledge-show") == examples.SHOW_EMPTY


# knowledge-status


async def test_a_status_has_the_form_of_the_contract(knowledge, library, knowledge_engine, kept):
    empty = await knowledge("knowledge-status")
    assert empty["last_updated"] is None
    assert empty["knowledge_base"]["average_chunks_per_document"] == 0.0
    await knowledge.added(library / "page.html")
    status = await knowledge("knowledge-status")
    examples.same_form(examples.STATUS, status)
    assert status["health"] == examples.STATUS["health"]
    base = status["knowledge_base"]
    assert (base["name"], base["document_count"]) == ("default", 1)
    size = (library / "page.html").stat().st_size
    assert base["total_size_bytes"] == size
    assert base["vector_db_path"] == str(knowledge_engine.folder / "store.db")
    assert status["configuration"]["max_file_size_mb"] == MAX_FILE_MB
    [document] = (await knowledge("knowledge-show"))["documents"]
    assert status["last_updated"] == document["date_added"]
    note = "Grüße: a note counts, too."
    await kept.wait_for_job((await kept.add_note(note))["job_id"])
    base = (await knowledge("knowledge-status"))["knowledge_base"]
    listed = (await knowledge("knowledge-show"))["documents"]
    assert base["total_size_bytes"] == size + len(note.encode())
    assert base["total_size_bytes"] == sum(each["size_bytes"] for each in listed)


async def test_a_folder_that_is_gone_degrades_the_status(http_knowledge, knowledge_engine):
    files = knowledge_engine.folder / "store-files"
    away = files.rename(files.with_name("away"))
    try:
        health = (await http_knowledge("knowledge-status"))["health"]
    finally:
        away.rename(files)
    assert health == examples.STATUS["health"] | {
        "status": "degraded",
        "storage_accessible": False,
        "issues": ["Storage directory not accessible: No such file or directory"],
    }


async def test_storage_that_is_gone_is_named_by_those_in_need(knowledge, knowledge_engine, library):
    uid = await knowledge.added(library / "page.html")
    away = knowledge_engine.folder.rename(knowledge_engine.folder.with_name("away"))
    try:
        status = await knowledge("knowledge-status")
        tried = [
            await knowledge.fails("knowledge-add", file_path=str(library / "report.pdf")),
            await knowledge.fails("knowledge-remove", document_id=uid, confirm=True),
            await knowledge.fails("knowledge-clear", **CONFIRMED),
        ]
    finally:
        away.rename(knowledge_engine.folder)
    gone = {"vector_db_connected": False, "storage_accessible": False}
    issues = status["health"].pop("issues")
    assert status["health"] == examples.STATUS["health"] | gone | {"status": "degraded"}
    assert issues[0].startswith("The engine's database is gone: No such file or directory.")
    assert issues[1] == "Storage directory not accessible: No such file or directory"
    assert {failed["error"] for failed in tried} <= {"storage_failed", "files_inaccessible"}
    assert all("data folder" in failed["message"] for failed in tried)
    assert (await knowledge("knowledge-status"))["health"] == examples.STATUS["health"]


# knowledge-task-status


async def test_a_task_that_nobody_knows_is_told(knowledge):
    failed = await knowledge.fails("knowledge-task-status", task_id=UNKNOWN)
    assert failed == {
        "success": False,
        "error": "task_not_found",
        "message": f"Task with ID '{UNKNOWN}' not found",
        "task_id": UNKNOWN,
    }


async def test_a_task_that_failed_says_why(knowledge, library):
    (library / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is all there is of it\n")
    queued = await knowledge("knowledge-add", file_path="broken.pdf")
    failed = await knowledge.finished(queued["task_id"])
    examples.same_form(examples.TASK_FAILED, failed)
    assert failed["success"] is False
    assert failed["status"] == "failed"
    assert failed["task_id"] == queued["task_id"]
    assert failed["error"] in ("damaged_file", "no_text_found", "extraction_failed")


async def test_a_task_on_its_way_says_how_far_it_is(http_knowledge, library, kept):
    """Many are queued at once, so the last of them waits."""
    for number in range(12):
        text = f"<html><body>{'<p>Word after word after word.</p>' * 200}{number}</body></html>"
        (library / f"long{number}.html").write_text(text)
    tasks = [
        (await http_knowledge("knowledge-add", file_path=f"long{number}.html"))["task_id"]
        for number in range(12)
    ]
    seen = []
    while not seen or seen[-1]["status"] in ("queued", "running"):
        seen.append(await http_knowledge("knowledge-task-status", task_id=tasks[-1]))
    examples.same_form(examples.TASK_COMPLETED, seen.pop())
    for told in seen:
        examples.same_form(examples.TASK_RUNNING, told)
        assert told["estimated_remaining_seconds"] >= 0
        assert 0 <= told["completed_steps"] <= told["total_steps"]
    assert {told["status"] for told in seen} <= {"queued", "running"}
    progress = [told["progress"] for told in seen]
    assert progress == sorted(progress)
    elapsed = [told["elapsed_time_seconds"] for told in seen]
    assert elapsed == sorted(elapsed)


# What holds for all of them


async def test_an_engine_that_is_not_there_is_told_with_its_address(start_server, library):
    server = start_server(
        KB_MCP_TOOLS="knowledge",
        KB_MCP_FILE_ROOTS=str(library),
        KB_ENGINE_URL="http://127.0.0.1:9",
    )
    calls = {
        "knowledge-add": {"file_path": "page.html"},
        "knowledge-search": {"query": "x"},
        "knowledge-remove": {"document_id": UNKNOWN},
        "knowledge-show": {},
        "knowledge-clear": {},
        "knowledge-status": {},
        "knowledge-task-status": {"task_id": UNKNOWN},
    }
    async with raw(server.url) as door:
        for name, arguments in calls.items():
            failed = await door.fails(name, **arguments)
            assert failed["error"] == "engine_unreachable"
            assert failed["engine_url"] == "http://127.0.0.1:9"


async def test_without_folders_the_error_says_how_to_set_them(start_server, knowledge_engine):
    server = start_server(KB_MCP_TOOLS="knowledge", KB_ENGINE_URL=knowledge_engine.url)
    async with raw(server.url) as door:
        failed = await door.fails("knowledge-add", file_path="/home/anna/report.pdf")
    assert failed["error"] == "path_not_allowed"
    assert "KB_MCP_FILE_ROOTS=/home/anna/documents" in failed["message"]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_official_client_sees_the_tools_as_they_are(knowledge_server, era):
    async with official(knowledge_server.url, era) as door:
        listed = (await door.client.list_tools()).tools
        assert [tool.name for tool in listed] == list(examples.PARAMETERS)
        hints = {tool.name: tool.annotations for tool in listed}
        for name in ("search", "show", "status", "task-status"):
            assert hints[f"knowledge-{name}"].read_only_hint is True
        for name in ("remove", "clear"):
            assert hints[f"knowledge-{name}"].destructive_hint is True
        assert hints["knowledge-add"].destructive_hint is False
