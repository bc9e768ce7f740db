"""How an agent reaches the MCP server, from the server's settings."""

import os
import re
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import click

from kb.cli.connect.clients import Server
from kb.settings import MASK, SETTINGS, Value, read_settings, url_from_here

_NAME = re.compile("[A-Za-z0-9_-]{1,60}")

# What says where the server listens and to whom. A server that the client runs does not listen.
_LISTENING = frozenset(
    f"KB_MCP_{name}"
    for name in ("HOST", "PORT", "PUBLISHED_HOST", "API_KEY", "ALLOWED_HOSTS", "PUBLIC_URL")
) | {"KB_STRICT"}


def read_server(name: str, url: str | None) -> Server:
    """The server as it is set up on this machine, or the one at `url`."""
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"--name {name!r}: use letters, digits, - and _")
    environ = {**os.environ, **({"KB_MCP_PUBLIC_URL": url} if url else {})}
    settings = read_settings(environ, reader="mcp")
    return Server(
        name=name,
        url=_endpoint(settings),
        key=settings["KB_MCP_API_KEY"].value,
        command=_command(),
        environ=_environ(settings),
    )


def hidden(server: Server) -> Server:
    """The same with every secret masked, to be shown to anyone."""
    secrets = {setting.name for setting in SETTINGS if setting.secret}
    return replace(
        server,
        key=server.key and MASK,
        environ={name: MASK if name in secrets else text for name, text in server.environ.items()},
    )


def _endpoint(settings: dict[str, Value]) -> str:
    public: str = settings["KB_MCP_PUBLIC_URL"].value
    if public:
        return public if public.endswith("/mcp") else f"{public}/mcp"
    host, port = settings["KB_MCP_HOST"].value, settings["KB_MCP_PORT"].value
    return f"{url_from_here(host, port)}/mcp"


def _command() -> tuple[str, ...]:
    """`kb mcp --stdio` by its whole path: applications with a window know no PATH of a shell."""
    script = Path(sysconfig.get_path("scripts"), "kb.exe" if os.name == "nt" else "kb")
    if script.exists():
        return (str(script), "mcp", "--stdio")
    return (sys.executable, "-P", "-m", "kb.mcp", "--stdio")


def _environ(settings: dict[str, Value]) -> dict[str, str]:
    """What came by this shell's environment, which the client will not have.

    Settings from the config file are left out: kb reads that file by itself. Where the engine is
    may have come by KB_PORT, so that goes along as the address it makes.
    """
    return {
        name: str(value.value) if value.setting.secret else value.text
        for name, value in settings.items()
        if (value.origin == "environment" or "(environment)" in value.origin)
        and name not in _LISTENING
    }
