"""Requests in, the real engine's answers out, and a record of what was asked."""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    method: str
    path: str
    key: str | None
    content_type: str
    body: bytes

    @property
    def line(self):
        return f"{self.method} {self.path}"

    @property
    def json(self):
        return json.loads(self.body)


class Relay(ThreadingHTTPServer):
    """Stands between the MCP server and the engine at `port`."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.engine_port = port
        self.requests: list[Request] = []
        self.answers_to_lose = 0
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def last(self) -> Request:
        return self.requests[-1]

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait for each other
    server: Relay

    def relay(self) -> None:
        body = self._body()
        self.server.requests.append(
            Request(
                self.command,
                self.path,
                self.headers["authorization"],
                self.headers["content-type"] or "",
                body,
            )
        )
        engine = http.client.HTTPConnection("127.0.0.1", self.server.engine_port, timeout=30)
        passed = ("authorization", "content-type", "accept", "idempotency-key")
        headers = {name: self.headers[name] for name in passed if self.headers[name]}
        engine.request(self.command, self.path, body, headers)
        answer = engine.getresponse()
        content = answer.read()
        engine.close()
        if self.server.answers_to_lose:  # the engine has done it, and nobody will know
            self.server.answers_to_lose -= 1
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name in ("content-type", "kb-version"):
            self.send_header(name, answer.headers[name])
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = relay

    def _body(self) -> bytes:
        if self.headers["transfer-encoding"] != "chunked":
            return self.rfile.read(int(self.headers["content-length"] or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def log_message(self, *_arguments: object) -> None:
        """The record is enough."""
