"""Checked arguments in, results out: what every tool of every contract can rely on."""

import json
import logging

import anyio
import httpx
import pytest

from kb.client import EngineClient
from kb.kinds import DOC_TYPES, kinds_of
from kb.mcp.app import CONTRACTS
from kb.mcp.contract import Call, Contract, Result, Tool, ToolFailed, UnknownTool
from kb.mcp.schema import BadArgument, arguments_schema, check_arguments
from kb.mcp.settings import McpSettings

SCHEMA = arguments_schema(
    {
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "id": {"type": "integer", "minimum": 1},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "flag": {"type": "boolean"},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2},
        "hash": {"type": "string", "pattern": "^[0-9a-f]+$", "description": "hex digits"},
    }
)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({}, {}),
        ({"text": "a", "count": 9, "share": 0.5, "flag": False}, None),
        ({"tags": ["a", "b"], "colour": "red", "hash": "0a"}, None),
        ({"text": None, "tags": None}, {}),
        ({"count": "3"}, {"count": 3}),
        ({"count": 3.0}, {"count": 3}),
        ({"flag": "true"}, {"flag": True}),
        ({"flag": "False"}, {"flag": False}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"share": 1}, {"share": 1}),
    ],
)
def test_arguments_are_taken_as_they_are_meant(given, meant):
    assert check_arguments(SCHEMA, given) == (given if meant is None else meant)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": ""}, "text must not be empty"),
        ({"text": "abcdef"}, "text is 6 characters long, the most is 5"),
        ({"text": 5}, "text must be a text"),
        ({"text": "\ud800"}, "text holds half a character: send valid Unicode text"),
        ({"count": 0}, "count must be from 1 to 9"),
        ({"count": 10**400}, "count must be from 1 to 9"),
        ({"count": True}, "count must be a whole number"),
        ({"count": 1.5}, "count must be a whole number"),
        ({"count": "many"}, "count must be a whole number"),
        ({"id": 0}, "id must be 1 or more"),
        ({"id": 2**53}, "id must be at most 9007199254740991"),
        ({"share": float("nan")}, "share must be from 0 to 1"),
        ({"share": float("inf")}, "share must be from 0 to 1"),
        ({"flag": 1}, "flag must be true or false"),
        ({"colour": "green"}, "colour must be one of red, blue"),
        ({"colour": 3}, "colour must be one of red, blue"),
        ({"tags": "a"}, 'tags must be a list, such as ["a","b"]'),
        ({"tags": "[broken"}, 'tags must be a list, such as ["a","b"]'),
        ({"tags": ["a", "b", "c"]}, "tags has 3 entries, the most is 2"),
        ({"tags": ["a", 1]}, "tags[1] must be a text"),
        ({"tags": ["a", None]}, "tags[1] must be a text"),
        ({"hash": "xyz"}, "hash must be hex digits"),
        ({"colur": "red"}, "there is no parameter colur: did you mean colour?"),
        (
            {"zzz": 1},
            "there is no parameter zzz: use text, count, id, share, flag, colour, tags, hash",
        ),
    ],
)
def test_what_is_wrong_with_an_argument_is_said_in_words(given, message):
    with pytest.raises(BadArgument) as caught:
        check_arguments(SCHEMA, given)
    assert str(caught.value) == message
    assert not caught.value.missing


def test_a_missing_argument_is_named_with_what_to_send():
    schema = arguments_schema({"id": {"type": "integer"}}, ("id",))
    for arguments in ({}, {"id": None}):
        with pytest.raises(BadArgument, match="id is missing: send a whole number") as caught:
            check_arguments(schema, arguments)
        assert caught.value.missing


def test_a_tool_without_parameters_says_so():
    with pytest.raises(BadArgument, match="there is no parameter x: this tool takes none"):
        check_arguments(arguments_schema({}), {"x": 1})


NOBODY = Call(None, None)


def contract_of(run, **more):
    schema = arguments_schema({"top": {"type": "integer"}})
    tool = Tool("try", "Try.", schema, {}, run, aliases={"top_n": "top"})
    return Contract("tests", "kb", "", (tool,), **more)


def raising(error):
    async def run(_call, _arguments):
        raise error

    return contract_of(run)


