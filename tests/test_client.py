"""Arguments in, parsed JSON out, over a transport that records what would be sent."""

import json
import os

import httpx
import pytest

from kb.client import EngineClient, EngineTooOld, problem

BASE = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The pauses the client wanted to make, made instantly."""
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("anyio.sleep", sleep)
    return pauses


class Engine:
    """Answers each request with the next of `answers` (the last one stays) and keeps it.

    The client knows its version already, unless it is `unmet`.
    """

    def __init__(self, *answers, version="3.0.0", base=BASE, key=None, unmet=False):
        self.answers = list(answers) or [{}]
        self.version = version
        self.requests: list[httpx.Request] = []
        self.client = EngineClient(base, key, transport=httpx.MockTransport(self.answer))
        self.client._connection._knows_engine = not unmet

    async def answer(self, request):
        await request.aread()
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            answer = httpx.Response(200, json=answer)
        if self.version and "kb-version" not in answer.headers:
            answer.headers["kb-version"] = self.version
        return answer

    @property
    def lines(self):
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]

    def body(self, number=-1):
        return json.loads(self.requests[number].content)


CALLS = [
    (lambda c: c.search("q"), "POST /api/v1/search", {"query": "q"}),
    (
        lambda c: c.search("q", top=3, tags=["a"], doc_type=None),
        "POST /api/v1/search",
        {"query": "q", "top": 3, "tags": ["a"]},
    ),
    (
        lambda c: c.add_note("text", ["a"], title="t", source_path="/p", metadata={"k": 1}),
        "POST /api/v1/jobs",
        {"text": "text", "tags": ["a"], "title": "t", "source_path": "/p", "metadata": {"k": 1}},
    ),
    (lambda c: c.add_note("text"), "POST /api/v1/jobs", {"text": "text"}),
    (lambda c: c.jobs(status="failed", limit=5), "GET /api/v1/jobs?status=failed&limit=5", None),
    (lambda c: c.job(7), "GET /api/v1/jobs/7", None),
    (lambda c: c.queue(limit=5), "GET /api/v1/queue?limit=5", None),
    (lambda c: c.cancel_job(7), "DELETE /api/v1/jobs/7", None),
    (lambda c: c.retry_job(7), "POST /api/v1/jobs/7/retry", None),
    (
        lambda c: c.documents(tag=["a", "b"], source_path="/ä b", limit=None),
        "GET /api/v1/documents?tag=a&tag=b&source_path=%2F%C3%A4+b",
        None,
    ),
    (lambda c: c.document("some-uid"), "GET /api/v1/documents/some-uid", None),
    (lambda c: c.document(1, chunks=False), "GET /api/v1/documents/1?chunks=false", None),
    (
        lambda c: c.update_document(4, title="new"),
        "PATCH /api/v1/documents/4",
        {"title": "new"},
    ),
    (lambda c: c.delete_document(42), "DELETE /api/v1/documents/42", None),
    (lambda c: c.replace_tags(4, ["a"]), "PUT /api/v1/documents/4/tags", {"tags": ["a"]}),
    (lambda c: c.add_tags(4, ("a",)), "POST /api/v1/documents/4/tags", {"tags": ["a"]}),
    (lambda c: c.remove_tags(4, ["a"]), "DELETE /api/v1/documents/4/tags", {"tags": ["a"]}),
    (lambda c: c.tags(), "GET /api/v1/tags", None),
    (lambda c: c.kinds(), "GET /api/v1/kinds", None),
    (
        lambda c: c.stats(tag=["a"], doc_type=None),
        "GET /api/v1/stats?tag=a",
        None,
    ),
    (
        lambda c: c.update_document(4, add_tags=["a"], remove_tags=["b"]),
        "PATCH /api/v1/documents/4",
        {"add_tags": ["a"], "remove_tags": ["b"]},
    ),
    (
        lambda c: c.update_note(4, "new", add_tags=("a",)),
        "PATCH /api/v1/notes/4",
        {"text": "new", "add_tags": ["a"]},
    ),
    (
        lambda c: c.update_note(4, "new", title="t", if_updated_at="now"),
        "PATCH /api/v1/notes/4",
        {"text": "new", "title": "t", "if_updated_at": "now"},
    ),
    (lambda c: c.clear("DELETE ALL"), "DELETE /api/v1/documents", {"confirm": "DELETE ALL"}),
    (lambda c: c.status(), "GET /api/v1/status", None),
]


async def test_a_long_note_is_given_the_time_that_its_vectors_take():
    engine = Engine()
    await engine.client.update_note(4, "short")
    await engine.client.update_note(4, "x" * 1_000_000)
    short, long = (request.extensions["timeout"]["read"] for request in engine.requests)
    assert 60 <= short < 61
    assert long > 1800


@pytest.mark.parametrize(("call", "line", "body"), CALLS, ids=[line for _, line, _ in CALLS])
async def test_a_method_sends_its_route_and_returns_the_parsed_answer(call, line, body):
    engine = Engine({"answer": 42})
    assert await call(engine.client) == {"answer": 42}
    assert engine.lines == [line]
    if body is None:
        assert engine.requests[0].content == b""
    else:
        assert engine.body() == body


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 500, 302])
async def test_an_answer_that_is_no_success_raises_with_the_engines_words(status):
    engine = Engine(httpx.Response(status, json={"error": "some_code", "message": "Not so"}))
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await engine.client.delete_document(999)
    assert caught.value.response.status_code == status
    assert problem(caught.value) == {"error": "some_code", "message": "Not so"}


async def test_an_error_that_is_not_the_engines_is_still_a_problem_in_words():
    engine = Engine(httpx.Response(502, text="<html>"), version=None)
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await engine.client.status()
    assert not isinstance(caught.value, EngineTooOld)
    assert problem(caught.value)["message"] == "the engine answered 502 Bad Gateway"


@pytest.mark.parametrize("version", ["3.0.0", "3.1.2", "10.0.0", "3.0.1rc1", "3." + "9" * 5000])
async def test_an_engine_of_the_same_or_a_newer_version_is_talked_to(version):
    assert await Engine({"ok": True}, version=version).client.status() == {"ok": True}


@pytest.mark.parametrize("status", [200, 404])
async def test_an_older_engine_is_refused_in_one_clear_line(status):
    engine = Engine(httpx.Response(status, json={}), version="2.4.0")
    with pytest.raises(EngineTooOld) as caught:
        await engine.client.status()
    assert str(caught.value) == (
        "the engine at http://127.0.0.1:8000 is version 2.4.0;"
        " this kb needs 3.0.0 or newer: upgrade the engine"
    )
    assert problem(caught.value) == {
        "error": "engine_too_old",
        "message": str(caught.value),
        "engine_url": BASE,
        "engine_version": "2.4.0",
        "needed_version": "3.0.0",
    }


async def test_an_answer_without_a_version_is_refused():
    with pytest.raises(EngineTooOld, match="is no kb engine, or an old one"):
        await Engine(version=None).client.status()


CHANGES = [row for row in CALLS if row[1][:3] != "GET" and not row[1].endswith("search")]


@pytest.mark.parametrize("version", ["2.9.0", None])
@pytest.mark.parametrize(
    ("call", "line", "body"), CHANGES, ids=[f"{n} {row[1]}" for n, row in enumerate(CHANGES)]
)
async def test_nothing_that_changes_something_is_sent_to_an_older_engine(call, line, body, version):
    engine = Engine(version=version, unmet=True)
    with pytest.raises(EngineTooOld):
        await call(engine.client)
    assert engine.lines == ["GET /api/v1/status"]


async def test_a_file_is_not_sent_to_an_older_engine_nor_with_a_wrong_key(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"bytes")
    refusal = httpx.Response(401, json={"error": "unauthorized", "message": "No"})
    for engine in (Engine(version="2.9.0", unmet=True), Engine(refusal, unmet=True)):
        with pytest.raises(httpx.HTTPStatusError):
            await engine.client.add_file(path)
        assert engine.lines == ["GET /api/v1/status"]


async def test_an_engine_is_asked_for_its_version_once_and_not_at_all_once_it_has_answered():
    engine = Engine(unmet=True)
    await engine.client.add_note("one")
    await engine.client.add_note("two")
    await engine.client.delete_document(1)
    assert engine.lines[:2] == ["GET /api/v1/status", "POST /api/v1/jobs"]
    assert len(engine.lines) == 4
    engine = Engine(unmet=True)
    await engine.client.search("q")
    await engine.client.add_note("one")
    assert engine.lines == ["POST /api/v1/search", "POST /api/v1/jobs"]


async def test_an_engine_that_has_become_older_gets_no_second_change():
    engine = Engine()
    engine.version = "2.9.0"
    for _ in range(2):
        with pytest.raises(EngineTooOld):
            await engine.client.delete_document(1)
    assert engine.lines == ["DELETE /api/v1/documents/1", "GET /api/v1/status"]


async def test_a_gateway_without_an_engine_gets_no_change():
    engine = Engine(httpx.Response(502, text="<html>"), version=None, unmet=True)
    with pytest.raises(httpx.HTTPStatusError):
        await engine.client.delete_document(1)
    assert engine.lines == ["GET /api/v1/status"]


@pytest.mark.parametrize("version", ["2." + "1" * 5000, "2.\x1b[31m", "\x1b[31m", "."])
async def test_a_version_from_elsewhere_is_shown_short_and_plain(version):
    with pytest.raises(EngineTooOld) as caught:
        await Engine(version=version).client.status()
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


async def test_the_key_goes_into_the_header_and_nowhere_else():
    engine = Engine(key="the-key")
    await engine.client.search("q")
    request = engine.requests[0]
    assert request.headers["authorization"] == "Bearer the-key"
    assert "the-key" not in str(request.url)
    engine = Engine()
    await engine.client.search("q")
    assert "authorization" not in engine.requests[0].headers


async def test_a_redirect_is_not_followed():
    engine = Engine(httpx.Response(307, headers={"location": "http://elsewhere.example/"}))
    with pytest.raises(httpx.HTTPStatusError):
        await engine.client.status()
    assert len(engine.requests) == 1


async def test_an_address_may_have_a_prefix():
    engine = Engine(base="https://kb.example/prefix/")
    await engine.client.tags()
    assert str(engine.requests[0].url) == "https://kb.example/prefix/api/v1/tags"


@pytest.mark.parametrize("doc_id", ["..", "../jobs/1", ".", "1/file", "a?b#c", "ä"])
async def test_an_id_stays_one_segment_of_the_path(doc_id):
    engine = Engine()
    await engine.client.delete_document(doc_id)
    path = engine.requests[0].url.raw_path.decode()
    assert path.startswith("/api/v1/documents/")
    assert path.count("/") == 4
    assert "?" not in path


async def test_a_refused_connection_is_tried_once_more():
    engine = Engine(httpx.ConnectError("refused"), {"ok": True})
    assert await engine.client.tags() == {"ok": True}
    assert len(engine.requests) == 2


async def test_what_comes_back_after_a_refused_connection_is_asked_for_its_version_first():
    engine = Engine(httpx.ConnectError("refused"), {"ok": True})
    assert await engine.client.delete_document(1) == {"ok": True}
    assert engine.lines == [
        "DELETE /api/v1/documents/1",
        "GET /api/v1/status",
        "DELETE /api/v1/documents/1",
    ]


async def test_a_second_refusal_is_final():
    engine = Engine(httpx.ConnectError("refused"))
    with pytest.raises(httpx.ConnectError):
        await engine.client.status()
    assert len(engine.requests) == 2


async def test_a_broken_connection_is_tried_again_only_where_twice_is_as_good_as_once():
    engine = Engine(httpx.RemoteProtocolError("gone"), {"ok": True})
    assert await engine.client.search("q") == {"ok": True}
    engine = Engine(httpx.RemoteProtocolError("gone"), {"ok": True})
    with pytest.raises(httpx.RemoteProtocolError):
        await engine.client.delete_document(1)
    assert len(engine.requests) == 1


async def test_each_add_has_its_own_key_and_a_retry_has_the_same(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"bytes")
    engine = Engine(httpx.ReadError("cut"), {"job_id": 1})
    await engine.client.add_note("one")
    await engine.client.add_note("two")
    await engine.client.add_file(path)
    keys = [request.headers["idempotency-key"] for request in engine.requests]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    await engine.client.add_note("three", idempotency_key="mine")
    assert engine.requests[-1].headers["idempotency-key"] == "mine"


async def test_a_file_travels_whole_with_its_fields_and_reports_progress(tmp_path):
    path = tmp_path / "rapport één.bin"
    content = bytes(range(256)) * 1000
    path.write_bytes(content)
    seen = []
    engine = Engine({"job_id": 1})
    await engine.client.add_file(
        path,
        ["a", "b"],
        title="Title",
        source_path="/there/rapport één.bin",
        metadata={"k": "v"},
        on_progress=lambda sent, total: seen.append((sent, total)),
    )
    request = engine.requests[0]
    body = request.content
    assert int(request.headers["content-length"]) == len(body)
    assert content in body
    assert 'name="file"; filename="rapport één.bin"'.encode() in body
    assert body.count(b'name="tags"') == 2
    assert "/there/rapport één.bin\r\n".encode() in body.split(b'name="source_path"')[1]
    assert b'{"k": "v"}' in body
    assert seen[-1] == (len(content), len(content))
    assert [sent for sent, _ in seen] == sorted(sent for sent, _ in seen)
    assert len(seen) >= 4


async def test_a_file_that_is_sent_again_is_sent_from_its_start(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"all of it")
    engine = Engine(httpx.WriteError("cut"), {"job_id": 1})
    await engine.client.add_file(path)
    assert [b"all of it" in request.content for request in engine.requests] == [True, True]


async def test_an_open_file_is_sent_though_another_has_its_name_now_and_is_closed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"the one that was opened")
    descriptor = os.open(path, os.O_RDONLY)
    path.unlink()
    path.write_bytes(b"another")
    engine = Engine(httpx.WriteError("cut"), {"job_id": 1})
    await engine.client.add_file(descriptor, filename="b.txt")
    for request in engine.requests:
        assert b"the one that was opened" in request.content
        assert b'filename="b.txt"' in request.content
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


async def test_a_file_that_grows_while_it_is_sent_ends_where_it_ended(tmp_path):
    path = tmp_path / "growing.log"
    path.write_bytes(b"x" * 100_000)

    def grow(sent, total):
        with path.open("ab") as file:
            file.write(b"y" * 1000)

    engine = Engine({"job_id": 1})
    await engine.client.add_file(path, on_progress=grow)
    assert engine.requests[0].content.count(b"y" * 1000) == 0
    assert b"x" * 100_000 in engine.requests[0].content


async def test_waiting_asks_until_the_job_has_ended_and_ever_more_gently(pauses):
    running = [{"status": "running", "progress": n / 20} for n in range(20)]
    engine = Engine(*running, {"status": "failed", "progress": 0.5})
    seen = []
    assert (await engine.client.wait_for_job(3, seen.append))["status"] == "failed"
    assert len(seen) == 21
    assert pauses == sorted(pauses)
    assert pauses[0] <= 0.1
    assert pauses[-1] == 1.0


async def test_a_job_far_back_in_the_queue_is_asked_for_less_often(pauses):
    queued = [{"status": "queued", "remaining_seconds": left} for left in (90.0, 3.0, 0.03)]
    engine = Engine(*queued, {"status": "done"})
    await engine.client.wait_for_job(3)
    assert pauses == [2.0, 1.0, pytest.approx(0.05 * 1.4**2)]


async def test_a_saved_file_appears_whole(tmp_path):
    engine = Engine(httpx.Response(200, content=b"original bytes"))
    saved = await engine.client.document_file(4, tmp_path / "out.pdf")
    assert engine.lines == ["GET /api/v1/documents/4/file"]
    assert (tmp_path / "out.pdf").read_bytes() == b"original bytes"
    assert saved == {"path": str(tmp_path / "out.pdf"), "size_bytes": 14}


async def test_a_file_that_cannot_be_had_leaves_nothing_behind(tmp_path):
    (tmp_path / "out.pdf").write_bytes(b"before")
    engine = Engine(httpx.Response(404, json={"error": "file_not_stored", "message": "a note"}))
    with pytest.raises(httpx.HTTPStatusError):
        await engine.client.document_file(4, tmp_path / "out.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["out.pdf"]
    assert (tmp_path / "out.pdf").read_bytes() == b"before"


async def test_events_are_parsed_as_they_come():
    stream = (
        ": hello\n\n"
        'event: job\nid: 7\ndata: {"id": 1,\ndata:  "status": "running"}\n\n'
        'data: {"plain": true}\n\n'
        "event: nothing\n\n"
    )
    engine = Engine(httpx.Response(200, text=stream))
    events = [event async for event in engine.client.events("6")]
    assert events == [
        {"event": "job", "id": "7", "data": {"id": 1, "status": "running"}},
        {"event": "message", "id": "7", "data": {"plain": True}},
    ]
    assert engine.requests[0].headers["last-event-id"] == "6"


async def test_local_traffic_never_goes_through_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert not _proxies(EngineClient(f"http://{host}:8000"))
    assert _proxies(EngineClient("http://kb.example"))


def _proxies(client):
    mounts = client._connection._http._mounts
    return [transport for transport in mounts.values() if transport is not None]
