"""Reads and checks the settings from the environment and the config file."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kb.settings.parse import Unusable, switch
from kb.settings.parse import path as parse_path
from kb.settings.reach import url_from_here
from kb.settings.table import CONFIG_DEFAULT, SETTINGS, Setting

MASK = "•••"


class BadSetting(Exception):
    """A setting that cannot be used; the message is the one line to print before exit code 2."""


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
    What another program reads is not checked: a bad KB_MAX_FILE_MB must not stop a client.
    """
    path = _config_path(environ)
    in_file = _read_file(path) if path else {}

    def read(setting: Setting) -> Value:
        if environ.get(setting.name, "").strip():
            text, origin = environ[setting.name], "environment"
        elif setting.key in in_file:
            text, origin = in_file[setting.key], f"file {path}"
        else:
            text, origin = setting.default, "default"
        return _parsed(setting, text.strip(), origin)

    wanted = [each for each in SETTINGS if reader is None or reader in each.readers]
    values = {setting.name: read(setting) for setting in wanted}
    engine_url = values.get("KB_ENGINE_URL")
    if engine_url is not None and engine_url.origin == "default":
        host, port = (read(each) for each in SETTINGS if each.name in ("KB_HOST", "KB_PORT"))
        values["KB_ENGINE_URL"] = _beside(engine_url, host, port)
    return values


def _beside(default: Value, host: Value, port: Value) -> Value:
    """Where KB_HOST and KB_PORT have the engine of this machine listen, if one of them is set."""
    origins: dict[str, list[str]] = {}
    for each in (host, port):
        if each.origin != "default":
            origins.setdefault(each.origin, []).append(each.setting.name)
    if not origins:
        return default
    url = url_from_here(host.value, port.value)
    told = [f"{' and '.join(names)} ({origin})" for origin, names in origins.items()]
    return Value(default.setting, url, url, ", ".join(told))


def _parsed(setting: Setting, text: str, origin: str) -> Value:
    # A password in a URL is a secret too, and a bad URL would be shown with it.
    shown = MASK if setting.secret and text else re.sub("//[^/]*@", f"//{MASK}@", text)
    try:
        value = setting.parse(text)
    except Unusable as error:
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
            return parse_path(named)
        except Unusable as error:
            raise BadSetting(f"KB_CONFIG={named}: {error}") from None
    return Path(CONFIG_DEFAULT) if os.path.lexists(CONFIG_DEFAULT) else None


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
    return {key: _as_text(path, known[key], value) for key, value in table.items()}


def _as_text(path: Path, setting: Setting, value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    if isinstance(value, bool) and setting.parse is switch:
        return str(int(value))
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise BadSetting(f"{path}: {setting.key} must be a text, a whole number or a list of texts")
