"""`kb up`, `kb engine` and `kb mcp`: starts the servers.

The servers run as separate `python -m …` processes, so this command imports none of their code.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click

from kb import __version__
from kb.cli.failure import Failure
from kb.cli.server_processes import Child, supervise
from kb.cli.terminal.say import warn
from kb.settings import (
    Risk,
    Value,
    from_here,
    key_risk,
    read_settings,
    refuse_if_strict,
    secrets,
    url_from_here,
)

# Some packages that only an extra brings: any missing one means that the extra is missing.
_ENGINE_PACKAGES = ("apsw", "fastapi", "numpy", "onnxruntime", "uvicorn")
_MCP_PACKAGES = ("mcp", "mcp_types", "starlette", "uvicorn")
_NO_MCP = 'the MCP server is not installed here; run: pip install "kb[mcp]"'

# What decides where the engine of this machine is, and may be known to this terminal alone.
_ENGINE_ADDRESS = ("KB_HOST", "KB_PORT")

Options = Callable[[Callable[..., Any]], Callable[..., Any]]


def _options(*settings: tuple[str, str, str]) -> Options:
    """The settings people change most, as options; each one overrides its variable."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option, variable, meaning in reversed(settings):
            function = click.option(
                option,
                metavar=option.strip("-").upper().replace("-", "_"),
                help=f"{meaning} [env var: {variable}]",
            )(function)
        return function

    return decorate


_engine_options = _options(
    ("--host", "KB_HOST", "The address the engine listens on."),
    ("--port", "KB_PORT", "The port the engine listens on."),
    ("--data-dir", "KB_DATA_DIR", "The folder that holds everything stored."),
)
_mcp_options = _options(
    ("--host", "KB_MCP_HOST", "The address the MCP server listens on."),
    ("--port", "KB_MCP_PORT", "The port the MCP server listens on."),
    ("--tools", "KB_MCP_TOOLS", "The tools to offer: kb, collections, or knowledge."),
)


@click.command("up")
@_engine_options
@click.option("--no-mcp", is_flag=True, help="Leave out the MCP server.")
def up_command(host: str | None, port: str | None, data_dir: str | None, no_mcp: bool) -> int:
    """Run everything in the foreground; Ctrl-C stops it.

    \b
    Exit code 0 after Ctrl-C or SIGTERM, 1 if the engine keeps crashing,
    2 if something cannot start with these settings.
    """
    environ = _with(KB_HOST=host, KB_PORT=port, KB_DATA_DIR=data_dir)
    engine = _engine_settings(environ)
    url = url_from_here(engine["KB_HOST"].value, engine["KB_PORT"].value)
    mcp = None
    if not no_mcp:
        if is_installed(_MCP_PACKAGES):
            mcp = read_settings(environ, reader="mcp")
        else:
            warn(f"{_NO_MCP}; going on without it")
    risks = [_key_risk("KB_", engine), _key_risk("KB_MCP_", mcp) if mcp else None]
    for risk in risks:
        refuse_if_strict(risk, engine["KB_STRICT"].value)
    children = [_engine_child(engine, environ)]
    if mcp is not None:
        children.append(_mcp_child(mcp, environ | {"KB_ENGINE_URL": url}))

    def greet() -> None:
        click.echo(_greeting(url, engine, mcp, environ))
        for risk in filter(None, risks):
            click.secho(f"WARNING: {risk.message}\n", fg="red", bold=True)

    return supervise(children, greet)


@click.command("engine")
@_engine_options
def engine_command(host: str | None, port: str | None, data_dir: str | None) -> NoReturn:
    """Run the engine alone.

    The command becomes the engine: signals, exit code and log are the engine's own.
    """
    environ = _with(KB_HOST=host, KB_PORT=port, KB_DATA_DIR=data_dir)
    _engine_settings(environ)
    _become(python_module("kb.engine"), environ)


