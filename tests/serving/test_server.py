"""The server over real sockets: hostile bytes, slow peers, signals and ports in use."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import StreamingResponse

from kb.engine.api import errors
from kb.engine.api.guard import REFUSALS, Guard
from kb.engine.api.metrics import Metrics
from kb.serving import CannotServe
from kb.serving.protocol import Limits
from kb.serving.server import Server, bind

KEY = "a-key-of-sufficient-length"
RIGHT = f"Authorization: Bearer {KEY}\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
WAIT = 30.0  # for an answer or an end; far more than any of it takes

# Where being late plays no part, a busy machine may take its time.
PATIENT = Limits(
    header_seconds=WAIT,
    body_seconds=WAIT,
    rest_seconds=WAIT,
    linger_seconds=10 * WAIT,
    write_seconds=WAIT,
)

# Of a time that passes when a test says so.
STRICT = Limits(
    header_seconds=10,
    idle_seconds=20,
    body_seconds=10,
    body_bytes_per_second=1000,
    rest_seconds=8,
    linger_seconds=20,
    write_seconds=10,
)


class Running:
    """A server in a thread."""

    def __init__(self, limits=None):
        self.inside = []
        self.waiting = threading.Event()
        app = Guard(
            self._app(),
            api_key=KEY,
            allowed_hosts=frozenset(),
            host="127.0.0.1",
            version="3",
            metrics=Metrics(),
        )
        sockets = bind("127.0.0.1", 0, "KB_PORT")
        self.port = sockets[0].getsockname()[1]
        ready = threading.Event()
        self.server = Server(
            app, refusals=REFUSALS, on_ready=lambda port: ready.set(), limits=limits
        )
        self.thread = threading.Thread(target=self._run, args=[sockets], daemon=True)
        self.thread.start()
        assert ready.wait(WAIT)

    def _run(self, sockets):
        self.server.run(sockets=sockets)

    def _app(self):
        app = FastAPI(redirect_slashes=False)
        errors.install(app)
        api = APIRouter(prefix="/api/v1")

        @app.get("/healthz")
        async def healthz() -> dict[str, str]:
            return {"status": "ok"}

        @api.get("/status")
        async def status() -> dict[str, str]:
            self.inside.append("status")
            return {"status": "ok"}

        @api.post("/jobs")
        async def add(request: Request) -> dict[str, int]:
            self.inside.append("jobs")
            return {"bytes": len(await request.body())}

        @api.get("/wait")
        async def wait() -> dict[str, str]:
            released = asyncio.Event()
            loop = asyncio.get_running_loop()
            self.release = lambda: loop.call_soon_threadsafe(released.set)
            self.waiting.set()
            await released.wait()
            return {"status": "waited"}

        @api.get("/endless")
        async def endless() -> StreamingResponse:
            async def pieces():
                while True:
                    yield b"x" * 65536
                    await asyncio.sleep(0)  # sending to nobody does not wait

            return StreamingResponse(pieces())

        app.include_router(api)
        return app

    def stop(self):
        self.server.should_exit = True
        self.thread.join(WAIT)
        assert not self.thread.is_alive()

    def connect(self):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return peer

    def say(self, *pieces):
        """All that comes back until the server closes. The pieces end in a request to close."""
        with self.connect() as peer:
            with contextlib.suppress(ConnectionError):  # it may have been closed meanwhile
                for piece in pieces:
                    peer.sendall(piece)
            return read_all(peer)

    def is_healthy(self):
        return self.say(HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")).startswith(
            b"HTTP/1.1 200"
        )


class Loop(asyncio.SelectorEventLoop):
    """One whose time can be made to pass."""

    passed = 0.0

    def time(self):
        return super().time() + self.passed


class Strict(Running):
    """A server that waits for nobody longer than a test lets time pass."""

    def __init__(self, limits=STRICT):
        self.loop = Loop()
        super().__init__(limits)

    def _run(self, sockets):
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self.server.serve(sockets))

    def connect(self):
        """From when the server counts."""
        peer = super().connect()
        name = peer.getsockname()
        eventually(lambda: name in [each.client for each in self.connections])
        return peer

    @property
    def connections(self):
        return list(self.server.server_state.connections)

    def pass_by(self, seconds):
        """What was sent before is read before."""
        passed = threading.Event()

        def jump():
            self.loop.passed += seconds
            passed.set()

        self.loop.call_soon_threadsafe(self.loop.call_soon, jump)
        assert passed.wait(WAIT)

    def read_all(self, peer):
        """Until the other side ends it; whenever nothing comes, time passes."""
        received, began = b"", time.monotonic()
        peer.settimeout(0.02)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < WAIT:
                try:
                    piece = peer.recv(65536)
                except TimeoutError:
                    self.pass_by(1)
                    continue
                if not piece:
                    return received
                received += piece
            pytest.fail("it was not ended")
        return received


def eventually(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def read_all(peer):
    """Until the other side ends it, politely or not; a server that does neither fails the test."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := peer.recv(65536):
            received += piece
    return received


