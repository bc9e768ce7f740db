"""The tools in, docs/mcp.md out of step if it does not say what they take and what they answer."""

import ast
import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from kb.mcp import app
from kb.mcp.app import CONTRACTS
from kb.mcp.knowledge_tools.tasks import progress
from kb.mcp.settings import McpSettings
from kb.mcp.transport.guard import MAX_BODY_BYTES
from kb.mcp.transport.messages import ERROR_TYPES
from kb.mcp.transport.websocket import MOST_CONNECTIONS, MOST_REQUESTS
from kb.mcp.uploads.open_uploads import MOST_BYTES, MOST_OPEN
from kb.mcp.uploads.upload import MOST_CHUNK_BYTES, MOST_CHUNKS
from kb.serving.websocket import MESSAGE_BYTES, PING_SECONDS

PAGE = (Path(__file__).parents[2] / "docs/mcp.md").read_text("utf-8")
SECTION = re.compile(r"^### ((?:kb_|knowledge-)[\w-]+)\n(.*?)(?=^#{1,3} |\Z)", re.S | re.M)
SECTIONS = dict(SECTION.findall(PAGE))
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SETS = {name: build(McpSettings()) for name, build in CONTRACTS.items()}
TOOLS = [(name, tool) for name, contract in SETS.items() for tool in contract.tools]
EACH_TOOL = pytest.mark.parametrize(
    ("tool_set", "tool"), TOOLS, ids=[f"{name}-{tool.name}" for name, tool in TOOLS]
)


OWN = ("metadata", "tags", "doc_types", "collections")


def rows(tool):
    """Parameter, type, default and meaning, as the page has them."""
    return {name: cells for name, *cells in ROW.findall(SECTIONS[tool.name])}


def examples(name):
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", SECTIONS[name], re.S)]


def fields(value):
    """Every name in an answer; what is in `metadata` is a document's own, and what is counted is
    named by those who add documents."""
    if isinstance(value, list):
        return {name for item in value for name in fields(item)}
    if not isinstance(value, dict):
        return set()
    inner = {name for key, item in value.items() if key not in OWN for name in fields(item)}
    return set(value) | inner


def named(name, text):
    return f"`{name}`" in text or f'"{name}"' in text


def test_every_tool_has_its_section_and_every_section_its_tool():
    assert set(SECTIONS) == {tool.name for _, tool in TOOLS}


@EACH_TOOL
def test_every_parameter_has_its_row_with_its_default(tool_set, tool):
    schema, documented = tool.input_schema, rows(tool)
    for name, parameter in schema["properties"].items():
        _, default, _ = documented[name]
        if name in schema.get("required", ()):
            assert default == "required", name
        elif "default" in parameter:
            assert default == json.dumps(parameter["default"]).strip('"'), name
        else:
            assert default != "required", name


@EACH_TOOL
def test_every_limit_of_a_number_and_every_choice_is_in_the_row(tool_set, tool):
    documented = rows(tool)
    for name, parameter in tool.input_schema["properties"].items():
        kind = documented[name][0]
        for limit in ("minimum", "maximum", "maxItems"):
            if parameter.get(limit, 1) != 1:
                assert f"{parameter[limit]:,}" in kind, (name, limit)
        if name == "doc_type":
            assert "[kind](formats.md#kinds-of-document)" in kind
        elif name != "collection":
            for choice in parameter.get("enum", ()):
                assert f"`{choice}`" in kind, (name, choice)


@EACH_TOOL
def test_every_row_is_a_parameter(tool_set, tool):
    known = set(tool.input_schema["properties"])
    if tool_set == "kb":
        known.add("collection")
        marked = rows(tool).get("collection", ["", "", "in `collections`"])
        assert "in `collections`" in marked[2]
    assert set(rows(tool)) <= known


@EACH_TOOL
def test_every_other_name_of_a_parameter_is_there(tool_set, tool):
    assert [alias for alias in tool.aliases if f"`{alias}`" not in SECTIONS[tool.name]] == []


