"""What a source path names: one thing in the world or a label, and in which spellings.

An é is one character or two (Unicode's NFC and NFD): a Mac uses NFD where a keyboard types NFC, and
both mean the same file. Paths are kept in NFC. Only if two files lie side by side whose names
differ in nothing else is each a file of its own.
"""

import os
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath

# `/home/anna/a.txt`, `C:\a.txt`, `\\server\share\a.txt`, `https://example.org/a`.
# A scheme needs its slashes: `agent:mybot` is a label.
_ONE_THING = re.compile(r"/|[A-Za-z]:[\\/]|\\\\[^\\]|[A-Za-z][A-Za-z0-9+.-]*://.")
_FOLDERS = 64
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\[^\\]")
# What is not UTF-8 is half a character to Python.
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LIKE_AN_ESCAPE = re.compile(r"\\(?=x[0-9a-f]{2})")


def names_one_thing(source_path: str) -> bool:
    """True for an absolute path or a URL; false for a bare name, which each agent may give."""
    return _ONE_THING.match(source_path) is not None


def normal_form(source_path: str) -> str:
    """How a path is stored, however it was spelled: in NFC, without white space around it."""
    return unicodedata.normalize("NFC", source_path).strip()


def spellings(source_path: str) -> list[str]:
    """What a person may mean by a path, each once: as it was typed first, then as it is kept."""
    normal = normal_form(source_path)
    return list(dict.fromkeys((source_path, normal, unicodedata.normalize("NFD", normal))))


def is_readable(path: str) -> bool:
    """Whether a path is text on one line, as all are that a store keeps."""
    return _UNREADABLE.search(path) is None


def readable(path: str) -> str:
    r"""A path of this machine as text on one line, never the same for two files.

    The bytes of what is not UTF-8 or steers a terminal become escapes (`\x0a`). So does a backslash
    that a name has before what would read as one.
    """
    text = os.fsencode(path).decode("utf-8", "surrogateescape")
    if os.sep == "/":  # elsewhere it parts folders
        text = _LIKE_AN_ESCAPE.sub(r"\\x5c", text)
    return _UNREADABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode("utf-8", "surrogateescape"))


def file_name(path: str) -> str:
    """The last name in a path, which a program of another system may have sent: a backslash parts
    folders only in a path that begins as those of Windows do."""
    return (PureWindowsPath if _WINDOWS.match(path) else PurePosixPath)(path).name


def has_namesake(path: str) -> bool:
    """Whether another file of this machine has the same path but for its spelling.

    The one that is spelled as paths are kept is the file that is meant by that.
    """
    if normal_form(path) == path:
        return False
    folder, name = os.path.split(path)
    while name:
        if _normal_name(name) != name and name in _namesakes_in(folder):
            return True
        folder, name = os.path.split(folder)
    return False


def _normal_name(name: str) -> str:
    return unicodedata.normalize("NFC", name).rstrip()


def _namesakes_in(folder: str) -> frozenset[str]:
    try:
        return _read_folder(folder, os.stat(folder).st_mtime_ns)
    except OSError:
        return frozenset()


@lru_cache(_FOLDERS)
def _read_folder(folder: str, _changed: int) -> frozenset[str]:
    """The names in a folder that are there in more than one spelling; read again if it changed."""
    names = os.listdir(folder)
    spelled = Counter(map(_normal_name, names))
    return frozenset(name for name in names if spelled[_normal_name(name)] > 1)
