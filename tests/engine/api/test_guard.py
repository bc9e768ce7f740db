"""The guard around a tiny app: what gets in, what does not, and what is said about it."""

import json
import logging
from dataclasses import dataclass, field
from ipaddress import ip_network

import anyio
import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import BaseModel

from kb.engine.api import errors, guard
from kb.engine.api.guard import Guard
from kb.engine.api.metrics import Metrics
from kb.serving import hosts, lockout

KEY = "a-key-of-sufficient-length"
RIGHT = (b"authorization", f"Bearer {KEY}".encode())
HOST = (b"host", b"127.0.0.1:8000")
JSON = (b"content-type", b"application/json")
UPLOAD = (b"content-type", b"multipart/form-data; boundary=x")


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Note(BaseModel):
    text: str


@dataclass
class Answer:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    taken: int  # how many messages of the body were asked for

    def header(self, name):
        found = [value.decode() for key, value in self.headers if key == name.encode()]
        assert len(found) <= 1, f"{name} is sent twice"
        return found[0] if found else None

    @property
    def error(self):
        return json.loads(self.body)["error"]


@dataclass
class Door:
    """The guard, and the requests that got past it."""

    api_key: str = KEY
    allowed_hosts: frozenset[str] = frozenset({"kb.example"})
    max_json_bytes: int = 1000
    max_note_bytes: int = 1000
    max_upload_bytes: int = 5000
    trusted_proxies: tuple = ()
    clock: Clock = field(default_factory=Clock)
    metrics: Metrics = field(default_factory=Metrics)
    inside: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.app = tiny_app()
        self.guard = Guard(
            self._count,
            api_key=self.api_key,
            allowed_hosts=self.allowed_hosts,
            host="127.0.0.1",
            version="3.1.4",
            metrics=self.metrics,
            max_json_bytes=self.max_json_bytes,
            max_note_bytes=self.max_note_bytes,
            max_upload_bytes=self.max_upload_bytes,
            trusted_proxies=self.trusted_proxies,
            clock=self.clock,
        )

    async def _count(self, scope, receive, send):
        if scope["type"] == "http":
            self.inside.append(scope["path"])
        await self.app(scope, receive, send)

    def ask(self, method, path, *headers, body=(), peer="192.0.2.1", query=b"", host=HOST):
        """One request as the server hands it over: the path decoded, header names in lower case."""
        pieces = [body] if isinstance(body, bytes) else list(body)
        waiting = [
            {"type": "http.request", "body": piece, "more_body": index < len(pieces) - 1}
            for index, piece in enumerate(pieces)
        ] or [{"type": "http.request", "body": b"", "more_body": False}]
        offered = len(waiting)
        sent = []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "headers": [*([host] if host else []), *headers],
            "client": (peer, 50000),
            "server": ("127.0.0.1", 8000),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }

        async def receive():
            return waiting.pop(0) if waiting else {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        anyio.run(self.guard, scope, receive, send)
        assert [message["type"] for message in sent].count("http.response.start") == 1
        assert not sent[-1].get("more_body"), "the answer was never ended"
        whole = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], sent[0]["headers"], whole, offered - len(waiting))


