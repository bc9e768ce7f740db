"""Settings in, the real programs out: an engine and the MCP server, each in its own process."""

import os
import subprocess
import sys
import threading
import time

import httpx

from ports import free_port

WAIT = 60.0  # seconds: a busy machine takes its time to start an engine


class Program:
    """One of our programs on a port of its own, which it keeps when it is started again."""

    def __init__(self, module, path, **settings):
        self._command = [sys.executable, "-P", "-m", module]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
        self.port = free_port()
        port = "KB_MCP_PORT" if module == "kb.mcp" else "KB_PORT"
        self._environ = kept | {"KB_CONFIG": os.devnull, port: str(self.port)} | settings
        self.url = f"http://127.0.0.1:{self.port}"
        self._path = path
        self.log = []
        self._process = None

    def start(self):
        self._process = subprocess.Popen(
            self._command, env=self._environ, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        return self

    def _read(self, process):
        with process.stderr:
            self.log += process.stderr

    def wait_until_healthy(self):
        """When that was, as `time.monotonic` counts."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            assert self._process.poll() is None, self.log
            try:
                if httpx.get(self.url + self._path, timeout=WAIT).status_code == 200:
                    return time.monotonic()
            except httpx.TransportError:
                continue
        raise AssertionError(f"not healthy after {WAIT} s: {self.log}")

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        self._process.kill()
        self.wait()

    def stop(self):
        """Ask it to end; the exit code."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.wait()

    def wait(self):
        """The exit code, once it has ended by itself; then its log is whole."""
        code = self._process.wait(WAIT)
        self._reader.join(WAIT)
        return code


def engine(folder, **settings):
    values = {"KB_DATA_DIR": str(folder), "KB_RESERVE_MB": "1", "KB_EMBEDDER": "hash", **settings}
    return Program("kb.engine", "/readyz", **values)


def mcp_server(engine_url, **settings):
    return Program("kb.mcp", "/healthz", KB_ENGINE_URL=engine_url, **settings)
