"""The keys of running programs, looked for by another process of the same user."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ports import free_port
from programs import own_environment_of

TESTS = Path(__file__).parents[1]
READERS = TESTS / "engine" / "ingest" / "sandbox"
KEYS = {"KB_API_KEY": "engine-key-that-nobody-sees", "KB_MCP_API_KEY": "mcp-key-that-nobody-sees"}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks below /proc")

# Run as the same user: a reader without Landlock that looks into each process, and one without any
# lock. What it prints is what it found.
LOOK = """
import json, sys
from pathlib import Path
sys.path.insert(0, {readers!r})
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.sandbox import Sandbox, starting
starting._PASSED_ON += ("BAD_READERS_LANDLOCK", "BAD_READERS_LOOSE")
deeds = Path({folder!r}) / "deeds.txt"
deeds.write_text("\\n".join(f"try: _looked_into({{pid}})" for pid in {pids!r}))
deeds.chmod(0o644)
sandbox = Sandbox(reader="bad_readers")
pages = sandbox.extract(Source(deeds, "deeds.txt"), lambda: False).pages
print(json.dumps([page.text for page in pages]))
sandbox.close()
"""


def without_privileges() -> None:
    """Before a program is started: root's sees everything otherwise, and these are to be users."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in range(64):
            libc.prctl(24, ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3)  # CAPBSET_DROP


def environment(folder: Path) -> dict[str, str]:
    return own_environment_of(
        **KEYS,
        HOME=str(folder),
        KB_DATA_DIR=str(folder / "data"),
        KB_EMBEDDER="hash",
        KB_PORT=str(free_port()),
        KB_MCP_PORT=str(free_port()),
        KB_MCP_TOOLS="knowledge",  # which starts its program twice
    )


def looked(folder: Path, pids: list[int], **pretend: str) -> list[str]:
    """What a reader found in each of the processes."""
    program = LOOK.format(readers=str(READERS), folder=str(folder), pids=pids)
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **pretend},
        preexec_fn=without_privileges,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(run.stdout)
    return found


def test_no_reader_finds_a_key_in_any_program(tmp_path: Path) -> None:
    """Neither without Landlock nor without any lock at all."""
    environ = environment(tmp_path)
    up = subprocess.Popen(
        [sys.executable, "-P", "-c", "from kb.cli.main import main; main(['up'])"],
        env=environ,
        preexec_fn=without_privileges,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    # It holds the same keys and does nothing about it, as the shell does that one starts kb in.
    careless = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        env=environ,
        preexec_fn=without_privileges,
    )
    try:
        assert up.stdout is not None
        assert any("kb search" in line for line in up.stdout)
        programs = [up.pid, *children(up.pid)]
        assert len(programs) == 3
        pids = [*programs, careless.pid]
        found = [
            looked(tmp_path, pids, BAD_READERS_LANDLOCK="0"),
            looked(tmp_path, pids, BAD_READERS_LOOSE="1"),
        ]
    finally:
        for process in (up, careless):
            process.terminate()
            process.communicate(timeout=30)
    for each in found:
        assert each[:3] == ["done: {}"] * 3
        assert all(key in each[3] for key in KEYS.values())


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


@pytest.mark.parametrize("command", ["engine", "mcp"])
def test_a_program_alone_keeps_its_key_to_itself(tmp_path: Path, command: str) -> None:
    """The environment that it was started with is wiped where the kernel shows it."""
    program = subprocess.Popen(
        [sys.executable, "-P", "-m", f"kb.{command}"],
        env=environment(tmp_path),
        preexec_fn=without_privileges,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stderr is not None
        assert any("listens on" in line for line in program.stderr)
        found = looked(tmp_path, [program.pid], BAD_READERS_LOOSE="1")
        if os.geteuid() == 0:  # who may look
            shown = Path(f"/proc/{program.pid}/environ").read_bytes().decode()
            assert "KB_DATA_DIR" in shown
            assert not [key for key in KEYS.values() if key in shown]
    finally:
        program.terminate()
        program.communicate(timeout=30)
    assert found == ["done: {}"]
