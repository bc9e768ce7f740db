"""`kb up`, `kb engine` and `kb mcp` with the real programs."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from kb.cli.commands import up as up_module
from ports import free_port
from programs import KB, ended

WAIT = 60.0  # seconds: a busy machine takes its time to answer


@pytest.fixture
def up(engine_environment):
    """Start `kb up` and wait until it says it is up."""
    started = []

    def start(*options: str, **more: str):
        environ = engine_environment(**more)
        process = subprocess.Popen(
            [*KB, "up", *options],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
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
    endpoint = f"http://127.0.0.1:{environ['KB_MCP_PORT']}/mcp"
    assert f"  MCP   {endpoint}\n" in greeting
    assert "kb connect" in greeting
    assert status_over_mcp(endpoint)["health"]["status"] == "healthy"
    process.send_signal(number)
    assert process.wait(30) == 0
    assert kb("status", "--engine-url", environ["KB_ENGINE_URL"])[0] == 1
    with pytest.raises(httpx.ConnectError):
        httpx.post(endpoint, timeout=WAIT)


def status_over_mcp(endpoint, **headers):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kb_status"}}
    answer = httpx.post(endpoint, json=call, headers=headers, timeout=WAIT)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["structuredContent"]


def test_the_mcp_server_uses_the_engine_beside_it_and_asks_for_its_own_key(up):
    _, environ, greeting = up(
        KB_API_KEY="a-key-of-some-length",
        KB_MCP_API_KEY="another-key-of-some-length",
        KB_ENGINE_URL="http://127.0.0.1:9",
    )
    assert "/mcp, asks for KB_MCP_API_KEY\n" in greeting
    assert "another-key" not in greeting
    endpoint = f"http://127.0.0.1:{environ['KB_MCP_PORT']}/mcp"
    assert httpx.post(endpoint, json={}, timeout=WAIT).status_code == 401
    authorization = "Bearer another-key-of-some-length"
    assert "counts" in status_over_mcp(endpoint, authorization=authorization)


def test_kb_up_ends_its_greeting_with_what_is_risky_and_status_repeats_it(printed, up):
    process, environ, _ = up(KB_HOST="0.0.0.0", KB_MCP_HOST="0.0.0.0", KB_MCP_API_KEY="secret")
    lines = [process.stdout.readline() for _ in range(4)]
    engine, mcp = [line for line in lines if line.startswith("WARNING: ")]
    assert "KB_API_KEY is not set, and with KB_HOST=0.0.0.0" in engine
    assert "KB_MCP_API_KEY has fewer than 16 characters, and with KB_MCP_HOST=0.0.0.0" in mcp
    out = printed("status", "--engine-url", environ["KB_ENGINE_URL"])
    assert ["health", "degraded"] in [line.split("\t") for line in out.splitlines()]
    assert engine.removeprefix("WARNING: ").strip() in out


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"KB_HOST": "0.0.0.0"}, "KB_API_KEY is not set, and with KB_HOST=0.0.0.0"),
        (
            {"KB_HOST": "0.0.0.0", "KB_API_KEY": "secret"},
            "KB_API_KEY has fewer than 16 characters, and with KB_HOST=0.0.0.0",
        ),
        ({"KB_MCP_HOST": "::"}, "KB_MCP_API_KEY is not set, and with KB_MCP_HOST=::"),
    ],
)
def test_a_strict_kb_up_starts_nothing_with_a_weak_key(kb, monkeypatch, settings, line):
    started = []
    monkeypatch.setattr(up_module, "supervise", lambda children, _: started.extend(children) or 0)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert kb("up")[0] == 0
    started.clear()
    for name, value in (
        settings | {"KB_STRICT": "1"}
    ).items():  # keys are gone where they were read
        monkeypatch.setenv(name, value)
    code, out, err = kb("up")
    assert (code, out, started) == (2, "", [])
    assert err.startswith(f"kb: KB_STRICT=1 refuses this: {line}")
    assert err.count("\n") == 1


def test_commands_find_the_engine_at_the_port_of_the_config_file(kb, up, tmp_path, monkeypatch):
    file = tmp_path / "config.toml"
    file.write_text(f"port = {free_port()}\nmcp_port = {free_port()}\n")
    up(KB_CONFIG=str(file), KB_PORT="", KB_MCP_PORT="", KB_ENGINE_URL="")
    monkeypatch.setenv("KB_CONFIG", str(file))
    assert kb("addnote", "The port is in the file")[0] == 0
    code, out, _ = kb("connect", "--check")
    assert (code, out.count("works")) == (0, 4)
    port = re.search(r"\d+", file.read_text())[0]
    origin = f"KB_ENGINE_URL\thttp://127.0.0.1:{port}\tKB_PORT (file {file})"
    assert origin in kb("config")[1].splitlines()


def test_another_terminal_is_told_of_a_port_that_only_this_one_knows(up):
    _, environ, greeting = up(KB_ENGINE_URL="")
    assert f"  export KB_ENGINE_URL=http://127.0.0.1:{environ['KB_PORT']}\n" in greeting


def test_kb_up_can_leave_out_the_mcp_server(up):
    _, environ, greeting = up("--no-mcp")
    assert "MCP" not in greeting
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(environ["KB_MCP_PORT"])), 1)


def test_kb_up_goes_on_where_the_mcp_server_is_not_installed(kb, monkeypatch):
    started = []
    monkeypatch.setattr(up_module, "_MCP_PACKAGES", ("no_package_of_this_name",))
    monkeypatch.setattr(up_module, "supervise", lambda children, _: started.extend(children) or 0)
    code, _, err = kb("up")
    assert (code, [child.name for child in started]) == (0, ["engine"])
    assert err == (
        'kb: the MCP server is not installed here; run: pip install "kb[mcp]"; '
        "going on without it\n"
    )


@pytest.mark.parametrize(("command", "module"), [("mcp", "mcp.py"), ("engine", "apsw.py")])
def test_a_command_becomes_its_program_in_any_folder(engine_environment, tmp_path, command, module):
    (tmp_path / module).write_text("raise SystemExit('imported from the current folder')")
    process = subprocess.Popen(
        [*KB, command], env=engine_environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert any("listens on" in line for line in process.stderr)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_kb_mcp_speaks_on_standard_input_and_output_for_one_client(engine_environment):
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    server = (*KB, "mcp", "--stdio", "--tools", "collections")
    done = ended(*server, env=engine_environment(), input=json.dumps(hello) + "\n")
    assert done.returncode == 0
    [line] = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "kb"
    assert "collection" in json.loads(line)["result"]["instructions"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--tools", "all"],
            "kb: KB_MCP_TOOLS=all: unknown, use one of kb, collections, knowledge\n",
        ),
        (["--port", "x"], "kb: KB_MCP_PORT=x: not a usable number"),
    ],
)
def test_a_bad_setting_of_the_mcp_server_is_one_line(refusal, options, line):
    assert refusal("mcp", *options, code=2).startswith(line)


def test_a_key_is_asked_for_and_can_come_from_a_file(kb, refusal, up, tmp_path, monkeypatch):
    _, environ, greeting = up(KB_API_KEY="a-key-of-some-length")
    assert "KB_API_KEY" in greeting
    assert "a-key-of-some-length" not in greeting
    url = environ["KB_ENGINE_URL"]
    assert "asks for a key; set KB_API_KEY or use --api-key-file" in refusal(
        "list", "--engine-url", url
    )
    path = tmp_path / "key"
    path.write_text("a-key-of-some-length\n")
    path.chmod(0o600)
    assert kb("list", "--engine-url", url, "--api-key-file", str(path))[0] == 0
    monkeypatch.setenv("KB_API_KEY", "another-key")
    assert "does not know this key" in kb("list", "--engine-url", url)[2]
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    refusal("add", str(tmp_path), "--engine-url", url)


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        ("KB_DATA_DIR", r"kb: .*\n\Z"),
        ("KB_PORT", "is taken"),
        ("KB_MCP_PORT", r"port {port} is taken.*KB_MCP_PORT"),
    ],
)
def test_kb_up_ends_at_once_where_what_it_needs_is_taken(engine_environment, engine, taken, told):
    value = engine["KB_PORT"] if taken == "KB_MCP_PORT" else engine[taken]
    environ = engine_environment(**{taken: value})
    done = ended(*KB, "up", env=environ)
    assert done.returncode == 2
    assert re.search(told.format(port=engine["KB_PORT"]), done.stderr, re.DOTALL)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_kb_up_itself_stays_small(up):
    process, _, _ = up()
    bare = ended(sys.executable, "-c", "print(open('/proc/self/status').read())")
    # Its own alone: how much of its code is in memory depends on what else runs on a machine.
    own = re.compile(r"RssAnon:\s+(\d+) kB")
    ours = own.search(Path(f"/proc/{process.pid}/status").read_text())
    assert int(ours[1]) - int(own.search(bare.stdout)[1]) < 12_000


def test_everything_is_deleted_only_for_the_right_words(kb, printed, refusal, up, say, monkeypatch):
    _, environ, _ = up()
    monkeypatch.setenv("KB_ENGINE_URL", environ["KB_ENGINE_URL"])
    kb("addnote", "the last one")
    say("yes\n")
    assert "nothing was deleted" in refusal("delete", "--all")
    assert len(kb("list")[1].splitlines()) == 1
    say("DELETE ALL\n")
    assert re.match(r"deleted 1 document, .* freed\n", printed("delete", "--all"))
    assert kb("list")[1] == ""