def read_one(peer):
    """A whole answer, whose head and body may come apart; the connection stays."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = peer.recv(65536)
        assert piece, "it was closed"
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    missing = int(re.search(rb"content-length: (\d+)", head)[1]) - len(body)
    while missing > 0:
        piece = peer.recv(missing)
        assert piece, "it was closed"
        received += piece
        missing -= len(piece)
    return received


def exchange(peer, sent, status):
    """One request and its answer, after which the connection stays."""
    peer.sendall(sent)
    assert statuses(read_one(peer)) == [status]


def statuses(received):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def request(method, target, *lines, body=b"", host="localhost"):
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n" + "".join(lines)
    return head.encode("latin-1") + b"\r\n" + body


@contextlib.contextmanager
def served(limits):
    started = Running(limits)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def running():
    with served(PATIENT) as running:
        yield running


@contextlib.contextmanager
def strict_with(**limits):
    started = Strict(replace(STRICT, **limits))
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def strict():
    with strict_with() as started:
        yield started


# Hostile bytes

CLOSE = "Connection: close\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
LENGTH = "Content-Length: 5\r\n"
JSON = "Content-Type: application/json\r\n"
EMPTY = b"0\r\n\r\n"
SMUGGLED = request("GET", "/api/v1/status", RIGHT)

MALFORMED = {
    "length and chunked": request("POST", "/x", LENGTH, CHUNKED, body=EMPTY + SMUGGLED),
    "chunked and length": request("POST", "/x", CHUNKED, LENGTH, body=EMPTY + SMUGGLED),
    "two lengths": request("POST", "/x", LENGTH, "Content-Length: 0\r\n", body=b"12345"),
    "the same length twice": request("POST", "/x", LENGTH, LENGTH, body=b"12345"),
    "a list of lengths": request("POST", "/x", "Content-Length: 5, 5\r\n", body=b"12345"),
    "a signed length": request("POST", "/x", "Content-Length: +5\r\n", body=b"12345"),
    "a negative length": request("POST", "/x", "Content-Length: -5\r\n"),
    "a length in hexadecimal": request("POST", "/x", "Content-Length: 0x5\r\n", body=b"12345"),
    "an endless length": request("POST", "/x", f"Content-Length: {'9' * 40}\r\n"),
    "a space before the colon": request("POST", "/x", "Content-Length : 5\r\n", body=b"12345"),
    "a tab before the colon": request("POST", "/x", "Transfer-Encoding\t: chunked\r\n", body=EMPTY),
    "a folded header": request("GET", "/x", "X: a\r\n b\r\n"),
    "a folded first header": b"GET /x HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "line feeds alone": b"GET /x HTTP/1.1\nHost: localhost\n\n",
    "a carriage return alone": request("GET", "/x", "X: a\rY: b\r\n"),
    "a header without a name": request("GET", "/x", ": a\r\n"),
    "a header without a colon": request("GET", "/x", "nonsense\r\n"),
    "an odd encoding": request("POST", "/x", "Transfer-Encoding: xchunked\r\n", body=EMPTY),
    "NUL in a header": request("GET", "/x", "X: a\0b\r\n"),
    "NUL in a name": request("GET", "/x", "X\0: a\r\n"),
    "NUL in the address": request("GET", "/x\0"),
    "a space in the address": request("GET", "/x y"),
    "bytes in the address": request("GET", "/\xc3\xa9"),
    "chunked, then more": request("POST", "/x", "Transfer-Encoding: chunked, identity\r\n"),
    "no version": b"GET /x\r\nHost: localhost\r\n\r\n",
    "an unknown version": b"GET /x HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown method": request("BREW", "/x"),
    "a method in lower case": request("get", "/x"),
    "a tunnel": b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "the server as a whole": request("OPTIONS", "*"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
    "another host in the address": request("GET", "http://evil.example/api/v1/status", RIGHT),
    "an address without a path": request("GET", "http://localhost", RIGHT),
    "a user in the address": request("GET", "http://localhost@evil.example/", RIGHT),
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
def test_bytes_that_could_be_read_in_two_ways_get_one_refusal_and_the_door(running, sent):
    before = len(running.inside)
    received = running.say(sent)
    assert statuses(received) == [400]
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"] == "malformed_request"
    assert b"connection: close" in received
    assert len(running.inside) == before


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000])
def test_a_refusal_before_there_is_a_request_is_closed_to_other_sites(running, sent):
    received = running.say(sent)
    assert b"cross-origin-resource-policy: same-origin\r\n" in received
    assert b"x-content-type-options: nosniff\r\n" in received


def test_what_stands_behind_a_body_is_no_header(running):
    """A key or a host that comes too late is none."""
    late = b"2\r\n{}\r\n0\r\n" + RIGHT.encode() + b"Host: localhost\r\n\r\n"
    closing = "Connection: close\r\n"
    sent = request("POST", "/api/v1/jobs", JSON, CHUNKED, closing, body=late)
    assert statuses(running.say(sent)) == [401]
    nowhere = b"POST /api/v1/jobs HTTP/1.1\r\n" + (RIGHT + JSON + CHUNKED + closing).encode()
    assert statuses(running.say(nowhere + b"\r\n" + late)) == [421]


@pytest.mark.parametrize(
    "endless",
    [b"0\r\nX: " + b"x" * 200_000, b"0\r\n" + b"X: y\r\n" * 40_000, b"2;" + b"x" * 200_000],
    ids=["a trailer", "trailers", "an extension of a chunk"],
)
def test_what_stands_around_a_body_has_its_limit(endless):
    start = request("POST", "/api/v1/jobs", RIGHT, JSON, CHUNKED, body=b"2\r\n{}\r\n")
    with served(Limits(body_seconds=1000)) as patient:
        assert statuses(patient.say(start + endless)) in ([431], [])
        assert patient.is_healthy()


def test_a_body_in_very_small_chunks_arrives_whole(running):
    body = b"1\r\n \r\n" * 50_000 + b"2\r\n{}\r\n0\r\n\r\n"
    sent = request("POST", "/api/v1/jobs", RIGHT, JSON, CHUNKED, "Connection: close\r\n", body=body)
    assert b'{"bytes":50002}' in running.say(sent)


CHUNK_TRICKS = {
    "an absurd chunk size": b"ffffffffffffffffffff\r\nabc\r\n",
    "a negative chunk size": b"-1\r\nabc\r\n",
    "a chunk size with a prefix": b"0x3\r\nabc\r\n" + EMPTY,
    "a line feed in an extension": b"3;a\nb\r\nabc\r\n" + EMPTY,
    "a line feed after the size": b"3\nabc\r\n" + EMPTY,
    "no end after the chunk": b"3\r\nabcd\r\n" + EMPTY,
}


@pytest.mark.parametrize("body", CHUNK_TRICKS.values(), ids=CHUNK_TRICKS)
def test_a_body_in_broken_pieces_is_refused(running, body):
    received = running.say(request("POST", "/api/v1/jobs", RIGHT, JSON, CHUNKED, body=body))
    assert statuses(received) == [400]


def test_what_follows_a_closing_request_is_not_answered(running):
    before = len(running.inside)
    received = running.say(request("GET", "/healthz", CLOSE) + SMUGGLED)
    assert statuses(received) == [200]
    assert len(running.inside) == before


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/api/v1/status", 401),
        ("//api/v1/status", 401),
        ("/%61pi/v1/status", 401),
        ("/api%2fv1/status", 401),
        ("/healthz/%2e%2e/api/v1/status", 401),
        ("/healthz/..%2fapi/v1/status", 401),
        ("/API/V1/STATUS", 401),
        ("/api/v1/status;healthz", 401),
        ("/api/v1/status%00", 401),
        ("/api/v1/status?x=/healthz", 401),
        ("/openapi.json", 401),
        ("http://localhost/api/v1/status", 401),
        ("http://localhost/healthz", 200),
        ("/%68ealthz", 200),
    ],
)
def test_an_encoded_path_is_judged_by_what_it_means(running, target, status):
    assert statuses(running.say(request("GET", target, CLOSE))) == [status]


def test_an_old_request_without_a_host_is_misdirected(running):
    assert b"421 " in running.say(b"GET /api/v1/status HTTP/1.0\r\n\r\n").partition(b"\r\n")[0]


def test_a_request_to_upgrade_is_answered_as_an_ordinary_one(running):
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    sent = request("GET", "/api/v1/status", upgrade) + request("GET", "/healthz", CLOSE)
    with running.connect() as peer:
        peer.sendall(sent[: sent.index(b"GET /healthz")])
        first = peer.recv(65536)
        peer.sendall(request("GET", "/healthz", CLOSE))
        assert statuses(first + read_all(peer)) == [401, 200]


def test_pipelined_requests_are_answered_in_order(running):
    sent = HEALTH + request("GET", "/api/v1/status") + request("GET", "/healthz", CLOSE)
    assert statuses(running.say(sent)) == [200, 401, 200]


def test_too_many_pipelined_requests_end_the_connection(running):
    before = len(running.inside)
    running.say(SMUGGLED * 1000)
    assert len(running.inside) - before <= Limits().pipelined + 1
    assert running.is_healthy()


@pytest.mark.parametrize("end", ["", "\r\n\r\n"])
def test_endless_headers_are_refused(running, end):
    received = running.say(request("GET", "/healthz", f"X: {'x' * 300_000}{end}"))
    assert statuses(received) in ([431], [])  # nothing, where they still came when we hung up
    assert running.is_healthy()


@pytest.mark.parametrize("framing", ["Content-Length: 65562000\r\n", CHUNKED])
def test_whoever_sends_all_of_a_huge_body_first_still_reads_why_it_was_refused(running, framing):
    """From nobody in particular, and again from someone with the key."""
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    for key, status in (("", 401), (RIGHT, 413)):
        with running.connect() as peer:
            peer.sendall(request("POST", "/api/v1/jobs", key, JSON, framing))
            for _ in range(1000):
                peer.sendall(piece)
            peer.shutdown(socket.SHUT_WR)
            assert statuses(read_all(peer)) == [status]


def test_a_client_that_asks_first_need_not_send_a_body_that_is_refused(running):
    head = request(
        "POST", "/api/v1/jobs", RIGHT, JSON, "Content-Length: 99999999\r\nExpect: 100-continue\r\n"
    )
    with running.connect() as peer:
        peer.sendall(head)
        received = peer.recv(65536)
    assert received.startswith(b"HTTP/1.1 413")


# Slow peers


def test_a_header_that_trickles_is_dropped_in_time(strict):
    with strict.connect() as peer:
        peer.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        for _ in range(3 * round(STRICT.header_seconds)):
            with contextlib.suppress(ConnectionError):
                peer.sendall(b"x")
            strict.pass_by(1)
        assert strict.connections == []
        assert read_all(peer) == b""


STALLED = {
    "nothing": b"",
    "half a header": b"GET /healthz HTTP/1.1\r\nHost: local",
    "some of a body": request(
        "POST", "/api/v1/jobs", RIGHT, JSON, "Content-Length: 1000\r\n", body=b"x" * 10
    ),
}


@pytest.mark.parametrize("sent", STALLED.values(), ids=STALLED)
def test_who_goes_silent_before_the_end_of_a_request_is_dropped_in_time(strict, sent):
    with strict.connect() as peer:
        peer.sendall(sent)
        assert strict.read_all(peer) == b""
    assert strict.is_healthy()


def test_a_second_request_has_to_finish_its_header_as_well():
    with strict_with(idle_seconds=3600) as strict, strict.connect() as peer:
        exchange(peer, HEALTH, 200)
        peer.sendall(b"GET /healthz HTT")
        assert strict.read_all(peer) == b""


def test_an_idle_connection_lives_longer_than_half_a_header(strict):
    with strict.connect() as peer:
        exchange(peer, HEALTH, 200)
        began = strict.loop.time()
        assert strict.read_all(peer) == b""
        assert strict.loop.time() - began > 1.5 * STRICT.header_seconds


def test_empty_lines_do_not_keep_a_connection(strict):
    with strict.connect() as peer:
        exchange(peer, HEALTH, 200)
        peer.sendall(b"\r\n")
        assert strict.read_all(peer) == b""


ENOUGH = b"x" * 2000  # in a second


def test_a_body_that_takes_long_but_moves_arrives(strict):
    seconds = 3 * round(STRICT.body_seconds)
    with strict.connect() as peer:
        peer.sendall(request("POST", "/api/v1/jobs", RIGHT, JSON, CHUNKED, CLOSE))
        for _ in range(seconds):
            peer.sendall(b"7d0\r\n" + ENOUGH + b"\r\n")
            strict.pass_by(1)
        peer.sendall(EMPTY)
        assert read_all(peer).endswith(b'{"bytes":%d}' % (seconds * len(ENOUGH)))


UNWANTED = request("POST", "/nowhere", RIGHT, JSON, "Content-Length: 10\r\n", body=b"12345")


def test_the_rest_of_an_unwanted_body_is_not_waited_for():
    with strict_with(body_seconds=3600, idle_seconds=3600) as strict, strict.connect() as peer:
        peer.sendall(UNWANTED)
        assert statuses(strict.read_all(peer)) == [404]


def test_an_unwanted_body_may_take_its_time_while_it_moves():
    seconds = 3 * round(STRICT.rest_seconds)
    lasting = "Content-Length: 1000000\r\n"
    with strict_with(linger_seconds=3600) as strict, strict.connect() as peer:
        peer.sendall(request("POST", "/nowhere", RIGHT, JSON, lasting))
        for _ in range(seconds):
            peer.sendall(ENOUGH)
            strict.pass_by(1)
        peer.sendall(b"x" * (1_000_000 - seconds * len(ENOUGH)) + HEALTH)
        assert statuses(strict.read_all(peer)) == [404, 200]


def test_an_unwanted_body_is_not_taken_for_ever(strict):
    lasting = "Content-Length: 1900000\r\n"
    with strict.connect() as peer:
        peer.sendall(request("POST", "/nowhere", RIGHT, JSON, lasting))
        with contextlib.suppress(ConnectionError):
            for _ in range(10 * round(STRICT.linger_seconds)):
                peer.sendall(ENOUGH)
                strict.pass_by(1)
            pytest.fail("it was taken all the time")


def test_an_unwanted_body_that_ends_leaves_an_idle_connection():
    with strict_with(rest_seconds=3600) as strict, strict.connect() as peer:
        exchange(peer, UNWANTED, 404)
        exchange(peer, b"67890" + HEALTH, 200)
        exchange(peer, UNWANTED, 404)
        peer.sendall(b"67890")
        assert strict.read_all(peer) == b""


def test_a_reader_that_does_not_read_is_dropped(strict):
    with strict.connect() as peer:
        peer.sendall(request("GET", "/api/v1/endless", RIGHT))
        assert peer.recv(10) == b"HTTP/1.1 2"
        eventually(lambda: strict.pass_by(1) or not strict.connections)
    assert strict.is_healthy()


def test_four_hundred_half_headers_leave_room_for_a_whole_one():
    """Deadlines play no part here: it is the cap that makes room."""
    with served(replace(PATIENT, connections=100)) as running, contextlib.ExitStack() as slow:
        for number in range(400):
            peer = slow.enter_context(running.connect())
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
            if number % 40 == 0:
                assert running.is_healthy()
        assert running.is_healthy()
        assert len(running.server.server_state.connections) <= 101


def test_a_running_request_is_never_dropped_to_make_room():
    with (
        served(replace(PATIENT, connections=8)) as running,
        running.connect() as busy,
        contextlib.ExitStack() as others,
    ):
        busy.sendall(request("GET", "/api/v1/wait", RIGHT, CLOSE))
        assert running.waiting.wait(WAIT)
        for _ in range(30):
            others.enter_context(running.connect()).sendall(b"GET")
        assert running.is_healthy()
        running.release()
        assert b"waited" in read_all(busy)


def test_with_every_connection_at_work_a_newcomer_is_turned_away():
    with (
        served(replace(PATIENT, connections=8)) as running,
        contextlib.ExitStack() as others,
    ):
        busy = [others.enter_context(running.connect()) for _ in range(8)]
        releases = []
        for peer in busy:
            running.waiting.clear()
            peer.sendall(request("GET", "/api/v1/wait", RIGHT, CLOSE))
            assert running.waiting.wait(WAIT)
            releases.append(running.release)
        assert running.say(HEALTH) == b""
        for release in releases:
            release()
        assert all(b"waited" in read_all(peer) for peer in busy)
        assert running.is_healthy()


# Starting and stopping


def test_a_port_in_use_is_one_clear_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotServe, match=f"Port {port} on 127.0.0.1 is in use") as raised:
            bind("127.0.0.1", port, "KB_PORT")
    assert "\n" not in str(raised.value)


def test_an_address_of_another_machine_is_one_clear_line():
    with pytest.raises(CannotServe, match=r"192\.0\.2\.1: it is not an address of this machine"):
        bind("192.0.2.1", 0, "KB_PORT")


@pytest.mark.parametrize("host", ["no such host", "x" * 300, "..", "a\0b"])
def test_a_name_without_an_address_is_one_clear_line(host):
    with pytest.raises(CannotServe, match="this name has no address"):
        bind(host, 0, "KB_PORT")


def test_all_addresses_of_a_name_get_the_same_port():
    sockets = bind("localhost", 0, "KB_PORT")
    try:
        assert len({each.getsockname()[1] for each in sockets}) == 1
    finally:
        for each in sockets:
            each.close()


SCRIPT = textwrap.dedent(
    """
    import asyncio
    import sys
    from kb.engine.api.guard import REFUSALS
    from kb.serving import server

    server.EXIT_SECONDS = float(sys.argv[1])

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            print("closed", flush=True)
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        await released.wait() if scope["path"] == "/finish" else await asyncio.Event().wait()
        await send({"type": "http.response.body", "body": b"finished", "more_body": False})

    released = asyncio.Event()

    def drain():
        print("draining", flush=True)
        released.set()

    served = server.Server(
        app,
        refusals=REFUSALS,
        on_ready=lambda port: print(port, flush=True),
        on_drain=drain,
    )
    server.serve(served, server.bind("127.0.0.1", 0, "KB_PORT"))
    print("returned", flush=True)
    """
)


@contextlib.contextmanager
def process(path, exit_seconds=WAIT):
    """A server of its own in the middle of answering `path`."""
    command = [sys.executable, "-c", SCRIPT, str(exit_seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        try:
            port = int(started.stdout.readline())
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as peer:
                peer.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                assert b"200" in peer.recv(17)
                yield started, peer
        finally:
            started.kill()


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_requests_finish_and_exits_with_zero(number):
    with process("/finish") as (started, peer):
        started.send_signal(number)
        assert b"finished" in read_all(peer)
        out, err = started.communicate(timeout=WAIT)
    assert started.returncode == 0
    assert out.split() == [b"draining", b"closed", b"returned"]
    assert err == b""


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no SIGTERM")
def test_a_second_signal_ends_it_at_once():
    with process("/never") as (started, _):
        started.send_signal(signal.SIGTERM)
        assert started.stdout.readline() == b"draining\n"
        started.send_signal(signal.SIGTERM)
        out, _ = started.communicate(timeout=WAIT)
    assert started.returncode == 128 + signal.SIGTERM
    assert out == b""


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no SIGTERM")
def test_what_never_ends_does_not_keep_the_process():
    with process("/never", exit_seconds=0.2) as (started, _):
        started.send_signal(signal.SIGTERM)
        out, _ = started.communicate(timeout=WAIT / 2)
    assert started.returncode == 0
    assert b"returned" not in out
