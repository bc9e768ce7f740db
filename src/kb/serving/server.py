"""Runs an app as a server until a signal, and stops it without cutting anyone off."""

import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from kb.serving import CannotServe
from kb.serving.protocol import Limits, Looked, Refusals, guarded

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 10
EXIT_SECONDS = 12.0  # from the first signal to the end, whatever still runs
BACKLOG = 2048


def serve(server: "Server", sockets: list[socket.socket]) -> None:
    """Serve until SIGTERM or SIGINT; return when everything has ended. A second signal ends the
    process at once."""
    try:
        server.run(sockets=sockets)
    except SystemExit as failed:
        raise CannotServe("The server could not start; the log says why") from failed
    finally:
        for each in sockets:
            each.close()


def bind(host: str, port: int, setting: str) -> list[socket.socket]:
    """A socket for each address of `host`, so that `localhost` is both IPv4 and IPv6.

    `setting` is the name of the setting that holds the port, for who has to choose another."""
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise CannotServe(f"Cannot listen on {host}: this name has no address") from error
    bound: list[socket.socket] = []
    refused: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(found):
        wanted = bound[0].getsockname()[1] if bound else port
        try:
            bound.append(_bind_one(family, (address[0], wanted, *address[2:])))
        except OSError as error:
            refused = error
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                continue  # a name may have an IPv6 address on a machine without IPv6
            break
    if refused is not None and (not bound or refused.errno == errno.EADDRINUSE):
        for each in bound:
            each.close()
        raise CannotServe(_why(host, port, setting, refused)) from refused
    return bound


def _bind_one(family: int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two programs share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def _why(host: str, port: int, setting: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use by another program; choose one with {setting}"
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than this user has; choose one above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"Cannot listen on {host}: it is not an address of this machine"
    return f"Cannot listen on {host} port {port}: {error.strerror}"


class Server(uvicorn.Server):
    """uvicorn with our protocol, our way to stop, and a look at the deadlines now and then.

    `on_ready` gets the port, which the system has chosen where 0 was bound. `on_drain` is called on
    the event loop after the first signal.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        refusals: Refusals,
        on_ready: Callable[[int], None] | None = None,
        on_drain: Callable[[], None] | None = None,
        limits: Limits | None = None,
        websockets: bool = False,
    ) -> None:
        self._limits = _within_open_files(limits or Limits())
        self._on_ready = on_ready
        self._on_drain = on_drain
        self._signalled = threading.Event()
        self._signal: int | None = None
        super().__init__(_config(app, self._limits, refusals, websockets))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready(self.servers[0].sockets[0].getsockname()[1])

    async def on_tick(self, counter: int) -> bool:
        for connection in list(self.server_state.connections):
            if isinstance(connection, Looked):
                connection.look(connection.loop.time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._signal is not None:
            logger.info("%s came: the server stops", signal.Signals(self._signal).name)
        if self._on_drain is not None:
            self._on_drain()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises the signal again when it is done, so the exit code would never be 0."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM)
        threading.Thread(target=self._end_in_time, name="end-in-time", daemon=True).start()
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Runs between any two steps of the main thread, so it takes no lock that is taken there
        and leaves the rest to `shutdown`."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True
        self._signal = sig
        self._signalled.set()

    def _end_in_time(self) -> None:
        """A thread that never ends would keep the interpreter alive. Every write is safe against
        being killed, so after the time for a clean end there is nothing left to wait for."""
        self._signalled.wait()
        time.sleep(EXIT_SECONDS)
        os._exit(0)


def _config(app: ASGIApp, limits: Limits, refusals: Refusals, websockets: bool) -> uvicorn.Config:
    spoken: dict[str, Any] = {"ws": "none"}
    if websockets:  # imported here since the engine speaks none, and does not install it
        from kb.serving.websocket import guarded_websocket

        spoken = guarded_websocket(limits, refusals.malformed)
    return uvicorn.Config(
        app,
        http=guarded(limits, refusals),
        **spoken,
        lifespan="on",
        log_config=None,
        log_level="warning",  # of uvicorn's own lines; ours have their own level
        access_log=False,
        proxy_headers=False,  # a peer is who connected, not who it says it is
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=round(limits.idle_seconds),
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


def _within_open_files(limits: Limits) -> Limits:
    """Half of the files the process may open are for connections, the rest for everything else."""
    if sys.platform == "win32":  # which has no such limit
        return limits
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return limits
    return replace(limits, connections=max(8, min(limits.connections, allowed // 2)))
