"""The clients we know: which file configures each, and what kb's entry in it looks like.

What the clients read was tested with the clients themselves if they run without a window (Claude
Code, Codex, Gemini CLI), and may change. Everything about one client is in one place.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

Json = dict[str, Any]

_GEMINI_FILE = Path(".gemini", "settings.json")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Server:
    """How an agent reaches kb: an address with a key, or a command to run with an environment."""

    name: str
    url: str
    key: str = field(repr=False)
    command: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the clients' files are looked for."""

    platform: str
    home: Path
    environ: Mapping[str, str]

    @classmethod
    def this(cls) -> Self:
        return cls(sys.platform, Path.home(), os.environ)

    def folder(self, variable: str, otherwise: Path) -> Path:
        """The folder a variable names, as the clients understand it, or else the usual one."""
        named = self.environ.get(variable, "").strip()
        return Path(named) if named else otherwise

    @property
    def app_data(self) -> Path:
        """The folder in which desktop applications keep their settings."""
        if self.platform == "win32":
            return self.folder("APPDATA", self.home / "AppData" / "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.folder("XDG_CONFIG_HOME", self.home / ".config")


@dataclass(frozen=True, slots=True)
class Client:
    """One program that agents live in.

    `table` is the name of the table that holds its servers. `over_http` and `over_stdio` make an
    entry of it. `then` is what a person does to see the server in the client.
    """

    name: str
    title: str
    table: str
    file: Callable[[Machine], Path | None]
    over_http: Callable[[Server], Json]
    over_stdio: Callable[[Server], Json]
    then: str = ""
    stdio_only: bool = False
    is_toml: bool = False

    def entry(self, server: Server, *, stdio: bool) -> Json:
        """The entry in the file under the server's name."""
        return self.over_stdio(server) if stdio else self.over_http(server)


def _at(url: str = "url", headers: str = "headers", **more: str) -> Callable[[Server], Json]:
    """An entry with the address and the headers under these names."""
    return lambda server: _given({**more, url: server.url, headers: server.headers})


_typed_http = _at(type="http")


def _typed_stdio(server: Server) -> Json:
    return {"type": "stdio", **_bare_stdio(server)}


def _bare_stdio(server: Server) -> Json:
    command, *arguments = server.command
    return _given({"command": command, "args": arguments, "env": dict(server.environ)})


def _through_mcp_remote(server: Server) -> Json:
    """For a client that only runs commands: npm's mcp-remote carries its calls to an address.

    The header's value comes from the environment: on Windows a space in an argument breaks it.
    """
    arguments = ["-y", "mcp-remote", server.url, "--transport", "http-only"]
    address = urlsplit(server.url)
    if address.scheme == "http" and address.hostname not in LOOPBACK:
        arguments.append("--allow-http")
    environ = {}
    if server.key:
        arguments += ["--header", "Authorization:${KB_AUTHORIZATION}"]
        environ["KB_AUTHORIZATION"] = server.headers["Authorization"]
    return _given({"command": "npx", "args": arguments, "env": environ})


def _given(entry: Json) -> Json:
    return {name: value for name, value in entry.items() if value}


def skill_file(machine: Machine) -> Path:
    """The file in which Claude Code looks for the skill of this name, in every project."""
    folder = machine.folder("CLAUDE_CONFIG_DIR", machine.home / ".claude")
    return folder / "skills" / "kb" / "SKILL.md"


def _claude_desktop_file(machine: Machine) -> Path:
    name = "claude_desktop_config.json"
    if machine.platform == "win32":
        # As a packaged app it sees a roaming folder of its own, and never the one all others see.
        local = machine.folder("LOCALAPPDATA", machine.home / "AppData" / "Local")
        packages = sorted((local / "Packages").glob("Claude_*"))
        files = [each / "LocalCache" / "Roaming" / "Claude" / name for each in packages]
        for file in sorted(files, key=lambda file: not file.exists()):
            return file
    return machine.app_data / "Claude" / name


CLIENTS: tuple[Client, ...] = (
    Client(
        "claude-code",
        "Claude Code",
        "mcpServers",
        lambda machine: machine.folder("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json",
        _typed_http,
        _typed_stdio,
        then="start a new session; /mcp shows it",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        "mcpServers",
        _claude_desktop_file,
        _through_mcp_remote,
        _bare_stdio,
        then="quit Claude Desktop and start it again",
        stdio_only=True,
    ),
    Client(
        "cursor",
        "Cursor",
        "mcpServers",
        lambda machine: machine.home / ".cursor" / "mcp.json",
        _at(),
        _bare_stdio,
        then="restart Cursor and see in its MCP settings that it is switched on",
    ),
    Client(
        "vscode",
        "VS Code",
        "servers",
        lambda machine: machine.app_data / "Code" / "User" / "mcp.json",
        _typed_http,
        _typed_stdio,
        then='run "MCP: List Servers" from the command palette and start it',
    ),
    Client(
        "codex",
        "Codex",
        "mcp_servers",
        lambda machine: machine.folder("CODEX_HOME", machine.home / ".codex") / "config.toml",
        _at(headers="http_headers"),
        _bare_stdio,
        then="start a new session; /mcp shows it",
        is_toml=True,
    ),
    Client(
        "gemini",
        "Gemini CLI",
        "mcpServers",
        lambda machine: machine.folder("GEMINI_CLI_HOME", machine.home) / _GEMINI_FILE,
        # `url` alone means the older transport to most versions; all of them know this name.
        _at(url="httpUrl"),
        _bare_stdio,
        then="start it again; /mcp shows it",
    ),
    Client("json", "any other", "mcpServers", lambda _: None, _typed_http, _typed_stdio),
)
