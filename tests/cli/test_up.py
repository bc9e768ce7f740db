"""`kb up` and `kb engine` with the real engine."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

KB = [sys.executable, "-c", "from kb.cli.main import main; main()"]


@pytest.fixture
def up(engine_environment):
    """Start `kb up` and wait until it says it is up."""
    started = []

    def start(**more: str):
        environ = engine_environment(**more)
        process = subprocess.Popen(
            [*KB, "up"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        greeting = ""
        while "kb search" not in greeting:
            line = process.stdout.readline()
            assert line, process.communicate()
            greeting += line
        return process, environ, greeting

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_kb_up_runs_until_a_signal_and_leaves_nothing_running(kb, up, number):
    process, environ, greeting = up()
    assert f"{environ['KB_ENGINE_URL']}/api/v1" in greeting
    assert environ["KB_DATA_DIR"] in greeting
    assert kb("status", "--engine-url", environ["KB_ENGINE_URL"])[0] == 0
    process.send_signal(number)
    assert process.wait(30) == 0
    assert kb("status", "--engine-url", environ["KB_ENGINE_URL"])[0] == 1


def test_a_key_is_asked_for_and_can_come_from_a_file(kb, up, tmp_path, monkeypatch):
    _, environ, greeting = up(KB_API_KEY="a-key-of-some-length")
    assert "KB_API_KEY" in greeting
    assert "a-key-of-some-length" not in greeting
    url = environ["KB_ENGINE_URL"]
    code, _, err = kb("list", "--engine-url", url)
    assert code == 1
    assert "asks for a key; set KB_API_KEY or use --api-key-file" in err
    path = tmp_path / "key"
    path.write_text("a-key-of-some-length\n")
    path.chmod(0o600)
    assert kb("list", "--engine-url", url, "--api-key-file", str(path))[0] == 0
    monkeypatch.setenv("KB_API_KEY", "another-key")
    assert "does not know this key" in kb("list", "--engine-url", url)[2]
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    code, out, err = kb("add", str(tmp_path), "--engine-url", url)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1


def test_kb_up_ends_at_once_where_another_engine_holds_the_folder(engine, free_port):
    environ = {**engine, "KB_PORT": str(free_port())}
    done = subprocess.run([*KB, "up"], env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("kb: ")


def test_kb_up_ends_at_once_where_the_port_is_taken(engine, tmp_path):
    environ = {**engine, "KB_DATA_DIR": str(tmp_path)}
    done = subprocess.run([*KB, "up"], env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "is taken" in done.stderr


def test_kb_engine_becomes_the_engine_whatever_lies_in_the_current_folder(
    engine_environment, tmp_path
):
    (tmp_path / "apsw.py").write_text("raise SystemExit('imported from the current folder')")
    process = subprocess.Popen(
        [*KB, "engine"], env=engine_environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert any("listens on" in line for line in process.stderr)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_kb_up_itself_stays_small(up):
    process, _, _ = up()
    bare = subprocess.run(
        [sys.executable, "-c", "print(open('/proc/self/status').read())"],
        capture_output=True,
        text=True,
    )
    resident = re.compile(r"VmRSS:\s+(\d+) kB")
    ours = resident.search(Path(f"/proc/{process.pid}/status").read_text())
    assert int(ours[1]) - int(resident.search(bare.stdout)[1]) < 15_000


def test_everything_is_deleted_only_for_the_right_words(kb, up, say, monkeypatch):
    _, environ, _ = up()
    monkeypatch.setenv("KB_ENGINE_URL", environ["KB_ENGINE_URL"])
    kb("addnote", "the last one")
    say("yes\n")
    code, out, err = kb("delete", "--all")
    assert (code, out) == (1, "")
    assert "nothing was deleted" in err
    assert len(kb("list")[1].splitlines()) == 1
    say("DELETE ALL\n")
    code, out, _ = kb("delete", "--all")
    assert code == 0
    assert re.match(r"deleted 1 document, .* freed\n", out)
    assert kb("list")[1] == ""
