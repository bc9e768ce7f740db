"""Settings in, clients that can use kb out: what `kb connect` prints, writes and checks."""

import json
import os
import re
import stat
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kb.cli.connect.clients import CLIENTS, Machine, Server, skill_file
from kb.cli.connect.files import read_entry, with_entry
from kb.cli.connect.jsonc import NotJson, read_json, set_json
from kb.cli.connect.placing import place
from kb.cli.connect.toml import NotToml, read_toml, set_toml
from kb.cli.failure import Failure
from ports import free_port

KEY = "a-token-that-nobody-else-knows"
URL = "http://127.0.0.1:3000/mcp"
ENTRY = {"type": "http", "url": URL, "headers": {"Authorization": f"Bearer {KEY}"}}
BY_NAME = {client.name: client for client in CLIENTS}
WITH_FILE = [client.name for client in CLIENTS if client.name != "json"]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path, environment):
    """A home of the test's own, on a machine where no client was set up elsewhere."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setattr(Path, "home", lambda: folder)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    # Where the MCP server is not installed, the commands that would run it refuse.
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    return folder


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("KB_MCP_API_KEY", KEY)
    return KEY


def _read(name, out):
    """What a client would make of it."""
    return tomllib.loads(out) if BY_NAME[name].is_toml else json.loads(out)


def _cursor_file(home, text="{}"):
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(text)
    return file


def _rows(out):
    return [line.split("\t") for line in out.splitlines()]


# What is printed


@pytest.mark.parametrize("name", list(BY_NAME))
def test_what_is_printed_is_a_file_the_client_understands_without_the_key(kb, key, name):
    code, out, err = kb("connect", name)
    assert code == 0
    assert KEY not in out + err
    config = _read(name, out)
    assert list(config) == [BY_NAME[name].table]
    assert list(config[BY_NAME[name].table]) == ["kb"]


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "claude-desktop"])
def test_the_key_is_printed_only_when_asked_for(kb, key, name):
    assert "Bearer •••" in kb("connect", name)[1]
    assert f"Bearer {KEY}" in kb("connect", name, "--show-key")[1]


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("claude-code", ENTRY),
        ("vscode", ENTRY),
        ("json", ENTRY),
        ("cursor", {"url": URL, "headers": ENTRY["headers"]}),
        ("codex", {"url": URL, "http_headers": ENTRY["headers"]}),
        ("gemini", {"httpUrl": URL, "headers": ENTRY["headers"]}),
    ],
)
def test_each_client_is_given_the_address_in_its_own_words(kb, key, name, entry):
    out = kb("connect", name, "--show-key")[1]
    config = _read(name, out)
    assert config[BY_NAME[name].table]["kb"] == entry


def test_without_a_key_there_is_no_header(kb):
    for name in ("claude-code", "cursor", "vscode", "codex", "gemini", "json"):
        assert "eaders" not in kb("connect", name)[1]


def test_claude_desktop_runs_kb_with_what_this_shell_knows(kb, printed, key, monkeypatch):
    monkeypatch.setenv("KB_API_KEY", "the-key-of-the-engine")
    monkeypatch.setenv("KB_ENGINE_URL", "http://nas:8000")
    monkeypatch.setenv("KB_MCP_PORT", "3333")
    assert "the-key-of-the-engine" not in printed("connect", "claude-desktop")
    entry = json.loads(kb("connect", "claude-desktop", "--show-key")[1])["mcpServers"]["kb"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-1] == "--stdio"
    assert entry["env"] == {
        "KB_CONFIG": os.devnull,
        "KB_API_KEY": "the-key-of-the-engine",
        "KB_ENGINE_URL": "http://nas:8000",
    }


def test_claude_desktop_finds_the_engine_at_the_port_that_this_shell_knows(kb, monkeypatch):
    monkeypatch.setenv("KB_PORT", "9000")
    monkeypatch.setenv("KB_STRICT", "1")
    entry = json.loads(kb("connect", "claude-desktop")[1])["mcpServers"]["kb"]
    assert entry["env"] == {"KB_CONFIG": os.devnull, "KB_ENGINE_URL": "http://127.0.0.1:9000"}


def test_claude_desktop_can_use_an_address_through_mcp_remote(kb, key):
    out = kb("connect", "claude-desktop", "--http", "--show-key", "--url", "http://nas:3000")[1]
    entry = json.loads(out)["mcpServers"]["kb"]
    assert entry["command"] == "npx"
    assert "http://nas:3000/mcp" in entry["args"]
    assert "--allow-http" in entry["args"]
    assert not any(KEY in argument for argument in entry["args"])
    assert entry["env"] == {"KB_AUTHORIZATION": f"Bearer {KEY}"}
    near = json.loads(kb("connect", "claude-desktop", "--http")[1])["mcpServers"]["kb"]
    assert "--allow-http" not in near["args"]


@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_client_can_run_kb_itself(kb, key, name):
    out = kb("connect", name, "--stdio")[1]
    config = _read(name, out)
    entry = config[BY_NAME[name].table]["kb"]
    assert entry["args"][-1] == "--stdio"
    assert "url" not in entry
    assert "headers" not in entry


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"KB_MCP_HOST": "0.0.0.0", "KB_MCP_PORT": "3001"}, "http://127.0.0.1:3001/mcp"),
        ({"KB_MCP_HOST": "::"}, "http://[::1]:3000/mcp"),
        ({"KB_MCP_HOST": "kb.lan"}, "http://kb.lan:3000/mcp"),
        ({"KB_MCP_PUBLIC_URL": "https://kb.example"}, "https://kb.example/mcp"),
        ({"KB_MCP_PUBLIC_URL": "https://kb.example/mcp/"}, "https://kb.example/mcp"),
    ],
)
def test_the_address_is_the_one_this_machine_is_set_up_with(kb, monkeypatch, settings, url):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert json.loads(kb("connect", "--json")[1])["url"] == url


def test_json_says_which_file_is_meant(kb, key, home):
    answer = json.loads(kb("connect", "cursor", "--json")[1])
    assert answer["file"] == str(home / ".cursor/mcp.json")
    assert answer["config"]["mcpServers"]["kb"]["url"] == URL
    assert KEY not in json.dumps(answer)


def test_claude_code_gets_a_command_that_does_the_same(kb, key):
    _, _, err = kb("connect", "claude-code")
    assert (
        f"claude mcp add --scope user --transport http kb {URL} \\\n"
        "  --header 'Authorization: Bearer •••'\n"
    ) in err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--write"], "kb: name the client: claude-code, claude-desktop"),
        (["emacs"], "kb: invalid value for '[CLIENT]'"),
        (["cursor", "--write", "--check"], "kb: use one of --write, --check and --show-key"),
        (["cursor", "--stdio", "--http"], "kb: use --stdio or --http, not both"),
        (["cursor", "--write", "--skill"], "kb: --skill goes with: kb connect claude-code --write"),
        (["json", "--write"], "kb: say where with --file"),
        (["cursor", "--name", "a b"], "kb: --name 'a b': use letters, digits"),
        (["cursor", "--url", "nowhere"], "kb: KB_MCP_PUBLIC_URL=nowhere: "),
    ],
)
def test_a_misuse_is_one_line_and_exit_code_2(refusal, arguments, line):
    assert refusal("connect", *arguments, code=2).startswith(line)


# Where the files are


@pytest.mark.parametrize(
    ("platform", "name", "file"),
    [
        ("linux", "claude-code", ".claude.json"),
        ("darwin", "claude-code", ".claude.json"),
        ("win32", "claude-code", ".claude.json"),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("linux", "cursor", ".cursor/mcp.json"),
        ("win32", "cursor", ".cursor/mcp.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("linux", "codex", ".codex/config.toml"),
        ("win32", "codex", ".codex/config.toml"),
        ("linux", "gemini", ".gemini/settings.json"),
        ("darwin", "gemini", ".gemini/settings.json"),
    ],
)
def test_each_client_has_its_file_on_each_system(home, platform, name, file):
    assert BY_NAME[name].file(Machine(platform, home, {})) == home / file


@pytest.mark.parametrize(
    ("platform", "name", "variable", "file"),
    [
        ("linux", "claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("linux", "claude-desktop", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("linux", "vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("win32", "vscode", "APPDATA", "Code/User/mcp.json"),
        ("darwin", "codex", "CODEX_HOME", "config.toml"),
        ("linux", "gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ],
)
def test_a_variable_of_the_client_moves_its_file(home, platform, name, variable, file):
    machine = Machine(platform, home, {variable: str(home / "moved")})
    assert BY_NAME[name].file(machine) == home / "moved" / file


def test_the_packaged_claude_desktop_of_windows_has_its_file_in_its_package(home):
    machine = Machine("win32", home, {"LOCALAPPDATA": str(home / "Local")})
    inside = "LocalCache/Roaming/Claude/claude_desktop_config.json"
    packages = home / "Local/Packages"
    (packages / "Claude_aaaa").mkdir(parents=True)
    assert BY_NAME["claude-desktop"].file(machine) == packages / "Claude_aaaa" / inside
    used = packages / "Claude_bbbb" / inside
    used.parent.mkdir(parents=True)
    used.write_text("{}")
    assert BY_NAME["claude-desktop"].file(machine) == used


# What is written


@pytest.mark.parametrize("name", WITH_FILE)
def test_what_is_written_is_there_and_a_second_time_changes_nothing(kb, printed, key, home, name):
    out = printed("connect", name, "--write")
    client = BY_NAME[name]
    file = client.file(Machine("linux", home, {}))
    assert out == f"wrote {file}\n"
    assert read_entry(client, file, "kb") is not None
    written = file.read_bytes()
    assert kb("connect", name, "--write")[1] == f"unchanged {file}\n"
    assert file.read_bytes() == written
    assert [each.name for each in file.parent.glob(f"{file.name}*")] == [file.name]
    assert [name, "connected", str(file)] in _rows(kb("connect")[1])


def test_other_servers_stay_and_a_backup_is_left(printed, key, home):
    before = '{"mcpServers": {"other": {"command": "x"}}, "theme": "dark"}'
    file = _cursor_file(home, before)
    out = printed("connect", "cursor", "--write")
    assert json.loads(file.read_text()) == {
        "mcpServers": {
            "other": {"command": "x"},
            "kb": {"url": URL, "headers": ENTRY["headers"]},
        },
        "theme": "dark",
    }
    backup = Path(re.search(r"^before (.*)$", out, re.MULTILINE)[1])
    assert backup.parent == file.parent
    assert backup.read_text() == before


def test_an_old_entry_of_kb_is_replaced(kb, key, home):
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text('model = "o"\n[mcp_servers.kb]\nurl = "http://old/mcp"\n')
    assert ["codex", "differs", str(file)] in _rows(kb("connect")[1])
    assert kb("connect", "codex", "--write")[0] == 0
    assert tomllib.loads(file.read_text()) == {
        "model": "o",
        "mcp_servers": {"kb": {"url": URL, "http_headers": ENTRY["headers"]}},
    }


@pytest.mark.parametrize(
    ("name", "text"), [("gemini", '{"mcpServers": {"a" 1}}'), ("codex", "[mcp_servers\n")]
)
def test_a_file_that_cannot_be_understood_is_left_alone(kb, refusal, key, home, name, text):
    file = BY_NAME[name].file(Machine("linux", home, {}))
    file.parent.mkdir()
    file.write_text(text)
    err = refusal("connect", name, "--write")
    assert err.startswith(f"kb: {file}: left as it was")
    assert f"kb connect {name}" in err
    assert file.read_text() == text
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    assert [name, "unreadable", str(file)] in _rows(kb("connect")[1])


def test_another_file_and_another_name_can_be_given(kb, key, tmp_path):
    file = tmp_path / "there.json"
    assert kb("connect", "json", "--write", "--file", str(file), "--name", "notes")[0] == 0
    assert json.loads(file.read_text()) == {"mcpServers": {"notes": ENTRY}}


def test_a_server_that_is_not_installed_is_not_written_down(refusal, home, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    err = refusal("connect", "claude-desktop", "--write")
    assert err == 'kb: the MCP server is not installed here; run: pip install "kb[mcp]"\n'
    assert list(home.iterdir()) == []


def test_the_skill_comes_along_when_asked_for(kb, printed, home):
    _, _, err = kb("connect", "claude-code", "--write")
    assert "--skill" in err
    assert not (home / ".claude").exists()
    out = printed("connect", "claude-code", "--write", "--skill")
    file = home / ".claude/skills/kb/SKILL.md"
    assert f"wrote {file}" in out
    head = file.read_text("utf-8").split("---\n")[1]
    assert re.search(r"^name: kb$", head, re.MULTILINE)
    assert len(re.search(r"^description: (.+)$", head, re.MULTILINE)[1]) < 1024
    file.write_text("mine")
    kb("connect", "claude-code", "--write", "--skill")
    assert [each.read_text() for each in file.parent.glob("SKILL.md.*.bak")] == ["mine"]


def test_the_skill_is_where_claude_code_was_told_to_look(home):
    machine = Machine("linux", home, {"CLAUDE_CONFIG_DIR": str(home / "work")})
    assert skill_file(machine) == home / "work/skills/kb/SKILL.md"


# The text of a file


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "servers": {\n    "kb": {\n      "a": 1\n    }\n  }\n}\n'),
        ("// mine\n", '// mine\n{\n  "servers": {\n    "kb": {\n      "a": 1\n    }\n  }\n}\n'),
        ("{}", '{\n  "servers": {\n    "kb": {\n      "a": 1\n    }\n  }\n}'),
        (
            '{\n\t"servers": {\n\t\t"x": {} // last\n\t}, /* end */\n}\n',
            '{\n\t"servers": {\n\t\t"x": {}, // last\n\t\t"kb": {\n\t\t\t"a": 1\n\t\t}\n\t},'
            " /* end */\n}\n",
        ),
        (
            '{\n  "servers": {\n    "x": {},  // a, "b"\n    // more\n  }\n}',
            '{\n  "servers": {\n    "x": {},  // a, "b"\n    // more\n    "kb": {\n      "a": 1\n'
            "    }\n  }\n}",
        ),
        (
            '{"servers": {"kb": {"old": "// }"}, "x": "}"}}',
            '{"servers": {"kb": {\n      "a": 1\n    }, "x": "}"}}',
        ),
        (
            '\ufeff{\r\n  "inputs": []\r\n}\r\n',
            '\ufeff{\r\n  "inputs": [],\r\n  "servers": {\r\n    "kb": {\r\n      "a": 1\r\n'
            "    }\r\n  }\r\n}\r\n",
        ),
    ],
)
def test_only_the_entry_changes_in_a_json_file(before, after):
    assert set_json(before, "servers", "kb", {"a": 1}) == after
    assert read_json(after)["servers"]["kb"] == {"a": 1}


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"servers": []}', '{"servers": {}} x', "/* no end", '{"a": tru}']
)
def test_json_that_cannot_be_changed_is_refused(text):
    with pytest.raises(NotJson):
        set_json(text, "servers", "kb", {"a": 1})


def test_a_name_that_stands_twice_is_changed_where_it_counts():
    text = '{"servers": {"kb": 1}, "servers": {"kb": 2, "x": 3}}'
    changed = set_json(text, "servers", "kb", {"a": 1})
    assert json.loads(changed) == {"servers": {"kb": {"a": 1}, "x": 3}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[t.kb]\na = "1"\n'),
        ('m = "o" # mine\n', 'm = "o" # mine\n\n[t.kb]\na = "1"\n'),
        ('m = "o"', 'm = "o"\n\n[t.kb]\na = "1"\n'),
        (
            '[t.kb]\nold = 1\n[t.kb.env]\nX = "y"\n\n# of x\n[t.x]\nb = 2\n',
            '[t.kb]\na = "1"\n\n# of x\n[t.x]\nb = 2\n',
        ),
        ('[t."kb"] # ours\nold = 1\n', '[t.kb]\na = "1"\n'),
        ("[x]\r\nb = 2\r\n", '[x]\r\nb = 2\r\n\r\n[t.kb]\r\na = "1"\r\n'),
    ],
)
def test_only_the_entry_changes_in_a_toml_file(before, after):
    assert set_toml(before, "t", "kb", {"a": "1"}) == after


@pytest.mark.parametrize(
    "text",
    ["t = { kb = { a = 2 } }\n", "t.kb.a = 2\n", "[t]\nkb = { a = 2 }\n", "t = 1\n", "[t\n"],
)
def test_toml_that_cannot_be_changed_is_refused(text):
    with pytest.raises(NotToml):
        set_toml(text, "t", "kb", {"a": "1"})


def test_what_is_written_as_toml_is_read_back_as_it_was():
    entry = {
        "command": 'C:\\Program Files\\"kb"\\kb.exe',
        "args": ["mcp", "--stdio"],
        "env": {"KB_API_KEY": "~!\x7f'€"},
    }
    assert read_toml(set_toml("", "mcp_servers", "kb", entry))["mcp_servers"]["kb"] == entry


def test_with_entry_says_which_file_is_meant(tmp_path):
    with pytest.raises(Failure, match=r"x\.json: left as it was"):
        with_entry(BY_NAME["cursor"], tmp_path / "x.json", "{", "kb", {})


# Files


posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX")


@posix
def test_a_file_with_a_key_in_it_is_closed_to_others(kb, key, home):
    file = _cursor_file(home)
    file.chmod(0o644)
    _, _, err = kb("connect", "cursor", "--write")
    assert "only you can read it" in err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    assert kb("connect", "cursor", "--write")[1].startswith("unchanged")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize(
    ("keyed", "before", "after"),
    [(False, 0o640, 0o640), (False, 0o400, 0o400), (True, 0o644, 0o600)],
)
def test_nobody_may_read_the_copy_who_may_not_the_file(kb, home, request, keyed, before, after):
    if keyed:
        request.getfixturevalue("key")
    file = _cursor_file(home, '{"mcpServers": {"other": {"env": {"TOKEN": "secret"}}}}')
    file.chmod(before)
    umask = os.umask(0)
    try:
        assert kb("connect", "cursor", "--write")[0] == 0
    finally:
        os.umask(umask)
    [copy] = file.parent.glob("mcp.json.*.bak")
    for each in (file, copy):
        assert stat.S_IMODE(each.stat().st_mode) == after, each


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
def test_a_file_stays_whose_it_was(kb, home):
    file = _cursor_file(home)
    os.chown(file, 4711, 4712)
    assert kb("connect", "cursor", "--write")[0] == 0
    [copy] = file.parent.glob("mcp.json.*.bak")
    for each in (file, copy):
        assert (each.stat().st_uid, each.stat().st_gid) == (4711, 4712), each


@posix
def test_a_link_stays_a_link(kb, key, home, tmp_path):
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(kept)
    assert kb("connect", "cursor", "--write")[0] == 0
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "kb" in json.loads(kept.read_text())["mcpServers"]


def test_what_another_program_wrote_meanwhile_is_not_overwritten(tmp_path):
    file = tmp_path / "x.json"
    file.write_text("newer")
    with pytest.raises(Failure, match="changed by another program"):
        place(file, "older", "ours", secret=False)
    assert file.read_text() == "newer"
    assert list(tmp_path.glob("*x.json*")) == [file]


def test_backups_of_one_second_do_not_overwrite_each_other(tmp_path):
    file = tmp_path / "x.json"
    file.write_text("0")
    backups = [
        place(file, str(number), str(number + 1), secret=False).backup for number in range(3)
    ]
    assert [backup.read_text() for backup in backups] == ["0", "1", "2"]


def test_a_folder_that_cannot_be_written_to_is_one_line(refusal, key, home):
    (home / ".cursor").write_text("a file where a folder should be")
    err = refusal("connect", "cursor", "--write")
    assert err.startswith(f"kb: {home / '.cursor/mcp.json'}: cannot be ")


# Checking

STATUS = {"health": {"status": "healthy"}, "counts": {"documents": 12}, "version": "3.0.0"}


class _Agentside(BaseHTTPRequestHandler):
    """As little of an MCP server as the check needs; `server.answers` says how it behaves."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((message["method"], dict(self.headers)))
        status, body, kind = self.server.answer(message, self.headers)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if message["method"] == "initialize":
            self.send_header("mcp-session-id", "s1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Quiet."""


def _answers(message, headers, *, tool=None, key=None, events=False):
    if key and headers.get("authorization") != f"Bearer {key}":
        return 401, b"{}", "application/json"
    if "id" not in message:
        return 202, b"", "application/json"
    result = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": "kb", "version": "3.0.0"},
        },
        "tools/list": {"tools": [{"name": "kb_search"}, {"name": "kb_status"}]},
        "tools/call": tool or {"content": [], "structuredContent": STATUS},
    }[message["method"]]
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
    if events:
        return 200, f"event: message\ndata: {text}\n\n".encode(), "text/event-stream"
    return 200, text.encode(), "application/json"


