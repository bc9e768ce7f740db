"""`kb up` and `kb engine`: settings in, running processes out.

The processes run as `python -m …` of their own, so this command imports nothing of theirs.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click

from kb import __version__
from kb.cli.children import Child, supervise
from kb.cli.failure import Failure
from kb.settings import Value, read_settings

# One package of each kind that only the engine needs: any missing one means the extra is missing.
_ENGINE_PACKAGES = ("apsw", "fastapi", "numpy", "onnxruntime", "uvicorn")

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (addresses we recognise)


def _engine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The settings people change most, as options; each one overrides its variable."""
    for option, variable, meaning in (
        ("--data-dir", "KB_DATA_DIR", "The folder that holds everything stored."),
        ("--port", "KB_PORT", "The port the engine listens on."),
        ("--host", "KB_HOST", "The address the engine listens on."),
    ):
        function = click.option(
            option,
            metavar=variable.removeprefix("KB_"),
            help=f"{meaning} [env var: {variable}]",
        )(function)
    return function


@click.command("up")
@_engine_options
def up_command(host: str | None, port: str | None, data_dir: str | None) -> int:
    """Run everything in the foreground; Ctrl-C stops it.

    \b
    Exit code 0 after Ctrl-C or SIGTERM, 1 if the engine keeps crashing,
    2 if it cannot start with these settings.
    """
    environ = _with_options(host, port, data_dir)
    settings = _engine_settings(environ)
    return supervise(_children(settings, environ), lambda: click.echo(_greeting(settings, environ)))


@click.command("engine")
@_engine_options
def engine_command(host: str | None, port: str | None, data_dir: str | None) -> NoReturn:
    """Run the engine alone.

    The command becomes the engine: signals, exit code and log are the engine's own.
    """
    environ = _with_options(host, port, data_dir)
    _engine_settings(environ)
    command = python_module("kb.engine")
    sys.stdout.flush()
    if os.name == "nt":  # there, exec starts a second process and ends this one at once
        sys.exit(subprocess.call(command, env=environ))  # noqa: S603 (our own interpreter and module)
    os.execve(command[0], command, environ)  # noqa: S606 (no shell is wanted)


def python_module(name: str) -> list[str]:
    """The command that runs one of our modules; -P keeps the current folder from shadowing it."""
    return [sys.executable, "-P", "-m", name]


def _with_options(host: str | None, port: str | None, data_dir: str | None) -> dict[str, str]:
    """The environment of the processes: ours, with the options in it."""
    options = {"KB_HOST": host, "KB_PORT": port, "KB_DATA_DIR": data_dir}
    return {**os.environ, **{name: value for name, value in options.items() if value}}


def _engine_settings(environ: dict[str, str]) -> dict[str, Value]:
    """What the engine will read, once it is clear that there is an engine."""
    if any(importlib.util.find_spec(package) is None for package in _ENGINE_PACKAGES):
        raise Failure('the engine is not installed here; run: pip install "kb[engine]"')
    return read_settings(environ, reader="engine")


def _children(settings: dict[str, Value], environ: dict[str, str]) -> list[Child]:
    """Everything `kb up` runs."""
    host, port = settings["KB_HOST"].value, settings["KB_PORT"].value
    probe = _EVERYWHERE.get(host, host)
    return [
        Child("engine", python_module("kb.engine"), probe, port, "/readyz", environ),
    ]


def _greeting(settings: dict[str, Value], environ: dict[str, str]) -> str:
    host, port = settings["KB_HOST"].value, settings["KB_PORT"].value
    shown = _EVERYWHERE.get(host, host)
    url = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    lines = [
        f"kb {__version__} is up; Ctrl-C stops it",
        "",
        f"  API   {url}/api/v1",
        f"  Data  {settings['KB_DATA_DIR'].text}",
        "",
        "In another terminal:",
        "",
    ]
    if read_settings(environ, reader="client")["KB_ENGINE_URL"].value != url:
        lines.append(f"  export KB_ENGINE_URL={url}")
    if settings["KB_API_KEY"].value:
        lines.append("  export KB_API_KEY=…         the key this engine asks for")
    lines += [
        "  kb add FOLDER               put documents in",
        '  kb search "some words"      find them again',
        "",
    ]
    return "\n".join(lines)