def tiny_app():
    app = FastAPI(redirect_slashes=False)
    errors.install(app)
    documents = APIRouter(prefix="/documents")
    api = APIRouter(prefix="/api/v1")

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/")
    def page() -> Response:
        return Response("<p>", media_type="text/html")

    @api.get("/status")
    def status() -> dict[str, str]:
        return {"status": "ok"}

    @api.post("/search")
    def search(note: Note) -> dict[str, str]:
        return {"query": note.text}

    @api.post("/jobs")
    async def add(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @api.get("/broken")
    def broken() -> None:
        raise RuntimeError("the disk\nis on fire")

    @documents.get("/{document_id}")
    def document(document_id: int) -> dict[str, int]:
        return {"id": document_id}

    @documents.delete("/{document_id}")
    def delete(document_id: int) -> dict[str, int]:
        return {"id": document_id}

    @documents.delete("")
    def clear(note: Note) -> dict[str, str]:
        return {"text": note.text}

    api.include_router(documents)
    app.include_router(api)
    return app


@pytest.fixture
def door():
    return Door()


def length(body):
    return (b"content-length", str(len(body)).encode())


# The key

ROUTES = [
    ("GET", "/api/v1/status"),
    ("POST", "/api/v1/search"),
    ("POST", "/api/v1/jobs"),
    ("GET", "/api/v1/documents/1"),
    ("DELETE", "/api/v1/documents/1"),
    ("DELETE", "/api/v1/documents"),
    ("GET", "/docs"),
    ("GET", "/redoc"),
    ("GET", "/openapi.json"),
    ("GET", "/nowhere"),
]
TRICKS = [
    lambda path: path,
    lambda path: "/" + path,
    lambda path: path + "/",
    lambda path: path.upper(),
    lambda path: path + ";x=1",
    lambda path: "/healthz/.." + path,
    lambda path: "/./" + path,
    lambda path: path + "/../../../healthz",
    lambda path: path + "\0",
    lambda path: path + "?/healthz",
    lambda path: "/healthz#" + path,
    lambda path: "/healthz/" + path,
    lambda path: path.replace("/", "\\"),
    lambda path: "http://127.0.0.1" + path,
]
WRONG_KEYS = {
    "no header": [],
    "another key": [(b"authorization", b"Bearer another-key")],
    "the key in lower case": [(b"authorization", b"Bearer " + KEY.lower().encode() + b"x")],
    "a part of the key": [(b"authorization", f"Bearer {KEY[:-1]}".encode())],
    "more than the key": [(b"authorization", f"Bearer {KEY}x".encode())],
    "the key without a scheme": [(b"authorization", KEY.encode())],
    "another scheme": [(b"authorization", f"Basic {KEY}".encode())],
    "lower-case scheme, wrong key": [(b"authorization", b"bearer wrong")],
    "an empty header": [(b"authorization", b"")],
    "a scheme alone": [(b"authorization", b"Bearer ")],
    "NUL": [(b"authorization", f"Bearer {KEY}\0".encode())],
    "8 KB": [(b"authorization", b"Bearer " + b"k" * 8192)],
    "the right key and a wrong one": [RIGHT, (b"authorization", b"Bearer wrong")],
    "the right key twice": [RIGHT, RIGHT],
    "the key in a cookie": [(b"cookie", f"authorization=Bearer {KEY}".encode())],
    "the key as another header": [(b"x-authorization", f"Bearer {KEY}".encode())],
}


@pytest.mark.parametrize("wrong", WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_no_spelling_of_a_path_gets_in_without_the_key(wrong):
    door = Door()
    for method, path in ROUTES:
        for trick in TRICKS:
            door.clock.now += 10  # guessing this slowly is never refused unseen
            answer = door.ask(method, trick(path), *wrong)
            assert (answer.status, answer.error) == (401, "unauthorized"), trick(path)
            assert answer.header("www-authenticate") == 'Bearer realm="kb"'
    assert door.inside == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PROPFIND", "get"])
def test_no_method_gets_in_without_the_key(door, method):
    assert door.ask(method, "/api/v1/status").status == 401
    assert door.inside == []


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_key_lets_in_whatever_the_case_of_its_scheme(door, scheme):
    answer = door.ask("GET", "/api/v1/status", (b"authorization", f"{scheme} {KEY}".encode()))
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')


def test_a_missing_and_a_wrong_key_get_the_same_body(door):
    wrong = door.ask("GET", "/api/v1/status", (b"authorization", b"Bearer wrong"))
    assert door.ask("GET", "/api/v1/status").body == wrong.body


@pytest.mark.parametrize("path", ["/healthz", "/"])
def test_health_and_the_page_need_no_key(door, path):
    assert door.ask("GET", path).status == 200


def test_without_a_key_set_everybody_is_let_in():
    assert Door(api_key="").ask("GET", "/api/v1/status").status == 200


@pytest.fixture
def waits(monkeypatch):
    """How long each wrong key had to wait, in place of waiting."""
    seconds = []

    async def sleep(duration):
        seconds.append(round(duration, 6))

    monkeypatch.setattr(lockout, "sleep", sleep)
    return seconds


WRONG = (b"authorization", b"Bearer wrong")


def test_twenty_wrong_keys_are_free_and_the_next_wait_for_one_another(door, waits):
    def guess(times):
        return {door.ask("GET", "/api/v1/status", WRONG).status for _ in range(times)}

    assert guess(20) == {401}
    assert waits == []
    assert guess(3) == {401}
    assert waits == [0.1, 0.2, 0.3]
    door.clock.now += 60
    waits.clear()
    assert guess(21) == {401}
    assert waits == [0.1]


def test_a_right_key_is_answered_at_once_however_many_wrong_ones_its_address_sent(door, waits):
    for number in range(100):
        assert door.ask("GET", "/api/v1/status", WRONG).status == 401
        waited = len(waits)
        assert waited == max(0, number - 19)
        assert door.ask("GET", "/api/v1/status", RIGHT).status == 200
        assert len(waits) == waited
    door.ask("GET", "/api/v1/status", WRONG, peer="192.0.2.2")
    assert len(waits) == waited


def test_a_missing_key_is_no_guess(door, waits):
    assert {door.ask("GET", "/api/v1/status").status for _ in range(50)} == {401}
    assert waits == []


def test_when_too_many_wrong_keys_wait_the_others_are_told_so(door, monkeypatch):
    monkeypatch.setattr(lockout, "WAITING_EACH", 0)
    for _ in range(20):
        door.ask("GET", "/api/v1/status", WRONG)
    refused = door.ask("GET", "/api/v1/status", WRONG)
    assert (refused.status, refused.error) == (429, "too_many_attempts")
    assert refused.header("retry-after") == "1"
    assert door.ask("GET", "/api/v1/status", RIGHT).status == 200


def test_behind_a_trusted_proxy_each_guesser_is_slowed_alone(waits):
    door = Door(trusted_proxies=(ip_network("192.0.2.1"),))

    def guess(told, times=1, peer="192.0.2.1"):
        """How many of these had to wait."""
        waits.clear()
        for _ in range(times):
            door.ask("GET", "/api/v1/status", WRONG, (b"x-forwarded-for", told), peer=peer)
        return len(waits)

    assert guess(b"198.51.100.1", 21) == 1
    assert guess(b"198.51.100.2") == 0
    assert guess(b"203.0.113.9, 198.51.100.1") == 1, "what stands before is only a claim"
    claims = [guess(b"203.0.113.%d" % number, peer="192.0.2.2") for number in range(21)]
    assert claims == [0] * 20 + [1]


def test_guessers_in_one_ipv6_network_are_one_guesser(door, waits):
    for number in range(20):
        door.ask("GET", "/api/v1/status", WRONG, peer=f"2001:db8::{number:x}")
    door.ask("GET", "/api/v1/status", WRONG, peer="2001:db8:0:1::1")
    assert waits == []
    door.ask("GET", "/api/v1/status", WRONG, peer="2001:db8::ffff")
    assert waits == [0.1]


# Host and Origin

GOOD_HOSTS = [
    b"127.0.0.1",
    b"127.0.0.1:8000",
    b"localhost",
    b"LOCALHOST:8000",
    b"[::1]",
    b"[::1]:8000",
    b"[2001:db8::1]:8000",
    b"192.168.1.5:8000",
    b"kb.example",
    b"KB.Example:443",
]
BAD_HOSTS = [
    None,
    b"",
    b"evil.example",
    b"evil.example:8000",
    b"kb.example.evil.example",
    b"evil-kb.example",
    b"localhost.evil.example",
    b"127.0.0.1.evil.example",
    b"localhost@evil.example",
    b"evil.example/?x=localhost",
    b"a/?x=",
    b"localhost:80:80",
    b"localhost:",
    b"localhost:port",
    b"localhost\x00.evil.example",
    b"localhost, evil.example",
    b" localhost",
    b"[::1",
    b"[::1].evil.example",
    b"[::gg]",
    b"[fe80::1%25eth0]",
    b"127.1",
    b"2130706433",
    b"0x7f.0.0.1",
    "lоcalhost".encode(),  # with a Cyrillic о
]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_addresses_and_known_names_are_answered(door, host):
    for _ in range(2):  # the second time it is remembered
        assert door.ask("GET", "/api/v1/status", RIGHT, host=(b"host", host)).status == 200


@pytest.mark.parametrize("api_key", ["", KEY])
@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_name_we_do_not_have_is_refused_before_anything_else(api_key, host):
    door = Door(api_key=api_key)
    sent = (b"host", host) if host is not None else None
    for method, path in [("GET", "/api/v1/status"), ("POST", "/api/v1/jobs"), ("GET", "/healthz")]:
        answer = door.ask(method, path, RIGHT, host=sent)
        assert (answer.status, answer.error) == (421, "wrong_host")
    assert door.inside == []


def refused(door, host, *headers):
    return json.loads(door.ask("GET", "/api/v1/status", RIGHT, *headers, host=(b"host", host)).body)


def test_a_refused_name_is_told_with_the_setting_that_admits_it(door):
    told = refused(door, b"NAS.example:8000")
    assert (told["host"], told["setting"]) == ("NAS.example:8000", "KB_ALLOWED_HOSTS")
    assert "add nas.example to KB_ALLOWED_HOSTS" in told["message"]
    admitted = Door(allowed_hosts=frozenset({"nas.example"}))
    assert admitted.ask("GET", "/healthz", host=(b"host", b"NAS.example:8000")).status == 200


@pytest.mark.parametrize("host", [b"a\x1b[31m", b"\xff\x00\x7f", b"x" * 5000, b"<b>'\"\\", b""])
def test_a_refused_host_is_shown_short_and_plain(door, host):
    told = refused(door, host)
    assert len(told["host"]) <= 261
    assert len(told["message"]) < 1000
    assert all(" " <= letter <= "~" or letter == "…" for letter in told["host"] + told["message"])


def test_a_refused_origin_is_told_beside_the_host_that_was_asked_for(door):
    told = refused(door, b"127.0.0.1:8000", (b"origin", b"https://kb.example\x1b"))
    assert (told["error"], told["origin"]) == ("foreign_origin", "https://kb.example?")
    assert told["host"] == "127.0.0.1:8000"
    assert "pass on the Host header" in told["message"]


def test_two_hosts_are_one_too_many(door):
    assert door.ask("GET", "/api/v1/status", RIGHT, HOST).status == 421
    assert door.ask("GET", "/api/v1/status", RIGHT, (b"host", b"evil.example")).status == 421


def test_many_names_do_not_fill_the_memory(door):
    for port in range(hosts.HOSTS_REMEMBERED + 50):
        host = (b"host", f"127.0.0.1:{port}".encode())
        assert door.ask("GET", "/healthz", host=host).status == 200
    assert len(door.guard._door._hosts._seen) == hosts.HOSTS_REMEMBERED


@pytest.mark.parametrize("api_key", ["", KEY])
@pytest.mark.parametrize(
    "origin",
    [
        b"http://evil.example",
        b"https://evil.example",
        b"null",
        b"",
        b"127.0.0.1:8000",
        b"http://127.0.0.1",
        b"http://127.0.0.1:3000",
        b"http://localhost:8000",
        b"http://127.0.0.1:8000.evil.example",
        b"http://evil.example@127.0.0.1:8000",
        b"http://127.0.0.1:8000/",
        b"file://127.0.0.1:8000",
    ],
)
def test_scripts_of_other_sites_change_nothing(api_key, origin):
    door = Door(api_key=api_key)
    for method, path in ROUTES:
        answer = door.ask(method, path, RIGHT, (b"origin", origin))
        assert (answer.status, answer.error) == (403, "foreign_origin")
        assert answer.header("access-control-allow-origin") is None
    assert door.inside == []


@pytest.mark.parametrize("origin", [b"http://127.0.0.1:8000", b"HTTPS://127.0.0.1:8000"])
def test_scripts_of_our_own_page_are_let_in(door, origin):
    assert door.ask("GET", "/api/v1/status", RIGHT, (b"origin", origin)).status == 200


# Bodies and headers


def test_a_body_within_the_limit_arrives_whole(door):
    body = json.dumps({"text": "x" * 900}).encode()
    answer = door.ask("POST", "/api/v1/search", RIGHT, JSON, length(body), body=body)
    assert (answer.status, json.loads(answer.body)["query"]) == (200, "x" * 900)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/v1/search"), ("GET", "/api/v1/status"), ("DELETE", "/api/v1/documents")],
)
def test_a_body_declared_too_large_is_refused_unread(door, method, path):
    answer = door.ask(method, path, RIGHT, JSON, (b"content-length", b"1001"), body=[b"x" * 1001])
    assert (answer.status, answer.error) == (413, "body_too_large")
    assert json.loads(answer.body)["max_bytes"] == 1000
    assert answer.header("connection") == "close"
    assert door.inside == []


@pytest.mark.parametrize("declared", [b"9" * 30, b"9" * 5000])
def test_a_body_declared_absurdly_large_is_refused(door, declared):
    sent = (b"content-length", declared)
    assert door.ask("POST", "/api/v1/search", RIGHT, JSON, sent).status == 413


def test_a_body_that_turns_out_too_large_is_cut_off(door):
    chunked = (b"transfer-encoding", b"chunked")
    pieces = [b"x" * 400] * 50
    answer = door.ask("POST", "/api/v1/search", RIGHT, JSON, chunked, body=pieces)
    assert (answer.status, answer.error) == (413, "body_too_large")
    assert answer.header("connection") == "close"


def test_only_where_notes_are_taken_a_body_may_be_as_long_as_one():
    door, body = Door(max_note_bytes=3000), b"x" * 2500
    for method, path in [("POST", "/api/v1/jobs"), ("PATCH", "/api/v1/notes/1")]:
        door.ask(method, path, RIGHT, JSON, length(body), body=body)
    assert door.inside == ["/api/v1/jobs", "/api/v1/notes/1"]
    for path in ("/api/v1/search", "/api/v1/documents/1"):
        assert door.ask("POST", path, RIGHT, JSON, length(body), body=body).status == 413


def test_what_still_arrives_of_a_refused_body_is_thrown_away_up_to_a_point(door, monkeypatch):
    monkeypatch.setattr("kb.serving.exchange.LINGER_BYTES", 2000)
    chunked = (b"transfer-encoding", b"chunked")
    answer = door.ask("POST", "/api/v1/jobs", RIGHT, JSON, chunked, body=[b"x" * 400] * 50)
    assert answer.status == 413
    assert answer.taken == 3 + 5  # up to the limit, and what lingers


def test_a_file_may_be_larger_than_json_but_has_its_limit_too(door):
    body = [b"x" * 1000] * 5
    chunked = (b"transfer-encoding", b"chunked")
    answer = door.ask("POST", "/api/v1/jobs", RIGHT, UPLOAD, chunked, body=body)
    assert (answer.status, answer.body) == (200, b'{"bytes":5000}')
    door.guard._max_multipart_bytes = 3 * 2**20
    too_long = (b"content-length", str(3 * 2**20 + 1).encode())
    for size, body in ((too_long, []), (chunked, [b"x" * 2**20] * 4)):
        answer = door.ask("POST", "/api/v1/jobs", RIGHT, UPLOAD, size, body=body)
        assert (answer.status, answer.error) == (413, "body_too_large")
        assert "larger than the 2 MB" in json.loads(answer.body)["message"]
        assert "KB_MAX_FILE_MB" in json.loads(answer.body)["message"]


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/api/v1/search", b"text/plain"),
        ("POST", "/api/v1/search", b"application/x-www-form-urlencoded"),
        ("POST", "/api/v1/search", b"multipart/form-data; boundary=x"),
        ("POST", "/api/v1/jobs", b"application/jsonp"),
        ("POST", "/api/v1/jobs", b""),
        ("PUT", "/api/v1/jobs", b"multipart/form-data; boundary=x"),
        ("GET", "/api/v1/status", b"text/plain"),
    ],
)
def test_a_body_of_another_kind_is_refused(door, method, path, kind):
    answer = door.ask(method, path, RIGHT, (b"content-type", kind), length(b"{}"), body=b"{}")
    assert (answer.status, answer.error) == (415, "unsupported_media_type")
    assert door.inside == []


