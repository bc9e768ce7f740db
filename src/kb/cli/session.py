"""Connects to the engine: what every command that talks to it shares."""

import json
import os
import stat
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import anyio
import click
import httpx

from kb.cli.failure import Failure, Misuse
from kb.cli.terminal.say import print_json
from kb.client import EngineClient, EngineTooOld, problem
from kb.settings import BadSetting, read_settings

Answer = TypeVar("Answer")

_TOO_LONG = "text: a note has at most 1,000,000 characters; add a longer text as a file"
_LONGEST_NOTE = 4_000_000  # bytes: whatever is longer has more characters than a note may have


@dataclass(frozen=True)
class Session:
    """One run of a command: which engine, with which key, and for whom the output is.

    `origin` is what this machine is called where a path alone would not tell.
    """

    url: str
    key: str
    as_json: bool
    origin: str | None = None

    def run(self, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
        """Do the work with a client; whatever goes wrong becomes one line that says what to do."""

        async def with_client() -> Answer:
            async with EngineClient(self.url, self.key, origin=self.origin) as client:
                return await work(client)

        try:
            return anyio.run(with_client)
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            raise self.failure(error) from error

    def show(self, answer: Answer, show: Callable[[Answer], object]) -> None:
        """The answer as JSON if that was asked for, or as `show` shows it to people."""
        if self.as_json:
            print_json(answer)
        else:
            show(answer)

    def failure(self, error: Exception) -> Failure:
        if isinstance(error, EngineTooOld):
            return Failure(str(error))
        if isinstance(error, OSError):  # of a file here, which was to be read
            return Failure(f"{error.filename or 'this machine'}: {error.strerror or error}")
        if isinstance(error, httpx.HTTPStatusError):
            asked_wrongly = problem(error)["error"] == "invalid_request"
            return (Misuse if asked_wrongly else Failure)(self._refusal(error))
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return Failure(f"no engine at {self.url}; {self._advice()}")
        if isinstance(error, httpx.TimeoutException):
            return Failure(f"the engine at {self.url} took too long to answer; try again")
        if isinstance(error, httpx.HTTPError):
            reason = str(error) or type(error).__name__
            return Failure(
                f"the connection to the engine at {self.url} broke ({reason}); try again"
            )
        return Failure(f"the answer of {self.url} is not an engine's: {error}")

    def _refusal(self, error: httpx.HTTPStatusError) -> str:
        if error.response.status_code == 401:
            if self.key:
                advice = "does not know this key; check KB_API_KEY or --api-key-file"
            else:
                advice = "asks for a key; set KB_API_KEY or use --api-key-file"
            return f"the engine at {self.url} {advice}"
        message: str = problem(error)["message"]
        return message

    def is_here(self) -> bool:
        """Whether the engine is on this machine, so that its paths are ours."""
        return urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")

    def _advice(self) -> str:
        if self.is_here():
            return 'start one with "kb up"'
        return "check KB_ENGINE_URL and that the engine runs"


def engine_of(engine_url: str | None, api_key_file: Path | None) -> tuple[str, str, str]:
    """The engine's address, its key, and our own name: by options, environment and file."""
    given = {"KB_ENGINE_URL": engine_url or ""}
    if api_key_file is not None:
        given["KB_API_KEY"] = _read_key(api_key_file)
    environ = {**os.environ, **{name: text for name, text in given.items() if text}}
    settings = read_settings(environ, reader="client")
    url, key, origin = (
        settings[f"KB_{name}"].value for name in ("ENGINE_URL", "API_KEY", "ORIGIN")
    )
    return url, key, origin


def _read_key(path: Path) -> str:
    """The first line of a key file. A key that others can read is not a key."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            key = file.readline().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise BadSetting(f"--api-key-file {path}: cannot be read: {reason}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO) and stat.S_ISREG(mode):
        raise BadSetting(f"--api-key-file {path}: others can read it, run: chmod 600 {path}")
    if not key:
        raise BadSetting(f"--api-key-file {path}: empty, use a key made by `kb keygen`")
    return key


def read_text(text: str | None) -> str:
    """The text as given, or all of standard input where it is `-` or missing."""
    if text is None and sys.stdin.isatty():
        raise click.UsageError("Give a text, or - to read it from standard input")
    if text is None or text == "-":
        piped = sys.stdin.buffer.read(_LONGEST_NOTE + 1)
        if len(piped) > _LONGEST_NOTE:
            raise Misuse(_TOO_LONG)
        try:
            text = piped.decode("utf-8")
        except UnicodeDecodeError:
            raise Failure("standard input is not UTF-8 text; use kb add for files") from None
    if not text.strip():
        raise Failure("a note needs some text, and this one is empty")
    return text