@pytest.fixture
def fake(monkeypatch):
    """A server that behaves as told, and the settings that lead to it."""
    servers = []

    def start(answer=_answers):
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Agentside)
        server.answer, server.seen = answer, []
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("KB_MCP_PORT", str(server.server_port))
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_check_understands_the_status_of_the_knowledge_tools(printed, fake, key):
    status = {"health": {"status": "degraded"}, "knowledge_base": {"document_count": 42}}
    told = {"content": [], "structuredContent": {"success": True} | status}
    fake(lambda message, headers: _answers(message, headers, tool=told))
    assert _rows(printed("connect", "--check"))[-1] == ["engine", "works", "degraded, 42 documents"]


def test_a_check_repeats_what_is_wrong_with_the_server(kb, fake, key):
    issue = {"code": "mcp_key_short", "message": "KB_MCP_API_KEY has fewer than 16 characters"}
    for issues in ([issue], [issue["message"]]):  # as the kb tools say it, and the knowledge tools
        told = {"structuredContent": {"health": {"status": "degraded", "issues": issues}}}
        fake(lambda message, headers, told=told: _answers(message, headers, tool=told))
        message = "degraded; KB_MCP_API_KEY has fewer than 16 characters"
        assert _rows(kb("connect", "--check")[1])[-1] == ["engine", "works", message]