def test_json_may_name_its_charset_and_an_empty_body_needs_no_kind(door):
    body = b'{"text": "x"}'
    kind = (b"content-type", b"Application/JSON; charset=utf-8")
    assert door.ask("POST", "/api/v1/search", RIGHT, kind, length(body), body=body).status == 200
    empty = (b"content-length", b"0")
    assert door.ask("DELETE", "/api/v1/documents/1", RIGHT, empty).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"2"), (b"transfer-encoding", b"chunked")],
        [(b"content-length", b"2"), (b"content-length", b"3")],
        [(b"content-length", b"+2")],
        [(b"content-length", b"")],
        [JSON, JSON],
        [(b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"identity")],
        [(b"transfer-encoding", b"gzip, chunked")],
        [(b"content-length", b"2"), (b"content-encoding", b"gzip")],
        [(b"content-length", b"2"), (b"idempotency-key", b"a"), (b"idempotency-key", b"b")],
        [(b"content-length", b"2"), (b"batch-id", b"a"), (b"batch-id", b"a")],
    ],
)
def test_headers_that_contradict_each_other_are_refused(door, headers):
    answer = door.ask("POST", "/api/v1/search", RIGHT, *headers)
    assert (answer.status, answer.error) == (400, "malformed_request")
    assert door.inside == []


