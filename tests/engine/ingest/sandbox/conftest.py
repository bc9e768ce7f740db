"""A sandbox whose readers do what a file says, and ways to see what became of processes."""

import os
import select
import time
from pathlib import Path

import bad_readers
import pytest

from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.sandbox import Limits, Sandbox, starting

# Little of what the kernel counts, and much of what a busy machine takes longer for.
QUICK = Limits(
    memory_mb=400,
    memory_ocr_mb=400,
    cpu_seconds=1,
    page_seconds=99.0,
    crashes=6,
    seconds_lost=999.0,
)


class Reader:
    """A sandbox, told in a few lines what its readers are to do."""

    def __init__(self, folder: Path, **settings):
        self._folder = folder
        self._count = 0
        self.sandbox = Sandbox(reader=bad_readers.__name__, **settings)

    def source(self, *lines, name="deeds.txt"):
        self._count += 1
        path = self._folder / f"deeds-{self._count}.txt"
        path.write_text("\n".join(lines))
        return Source(path, name)

    def extract(self, *lines, stopped=lambda: False, name="deeds.txt"):
        return self.sandbox.extract(self.source(*lines, name=name), stopped)

    def pages(self, *lines, **options):
        return list(self.extract(*lines, **options).pages)

    def texts(self, *lines, **options):
        """What came of each line: a page's text, or why there is none."""
        pages = self.pages(*lines, **options)
        return [page.text if hasattr(page, "text") else page.reason for page in pages]

    @property
    def server(self):
        """The process that forks."""
        return self.sandbox._readers._servers["light", None]._process.pid


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Shared: a server that would not survive a test would fail the next."""
    reader = Reader(tmp_path_factory.mktemp("deeds"), limits=QUICK)
    yield reader
    reader.sandbox.close()


@pytest.fixture
def make_reader(tmp_path, monkeypatch):
    """To make another; `pretend` is what `bad_readers` reads in its environment."""
    made = []

    def make(pretend=None, **settings):
        for name, value in (pretend or {}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(starting, "_PASSED_ON", ("PATH", *(pretend or {})))
        made.append(Reader(tmp_path, **{"limits": QUICK, **settings}))
        return made[-1]

    yield make
    for reader in made:
        reader.sandbox.close()


@pytest.fixture(scope="session")
def ends():
    """Whether a process ends within so many seconds; one that is not there has ended."""

    def ends(pid, within):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            return bool(select.select([descriptor], [], [], within)[0])
        finally:
            os.close(descriptor)

    return ends


@pytest.fixture(scope="session")
def eventually():
    """Whether something becomes true, as soon as a busy machine comes to it."""

    def eventually(condition, within=30.0):
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    return eventually
