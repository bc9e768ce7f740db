"""What locks readers in, as status tells it; and what is done where it lacks."""

import logging
from contextlib import contextmanager

import pytest

from kb.engine import __main__ as program
from kb.engine.app import build_engine
from kb.engine.data_folder.folder import DataFolder
from kb.engine.errors import SandboxMissing
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.ingest.sandbox.confinement import landlock, seccomp
from kb.engine.settings import Settings


@contextmanager
def strict_engine(path):
    folder = DataFolder(path)
    engine = build_engine(Settings(folder.path, embedder="hash", sandbox="strict"), folder)
    engine.embedder.start()
    engine.embedder.wait(30)
    try:
        yield engine
    finally:
        engine.sandbox.close()
        engine.store.close()
        folder.release()


@pytest.fixture
def strict(tmp_path, monkeypatch, make_api):
    """An engine that is to be strict, on a kernel without Landlock."""
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with strict_engine(tmp_path / "data") as engine:
        yield make_api(engine)


def test_status_tells_what_locks_readers_in(api):
    locks = api.get("/status").json()["sandbox"]
    assert locks == {
        "mode": "auto",
        "landlock": landlock.version(),
        "seccomp": seccomp.available(),
        "limits": True,
        "network_closed": seccomp.available(),
        "complete": bool(landlock.version()) and seccomp.available(),
        "reads_files": True,
    }


def test_a_strict_engine_reads_no_file_that_it_cannot_lock_in(strict):
    job = strict.add_file(b"A file about herons.\n", "heron.txt")
    assert (job["status"], job["error"]["code"]) == ("failed", "sandbox_missing")
    message = job["error"]["message"]
    assert message.startswith("heron.txt was not read: KB_SANDBOX=strict, and this system has no")
    assert "Landlock" in message
    assert message.endswith("set KB_SANDBOX=auto")
    assert strict.add_note("A note about otters.")["status"] == "done"
    status = strict.get("/status").json()
    assert (status["sandbox"]["mode"], status["sandbox"]["reads_files"]) == ("strict", False)
    assert status["health"]["status"] == "degraded"
    [issue] = status["health"]["issues"]
    assert issue["code"] == "sandbox_missing"


def test_a_strict_engine_draws_no_page_that_it_cannot_lock_in(strict):
    with pytest.raises(SandboxMissing):
        strict.engine.pictures.picture("0" * 32, "a.pdf", 1)


def test_a_strict_engine_reads_where_every_lock_is_there(tmp_path, make_api):
    if not Sandbox(mode="strict").state.complete:
        pytest.skip("this system lacks a lock")
    with strict_engine(tmp_path / "data") as engine:
        api = make_api(engine)
        assert api.add_file(b"A file about herons.\n", "heron.txt")["status"] == "done"
        assert api.get("/status").json()["sandbox"]["reads_files"] is True


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("strict", "No file is read: KB_SANDBOX=strict, and this system has no seccomp"),
        ("auto", "Readers of files are not locked in: this system has no seccomp"),
    ],
)
def test_the_start_says_what_lacks(tmp_path, monkeypatch, caplog, mode, told):
    monkeypatch.setattr(seccomp, "available", lambda: False)
    settings = Settings(tmp_path, sandbox=mode)
    with caplog.at_level(logging.WARNING):
        program._warn(settings, Sandbox(mode=mode).state)
    [record] = caplog.records
    assert record.getMessage().startswith(told)