def test_ordinary_headers_may_repeat(door):
    twice = [(b"accept", b"text/html"), (b"accept", b"*/*")]
    assert door.ask("GET", "/api/v1/status", RIGHT, *twice).status == 200


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ([(f"x-{number}".encode(), b"") for number in range(100)], b""),
        ([(b"x", b"x" * 33_000)], b""),
        ([], b"x" * 33_000),
    ],
)
def test_headers_and_addresses_have_a_limit(door, headers, query):
    answer = door.ask("GET", "/api/v1/status", RIGHT, *headers, query=query)
    assert (answer.status, answer.error) == (431, "headers_too_large")


# What every answer carries


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/v1/status", [RIGHT]),
        ("GET", "/api/v1/status", []),
        ("GET", "/api/v1/nowhere", [RIGHT]),
        ("PUT", "/api/v1/status", [RIGHT]),
        ("GET", "/api/v1/broken", [RIGHT]),
        ("GET", "/api/v1/documents/x", [RIGHT]),
        ("GET", "/api/v1/status", [RIGHT, HOST]),
    ],
)
def test_every_answer_of_the_api_carries_our_headers(door, method, path, headers):
    answer = door.ask(method, path, *headers)
    assert answer.header("kb-version") == "3.1.4"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cross-origin-resource-policy") == "same-origin"
    assert answer.header("cross-origin-opener-policy") == "same-origin"
    assert answer.header("referrer-policy") == "no-referrer"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("content-security-policy") == (
        "default-src 'none'; frame-ancestors 'none'"
    )
    assert answer.header("content-type") == "application/json"
    assert answer.header("x-request-id")


