"""Tools that change something, beside an engine that is too old for them."""

import hashlib

import pytest

from kb.client import EngineClient
from kb.mcp.app import CONTRACTS
from kb.mcp.contract import Call
from kb.mcp.settings import McpSettings
from old_engine import OldEngine

UUID = "6a1c1c0e-4f0b-4c3a-9d27-0f0d5b6f7a11"
START = {"filename": "a.txt", "total_size": 1}
CHANGING = [
    *(
        (tools, name, arguments)
        for tools in ("kb", "collections")
        for name, arguments in [
            ("kb_addnote", {"text": "a text"}),
            ("kb_upload_start", START),
            ("kb_update_note", {"document_id": 1, "text": "a text"}),
            ("kb_delete", {"document_id": 1}),
        ]
    ),
    ("collections", "kb_set_collection", {"document_id": 1, "collection": "memory"}),
    ("knowledge", "knowledge-add", {"file_path": "FILE"}),
    ("knowledge", "knowledge-remove", {"document_id": UUID, "confirm": True}),
    (
        "knowledge",
        "knowledge-clear",
        {"confirm": True, "confirmation_phrase": "DELETE ALL"},
    ),
]


@pytest.mark.parametrize("version", ["2.9.0", None], ids=["v2.9", "no engine"])
@pytest.mark.parametrize(
    ("tools", "name", "arguments"), CHANGING, ids=[f"{row[0]} {row[1]}" for row in CHANGING]
)
async def test_a_tool_changes_nothing_but_says_so(
    uploads, tmp_path, version, tools, name, arguments
):
    file = tmp_path / "page.html"
    file.write_text("<p>a text</p>")
    contract = CONTRACTS[tools](McpSettings(mcp_file_roots=(tmp_path,)))
    given = {key: str(file) if value == "FILE" else value for key, value in arguments.items()}
    with OldEngine(version) as old:
        async with EngineClient(old.url) as client:
            result = await contract.call(name, given, Call(client, uploads, "caller"))
        assert result.is_error
        assert result.content["error"] == "engine_too_old"
        assert result.content["engine_url"] == old.url
        assert result.content["engine_version"] == version
        assert result.content["needed_version"] == "3.0.0"
        assert result.content["message"] in result.text
        assert old.changes == []
        assert len(old.lines) == 1


async def test_an_upload_begun_on_a_good_engine_goes_to_no_older_one(kb, uploads, engine_process):
    content = b"a text"
    begun = await kb("kb_upload_start", filename="a.txt", total_size=len(content))
    upload = {"upload_id": begun["upload_id"]}
    await kb("kb_upload_chunk", data="YSB0ZXh0", chunk_index=0, **upload)
    contract = CONTRACTS["kb"](McpSettings())
    digest = {"sha256": hashlib.sha256(content).hexdigest()}
    with OldEngine("2.9.0") as old:
        async with EngineClient(old.url) as client:
            call = Call(client, uploads, "caller")
            result = await contract.call("kb_upload_finish", upload | digest, call)
        assert result.content["error"] == "engine_too_old"
        assert old.changes == []
    assert (await kb("kb_upload_finish", **upload | digest))["status"] == "queued"


async def test_a_server_asks_for_the_version_once_not_with_every_call(remote_kb, asked):
    for text in ("one", "two", "three"):
        await remote_kb("kb_addnote", text=f"{text} {remote_kb.tag}", tags=[remote_kb.tag])
    lines = [request.line for request in asked]
    assert lines[-3:] == ["POST /api/v1/jobs"] * 3
    assert lines.count("GET /api/v1/status") <= 1
