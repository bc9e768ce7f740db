"""The processes behind the sandbox: they end when they should, and leave nothing behind."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import bad_readers
import pytest

from kb.engine.errors import ExtractionFailed, JobLost
from kb.engine.ingest.sandbox import Limits, process

SOON = 30.0  # seconds, on a busy machine: what is not ended sleeps for ten minutes


class StopAfter:
    """Says stop from the moment it is told to, and notes when."""

    def __init__(self):
        self.at = None

    def __call__(self):
        return self.at is not None

    def now(self):
        self.at = time.monotonic()


def test_a_reading_that_is_stopped_ends_at_once_and_so_does_its_reader(reader, ends):
    stop = StopAfter()
    pages = reader.extract("pid", "sleep", stopped=stop).pages
    pid = int(next(pages).text)
    timer = threading.Timer(0.1, stop.now)
    timer.start()
    with pytest.raises(JobLost, match=r"deeds\.txt"):
        next(pages)
    assert time.monotonic() - stop.at < SOON
    assert ends(pid, within=SOON)


def test_a_reading_that_is_stopped_before_its_first_page_ends_at_once(reader):
    with pytest.raises(JobLost):
        reader.extract("at once: sleep", "one", stopped=lambda: True)


@pytest.mark.parametrize("deed", ["sleep", "loop"])
@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_a_reader_is_killed_when_its_pages_are_not_wanted(reader, ends, how, deed):
    pages = reader.extract("pid", deed).pages
    pid = int(next(pages).text)
    assert not ends(pid, within=0)
    if how == "closed":
        pages.close()
    else:
        del pages
        gc.collect()
    assert ends(pid, within=SOON)


def test_a_reader_whose_pages_nobody_takes_waits(reader):
    pages = reader.extract("pid", *["repeat 100000 x"] * 50).pages
    next(pages)
    assert len(list(pages)) == 50


def test_a_fork_bomb_gets_no_process(reader, eventually):
    (text,) = reader.texts("fork")
    assert text in ("PermissionError", "BlockingIOError")
    assert eventually(lambda: children(reader.server) == [])


def test_processes_that_a_reader_started_go_with_it(make_reader, ends):
    """As where a reader may start programs: tried without the lock against it."""
    reader = make_reader({"BAD_READERS_LOOSE": "1"})
    pages = reader.extract("spawn", "abort", "three").pages
    spawned = int(next(pages).text)
    assert [page.number for page in pages] == [2, 3]
    assert ends(spawned, within=SOON)


def children(pid):
    """Its child processes, the dead that nobody waited for included."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_two_hundred_documents_leave_nothing_behind(reader, eventually):
    def counted():
        return (
            len(os.listdir("/proc/self/fd")),
            threading.active_count(),
            len(os.listdir(f"/proc/{reader.server}/fd")),
            len(children(reader.server)),
        )

    deeds = ["text", "abort", "damaged", "exit", "garbage"]
    assert reader.texts("warm") == ["warm"]
    assert eventually(lambda: children(reader.server) == [])
    before = counted()
    server = reader.server
    for number in range(200):
        with contextlib.suppress(ExtractionFailed):
            reader.pages(deeds[number % 5] if number % 10 < 5 else "text", "two")
    assert reader.server == server

    def nothing_more():  # fewer is fine: what earlier tests left may end meanwhile
        return all(now <= then for now, then in zip(counted(), before, strict=True))

    assert eventually(nothing_more), (before, counted())


@pytest.mark.parametrize("end", ["killed", "idle"])
def test_a_server_that_has_ended_is_started_anew(make_reader, ends, end):
    reader = make_reader(idle_seconds=0.05) if end == "idle" else make_reader()
    assert reader.texts("one") == ["one"]
    first = reader.server
    if end == "killed":
        os.kill(first, signal.SIGKILL)
    assert ends(first, within=SOON)
    assert reader.texts("two") == ["two"]
    assert reader.server != first


def test_a_reading_goes_on_when_its_server_is_killed(make_reader):
    reader = make_reader()
    pages = reader.extract("one", *["repeat 100000 x"] * 30, "last").pages
    assert next(pages).text == "one"
    os.kill(reader.server, signal.SIGKILL)
    rest = list(pages)
    assert [page.number for page in rest] == list(range(2, 33))
    assert rest[-1].text == "last"


def test_a_server_that_cannot_start_is_an_error_and_is_logged(make_reader, caplog):
    reader = make_reader()
    reader.sandbox._readers._readers = {"light": "no.such.module"}
    with pytest.raises(ExtractionFailed, match=r"deeds\.txt could not be read: its reader could"):
        reader.extract("one")
    assert "ModuleNotFoundError" in caplog.text


def test_a_server_is_not_idle_while_a_document_is_being_read(make_reader, ends):
    reader = make_reader(idle_seconds=0.05)
    pages = reader.extract("one", *["repeat 100000 x"] * 30).pages
    next(pages)
    assert not ends(reader.server, within=0.5)
    assert len(list(pages)) == 30


def test_closing_the_sandbox_ends_everything(make_reader, ends):
    reader = make_reader()
    pages = reader.extract("pid", "sleep").pages
    pid, server = int(next(pages).text), reader.server
    reader.sandbox.close()
    assert ends(server, within=SOON)
    assert ends(pid, within=SOON)
    with pytest.raises(JobLost):
        next(pages)
    with pytest.raises(JobLost):
        reader.extract("one")


