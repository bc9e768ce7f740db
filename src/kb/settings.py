"""The environment in, settings out.

Every program of kb reads its settings here, so a name is written, checked and documented once.
This module needs only the standard library and platformdirs: the command line must start fast.
"""

import ipaddress
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs

MASK = "•••"


class BadSetting(Exception):
    """A setting that cannot be used; the message is the one line to print before exit code 2."""


class _Unusable(Exception):
    """What is wrong with a text and what to use instead; `_parsed` adds whose text it is."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One name a person can set. `parse` turns its text into the value the programs use."""

    name: str
    default: str
    meaning: str
    readers: tuple[str, ...]
    parse: Callable[[str], Any]
    secret: bool = False

    @property
    def key(self) -> str:
        """The name as the config file spells it: `KB_DATA_DIR` is `data_dir`."""
        return self.name.removeprefix("KB_").lower()


@dataclass(frozen=True, slots=True)
class Value:
    """A setting as it stands. `text` may be shown to anyone; `value` may be a secret.

    The value is kept out of the repr so that a key cannot reach a log or a traceback by accident.
    """

    setting: Setting
    value: Any = field(repr=False)
    text: str
    origin: str


def read_settings(
    environ: Mapping[str, str] = os.environ, reader: str | None = None
) -> dict[str, Value]:
    """Every setting (or those `reader` reads) by name: environment, then file, then default.

    An empty variable counts as not set, since that is how compose files pass on what is missing.
    What another program reads is not checked: a bad KB_PORT must not stop a client.
    """
    path = _config_path(environ)
    in_file = _read_file(path) if path else {}
    values = {}
    for setting in SETTINGS:
        if reader is not None and reader not in setting.readers:
            continue
        if environ.get(setting.name, "").strip():
            text, origin = environ[setting.name], "environment"
        elif setting.key in in_file:
            text, origin = in_file[setting.key], f"file {path}"
        else:
            text, origin = setting.default, "default"
        values[setting.name] = _parsed(setting, text.strip(), origin)
    return values


def _parsed(setting: Setting, text: str, origin: str) -> Value:
    # A password in a URL is a secret too, and a bad URL would be shown with it.
    shown = MASK if setting.secret and text else re.sub("//[^/]*@", f"//{MASK}@", text)
    try:
        value = setting.parse(text)
    except _Unusable as error:
        where = f" (in {origin.removeprefix('file ')})" if origin.startswith("file ") else ""
        raise BadSetting(f"{setting.name}={shown}: {error}{where}") from None
    if isinstance(value, Path):
        shown = str(value)
    return Value(setting, value, shown, origin)


def _config_path(environ: Mapping[str, str]) -> Path | None:
    """The config file to read. A named one must exist; the platform's own need not."""
    named = environ.get("KB_CONFIG", "").strip()
    if named:
        try:
            return _path(named)
        except _Unusable as error:
            raise BadSetting(f"KB_CONFIG={named}: {error}") from None
    return Path(_CONFIG_DEFAULT) if os.path.lexists(_CONFIG_DEFAULT) else None


