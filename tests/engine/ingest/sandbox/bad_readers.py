"""An extractor that does what its file says, a page for each line: mostly what none should do.

A line is a word of `_DEEDS`, or `try: ` and an expression, which is tried, or text. `careful: ` and
a line is that line, unless the reader was asked to be careful. The first line may be `at once: `
and a line, done before anything else; or `unnumbered`, for pages without numbers. `behind: ` and a
line is that line, behind the last page that there is said to be.
"""

import ctypes
import fcntl  # noqa: F401 (for what is tried)
import os
import re
import resource  # noqa: F401 (for what is tried)
import signal
import socket  # noqa: F401 (for what is tried)
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kb.engine.errors import DamagedFile, PasswordNeeded, StorageFailed
from kb.engine.ingest import ocr
from kb.engine.ingest.extract import memory_files
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.sandbox.confinement import kernel, landlock, seccomp
from kb.engine.ingest.sandbox.confinement.locks import Locks
from kb.engine.pages import Grid, Page, Unread

_BEHIND = "behind: "
_PROGRAMS = ("/bin", "/lib", "/lib64", "/usr")
if "pytest" not in sys.modules:  # tests look at this module, and use the real ones themselves
    ocr.load = lambda _: "a reader of pictures"  # the real one takes a second
    ocr.needs = lambda _: [path for path in map(Path, _PROGRAMS) if path.exists()]
if "BAD_READERS_LANDLOCK" in os.environ:  # as if this kernel were older
    landlock.version = lambda: int(os.environ["BAD_READERS_LANDLOCK"])
if "BAD_READERS_LOOSE" in os.environ:  # as if this machine had no locks
    landlock.version = lambda: 0
    seccomp.available = lambda: False
    Locks.processes = property(lambda _: True, lambda *_: None)


def extract(source: Source) -> Extraction:
    lines = source.path.read_text().splitlines()
    numbered = True
    if lines[0].startswith("at once: "):
        _do(lines.pop(0).removeprefix("at once: "), source)
    if lines[0] == "unnumbered":
        lines.pop(0)
        numbered = False
    return Extraction(
        "text",
        "txt",
        _pages(lines, source, numbered),
        title="A title",
        metadata={"author": "Somebody", "edition": 2},
        page_count=sum(not line.startswith(_BEHIND) for line in lines) if numbered else None,
    )


def _pages(lines: list[str], source: Source, numbered: bool) -> Iterator[Page | Unread]:
    start = source.start if numbered else 0
    rest = lines[start : start + 1] if source.careful and numbered else lines[start:]
    for number, told in enumerate(rest, start=start + 1):
        line = told.removeprefix(_BEHIND)
        if line == "unread":
            yield Unread(number, "it is torn")
            continue
        if line == "sheet":
            grid = Grid((2, 3, 4, 9), ("A", "AF"))
            yield Page("a\nb\nc\nd", number, "Budget", "markdown", "image", grid, False, ("H", "h"))
            continue
        place = "a part" if not numbered and line == "of a part" else None
        yield Page(_do(line, source), number if numbered else None, place)


def _do(line: str, source: Source) -> str:
    """The text that comes of a line, if anything does."""
    if line.startswith("careful: "):
        line = "read carefully" if source.careful else line.removeprefix("careful: ")
    if line.startswith("try: "):
        return _try(line.removeprefix("try: "), source)
    if line.startswith("repeat "):
        _, count, text = line.split(" ", 2)
        return text * int(count)
    deed = _DEEDS.get(line)
    if deed is None:
        return line
    result = deed()
    return line if result is None else str(result)


def _try(expression: str, source: Source) -> str:
    try:
        result = eval(expression, {**globals(), "path": source.path, "source": source})
    except (OSError, ValueError) as error:
        return type(error).__name__
    return f"done: {result}"


def _loop() -> None:
    while True:
        pass


def _memory() -> None:
    kept = []
    while True:
        kept.append(bytearray(2**24))


def _fork() -> str:
    """As many as it can get; the fork bomb, if it could."""
    for _ in range(50):
        try:
            if os.fork() == 0:
                time.sleep(60)
        except OSError as error:
            return type(error).__name__
    return "forked"


def _spawn() -> int:
    """A process that would stay."""
    pid = os.fork()
    if pid == 0:
        time.sleep(600)
    return pid


def _file_in_memory(size: int) -> int:
    with memory_files.file_in_memory(bytes(size)) as path:
        return len(path.read_bytes())


def _nested(depth: int) -> int:
    """So many files in memory at once."""
    with memory_files.file_in_memory(bytes(depth)) as path:
        return _nested(depth - 1) + 1 if depth > 1 else len(path.read_bytes())


def _run_from_memory() -> int:
    """A program, put into a file that was made for attachments."""
    with memory_files.file_in_memory(Path("/bin/true").read_bytes()) as path:
        return subprocess.run([path], close_fds=False).returncode


