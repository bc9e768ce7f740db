"""`kb` run in this process with an environment of its own, and a real engine to talk to."""

import io
import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from kb.cli.main import main
from ports import free_port
from programs import KB, Program, own_environment_of


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """No setting of whoever runs the tests gets in."""
    for name in list(os.environ):
        if name.startswith("KB_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KB_CONFIG", os.devnull)


@pytest.fixture
def kb(capfd):
    """Run a command: exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capfd.readouterr()
        return end.value.code, out, err

    return run


@pytest.fixture
def printed(kb):
    """Run a command that must succeed: what it prints."""

    def run(*arguments: str) -> str:
        code, out, err = kb(*arguments)
        assert code == 0, err
        return out

    return run


@pytest.fixture
def refusal(kb):
    """Run a command that must print nothing but one line on standard error: that line."""

    def run(*arguments: str, code: int = 1) -> str:
        ended, out, err = kb(*arguments)
        assert (ended, out, err.count("\n")) == (code, "", 1), err
        return err

    return run


@pytest.fixture
def say(monkeypatch):
    """Put text on standard input."""

    def prepare(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))

    return prepare


def _engine_environment(folder: Path, **more: str) -> dict[str, str]:
    port = free_port()
    settings = {
        "KB_DATA_DIR": str(folder),
        "KB_RESERVE_MB": "1",
        "KB_EMBEDDER": "hash",
        "KB_ENGINE_URL": f"http://127.0.0.1:{port}",
        "KB_PORT": str(port),
        "KB_MCP_PORT": str(free_port()),
    }
    return own_environment_of(**settings | more)


@pytest.fixture
def engine_environment(tmp_path):
    """The environment of an engine, on a port and in a folder of its own, and of its clients."""
    return lambda **more: _engine_environment(tmp_path / "data", **more)


@pytest.fixture(scope="session")
def environment_of():
    """The same for a folder that the caller names."""
    return _engine_environment


@pytest.fixture(scope="session")
def shared_engine(tmp_path_factory):
    environ = _engine_environment(tmp_path_factory.mktemp("engine") / "data")
    process = Program("kb.engine", **environ).start()
    yield environ
    assert process.stop() == 0


@pytest.fixture
def engine(shared_engine, environment, monkeypatch):
    """A real engine that tests share, so each marks what is its own with a tag of its own."""
    monkeypatch.setenv("KB_ENGINE_URL", shared_engine["KB_ENGINE_URL"])
    return shared_engine


@pytest.fixture
def api(engine, kb):
    """Run a command with --json that must succeed, and parse what it prints."""

    def run(*arguments: str):
        code, out, err = kb(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def note(api):
    """Add a note and return its id as a person would type it."""

    def add(text: str, *options: str) -> str:
        job = api("addnote", text, *options)
        assert job["status"] == "done"
        return str(job["document_id"])

    return add


@pytest.fixture
def rows():
    """The columns of each line that a pipe gets."""
    return lambda out: [line.split("\t") for line in out.splitlines()]


@pytest.fixture
def on_terminal(engine):
    """What a terminal of some width would show, escapes and all."""
    pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX")

    def run(*arguments: str, columns: int = 80, typed: str = "", code: int = 0) -> str:
        ours, theirs = pty.openpty()
        environ = {**engine, "COLUMNS": str(columns), "LINES": "40", "TERM": "xterm-256color"}
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            environ.pop(name, None)
        process = subprocess.Popen(
            [*KB, *arguments], env=environ, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = _read_all(ours)
        os.close(ours)
        assert process.wait(60) == code, shown
        return shown.decode().replace("\r\n", "\n")

    return run


@pytest.fixture
def seen_on_terminal(on_terminal):
    """The same without the escapes."""
    escapes = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
    return lambda *arguments, **options: escapes.sub("", on_terminal(*arguments, **options))


def _read_all(terminal: int) -> bytes:
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux tells that the other side is closed
            break
        if not piece:
            break
        shown += piece
    return shown
