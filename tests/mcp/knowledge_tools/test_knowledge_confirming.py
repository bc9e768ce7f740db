"""Removing in, a question to the user out, where the client can ask one."""

import json

import pytest
from knowledge_examples import CLEAR_UNCONFIRMED, REMOVE_UNCONFIRMED
from knowledge_world import BOTH, answered, official
from mcp_types import ElicitResult

DECLINED = "The user was asked and did not agree: nothing was removed"
ERAS = ["legacy", "auto"]


class User:
    """Answers questions, and remembers them."""

    def __init__(self, action="accept", **content):
        self.reply = ElicitResult(action=action, content=content or None)
        self.asked = []

    async def __call__(self, _context, params):
        self.asked.append(params)
        return self.reply


@pytest.fixture
async def document(http_knowledge, library):
    """A document that may be removed, or not."""
    return await http_knowledge.added(library / "page.html")


async def left(kept):
    return (await kept.documents())["total"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_user_who_agrees_is_obeyed(knowledge_server, kept, document, era):
    user = User(confirm=True)
    async with official(knowledge_server.url, era, elicitation_callback=user) as door:
        removed = await door("knowledge-remove", document_id=document)
    assert removed["message"] == "Document removed successfully"
    [asked] = user.asked
    assert "page.html" in asked.message
    assert "chunks" in asked.message
    assert asked.requested_schema["required"] == ["confirm"]
    assert await left(kept) == 0


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "user",
    [User("decline"), User("cancel"), User(confirm=False), User("accept"), User(other=True)],
    ids=["declines", "dismisses", "unticked", "empty", "other"],
)
async def test_a_user_who_does_not_agree_is_obeyed(knowledge_server, kept, document, era, user):
    async with official(knowledge_server.url, era, elicitation_callback=user) as door:
        failed = await door.fails("knowledge-remove", document_id=document)
    assert (failed["error"], failed["message"]) == ("confirmation_required", DECLINED)
    assert failed["document"]["id"] == document
    assert await left(kept) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_user_who_was_spoken_for_is_not_asked(knowledge_server, kept, document, era):
    user = User(confirm=True)
    async with official(knowledge_server.url, era, elicitation_callback=user) as door:
        failed = await door.fails("knowledge-remove", document_id=document, confirm=False)
        assert failed["message"] == REMOVE_UNCONFIRMED["message"]
        await door("knowledge-remove", document_id=document, confirm=True)
        assert (await door.fails("knowledge-remove", document_id=document))["error"] == (
            "document_not_found"
        )
    assert user.asked == []


@pytest.mark.parametrize("era", ERAS)
async def test_clearing_takes_the_phrase_of_the_users_hand(knowledge_server, kept, document, era):
    for user in (User(confirmation_phrase="delete all"), User("decline"), User(confirm=True)):
        async with official(knowledge_server.url, era, elicitation_callback=user) as door:
            failed = await door.fails("knowledge-clear")
        assert (failed["error"], failed["message"]) == ("confirmation_required", DECLINED)
        assert failed["current_document_count"] == 1
        assert len(user.asked) == 1
    assert await left(kept) == 1
    user = User(confirmation_phrase="DELETE ALL")
    async with official(knowledge_server.url, era, elicitation_callback=user) as door:
        cleared = await door("knowledge-clear")
    assert cleared["documents_removed"] == 1
    assert "ALL 1 document " in user.asked[0].message
    assert await left(kept) == 0


