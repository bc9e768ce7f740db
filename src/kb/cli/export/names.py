"""Chooses the name of each document's file in an export.

Each path is valid on every common system, stays inside its folder, and is unique even if upper and
lower case or two spellings of an accent count as equal. Documents come in order of their ids; if a
path is taken, the later document gets its id beside its name.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from kb.imports.own_export.form import FILES, NOTES

_LONGEST_NAME = 120  # bytes
_LONGEST_PATH = 180  # characters below the export, of the 260 that some systems have in all
_LONGEST_ENDING = 20
_UNTITLED = "untitled"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ADDRESS = re.compile(r"https?://([^/?#]+)", re.IGNORECASE)
_WINDOWS = re.compile(r"([A-Za-z]):[\\/]|\\\\[^\\]")
_ESCAPES = re.compile(r"(?:\\x[0-9a-f]{2})+")  # what `kb add` sends for what was no text
_QUESTION = re.compile(r"\?+(?=\s|$)")
# What some system does not take in a name, and what a person reads as the same.
_FORBIDDEN = str.maketrans(
    {**dict.fromkeys(":/\\|", "-"), **dict.fromkeys("?*", "_")} | {'"': "'", "<": "(", ">": ")"}
)
_JOINERS = "\u200c\u200d"  # within emoji and some scripts; of use to nobody else
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)


class Names:
    """Gives each document its path; remembers those that are taken."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def path(self, document: dict[str, Any]) -> str:
        """The path of a document's file or note, with slashes."""
        is_note = document["doc_type"] == "note"
        called = document["source_path"] or document["filename"] or document["title"]
        if document["source_path"] is None and is_note:
            called = _safe(document["title"])
        address = _ADDRESS.match(called)
        if is_note and address:  # of which the rest says nothing to a person
            folders, name = [_safe(address[1])], _safe(_dated_title(document))
        else:
            *folders, name = _parts(called)
        if is_note:
            name = _shortened(name.removesuffix(".md"), _LONGEST_NAME - 3) + ".md"
        folders = _fitting([NOTES if is_note else FILES, *folders], name)
        return self._taken(self._free_folders(folders), name, document["id"])

    def _free_folders(self, folders: Iterable[str]) -> str:
        """The folder, with other names where a file has one of these already."""
        path = ""
        for folder in folders:
            candidate = f"{path}{folder}"
            while _folded(candidate) in self._files:
                candidate += "_"
            self._folders.add(_folded(candidate))
            path = f"{candidate}/"
        return path

    def _taken(self, folder: str, name: str, document_id: int) -> str:
        path = f"{folder}{name}"
        stem, ending = _split(name)
        attempt = 1
        while _folded(path) in self._files or _folded(path) in self._folders:
            mark = f" ({document_id})" if attempt == 1 else f" ({document_id}-{attempt})"
            room = _LONGEST_NAME - len(mark) - len(ending.encode())
            path = f"{folder}{_shortened(stem, room)}{mark}{ending}"
            attempt += 1
        self._files.add(_folded(path))
        return path


def _dated_title(document: dict[str, Any]) -> str:
    """The title of a note; that of a conversation behind its day, since many are called alike."""
    title = str(document["title"])
    is_conversation = "conversation" in document["metadata"]
    return f"{document['created_at'][:10]} {title}" if is_conversation else title


def _parts(called: str) -> list[str]:
    """The folders and the name; an address of the web lies in a folder of its host."""
    called = unicodedata.normalize("NFC", called)
    called = _SCHEME.sub(lambda scheme: scheme[0][:-3] + "/", called)
    windows = _WINDOWS.match(called)
    if windows:
        called = (f"{windows[1]}/{called[3:]}" if windows[1] else called).replace("\\", "/")
    called = _ESCAPES.sub("_", called)
    if "/" not in called:  # a label, or a name from another system
        called = called.replace("\\", "/")
    parts = [_safe(part) for part in called.split("/") if part.strip() not in ("", ".", "..")]
    return parts or [_UNTITLED]


def _safe(name: str) -> str:
    """A name that every system takes."""
    name = _QUESTION.sub("", name).translate(_FORBIDDEN)
    name = " ".join("".join(map(_visible, name)).split())
    name = _shortened(name.rstrip(". ") or _UNTITLED, _LONGEST_NAME)
    return f"_{name}" if _DEVICE.fullmatch(name) else name


def _visible(sign: str) -> str:
    """A character as it is, or what replaces an invisible control character."""
    category = unicodedata.category(sign)
    if category in ("Cc", "Cs", "Zl", "Zp"):
        return " "
    return "" if category == "Cf" and sign not in _JOINERS else sign


def _split(name: str) -> tuple[str, str]:
    stem, dot, ending = name.rpartition(".")
    return (stem, dot + ending) if stem and len(ending) < _LONGEST_ENDING else (name, "")


def _shortened(name: str, most: int) -> str:
    """A name of at most this many bytes that keeps its ending."""
    if len(name.encode()) <= most:
        return name
    stem, ending = _split(name)
    room = max(1, most - len(ending.encode()))
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + ending


def _fitting(folders: list[str], name: str) -> list[str]:
    """The folders, unless their path is too long: then its beginning, and a name for the rest."""
    if len("/".join([*folders, name])) <= _LONGEST_PATH:
        return folders
    rest = hashlib.sha256("/".join(folders).encode()).hexdigest()[:12]
    kept, room = [], _LONGEST_PATH - len(name) - len(rest) - 2
    for folder in folders:
        room -= len(folder) + 1
        if room < 0:
            break
        kept.append(folder)
    return [*(kept or folders[:1]), rest]


def _folded(path: str) -> str:
    """A form that is equal for two paths that some system takes for the same."""
    plain = path.translate(dict.fromkeys(map(ord, _JOINERS)))
    return unicodedata.normalize("NFKC", plain.casefold())
