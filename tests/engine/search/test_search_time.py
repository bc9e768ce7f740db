"""Searches that would take for ever: they end, say so, and nobody else waits for them."""

import threading
import time

import anyio
import httpx
import pytest

from kb.client import EngineClient
from kb.engine.api.search_desk import MOST_WAITING
from kb.engine.errors import SearchTimedOut
from kb.engine.store import SEARCHERS, Look
from kb.mcp.app import CONTRACTS
from kb.mcp.contract import Call
from kb.mcp.settings import McpSettings

ENDLESS = (
    "WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 1e15) "
    "SELECT max(n) FROM count"
)
WAIT = 60.0
DECIDED = 0.01  # seconds that a search may take, here


@pytest.fixture
def hasty(api, monkeypatch):
    """An engine whose searches have hardly any time, with something in it to be found; for what
    they still say then they have as much as they need."""
    monkeypatch.setattr("kb.engine.search.searcher._GRACE", WAIT)
    api.add_note("Otters swim in the river.")
    api.add_note("Herons wade at the shore.")
    api.engine.searcher._seconds = DECIDED
    return api


@pytest.fixture
def endless(monkeypatch):
    """Looking for words takes for ever, in SQLite itself."""
    by_words = Look.by_words

    def slow(look, terms, *more):
        return look._query(ENDLESS) if terms else by_words(look, terms, *more)

    monkeypatch.setattr(Look, "by_words", slow)


def test_a_search_that_takes_too_long_answers_by_vectors_and_says_so(hasty, endless):
    answer = hasty.post("/search", {"query": "otters swim"})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["degraded"], found["mode"]) == ("search_timeout", "vectors")
    assert "Otters" in found["results"][0]["text"]


@pytest.mark.parametrize(
    ("tools", "tool", "where"),
    [
        ("kb", "kb_search", "hint"),
        ("collections", "kb_search", "hint"),
        ("knowledge", "knowledge-search", "message"),
    ],
)
def test_the_tools_of_agents_say_so_too(hasty, endless, tools, tool, where):
    async def ask(query):
        transport = httpx.ASGITransport(hasty.app)
        async with EngineClient("http://127.0.0.1:8000", transport=transport) as client:
            contract = CONTRACTS[tools](McpSettings())
            [search] = [each for each in contract.tools if each.name == tool]
            return await search.run(Call(client, None), {"query": query})

    found = anyio.run(ask, "otters swim")
    assert found["degraded"] == "search_timeout"
    assert "took too long" in found[where]
    assert "model" not in found[where]


def test_one_by_words_alone_has_nothing_else_to_offer(hasty, endless):
    found = hasty.post("/search", {"query": "otters swim", "fts_only": True}).json()
    assert (found["degraded"], found["results"]) == ("search_timeout", [])


def test_a_filter_that_takes_too_long_ends_as_well(hasty, monkeypatch):
    monkeypatch.setattr(
        "kb.engine.store.search.look.matching_documents", lambda query, _: query(ENDLESS)
    )
    monkeypatch.setattr("kb.engine.search.searcher._GRACE", DECIDED)
    answer = hasty.post("/search", {"query": "otters", "tags": ["x"]})
    assert (answer.status_code, answer.json()["degraded"]) == (200, "search_timeout")


def test_what_was_found_before_the_time_was_over_is_shown(hasty, monkeypatch):
    """Only one of each document is wanted, so more is looked for after the first round."""
    hasty.add_note(
        "\n\n".join(f"# Otters {number}\n\n{'They swim. ' * 80}" for number in range(60))
    )
    hasty.engine.searcher._seconds = WAIT
    by_words, rounds = Look.by_words, []

    def slower(look, *arguments):
        rounds.append(len(rounds))
        if len(rounds) > 1:
            look.end_by(time.monotonic())
            look._query(ENDLESS)
        return by_words(look, *arguments)

    monkeypatch.setattr(Look, "by_words", slower)
    asked = {"query": "otters", "fts_only": True, "top": 55, "per_document": 1}
    found = hasty.post("/search", asked).json()
    assert found["degraded"] == "search_timeout"
    assert (len(rounds), len(found["results"])) == (2, 2)


