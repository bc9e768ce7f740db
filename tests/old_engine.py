"""A server that says yes to everything, as an engine of v2.9 might or as no engine at all."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OldEngine(ThreadingHTTPServer):
    """Tells `version`, or none, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, version: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.version = version
        self.lines: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> "OldEngine":
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def changes(self) -> list[str]:
        """What it was asked to do that could change something."""
        return [
            line
            for line in self.lines
            if not line.startswith("GET ") and line != "POST /api/v1/search"
        ]


class _Handler(BaseHTTPRequestHandler):
    server: OldEngine

    def answer(self) -> None:
        self.server.lines.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers["content-length"] or 0))
        self.send_response(200)
        if self.server.version:
            self.send_header("kb-version", self.server.version)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"id": 1, "job_id": 1, "status": "done"}')

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_arguments: object) -> None:
        """What was asked is enough."""
