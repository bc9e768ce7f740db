"""Parses the text of a setting."""

import ipaddress
import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit


class Unusable(Exception):
    """What is wrong with a text and what to use instead; the catcher adds whose text it is."""


def whole_number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) < 10
        if not (digits and least <= int(text) <= most):
            raise Unusable(f"not a usable number, use a whole number from {least} to {most}")
        return int(text)

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise Unusable(f"unknown, use one of {', '.join(choices)}")
        return text.lower()

    return parse


_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def switch(text: str) -> bool:
    if text.lower() not in _ON + _OFF:
        raise Unusable("neither on nor off, use 1 or 0")
    return text.lower() in _ON


_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")


def _is_host_name(text: str) -> bool:
    return len(text) <= 253 and _HOST_NAME.fullmatch(text) is not None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def host(text: str) -> str:
    if not (_is_address(text) or _is_host_name(text)):
        raise Unusable("not a host, use an address or a name alone, such as 127.0.0.1 or ::1")
    return text


def optional_host(text: str) -> str:
    return host(text) if text else text


def host_names(text: str) -> tuple[str, ...]:
    names = [name.strip().lower().rstrip(".") for name in text.split(",")]
    for name in filter(None, names):
        if not _is_host_name(name):
            raise Unusable(
                f"{name!r} is not a host name, use names without port or scheme, such as kb.example"
            )
    return tuple(dict.fromkeys(filter(None, names)))


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(text: str) -> tuple[Network, ...]:
    names = filter(None, (name.strip() for name in text.split(",")))
    found: list[Network] = []
    for name in names:
        try:
            found.append(ipaddress.ip_network(name))
        except ValueError:
            raise Unusable(
                f"{name!r} is neither an address nor a network, use such as 127.0.0.1 or"
                " 172.16.0.0/12"
            ) from None
    return tuple(dict.fromkeys(found))


def _listed(text: str, is_right: Callable[[str], object], advice: str) -> tuple[str, ...]:
    """What is between commas, each once."""
    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
    for name in names:
        if not is_right(name):
            raise Unusable(f"{name!r} is {advice}")
    return names


_ORIGIN = re.compile(r"https?://([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?")


def origins(text: str) -> tuple[str, ...]:
    """As a browser spells the origin of a page: scheme, host, and a port that is not the usual."""
    advice = "not an origin, use such as http://localhost:5173"
    return _listed(text.lower(), _ORIGIN.fullmatch, advice)


def http_url(text: str) -> str:
    """The URL without a final slash. Name and password have no place in it: there is the key."""
    advice = "use an address such as http://127.0.0.1:8000"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Unusable(f"not a URL, {advice}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Unusable(f"not an http or https URL, {advice}")
    if parts.username is not None or parts.query or parts.fragment:
        raise Unusable(f"a user name, query or fragment does not belong here, {advice}")
    return text.rstrip("/")


def optional_url(text: str) -> str:
    return http_url(text) if text else text


def api_key(text: str) -> str:
    """Printable ASCII without spaces: anything else cannot travel in an Authorization header."""
    if not all("!" <= character <= "~" for character in text):
        raise Unusable("cannot be sent in a header, use a key made by `kb keygen`")
    return text


def database_url(text: str) -> str:
    if text:
        raise Unusable("PostgreSQL is not supported yet, use nothing: SQLite is below KB_DATA_DIR")
    return text


def path(text: str) -> Path:
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError:
        raise Unusable("there is no such home folder, use an absolute path") from None
    if "\0" in text:
        raise Unusable("not a path, use an absolute path")
    return path


_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def model(text: str) -> str:
    """The name of a model, or the whole path of a folder that holds one."""
    if not text or _MODEL.fullmatch(text):
        return text
    folder = path(text)
    if not Path(text).expanduser().is_absolute():
        raise Unusable(
            "not the name of a model, use one that `kb model list` shows, or the whole path of a"
            " folder that holds a model"
        )
    return str(folder)


def optional_folder(text: str) -> Path | None:
    """Whole: what it would be below depends on where a server was started."""
    if not text:
        return None
    if not Path(text).expanduser().is_absolute():
        raise Unusable("not a whole path, use one such as /mnt/disk/kb-backups")
    return path(text)


def folders(text: str) -> tuple[Path, ...]:
    """Separated by commas, or as in PATH. Whole paths only: a server has no place of its own."""
    names = [name.strip() for name in re.split(f"[,{os.pathsep}]", text)]
    found = tuple(path(name) for name in dict.fromkeys(filter(None, names)))
    for name in filter(None, names):
        if not Path(name).expanduser().is_absolute():
            raise Unusable(f"{name!r} is not a whole path, use one such as /home/anna/documents")
    return found


_LANGUAGE = re.compile(r"(script/)?[A-Za-z]{3,20}(_[A-Za-z]{2,10}){0,2}")


def languages(text: str) -> str:
    """As tesseract wants them, `eng+deu`. They reach its command line, so they are only names."""
    names = [name.strip() for name in re.split("[+,]", text)]
    for name in names:
        if not _LANGUAGE.fullmatch(name):
            raise Unusable(
                f"{name!r} is not a language, use tesseract's names for them, such as eng+deu"
            )
    return "+".join(dict.fromkeys(names))


_COLLECTION = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,62}[a-z0-9])?")


def collection_names(text: str) -> tuple[str, ...]:
    """They become tags and choices in a tool's schema, so they are plain words in small letters."""
    advice = "not a collection, use small letters, digits and hyphens"
    names = _listed(text, _COLLECTION.fullmatch, advice)
    if "documents" not in names:
        raise Unusable("documents is missing, use it among them: what is added goes there")
    return names