def failure_codes():
    """Every code that the server itself fails with, from its source."""
    codes = set()
    for file in Path(app.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "ToolFailed":
                texts = [node for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
                codes |= {node.value for node in texts if isinstance(node.value, str)}
    return codes | {"missing_required_parameter", "invalid_parameter"}


def test_every_failure_has_its_row_and_every_row_its_failure():
    table = PAGE.partition("## Failures\n")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == failure_codes()


def test_every_error_of_the_protocol_has_its_row_and_its_kind():
    rows = dict(re.findall(r"^\| `(-\d+)` \| `(\w+)` \|", PAGE, re.MULTILINE))
    assert rows == {str(code): kind for code, kind in ERROR_TYPES.items()}


@pytest.mark.parametrize(
    "limit",
    [
        f"may take {MAX_BODY_BYTES // 2**20} MB over HTTP",
        f"at most {MOST_CHUNK_BYTES // 2**20} MB",
        f"at most {MOST_CHUNKS:,} of them",
        f"at most {MOST_OPEN} unfinished uploads, of {MOST_BYTES // 2**30} GB",
        f"may take {MESSAGE_BYTES // 2**20} MB",
        f"have {MOST_REQUESTS} requests at a time",
        f"{MOST_CONNECTIONS} clients",
        f"pings every {PING_SECONDS:.0f} seconds",
    ],
)
def test_each_limit_is_true(limit):
    assert limit in PAGE


async def answers(agent):
    """Each tool called in the ways that give it all of its fields."""
    note = await agent.note("Ada prefers short answers.", source_path=f"memory/{agent.tag}")
    text = "\n\n".join(f"# Part {number}\n\n{'Tides and moons. ' * 60}" for number in range(12))
    data = text.encode()
    start = await agent(
        "kb_upload_start", filename="tides.md", total_size=len(data), tags=[agent.tag]
    )
    chunk = await agent(
        "kb_upload_chunk",
        upload_id=start["upload_id"],
        data=base64.b64encode(data).decode(),
        chunk_index=0,
    )
    digest = hashlib.sha256(data).hexdigest()
    finish = await agent("kb_upload_finish", upload_id=start["upload_id"], sha256=digest)
    document = await agent.ready(finish)
    return note, {
        "kb_addnote": [await agent("kb_addnote", text="Another.", tags=[agent.tag])],
        "kb_upload_start": [start],
        "kb_upload_chunk": [chunk],
        "kb_upload_finish": [finish],
        "kb_search": [
            await agent("kb_search", query="tides and moons", tags=[agent.tag], top=5),
            await agent("kb_search", query="tides", tags=[agent.tag], max_tokens=500),
        ],
        "kb_get": [
            await agent("kb_get", document_id=document, limit=1),
            await agent("kb_get", document_id=document, max_tokens=500),
            await agent("kb_get", source_path=f"memory/{agent.tag}"),
            await agent("kb_get", tags=[agent.tag], limit=1),
        ],
        "kb_status": [await agent("kb_status")],
        "kb_jobs": [await agent("kb_jobs"), await agent("kb_jobs", job_id=finish["job_id"])],
        "kb_update_note": [
            await agent("kb_update_note", document_id=note, text="Bullet points."),
            await agent("kb_update_note", document_id=document, add_tags=["tides"]),
        ],
    }


@pytest.mark.parametrize("tool_set", ["kb", "collections"])
async def test_every_field_of_an_answer_is_named_and_each_example_is_one(kb, collections, tool_set):
    agent = {"kb": kb, "collections": collections}[tool_set]
    note, seen = await answers(agent)
    if tool_set == "collections":
        moved = await agent("kb_set_collection", document_id=note, collection="memory")
        seen["kb_set_collection"] = [moved]
    seen["kb_delete"] = [await agent("kb_delete", document_id=note)]
    check_fields(tool_set, seen)


def check_fields(tool_set, seen):
    assert set(seen) == {tool.name for tool in SETS[tool_set].tools}
    for name, results in seen.items():
        answered = fields(results)
        missing = sorted(field for field in answered if not named(field, SECTIONS[name]))
        assert missing == [], name
        assert sorted(fields(examples(name)) - answered) == [], name


async def test_the_same_is_true_of_the_knowledge_tools(http_knowledge, kept, library):
    door = http_knowledge
    empty = await door("knowledge-show")
    task = await door("knowledge-add", file_path=str(library / "report.pdf"))
    done = await door.finished(task["task_id"])
    job = await kept.job(task["task_id"])
    waited = await door("knowledge-add", file_path="page.html", **{"async": False})
    refused = await door.fails("knowledge-remove", document_id=waited["document_id"])
    assert waited["processing_method"] == "text_extraction"
    seen = {
        "knowledge-add": [task, waited],
        "knowledge-search": [
            await door("knowledge-search", query="leftwort"),
            await door("knowledge-search", query="leftwort", filters={"format": "svg"}),
        ],
        "knowledge-show": [empty, await door("knowledge-show")],
        "knowledge-remove": [
            refused["document"],
            await door("knowledge-remove", document_id=waited["document_id"], confirm=True),
        ],
        "knowledge-status": [await door("knowledge-status")],
        "knowledge-task-status": [progress(job | {"status": "running"}), done],
        "knowledge-clear": [
            await door("knowledge-clear", confirm=True, confirmation_phrase="DELETE ALL")
        ],
    }
    check_fields("knowledge", seen)
    page_num = seen["knowledge-search"][0]["results"][0]["metadata"]
    assert set(page_num) == set(examples("knowledge-search")[0]["results"][0]["metadata"])