@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
def test_a_check_calls_the_server_as_an_agent_would(kb, fake, key, events):
    server = fake(lambda message, headers: _answers(message, headers, key=KEY, events=events))
    code, out, err = kb("connect", "--check")
    assert (code, err) == (0, "")
    assert _rows(out) == [
        ["server", "works", "kb 3.0.0, protocol 2025-11-25"],
        ["key", "works", "accepted"],
        ["tools", "works", "2: kb_search, kb_status"],
        ["engine", "works", "healthy, 12 documents, version 3.0.0"],
    ]
    methods = [method for method, _ in server.seen]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    headers = {name.lower(): value for name, value in server.seen[-1][1].items()}
    assert (headers["mcp-session-id"], headers["mcp-protocol-version"]) == ("s1", "2025-11-25")


def test_a_check_of_a_client_uses_what_is_in_its_file(kb, refusal, fake, key, home, monkeypatch):
    server = fake(lambda message, headers: _answers(message, headers, key=KEY))
    assert "kb connect codex --write" in refusal("connect", "codex", "--check")
    kb("connect", "codex", "--write")
    monkeypatch.delenv("KB_MCP_PORT")
    monkeypatch.delenv("KB_MCP_API_KEY")
    assert kb("connect", "codex", "--check")[0] == 0
    assert server.seen


