"""GET /events: whoever listens is told of jobs and documents as they change."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from kb.engine.events import Events


async def until(condition):
    """Let the loop run until something is so."""
    while not condition():
        await asyncio.sleep(0)


def heard(api, act):
    """The text that one listener gets while `act` runs."""

    async def listen():
        transport = httpx.ASGITransport(api.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            stream = asyncio.create_task(client.get("/api/v1/events"))
            await until(lambda: api.engine.events._listeners)
            await asyncio.to_thread(act)
            [queue] = api.engine.events._listeners
            await until(queue.empty)
            api.engine.events.close()
            return await stream

    answer = asyncio.run(listen())
    assert answer.headers["content-type"].startswith("text/event-stream")
    return answer.text


def parsed(text):
    events = []
    for block in text.split("\n\n"):
        lines = dict(
            line.split(": ", 1) for line in block.splitlines() if line[:1] not in ("", ":")
        )
        if lines:
            events.append((int(lines["id"]), lines["event"], json.loads(lines["data"])))
    return events


@pytest.fixture
def listened(api):
    """Everything that is published while the test runs, as (kind, data)."""
    events = []
    api.engine.events.heard = lambda: True
    api.engine.events.publish = lambda kind, data: events.append((kind, data))
    return events


def test_a_stream_carries_each_event_once_and_in_order():
    events = Events()

    async def listen():
        stream = events.listen(heartbeat=60)
        assert await anext(stream) is None
        with ThreadPoolExecutor(1) as pool:
            for number in range(5):
                pool.submit(events.publish, "job", {"number": number})
        found = [await anext(stream) for _ in range(5)]
        events.close()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return found

    found = asyncio.run(listen())
    assert [event.data["number"] for event in found] == list(range(5))
    assert [event.id for event in found] == sorted({event.id for event in found})


def test_server_sent_events_have_an_id_a_name_and_json(api):
    text = heard(api, lambda: api.engine.events.publish("job", {"id": 7, "message": "a\nb"}))
    assert text.startswith(":")
    assert parsed(text) == [(1, "job", {"id": 7, "message": "a\nb"})]


def test_a_job_is_told_of_from_queued_to_done_with_its_document(api, listened):
    job = api.add_note("Otters swim.")
    jobs = [data for kind, data in listened if kind == "job"]
    assert {data["id"] for data in jobs} == {job["id"]}
    assert list(dict.fromkeys(data["status"] for data in jobs)) == ["queued", "running", "done"]
    progress = [data["progress"] for data in jobs]
    assert progress == sorted(progress)
    assert ("document.added", {"document_id": job["document_id"]}) in listened


def test_every_change_of_a_document_is_told(api, listened):
    note = api.add_note("Otters swim.")["document_id"]
    file = api.add_file(b"Otters\n", source_path="/a.txt")["document_id"]
    listened.clear()
    api.patch(f"/notes/{note}", {"text": "Herons wait."})
    api.patch(f"/documents/{note}", {"title": "Herons"})
    api.put(f"/documents/{note}/tags", {"tags": ["x"]})
    api.add_file(b"Herons\n", source_path="/a.txt")
    api.add_file(b"Herons\n", source_path="/a.txt", tags=["x"])
    api.delete(f"/documents/{note}")
    told = [(kind, data["document_id"]) for kind, data in listened if kind != "job"]
    changed = ("document.changed", note)
    assert told == [
        *[changed] * 3,
        *[("document.changed", file)] * 2,
        ("document.deleted", note),
    ]
    listened.clear()
    api.delete("/documents", {"confirm": "DELETE ALL"})
    assert [kind for kind, _ in listened] == ["documents.cleared"]


def test_what_was_unchanged_is_told_as_a_job_alone(api, listened):
    api.add_note("Otters swim.")
    listened.clear()
    api.add_note("Otters swim.")
    assert {kind for kind, _ in listened} == {"job"}


def test_failing_and_cancelling_are_told(api, listened):
    failed = api.add_file(b"\0\1" * 100)["id"]
    cancelled = api.submit_note("Otters swim.")["job_id"]
    api.delete(f"/jobs/{cancelled}")
    last = {data["id"]: data["status"] for kind, data in listened if kind == "job"}
    assert last == {failed: "failed", cancelled: "cancelled"}


def test_a_listener_that_cannot_keep_up_is_sent_away():
    events = Events()

    async def listen():
        stream = events.listen(heartbeat=60)
        await anext(stream)
        for number in range(1000):
            events.publish("job", {"number": number})
        return [event async for event in stream]

    assert asyncio.run(listen()) == []
    assert not events._listeners


def test_a_quiet_stream_beats_now_and_then():
    async def listen():
        stream = Events().listen(heartbeat=0.001)
        return [await anext(stream) for _ in range(3)]

    assert asyncio.run(listen()) == [None] * 3


def test_there_are_only_so_many_listeners(api, monkeypatch):
    monkeypatch.setattr("kb.engine.events.MOST_LISTENERS", 0)
    answer = api.get("/events")
    assert (answer.status_code, answer.json()["error"]) == (503, "too_many_listeners")


def test_one_peer_leaves_room_for_the_others(monkeypatch):
    monkeypatch.setattr("kb.engine.events.MOST_LISTENERS", 2)
    monkeypatch.setattr("kb.engine.events.ALL_LISTENERS", 3)
    events = Events()

    async def listen():
        greedy = [events.listen(10, "192.0.2.1") for _ in range(2)]
        for stream in greedy:
            await anext(stream)
        assert (events.full("192.0.2.1"), events.full("192.0.2.2")) == (True, False)
        modest = events.listen(10, "192.0.2.2")
        await anext(modest)
        assert events.full("192.0.2.2")
        for stream in (*greedy, modest):
            await stream.aclose()

    asyncio.run(listen())
    assert not events.full("192.0.2.1")
    assert not events._shares


def test_a_stream_that_begins_after_the_end_ends_at_once(api):
    api.engine.events.close()
    answer = api.get("/events")
    assert (answer.status_code, answer.text) == (200, "")