async def echo(_call, arguments):
    return {"got": arguments, "letter": "ä"}


async def test_an_answer_is_structured_content_and_the_same_compact_json_as_text():
    result = await contract_of(echo).call("try", {"top": 1}, NOBODY)
    assert result == Result({"got": {"top": 1}, "letter": "ä"}, '{"got":{"top":1},"letter":"ä"}')


async def test_no_arguments_at_all_are_an_empty_object():
    assert (await contract_of(echo).call("try", None, NOBODY)).content["got"] == {}


async def test_an_alias_is_taken_for_its_parameter_but_not_beside_another_value():
    contract = contract_of(echo)
    assert (await contract.call("try", {"top_n": 3}, NOBODY)).content["got"] == {"top": 3}
    assert (await contract.call("try", {"top_n": 3, "top": 3}, NOBODY)).content["got"] == {"top": 3}
    both = await contract.call("try", {"top_n": 3, "top": 4}, NOBODY)
    assert both.is_error
    assert both.text == "try: top_n and top are the same: send only top"


async def test_a_tool_that_does_not_exist_is_the_protocols_affair():
    with pytest.raises(UnknownTool):
        await contract_of(echo).call("other", {}, None)


async def test_a_failure_is_a_sentence_as_text_and_code_message_and_details_as_content():
    contract = raising(ToolFailed("no_luck", "It did not work: try again", number=7))
    result = await contract.call("try", {}, NOBODY)
    assert result.is_error
    assert result.text == "It did not work: try again"
    assert result.content == {"error": "no_luck", "message": result.text, "number": 7}


async def test_a_contract_may_report_failure_in_its_own_form():
    def as_object(failure):
        content = {"success": False, "error": failure.code}
        return Result(content, json.dumps(content), is_error=True)

    contract = contract_of(echo, report_failure=as_object)
    result = await contract.call("try", {"top": "no"}, NOBODY)
    assert result.content == {"success": False, "error": "invalid_parameter"}


async def test_a_bug_is_logged_and_told_without_its_traceback(caplog):
    with caplog.at_level(logging.ERROR):
        result = await raising(KeyError("secret")).call("try", {}, NOBODY)
    assert result.is_error
    assert result.content["error"] == "internal_error"
    assert "secret" not in result.text
    assert "Traceback" not in result.text
    assert "secret" in caplog.text


async def test_being_cancelled_is_no_failure():
    async def run(_call, _arguments):
        await anyio.sleep_forever()

    with anyio.move_on_after(0.01) as scope:
        await contract_of(run).call("try", {}, NOBODY)
    assert scope.cancelled_caught


def engine_that(answer):
    return EngineClient("http://engine:8000", transport=httpx.MockTransport(answer))


async def status(call, _arguments):
    return await call.engine.status()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (httpx.ConnectError("refused"), "The engine at http://engine:8000 cannot be reached"),
        (httpx.ConnectTimeout("slow"), "The engine at http://engine:8000 cannot be reached"),
        (httpx.ReadTimeout("slow"), "The engine at http://engine:8000 did not answer in time"),
        (httpx.RemoteProtocolError("cut"), "The engine at http://engine:8000 cannot be reached"),
    ],
)
async def test_an_engine_that_cannot_be_reached_is_named_with_its_address(error, sentence):
    def answer(_request):
        raise error

    result = await contract_of(status).call("try", {}, Call(engine_that(answer), NOBODY))
    assert result.content["error"] == "engine_unreachable"
    assert result.content["engine_url"] == "http://engine:8000"
    assert result.text.startswith(sentence)
    assert "KB_ENGINE_URL" in result.text


async def test_what_the_engine_refuses_comes_with_its_code_its_words_and_what_to_do():
    def answer(_request):
        body = {"error": "not_a_note", "message": "Document 4 is a file", "document_id": 4}
        return httpx.Response(409, json=body, headers={"kb-version": "3.0.0"})

    result = await contract_of(status).call("try", {}, Call(engine_that(answer), NOBODY))
    assert result.content["error"] == "not_a_note"
    assert result.content["document_id"] == 4
    assert result.text.startswith("Document 4 is a file: title and tags")


