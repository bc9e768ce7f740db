"""Processes that are started, restarted and stopped together, with stand-ins for the real ones."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import pytest

from kb.cli import server_processes
from kb.cli.server_processes import Child, supervise
from ports import free_port

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

SERVER = """
import http.server, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (open({log!r}, "a").write("term "), os._exit(0)))
signal.signal(signal.SIGINT, lambda *_: open({log!r}, "a").write("int "))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(server_processes, "_PROBE_EVERY", 0.02)
    monkeypatch.setattr(server_processes, "_FIRST_PAUSE", 0.01)


def child(port: int, code: str) -> Child:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return Child("engine", command, "127.0.0.1", port, "/readyz", dict(os.environ))


def stop(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_the_child_with_sigterm_and_ends_well(port, log, number):
    server = child(port, SERVER.format(log=str(log), port=port))
    assert supervise([server], lambda: stop(number)) == 0
    assert log.read_text() == "term "
    assert not server.alive
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 1)


def test_the_handlers_are_as_before_afterwards(port, log):
    before = signal.getsignal(signal.SIGTERM)
    supervise([child(port, SERVER.format(log=str(log), port=port))], stop)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_child_that_refuses_its_settings_ends_everything_with_2(port):
    assert supervise([child(port, "raise SystemExit(2)")], stop) == 2


def test_a_child_that_keeps_crashing_is_given_up(port, log, capsys):
    code = f"open({str(log)!r}, 'a').write('start '); raise SystemExit(7)"
    assert supervise([child(port, code)], stop) == 1
    assert log.read_text() == "start " * 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert said[0].startswith("kb: the engine ended with exit code 7; starting it again")
    assert said[-1].endswith("3 times within a minute; giving up")


def test_a_child_that_crashes_once_comes_back(port, log, capsys):
    server = child(port, SERVER.format(log=str(log), port=port))
    seen = []

    def once_ready():
        seen.append(server.process.pid)
        server.process.kill()
        threading.Thread(target=stop_when_back, daemon=True).start()

    def stop_when_back():
        while not (server.ready and server.process.pid != seen[0]):
            threading.Event().wait(0.01)
        stop()

    assert supervise([server], once_ready) == 0
    assert len(seen) == 1
    assert log.read_text() == "term "
    said = capsys.readouterr().err
    assert "killed by signal 9; starting it again" in said
    assert "the engine is back" in said


def second(code: str) -> Child:
    """A child that the others can do without; nothing listens on its port."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environ = dict(os.environ)
    return Child("MCP server", command, "127.0.0.1", 1, "/healthz", environ, essential=False)


def test_a_second_child_starts_when_the_first_is_ready(port, log):
    server = child(port, SERVER.format(log=str(log), port=port))
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
    beside = second(f"{connect}; open({str(log)!r}, 'a').write('beside '); raise SystemExit(2)")
    assert supervise([server, beside], lambda: None) == 2
    assert log.read_text() == "beside term "


def test_without_the_first_the_second_is_not_started(port, log):
    beside = second(f"open({str(log)!r}, 'a').write('beside ')")
    assert supervise([child(port, "raise SystemExit(2)"), beside], stop) == 2
    assert log.read_text() == ""


def test_the_rest_goes_on_without_a_second_child_that_keeps_crashing(port, log, capsys):
    server = child(port, SERVER.format(log=str(log), port=port))
    beside = second("raise SystemExit(7)")
    greeted = []

    def once_ready():
        greeted.append(server.alive)
        stop()

    assert supervise([server, beside], once_ready) == 0
    assert greeted == [True]
    assert log.read_text() == "term "
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == (
        "kb: the MCP server ended with exit code 7, 3 times within a minute; going on without it"
    )


def test_a_child_that_does_not_stop_is_killed(port, log, monkeypatch, capsys):
    monkeypatch.setattr(server_processes, "_PATIENCE", 0.1)
    deaf = SERVER.replace(
        "class Handler", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nclass Handler"
    )
    server = child(port, deaf.format(log=str(log), port=port))
    assert supervise([server], stop) == 0
    assert not server.alive
    assert "did not stop" in capsys.readouterr().err


def test_a_port_that_already_answers_is_not_taken_for_the_childs(port, log, capsys):
    server = child(port, SERVER.format(log=str(log), port=port))

    def second_while_the_first_runs():
        assert supervise([child(port, "raise SystemExit(0)")], lambda: None) == 2
        stop()

    assert supervise([server], second_while_the_first_runs) == 0
    assert f"port {port} is taken" in capsys.readouterr().err


def test_ctrl_c_in_the_terminal_reaches_the_child_only_through_us(port, log, tmp_path):
    """The whole foreground group gets SIGINT from a terminal; the child must see one SIGTERM."""
    (tmp_path / "server.py").write_text(SERVER.format(log=str(log), port=port))
    script = f"""
        import os, sys
        from kb.cli.server_processes import Child, supervise
        child = Child("engine", [sys.executable, {str(tmp_path / "server.py")!r}],
                      "127.0.0.1", {port}, "/readyz", dict(os.environ))
        sys.exit(supervise([child], lambda: print("ready", flush=True)))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        process_group=0,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 0
    process.stdout.close()
    assert log.read_text() == "term "
