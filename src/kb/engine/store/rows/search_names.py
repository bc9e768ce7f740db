"""The names a document is found by: title, file name, nearest folders."""

import re

# The words of a folder stand with every passage below it: those far above tell little about any.
FOLDERS = 3
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SEPARATOR = re.compile(r"[/\\]+")
_DRIVE = re.compile(r"[A-Za-z]:")
_HOMES = ("home", "Users")  # and the next is somebody's name


def called(title: str, filename: str | None, source_path: str | None) -> str:
    """All of it as one line. Each passage of the document is found by these words too."""
    names = _nearest(source_path or "")
    if filename and filename not in names:
        names.append(filename)
    return " | ".join([title, *names])


def _nearest(path: str) -> list[str]:
    """The end of a path: what it leads to, and the folders around that."""
    parts = [
        part for part in _SEPARATOR.split(_SCHEME.sub("", path)) if part not in ("", ".", "..")
    ]
    if parts and _DRIVE.fullmatch(parts[0]):
        parts = parts[1:]
    if len(parts) > 2 and parts[0] in _HOMES:
        parts = parts[2:]
    return parts[-FOLDERS - 1 :]