def test_everything_ends_with_the_engine(tmp_path, ends):
    """An engine that is killed can tell nobody."""
    path = tmp_path / "deeds.txt"
    path.write_text("pid\nsleep")
    program = f"""
import sys
sys.path.append({str(Path(bad_readers.__file__).parent)!r})
from pathlib import Path
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.ingest.extract.extraction import Source
sandbox = Sandbox(reader="bad_readers")
pages = sandbox.extract(Source(Path({str(path)!r}), "deeds.txt"), lambda: False).pages
(server,) = sandbox._readers._servers.values()
print(server._process.pid, next(pages).text, flush=True)
next(pages)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as engine:
        pids = [int(word) for word in engine.stdout.readline().split()]
        engine.kill()
    assert len(pids) == 2
    assert all(ends(pid, within=SOON) for pid in pids)


def test_a_reader_dies_with_its_server(make_reader, ends):
    reader = make_reader()
    pages = reader.extract("pid", "sleep").pages
    pid = int(next(pages).text)
    os.kill(reader.server, signal.SIGKILL)
    assert ends(pid, within=SOON)
    pages.close()


def test_a_reader_of_pictures_is_loaded_when_one_is_needed(make_reader):
    reader = make_reader()
    assert len(reader.sandbox._readers._servers) == 0
    assert reader.texts("one", "ocr", "three") == ["one", "read from a picture", "three"]
    assert len(reader.sandbox._readers._servers) == 2
    assert reader.texts("at once: ocr", "one") == ["one"]


class InThread:
    """A document that is read beside others; `told` is where its pages go."""

    def __init__(self, reader, *lines, told, stopped=lambda: False):
        self._pages = reader.extract(*lines, stopped=stopped).pages
        self._told = told
        self.error = None
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        until = time.monotonic() + SOON
        while not reader.sandbox._turns.is_wanted and time.monotonic() < until:
            self._thread.join(0.01)

    def _read(self):
        try:
            self._told.extend(page.text for page in self._pages)
        except JobLost as error:
            self.error = error

    def join(self):
        self._thread.join(SOON)
        assert not self._thread.is_alive()


def test_the_pictures_of_one_document_are_read_at_a_time(make_reader):
    reader = make_reader()
    told = []
    first = reader.extract("ocr", "the last of the first").pages
    assert next(first).text == "read from a picture"
    second = InThread(reader, "ocr", "the last of the second", told=told)
    assert reader.texts("one") == ["one"]  # what has no pictures is not held up
    for page in first:  # noted before its turn is over
        told.append(page.text)
    second.join()
    assert told == ["the last of the first", "read from a picture", "the last of the second"]


def test_a_document_gives_its_turn_to_another_one_and_goes_on_behind_it(make_reader):
    reader = make_reader(limits=Limits(turn_seconds=0.0))
    told = []
    first = reader.extract("ocr", "same", "same", "the last").pages
    told.append(next(first).text)
    second = InThread(reader, "ocr", told=told)
    told += [f"first: {page.text}" for page in first]
    second.join()
    picture = "read from a picture"
    assert told == [picture, picture, "first: same", "first: same", "first: the last"]


def test_who_waits_for_a_turn_can_be_stopped_and_holds_up_nobody(make_reader):
    reader, stop = make_reader(), StopAfter()
    first = reader.extract("ocr", "two").pages
    next(first)
    second = InThread(reader, "ocr", told=[], stopped=stop)
    stop.now()
    second.join()
    assert isinstance(second.error, JobLost)
    assert [page.text for page in first] == ["two"]
    assert reader.texts("ocr") == ["read from a picture"]


class Busy(Exception):
    pass


class Watch:
    def __init__(self, busy=False):
        self.told = []
        self._busy = busy

    def started(self):
        self.told.append("started")

    def recognises(self):
        self.told.append("recognises")
        if self._busy:
            raise Busy


def test_who_watches_is_told_when_a_process_starts_and_when_pictures_are_needed(make_reader):
    reader, watch = make_reader(), Watch()
    source = reader.source("one", "ocr", "three")
    for page in reader.sandbox.extract(source, lambda: False, watch).pages:
        watch.told.append(page.text)
    three = ["read from a picture", "three"]
    assert watch.told == ["started", "one", "recognises", "started", *three]


def test_who_watches_may_say_that_pictures_have_to_wait(make_reader):
    reader = make_reader()
    pages = reader.sandbox.extract(reader.source("ocr"), lambda: False, Watch(busy=True)).pages
    with pytest.raises(Busy):
        next(pages)
    assert reader.texts("ocr") == ["read from a picture"]


@pytest.mark.parametrize("by_us", [True, False])
def test_the_log_tells_of_a_server_that_others_have_killed(make_reader, monkeypatch, caplog, by_us):
    monkeypatch.setattr(process, "_PATIENCE", 0.05 if by_us else SOON)
    reader = make_reader()
    assert reader.texts("one") == ["one"]
    server = reader.sandbox._readers._servers["light", None]
    os.kill(reader.server, signal.SIGSTOP if by_us else signal.SIGKILL)
    server.close()
    server._thread.join(SOON)
    assert ("the sandbox was killed" in caplog.text) is not by_us