@pytest.mark.parametrize(
    ("sent", "line"),
    [("", "the server asks for a key; set KB_MCP_API_KEY"), (KEY, "does not know this key")],
)
def test_a_wrong_key_is_told_from_a_missing_one(kb, fake, monkeypatch, sent, line):
    monkeypatch.setenv("KB_MCP_API_KEY", sent)
    fake(lambda message, headers: _answers(message, headers, key="another"))
    code, out, _ = kb("connect", "--check")
    assert code == 1
    rows = _rows(out)
    assert [row[:2] for row in rows] == [
        ["server", "works"],
        ["key", "fails"],
        ["tools", "not reached"],
        ["engine", "not reached"],
    ]
    assert line in rows[1][2]


def test_a_server_that_does_not_run_is_told_apart_by_where_it_should(kb):
    port = str(free_port())
    code, out, _ = kb("connect", "--check", "--url", f"http://127.0.0.1:{port}")
    assert code == 1
    assert 'start it with "kb up"' in out
    code, out, _ = kb("connect", "--check", "--url", f"http://kb.invalid:{port}")
    assert code == 1
    assert "see that it runs there" in out


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ((404, b"", "text/html"), "as no MCP server would; check the address: its path is /mcp"),
        (
            (421, b"", "text/plain"),
            "refuses the name 127.0.0.1; add it to its KB_MCP_ALLOWED_HOSTS",
        ),
        ((200, b"<p>hello", "text/html"), "is no MCP server"),
        ((200, b'{"jsonrpc":"2.0","id":1,"error":{"message":"odd"}}', "x/y"), "answers: odd"),
    ],
)
def test_what_is_no_mcp_server_or_a_closed_one_is_said_to_be(kb, fake, answer, line):
    fake(lambda *_: answer)
    code, out, _ = kb("connect", "--check")
    assert code == 1
    assert line in out
    assert _rows(out)[0][:2] == ["server", "fails"]