def _read_file(path: Path) -> dict[str, str]:
    """The file's settings as texts, so that both sources go through the same `parse`."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            table = tomllib.load(file)
    except OSError as error:
        raise BadSetting(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path}: not valid TOML: {error}") from None
    known = {setting.key: setting for setting in SETTINGS if setting.name != "KB_CONFIG"}
    for key in table:
        if key not in known:
            raise BadSetting(f"{path}: unknown setting {key!r}, use one of {', '.join(known)}")
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        secrets = [key for key in table if known[key].secret]
        if secrets:
            raise BadSetting(
                f"{path}: holds {secrets[0]} but others can read it, run: chmod 600 {path}"
            )
    return {key: _as_text(path, key, value) for key, value in table.items()}


def _as_text(path: Path, key: str, value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise BadSetting(f"{path}: {key} must be a text, a whole number or a list of texts")


def _whole_number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) < 10
        if not (digits and least <= int(text) <= most):
            raise _Unusable(f"not a usable number, use a whole number from {least} to {most}")
        return int(text)

    return parse


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise _Unusable(f"unknown, use one of {', '.join(choices)}")
        return text.lower()

    return parse


_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")


def _is_host_name(text: str) -> bool:
    return len(text) <= 253 and _HOST_NAME.fullmatch(text) is not None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _host(text: str) -> str:
    if not (_is_address(text) or _is_host_name(text)):
        raise _Unusable("not a host, use an address or a name alone, such as 127.0.0.1 or ::1")
    return text


def _host_names(text: str) -> tuple[str, ...]:
    names = [name.strip().lower().rstrip(".") for name in text.split(",")]
    for name in filter(None, names):
        if not _is_host_name(name):
            raise _Unusable(
                f"{name!r} is not a host name, use names without port or scheme, such as kb.example"
            )
    return tuple(dict.fromkeys(filter(None, names)))


def _http_url(text: str) -> str:
    """The URL without a final slash. Name and password have no place in it: there is the key."""
    advice = "use an address such as http://127.0.0.1:8000"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _Unusable(f"not a URL, {advice}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise _Unusable(f"not an http or https URL, {advice}")
    if parts.username is not None or parts.query or parts.fragment:
        raise _Unusable(f"a user name, query or fragment does not belong here, {advice}")
    return text.rstrip("/")


def _api_key(text: str) -> str:
    """Printable ASCII without spaces: anything else cannot travel in an Authorization header."""
    if not all("!" <= character <= "~" for character in text):
        raise _Unusable("cannot be sent in a header, use a key made by `kb keygen`")
    return text


def _database_url(text: str) -> str:
    if text:
        raise _Unusable("PostgreSQL is not supported yet, use nothing: SQLite is below KB_DATA_DIR")
    return text


def _path(text: str) -> Path:
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError:
        raise _Unusable("there is no such home folder, use an absolute path") from None
    if "\0" in text:
        raise _Unusable("not a path, use an absolute path")
    return path


_LANGUAGE = re.compile(r"(script/)?[A-Za-z]{3,20}(_[A-Za-z]{2,10}){0,2}")


def _languages(text: str) -> str:
    """As tesseract wants them, `eng+deu`. They reach its command line, so they are only names."""
    names = [name.strip() for name in re.split("[+,]", text)]
    for name in names:
        if not _LANGUAGE.fullmatch(name):
            raise _Unusable(
                f"{name!r} is not a language, use tesseract's names for them, such as eng+deu"
            )
    return "+".join(dict.fromkeys(names))


_CONFIG_DEFAULT = str(platformdirs.user_config_path("kb", appauthor=False) / "config.toml")
_DATA_DEFAULT = str(platformdirs.user_data_path("kb", appauthor=False))

ENGINE, CLIENT, MCP = "engine", "client", "mcp"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "KB_CONFIG",
        _CONFIG_DEFAULT,
        "a TOML file with settings; it need not exist unless it is named here",
        (ENGINE, CLIENT, MCP),
        _path,
    ),
    Setting("KB_HOST", "127.0.0.1", "the address the engine listens on", (ENGINE,), _host),
    Setting(
        "KB_PORT", "8000", "the port the engine listens on", (ENGINE,), _whole_number(1, 65535)
    ),
    Setting(
        "KB_DATA_DIR", _DATA_DEFAULT, "the folder that holds everything stored", (ENGINE,), _path
    ),
    Setting(
        "KB_DATABASE_URL",
        "",
        "empty: SQLite below KB_DATA_DIR; anything else is refused",
        (ENGINE,),
        _database_url,
    ),
    Setting(
        "KB_API_KEY",
        "",
        "the key the API asks for and clients send; empty: no key is asked",
        (ENGINE, CLIENT, MCP),
        _api_key,
        secret=True,
    ),
    Setting(
        "KB_ALLOWED_HOSTS",
        "",
        "host names, separated by commas, under which the engine may be reached"
        " beside loopback and addresses",
        (ENGINE,),
        _host_names,
    ),
    Setting(
        "KB_MAX_FILE_MB",
        "100",
        "the largest file the engine takes, in megabytes of 2²⁰ bytes",
        (ENGINE,),
        _whole_number(1, 2048),
    ),
    Setting(
        "KB_EMBEDDER",
        "minilm",
        "what turns text into vectors: minilm; hash is for tests only",
        (ENGINE,),
        _one_of("minilm", "hash"),
    ),
    Setting(
        "KB_OCR_ENGINE",
        "auto",
        "what reads the text in pictures: auto, rapidocr, tesseract, or off",
        (ENGINE,),
        _one_of("auto", "rapidocr", "tesseract", "off"),
    ),
    Setting(
        "KB_OCR_LANGUAGES",
        "eng",
        "the languages tesseract reads, by its names for them, such as eng+deu",
        (ENGINE,),
        _languages,
    ),
    Setting(
        "KB_LOG_LEVEL",
        "info",
        "how much is logged: debug, info, warning or error",
        (ENGINE, MCP),
        _one_of("debug", "info", "warning", "error"),
    ),
    Setting(
        "KB_ENGINE_URL",
        "http://127.0.0.1:8000",
        "where clients find the engine",
        (CLIENT, MCP),
        _http_url,
    ),
)