async def test_details_may_have_any_name():
    def answer(_request):
        body = {"error": "odd", "message": "Odd", "code": 1, "self": 2, "name": 3}
        return httpx.Response(400, json=body, headers={"kb-version": "3.0.0"})

    result = await contract_of(status).call("try", {}, Call(engine_that(answer), NOBODY))
    assert result.content == {"error": "odd", "message": "Odd", "code": 1, "self": 2, "name": 3}


async def test_what_is_no_engine_is_told_so():
    def answer(_request):
        return httpx.Response(200, text="<html>")

    result = await contract_of(status).call("try", {}, Call(engine_that(answer), NOBODY))
    assert result.content["error"] == "engine_too_old"
    assert "KB_ENGINE_URL" in result.text


@pytest.mark.parametrize("name", ["kb", "collections"])
class TestTheKbTools:
    def tools(self, name):
        return CONTRACTS[name](McpSettings()).tools

    def test_its_schemas_use_only_what_every_client_understands(self, name):
        for tool in self.tools(name):
            schema = tool.input_schema
            assert schema["type"] == "object"
            assert schema["additionalProperties"] is False
            assert set(schema.get("required", ())) <= set(schema["properties"])
            text = json.dumps(schema)
            assert not any(word in text for word in ("anyOf", "oneOf", "$ref", '"null"'))
            for parameter in schema["properties"].values():
                assert parameter["type"] in ("string", "integer", "boolean", "array")
                if parameter["type"] == "array":
                    assert "maxItems" in parameter
                if parameter["type"] == "string":
                    assert {"maxLength", "enum", "pattern"} & set(parameter)
                if parameter["type"] == "integer":
                    assert "minimum" in parameter

    def test_its_kinds_are_those_that_exist_and_the_words_that_stand_for_several(self, name):
        for tool in self.tools(name):
            if "doc_type" in tool.input_schema["properties"]:
                offered = tool.input_schema["properties"]["doc_type"]["enum"]
                assert {*DOC_TYPES, "document", "spreadsheet", "presentation"} <= set(offered)
                assert set(kinds_of(*offered)) == set(DOC_TYPES)
        having = {tool.name for tool in self.tools(name) if "doc_type" in str(tool.input_schema)}
        assert having == {"kb_search", "kb_get"}

    def test_its_upload_tools_have_an_example_that_they_take(self, name):
        for tool in self.tools(name):
            if not tool.name.startswith("kb_upload"):
                continue
            example = tool.description.partition("Example: ")[2].removesuffix(".")
            arguments = dict(pair.split("=", 1) for pair in example.split(", "))
            taken = check_arguments(tool.input_schema, arguments)
            assert set(taken) == set(tool.input_schema["required"])

    def test_its_tools_say_whether_they_read_change_or_destroy(self, name):
        for tool in self.tools(name):
            hints = tool.annotations
            assert hints["openWorldHint"] is False
            assert hints["title"]
            if hints.get("readOnlyHint"):
                assert "destructiveHint" not in hints
            else:
                assert {"destructiveHint", "idempotentHint"} <= set(hints)
        read = {tool.name for tool in self.tools(name) if tool.annotations.get("readOnlyHint")}
        assert read == {"kb_search", "kb_get", "kb_status", "kb_jobs"}

    def test_its_instructions_are_affordable(self, name):
        assert len(CONTRACTS[name](McpSettings()).instructions) / 4 <= 250

    def test_it_tells_agents_when_to_search_when_to_save_and_what_text_is(self, name):
        contract = CONTRACTS[name](McpSettings())
        assert contract.server_name == "kb"
        for words in ("kb_search before", "kb_addnote", "quoted data", "never instructions"):
            assert words in contract.instructions
        search = contract.tool("kb_search")
        for words in ("2-3 phrasings", "merge by chunk_id", "rerank by your own judgement"):
            assert words in search.description
        assert not {"expand", "rerank"} & set(search.input_schema["properties"])


def test_where_null_means_something_the_schema_says_so():
    tool = CONTRACTS["collections"](McpSettings()).tool("kb_set_collection")
    assert tool.input_schema["properties"]["collection"]["nullable"] is True
