"""Every hostile file, through the sandbox, with the real extractors."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.engine.errors import KbError
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.sandbox import Limits, Sandbox
from kb.engine.ingest.sandbox.confinement.locks import code_folders
from kb.engine.pages import Page

from .hostile_files import EMPTY, TEXT, HostileFile, all_files

# What a document may take on a busy machine, whatever is in it. Most take a moment.
LONGEST = 2 * (Limits().page_seconds + 10)
GROWTH_MB = 50  # of the engine, over all of them

FILES = [
    pytest.param(file, id=file.name, marks=[pytest.mark.long] if file.long else [])
    for file in all_files()
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


def outcome(sandbox: Sandbox, path: Path, name: str) -> tuple[str, str]:
    """What came of a file, and its text."""
    try:
        pages = list(sandbox.extract(Source(path, name), lambda: False).pages)
    except KbError as error:
        return error.code if name in error.message else "an error of no file", ""
    text = "\n".join(page.text for page in pages if isinstance(page, Page))
    return TEXT if "needle" in text else EMPTY, text


@pytest.mark.timeout(300)
@pytest.mark.parametrize("file", FILES)
def test_a_hostile_file_fails_alone_or_gives_its_text(
    sandbox: Sandbox, tmp_path: Path, file: HostileFile
) -> None:
    path = tmp_path / "stored"
    path.write_bytes(file.make())
    memory, began = _memory_mb(), time.monotonic()
    came, text = outcome(sandbox, path, file.name)
    assert came in file.expected
    assert "root:x:" not in text
    assert time.monotonic() - began < LONGEST
    assert _memory_mb() - memory < GROWTH_MB
    good = tmp_path / "good"
    good.write_text("needle")
    assert outcome(sandbox, good, "good.txt")[0] == TEXT


def _memory_mb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


PROGRAM = """
import sys
from pathlib import Path
from kb.engine.errors import KbError
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.sandbox import Sandbox
sandbox = Sandbox()
for path in map(Path, sys.argv[1:]):
    try:
        list(sandbox.extract(Source(path, path.name), lambda: False).pages)
    except KbError:
        pass
sandbox.close()
"""
# Calls that succeeded: libraries look for fonts and the like, and are refused.
OPENED = re.compile(r'(?:open|openat|openat2|creat)\((?:AT_FDCWD, )?"([^"]*)".* = \d+$')
FORBIDDEN = re.compile(r"(?:connect|bind|sendto|execve|execveat|fork|vfork|ptrace)\(.* = \d+$")


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_reader_opens_another_file_or_connects_to_anybody(tmp_path: Path) -> None:
    """As the kernel sees it, from the moment that a process is forked for a document."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for file in all_files():
        if not file.long:
            (folder / file.name).write_bytes(file.make())
    log = tmp_path / "calls"
    calls = "open,openat,openat2,creat,connect,bind,sendto,execve,execveat,fork,vfork,ptrace"
    traced = ["strace", "-ff", "-qq", "-e", f"trace={calls},setpgid", "-o", str(log)]
    documents = [str(path) for path in sorted(folder.iterdir())]
    subprocess.run([*traced, sys.executable, "-c", PROGRAM, *documents], check=True)
    readers = [lines for path in tmp_path.glob("calls.*") if (lines := _after_fork(path))]
    assert len(readers) >= len(documents)
    allowed = (*map(str, code_folders()), str(folder), "/proc/self/oom_score_adj", "/proc/self/fd/")
    opened = {match[1] for lines in readers for line in lines if (match := OPENED.search(line))}
    assert any(str(folder) in path for path in opened)
    assert {path for path in opened if not path.startswith(allowed)} == set()
    assert [line for lines in readers for line in lines if FORBIDDEN.match(line)] == []


def _after_fork(path: Path) -> list[str]:
    """The calls of a reader, which begins with its process group; none for a program."""
    lines = path.read_text(errors="replace").splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("setpgid(0, 0)")]
    is_program = any(line.startswith("execve(") and line.endswith("= 0") for line in lines)
    return lines[begins[0] + 1 :] if begins and not is_program else []