def test_the_page_sets_its_own_policy(door):
    answer = door.ask("GET", "/")
    assert answer.header("kb-version") == "3.1.4"
    assert answer.header("content-security-policy") is None


def test_no_two_requests_have_the_same_id(door):
    ids = {door.ask("GET", "/healthz").header("x-request-id") for _ in range(5)}
    assert len(ids) == 5


def test_one_peer_sends_only_so_many_large_bodies_at_a_time(monkeypatch):
    monkeypatch.setattr(guard, "LARGE_EACH", 2)
    monkeypatch.setattr(guard, "LARGE_ALL", 3)
    door = Door(max_note_bytes=2**22)
    large = (UPLOAD, (b"content-length", b"%d" % (guard.LARGE_BYTES + 1)), RIGHT)
    door.guard._max_multipart_bytes = 2**22

    def told(answer):
        return answer.status if answer.status < 400 else answer.error

    def while_sending(peers, then):
        """Ask while so many others are still sending; an app that asks stands for them."""
        if not peers:
            return then()
        found = []

        async def nested(scope, receive, send):
            await anyio.to_thread.run_sync(lambda: found.append(while_sending(peers[1:], then)))
            await Response("done")(scope, receive, send)

        app, door.app = door.app, nested
        door.ask("POST", "/api/v1/jobs", *large, peer=peers[0])
        door.app = app
        return found[0]

    def ask(peer, *headers):
        def asked():
            door.app = tiny_app()
            return door.ask("POST", "/api/v1/jobs", *headers, peer=peer)

        return asked

    crowd = ["192.0.2.1", "192.0.2.1"]
    refused = while_sending(crowd, ask("192.0.2.1", *large))
    assert (refused.status, told(refused)) == (503, "too_many_uploads")
    assert refused.header("retry-after") == "1"
    chunked = (UPLOAD, (b"transfer-encoding", b"chunked"), RIGHT)
    assert told(while_sending(crowd, ask("192.0.2.1", *chunked))) == "too_many_uploads"
    small = (UPLOAD, (b"content-length", b"100"), RIGHT)
    assert told(while_sending(crowd, ask("192.0.2.1", *small))) != "too_many_uploads"
    assert told(while_sending(crowd, ask("192.0.2.2", *large))) != "too_many_uploads"
    full = [*crowd, "192.0.2.2"]
    assert told(while_sending(full, ask("192.0.2.3", *large))) == "too_many_uploads"
    assert not door.guard._large._taken