@pytest.mark.parametrize("era", ERAS)
async def test_a_wrong_phrase_is_not_made_good_by_the_user(knowledge_server, kept, document, era):
    user = User(confirmation_phrase="DELETE ALL")
    async with official(knowledge_server.url, era, elicitation_callback=user) as door:
        failed = await door.fails("knowledge-clear", confirm=True, confirmation_phrase="all")
    assert failed == CLEAR_UNCONFIRMED | {"current_document_count": 1}
    assert user.asked == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_cannot_ask_gets_the_usual_answer(
    knowledge_server, kept, document, era
):
    async with official(knowledge_server.url, era) as door:
        failed = await door.fails("knowledge-remove", document_id=document)
        assert failed["message"] == REMOVE_UNCONFIRMED["message"]
        failed = await door.fails("knowledge-clear")
        assert failed["message"] == CLEAR_UNCONFIRMED["message"]


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.mark.parametrize(
    ("reply", "gone"),
    [
        ({"result": {"action": "accept", "content": {"confirm": True}}}, True),
        ({"result": {"action": "decline"}}, False),
        ({"result": {"nonsense": True}}, False),
        ({"error": {"code": -32601, "message": "Method not found"}}, False),
    ],
)
async def test_the_user_of_a_websocket_is_asked_there(
    socket_knowledge, kept, document, reply, gone
):
    door = socket_knowledge
    await door.ask("initialize", HELLO)
    params = {"name": "knowledge-remove", "arguments": {"document_id": document}}
    request = await door.send("tools/call", params)
    asked = await door.until("elicitation/create")
    assert "page.html" in asked["params"]["message"]
    await door.say({"id": asked["id"]} | reply)
    assert answered((await door.answer_to(request))["result"]).content["success"] is gone
    assert await left(kept) == (0 if gone else 1)


async def test_a_websocket_that_said_nothing_of_itself_is_not_asked(socket_knowledge, document):
    failed = await socket_knowledge.fails("knowledge-remove", document_id=document)
    assert failed["message"] == REMOVE_UNCONFIRMED["message"]


async def begin(door, session, document, **headers):
    """A call that waits for its user; the stream, and the question on it."""
    message = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "tools/call",
        "params": {"name": "knowledge-remove", "arguments": {"document_id": document}},
    }
    sent = {"accept": BOTH, "mcp-session-id": session} | headers
    request = door.http.build_request("POST", door.url, json=message, headers=sent)
    response = await door.http.send(request, stream=True)
    lines = response.aiter_lines()
    return response, lines, await heard(lines)


async def heard(lines):
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    return None


async def test_a_question_on_a_stream_is_answered_by_its_session(http_knowledge, kept, document):
    door = http_knowledge
    session = (await door.ask("initialize", HELLO)).headers["mcp-session-id"]
    stranger = (await door.ask("initialize", HELLO)).headers["mcp-session-id"]
    response, lines, asked = await begin(door, session, document)
    assert asked["method"] == "elicitation/create"
    yes = {"jsonrpc": "2.0", "id": asked["id"]}
    yes |= {"result": {"action": "accept", "content": {"confirm": True}}}
    for headers in ({}, {"mcp-session-id": stranger}, {"mcp-session-id": "made-up"}):
        assert (await door.http.post(door.url, json=yes, headers=headers)).status_code == 202
    assert await left(kept) == 1
    told = await door.http.post(door.url, json=yes, headers={"mcp-session-id": session})
    assert told.status_code == 202
    assert answered((await heard(lines))["result"]).content["success"] is True
    await response.aclose()
    assert await left(kept) == 0


async def test_who_hangs_up_on_a_question_has_removed_nothing(http_knowledge, kept, document):
    door = http_knowledge
    session = (await door.ask("initialize", HELLO)).headers["mcp-session-id"]
    response, _, asked = await begin(door, session, document)
    await response.aclose()
    response, _, again = await begin(door, session, document)
    await response.aclose()
    assert asked["id"] != again["id"]
    assert await left(kept) == 1


async def test_a_client_that_reads_no_events_is_not_asked(http_knowledge, document):
    door = http_knowledge
    session = (await door.ask("initialize", HELLO)).headers["mcp-session-id"]
    params = {"name": "knowledge-remove", "arguments": {"document_id": document}}
    answer = await door.ask("tools/call", params, mcp_session_id=session, accept="application/json")
    assert answered(answer.json()["result"]).content["error"] == "confirmation_required"


async def test_a_session_of_before_a_restart_is_served_without_questions(http_knowledge, document):
    params = {"name": "knowledge-remove", "arguments": {"document_id": document}}
    answer = await http_knowledge.ask("tools/call", params, mcp_session_id="0" * 32, accept=BOTH)
    assert answered(answer.json()["result"]).content["message"] == REMOVE_UNCONFIRMED["message"]