@click.command("mcp")
@_mcp_options
@click.option("--stdio", is_flag=True, help="Speak on standard input and output, for one client.")
def mcp_command(host: str | None, port: str | None, tools: str | None, stdio: bool) -> NoReturn:
    """Run the MCP server alone.

    The command becomes the MCP server: signals, exit code and log are its own. It finds the engine
    at KB_ENGINE_URL, and also starts without it.
    """
    environ = _with(KB_MCP_HOST=host, KB_MCP_PORT=port, KB_MCP_TOOLS=tools)
    refuse_without_mcp()
    read_settings(environ, reader="mcp")
    _become([*python_module("kb.mcp"), *(["--stdio"] if stdio else [])], environ)


def python_module(name: str) -> list[str]:
    """The command that runs one of our modules; -P keeps the current folder from shadowing it."""
    return [sys.executable, "-P", "-m", name]


def _become(command: list[str], environ: dict[str, str]) -> NoReturn:
    sys.stdout.flush()
    if os.name == "nt":  # there, exec starts a second process and ends this one at once
        sys.exit(subprocess.call(command, env=environ))  # noqa: S603 (our own interpreter and module)
    secrets.become(command, environ)


def _with(**options: str | None) -> dict[str, str]:
    """The environment of the processes: ours, with the options in it. Its keys are gone here."""
    return {**secrets.take(), **{name: value for name, value in options.items() if value}}


def is_installed(packages: tuple[str, ...]) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)


def refuse_without_engine() -> None:
    if not is_installed(_ENGINE_PACKAGES):
        raise Failure('the engine is not installed here; run: pip install "kb[engine]"')


def refuse_without_mcp() -> None:
    if not is_installed(_MCP_PACKAGES):
        raise Failure(_NO_MCP)


def _engine_settings(environ: dict[str, str]) -> dict[str, Value]:
    refuse_without_engine()
    return read_settings(environ, reader="engine")


def _engine_child(settings: dict[str, Value], environ: dict[str, str]) -> Child:
    host, port = settings["KB_HOST"].value, settings["KB_PORT"].value
    return Child("engine", python_module("kb.engine"), from_here(host), port, "/readyz", environ)


def _mcp_child(settings: dict[str, Value], environ: dict[str, str]) -> Child:
    host, port = settings["KB_MCP_HOST"].value, settings["KB_MCP_PORT"].value
    return Child(
        "MCP server",
        python_module("kb.mcp"),
        from_here(host),
        port,
        "/healthz",
        environ,
        port_from="KB_MCP_PORT, or leave the MCP server out with --no-mcp",
        essential=False,
    )


def _key_risk(prefix: str, settings: dict[str, Value]) -> Risk | None:
    names = ("HOST", "PUBLISHED_HOST", "API_KEY")
    return key_risk(prefix, *(settings[prefix + name].value for name in names))


def _greeting(
    url: str, engine: dict[str, Value], mcp: dict[str, Value] | None, environ: dict[str, str]
) -> str:
    lines = [
        f"kb {__version__} is up; Ctrl-C stops it",
        "",
        f"  Page  {url}/",
        f"  API   {url}/api/v1",
    ]
    if mcp is not None:
        endpoint = f"{url_from_here(mcp['KB_MCP_HOST'].value, mcp['KB_MCP_PORT'].value)}/mcp"
        asks = ", asks for KB_MCP_API_KEY" if mcp["KB_MCP_API_KEY"].value else ""
        lines.append(f"  MCP   {endpoint}{asks}")
    lines += [f"  Data  {engine['KB_DATA_DIR'].text}", "", "In another terminal:", ""]
    elsewhere = {name: text for name, text in environ.items() if name not in _ENGINE_ADDRESS}
    if read_settings(elsewhere, reader="client")["KB_ENGINE_URL"].value != url:
        lines.append(f"  export KB_ENGINE_URL={url}")
    if engine["KB_API_KEY"].value:
        lines.append("  export KB_API_KEY=…         the key this engine asks for")
    if mcp is not None:
        lines.append("  kb connect                  let an agent use it")
    lines += [
        "  kb add FOLDER               put documents in",
        '  kb search "some words"      find them again',
        "",
    ]
    return "\n".join(lines)