def test_an_engine_that_the_server_cannot_reach_is_named(kb, fake):
    failed = {
        "isError": True,
        "content": [{"type": "text", "text": "no engine"}],
        "structuredContent": {"error": "engine_unreachable", "message": "The engine is away"},
    }
    fake(lambda message, headers: _answers(message, headers, tool=failed))
    code, out, _ = kb("connect", "--check")
    assert code == 1
    assert _rows(out)[-1] == ["engine", "fails", "The engine is away"]
    answer = json.loads(kb("connect", "--check", "--json")[1])
    assert answer["works"] is False
    assert [step["works"] for step in answer["steps"]] == [True, True, True, False]


PIPE_SERVER = """
import json, sys
answers = {
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "kb", "version": "3"}},
    "tools/list": {"tools": [{"name": "kb_status"}]},
    "tools/call": {"content": [], "structuredContent": {"version": "3"}},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}), flush=True)
        result = answers[message["method"]]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def _desktop_entry(home, command, *arguments):
    file = home / ".config/Claude/claude_desktop_config.json"
    file.parent.mkdir(parents=True)
    entry = {"command": command, "args": arguments}
    file.write_text(json.dumps({"mcpServers": {"kb": entry}}))


def test_a_check_runs_what_the_client_would_run(printed, home):
    _desktop_entry(home, sys.executable, "-c", PIPE_SERVER)
    out = printed("connect", "claude-desktop", "--check")
    steps = ("server", "key", "tools", "engine")
    assert [row[:2] for row in _rows(out)] == [[step, "works"] for step in steps]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ((sys.executable, "-c", "raise SystemExit(1)"), "ended at once: it said nothing"),
        ((sys.executable, "-c", "raise SystemExit('kb: odd')"), "ended at once: kb: odd"),
        ((sys.executable, "-c", "print('hello')"), "does not speak MCP"),
        (("/no/such/kb", "mcp"), "/no/such/kb mcp cannot be run"),
    ],
)
def test_a_command_that_is_no_server_or_not_there_is_said_to_be(kb, home, command, line):
    _desktop_entry(home, *command)
    code, out, err = kb("connect", "claude-desktop", "--check")
    assert (code, err) == (1, "")
    assert line in out


def test_a_key_is_kept_out_of_what_is_shown_of_a_server():
    server = Server("kb", URL, KEY, ("kb",), {"KB_API_KEY": KEY})
    assert KEY not in repr(server)