def _looked_into(pid: int) -> dict[str, str]:
    """What can be read of another process, as far as keys are in it."""
    found = {}
    for name in ("environ", "maps", "mem", "fd/0"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                data = _memory_of(pid, file) if name == "mem" else file.read(2**20)
        except OSError:
            continue
        text = data.decode("latin-1")
        found[name] = " ".join(re.findall(r"[a-z]+-key-that-nobody-sees", text)) or "readable"
    return found


def _memory_of(pid: int, file: BinaryIO) -> bytes:
    data = b""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "[stack]" in line:
            start, end = (int(place, 16) for place in line.split()[0].split("-"))
            file.seek(start)
            data += file.read(end - start)
    return data


def _call(name: str, *arguments: int) -> int:
    """A system call that Python has no function for."""
    return kernel.call(_CALLS[name][kernel.MACHINE], *arguments)


def _cloned(flag: str) -> int:
    """Fork with a flag, and wait: the exit code."""
    pid = _call("clone", _CLONE_FLAGS[flag] | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[1]


_CLONE_FLAGS = {
    "": 0, "PARENT": 0x8000, "NEWNS": 0x20000, "NEWIPC": 0x8000000, "NEWUSER": 0x10000000,
    "NEWPID": 0x20000000, "NEWNET": 0x40000000,
}  # fmt: skip
_CALLS = {
    "clone": {"x86_64": 56, "aarch64": 220},
    "ioprio_set": {"x86_64": 251, "aarch64": 30},
    "memfd_create": {"x86_64": 319, "aarch64": 279},
    "process_vm_readv": {"x86_64": 310, "aarch64": 270},
    "ptrace": {"x86_64": 101, "aarch64": 117},
    "sched_setattr": {"x86_64": 314, "aarch64": 274},
    "shmat": {"x86_64": 30, "aarch64": 196},
    "tgkill": {"x86_64": 234, "aarch64": 131},
    "tkill": {"x86_64": 200, "aarch64": 130},
}


def _flood_of(head: bytes, text: bytes = b"") -> None:
    """The same message without end."""
    message = struct.pack("!II", len(head), len(text)) + head + text
    while True:
        data = memoryview(message * max(1, 2**16 // len(message)))
        while data:
            data = data[os.write(_channel(), data) :]


def _drip() -> None:
    """A long message, byte by byte."""
    os.write(_channel(), struct.pack("!II", 2, 2**20) + b"{}")
    while True:
        os.write(_channel(), b"x")


_PAGE = b'{"kind": "page", "markup": "plain", "method": "%s", "headings": [], "words": [%s]}'


def _huge() -> None:
    os.write(_channel(), struct.pack("!II", 10, 2**31))
    _sleep()


def _half() -> None:
    os.write(_channel(), struct.pack("!II", 100, 0) + b"{")
    os._exit(0)


def _garbage() -> None:
    os.write(_channel(), b"\x00\x00\x00\x05\x00\x00\x00\x00{{{{{")
    _sleep()


def _channel() -> int:
    """The one descriptor that a reader has beside the usual three."""
    (descriptor,) = (number for number in _descriptors() if _is_socket(number))
    return descriptor


def _descriptors() -> list[int]:
    return [number for number in range(3, 300) if _is_open(number)]


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _is_socket(descriptor: int) -> bool:
    return stat.S_ISSOCK(os.fstat(descriptor).st_mode)


def _sleep() -> None:
    time.sleep(600)


def _raise(error: Exception) -> None:
    raise error


def _ocr() -> str:
    if ocr.reader() is None:
        raise OcrNeeded(1)
    return "read from a picture"


_DEEDS = {
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "loop": _loop,
    "memory": _memory,
    "fork": _fork,
    "spawn": _spawn,
    "flood": lambda: _flood_of(_PAGE % (b"text", b""), b"x"),
    "endless text": lambda: _flood_of(b'{"kind": "piece"}', b"x" * 2**20),
    "flood of headings": lambda: _flood_of(
        b'{"kind": "document", "doc_type": "text", "format": "txt", "metadata": {}}'
    ),
    "flood of empty pieces": lambda: _flood_of(b'{"kind": "piece"}'),
    "flood of pages with much to say": lambda: _flood_of(
        _PAGE % (b"text", b", ".join([b'["a", 0, 0, 1, 1]'] * 5_000))
    ),
    "flood of long heads": lambda: _flood_of(
        _PAGE[:-1] % (b"text", b"") + b', "x": [' + b"[]," * 600_000 + b"0]}"
    ),
    "page of rows": lambda: _flood_of(
        b'{"kind": "page", "markup": "plain", "method": "text", "headings": [],'
        b' "grid": {"runs": [[1, 7000000]]}}',
        b"\n" * 7_000_000,
    ),
    "claim of a picture": lambda: _flood_of(_PAGE % (b"ocr", b"")),
    "drip": _drip,
    "huge": _huge,
    "half": _half,
    "garbage": _garbage,
    "exit": lambda: os._exit(0),
    "sleep": _sleep,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "recurse": lambda: _DEEDS["recurse"](),
    "damaged": lambda: _raise(DamagedFile("the file is torn", filename="torn.txt")),
    "password": lambda: _raise(PasswordNeeded("the file is locked")),
    "storage": lambda: _raise(StorageFailed("the disk is gone")),
    "unforeseen": lambda: _raise(KeyError("secret")),
    "no memory": lambda: _raise(MemoryError()),
    "pid": os.getpid,
    "ocr": _ocr,
    "print": lambda: os.write(2, b"secret\n"),
}