# Bugs and the end


def test_a_bug_is_answered_with_an_id_and_logged_under_it(door, caplog):
    answer = door.ask("GET", "/api/v1/broken", RIGHT)
    assert (answer.status, answer.error) == (500, "internal_error")
    assert b"on fire" not in answer.body
    request_id = json.loads(answer.body)["request_id"]
    assert request_id == answer.header("x-request-id")
    logged = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert request_id in logged.getMessage()
    assert logged.exc_info[0] is RuntimeError


def test_a_bug_outside_the_framework_is_answered_too(door):
    async def broken(scope, receive, send):
        raise RuntimeError("even before routing")

    door.app = broken
    answer = door.ask("GET", "/api/v1/status", RIGHT)
    assert (answer.status, answer.error) == (500, "internal_error")


def test_while_draining_only_health_is_answered(door):
    door.guard.drain()
    answer = door.ask("GET", "/api/v1/status", RIGHT)
    assert (answer.status, answer.error) == (503, "shutting_down")
    assert answer.header("retry-after") == "5"
    assert door.ask("GET", "/api/v1/status").status == 401
    assert door.ask("GET", "/healthz").status == 200
    assert door.inside == ["/healthz"]


def test_a_websocket_is_refused_unseen(door):
    sent = []

    async def send(message):
        sent.append(message)

    anyio.run(door.guard, {"type": "websocket", "path": "/", "headers": [HOST]}, None, send)
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert door.inside == []


