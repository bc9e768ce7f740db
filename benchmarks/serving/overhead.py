"""A trivial request in, the server's processor time per request out: the engine's and a bare one's.

`python -m benchmarks.serving.overhead PORT JSON` is the bare one: FastAPI with one plain route on
uvicorn with uvloop and httptools, as the engine has them, that answers with the JSON given.
"""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.running import API_KEY, Server, connected, engine, free_port, running

CONNECTIONS = 8
PATH = "/api/v1/status"


def measure(folder: Path, requests: int, rounds: int) -> tuple[list[float], list[float]]:
    """Microseconds per request, engine and bare server, in alternating rounds."""
    with engine(folder) as server:
        status = connected(server).status()
        port = free_port()
        command = [sys.executable, "-m", __name__, str(port), json.dumps(status)]
        with running(Server(command, port, {}, folder.parent / "bare.log")) as bare:
            found: tuple[list[float], list[float]] = ([], [])
            for each in (server, bare):
                load(each, _status(each), requests // 4)
            for _ in range(rounds):
                for times, each in zip(found, (server, bare), strict=True):
                    times.append(load(each, _status(each), requests))
    return found


def _status(server: Server) -> bytes:
    return (
        f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {API_KEY}\r\nAccept: application/json\r\n\r\n"
    ).encode()


def load(server: Server, request: bytes, requests: int) -> float:
    """Processor time of the server per request, in microseconds: some connections that are kept
    alive, each with one request under way."""
    sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONNECTIONS)]
    time.sleep(0.2)
    busy = server.cpu_seconds()
    for _ in range(requests // CONNECTIONS):
        for each in sockets:
            each.sendall(request)
        for each in sockets:
            _read_answer(each)
    busy = server.cpu_seconds() - busy
    for each in sockets:
        each.close()
    return busy / (requests // CONNECTIONS * CONNECTIONS) * 1e6


def _read_answer(connection: socket.socket) -> None:
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)


def _serve_bare(port: int, answer: dict[str, Any]) -> None:
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()

    @app.get(PATH)
    def status() -> dict[str, Any]:
        return answer

    uvicorn.run(
        app, port=port, loop="uvloop", http="httptools", access_log=False, log_level="warning"
    )


if __name__ == "__main__":
    _serve_bare(int(sys.argv[1]), json.loads(sys.argv[2]))
