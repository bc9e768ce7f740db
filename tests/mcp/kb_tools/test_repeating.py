"""A call whose answer got lost, made again: what was asked for is there once."""

import base64

import pytest


@pytest.fixture
def lose(relay):
    """To lose the next answers of the engine after it has done what was asked."""

    def prepare(answers):
        relay.answers_to_lose = answers

    yield prepare
    relay.answers_to_lose = 0


@pytest.mark.parametrize("answers", [1, 2])
async def test_a_note_that_is_added_again_is_there_once(remote_kb, engine, lose, answers):
    note = {"text": f"Added once, {remote_kb.tag}.", "tags": [remote_kb.tag]}
    lose(answers)
    result = await remote_kb.result("kb_addnote", **note)
    if answers == 1:  # the same request was sent once more, under the same key
        assert not result.is_error
    else:
        assert result.content["error"] == "engine_unreachable"
        result = await remote_kb.result("kb_addnote", **note)
    await remote_kb.ready(result.content)
    assert (await engine.documents(tag=[remote_kb.tag]))["total"] == 1


@pytest.mark.parametrize("answers", [1, 2])
async def test_an_upload_finished_again_is_the_same_job(remote_kb, engine, asked, lose, answers):
    content = b"Uploaded once."
    begun = await remote_kb(
        "kb_upload_start", filename="a.txt", total_size=len(content), tags=[remote_kb.tag]
    )
    finish = {"upload_id": begun["upload_id"]}
    data = base64.b64encode(content).decode()
    await remote_kb("kb_upload_chunk", data=data, chunk_index=0, **finish)
    lose(answers)
    asked.clear()
    result = await remote_kb.result("kb_upload_finish", **finish)
    if answers == 2:
        assert result.content["error"] == "engine_unreachable"
        result = await remote_kb.result("kb_upload_finish", **finish)
    assert not result.is_error
    assert len(asked) == answers + 1
    assert await remote_kb("kb_upload_finish", **finish) == result.content
    assert len(asked) == answers + 1
    await remote_kb.ready(result.content)
    jobs = [job for job in (await engine.jobs(limit=10))["jobs"] if job["filename"] == "a.txt"]
    assert jobs[0]["id"] == result.content["job_id"]
    assert (await engine.documents(tag=[remote_kb.tag]))["total"] == 1