# What is counted and logged


def counted(door):
    lines = door.metrics.render().decode().splitlines()
    return {line for line in lines if line.startswith("kb_requests_total")}


def test_requests_are_counted_by_route_and_never_by_path(door):
    for number in (1, 2, 3):
        door.ask("GET", f"/api/v1/documents/{number}", RIGHT)
    door.ask("GET", "/api/v1/secret-path", RIGHT)
    door.ask("BREW", "/healthz")
    template = "/api/v1/documents/{document_id}"
    assert counted(door) == {
        f'kb_requests_total{{method="GET",route="{template}",status="200"}} 3.0',
        'kb_requests_total{method="GET",route="other",status="404"} 1.0',
        'kb_requests_total{method="OTHER",route="/healthz",status="405"} 1.0',
    }


def test_changes_and_errors_are_logged_and_reading_is_not(door, caplog):
    caplog.set_level(logging.INFO)
    body = b'{"text": "private words"}'
    door.ask("GET", "/api/v1/status", RIGHT)
    door.ask("POST", "/api/v1/search", RIGHT, JSON, length(body), body=body)
    door.ask("DELETE", "/api/v1/documents/7", RIGHT, query=b"why=private+words")
    door.ask("GET", "/api/v1/private-path", (b"authorization", b"Bearer wrong-key"))
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(" ")[:3] for line in lines] == [
        ["DELETE", "/api/v1/documents/{document_id}", "200"],
        ["GET", "other", "401"],
    ]
    assert not [line for line in lines if "private" in line or "key" in line]


def test_at_debug_reading_is_logged_as_well(door, caplog):
    caplog.set_level(logging.DEBUG)
    answer = door.ask("GET", "/api/v1/status", RIGHT)
    line = next(r.getMessage() for r in caplog.records if r.name == guard.__name__)
    assert line == f"GET /api/v1/status 200 0.0 ms {answer.header('x-request-id')}"