def test_the_connection_of_a_search_that_gave_up_is_as_good_as_before(hasty, endless, monkeypatch):
    for _ in range(2 * SEARCHERS):
        assert hasty.post("/search", {"query": "otters"}).json()["degraded"] == "search_timeout"
    monkeypatch.undo()
    hasty.engine.searcher._seconds = WAIT
    for _ in range(2 * SEARCHERS):
        found = hasty.post("/search", {"query": "otters", "fts_only": True}).json()
        assert (found["degraded"], len(found["results"])) == (None, 1)


def test_a_search_that_waited_too_long_for_its_turn_does_not_begin(hasty, monkeypatch):
    question = {"query": "otters", "fts_only": True}
    monkeypatch.setattr(hasty.engine.searcher, "due", lambda: time.monotonic() - 1)
    monkeypatch.setattr(hasty.engine.store, "look", lambda *_: pytest.fail("it has begun"))
    found = hasty.post("/search", question).json()
    assert (found["degraded"], found["results"]) == ("search_timeout", [])


class Crowd:
    """Searches that hold what they have until they are let go."""

    def __init__(self, monkeypatch):
        self.inside = threading.Semaphore(0)
        self.released = threading.Event()
        by_words = Look.by_words

        def held(look, *arguments):
            look._query("SELECT count(*) FROM chunks")
            self.inside.release()
            assert self.released.wait(WAIT)
            return by_words(look, *arguments)

        monkeypatch.setattr(Look, "by_words", held)

    async def full(self):
        """Wait until as many search as can."""
        for _ in range(SEARCHERS):
            await anyio.to_thread.run_sync(self.inside.acquire)


@pytest.mark.parametrize("many", [30, SEARCHERS + MOST_WAITING])
def test_whoever_lists_never_waits_for_searches(api, monkeypatch, many):
    document = api.add_note("Otters swim.", tags=["river"])["document_id"]
    crowd, answers = Crowd(monkeypatch), []

    async def ask(client):
        answers.append(await client.post("/search", json={"query": "otters", "fts_only": True}))

    async def run():
        transport = httpx.ASGITransport(api.app, raise_app_exceptions=False)
        base = "http://127.0.0.1:8000/api/v1"
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            with anyio.fail_after(WAIT):
                async with anyio.create_task_group() as group:
                    for _ in range(many):
                        group.start_soon(ask, client)
                    await crowd.full()
                    try:
                        return await others(client)
                    finally:
                        crowd.released.set()

    async def others(client):
        paths = ("/documents", f"/documents/{document}", "/tags", "/status", "/jobs", "/stats")
        found = [(await client.get(path)).status_code for path in paths]
        note = await client.post("/jobs", json={"text": "Herons wade."})
        return [*found, note.status_code]

    assert anyio.run(run) == [200, 200, 200, 200, 200, 200, 202]
    assert [answer.status_code for answer in answers] == [200] * many


def test_more_searches_than_can_wait_are_told_to_come_back(api, monkeypatch):
    monkeypatch.setattr(api.engine.desk, "_asked", SEARCHERS + MOST_WAITING)
    answer = api.post("/search", {"query": "otters"})
    assert (answer.status_code, answer.json()["error"]) == (503, "too_many_searches")
    assert answer.json()["retry_after"] == 1


def test_a_look_without_a_time_takes_its_time_and_one_with_it_ends(api):
    with api.engine.store.look() as look:
        assert look._query("SELECT 1") == [(1,)]
    with (
        api.engine.store.look(end_by=time.monotonic()) as look,
        pytest.raises(SearchTimedOut),
    ):
        look._query(ENDLESS)
