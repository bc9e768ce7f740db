"""The files in a folder of notes; hidden and unreadable ones are reported.

Links are not followed: they may lead anywhere, and their targets are elsewhere for a reason.
"""

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kb.imports.archive import was_unpacked
from kb.imports.fit import counted, utc
from kb.imports.item import Skipped, Told, Unreadable

# Endings of what kb cannot read, so that no gigabyte of it is sent in vain.
_SOUND = ("aac", "aiff", "flac", "m4a", "mp3", "oga", "ogg", "opus", "wav", "wma")
_FILM = ("avi", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "webm", "wmv")
_PACKED = ("7z", "dmg", "iso", "rar")
_FONTS = ("otf", "ttf", "woff", "woff2")
_OTHER = ("dll", "exe", "fig", "ico", "psd", "sketch", "so")
_UNREAD = (*_PACKED, *_FONTS, *_OTHER)
_EMPTY = "empty"
_DEEPEST = 100
_LOOKED_AT = 20_000  # names
_LEVELS_LOOKED_AT = 4
_LONGEST_TEXT = 20 * 2**20  # bytes; kb takes no longer text


@dataclass(frozen=True, slots=True)
class Found:
    """A file, its path below the folder with `/`, and when it was last written."""

    path: Path
    name: str
    modified: str | None

    @property
    def ending(self) -> str:
        return self.path.suffix.lower().removeprefix(".")


def folder_at(path: Path) -> Path:
    """The folder in which notes are kept for good, as an absolute path, since they are recognised
    by path. Raises Unreadable if it is not a folder."""
    if was_unpacked(path):
        raise Unreadable(
            f"{path}: notes are known by where they lie: unpack the archive first, and import the "
            "folder"
        )
    if not path.is_dir():
        raise Unreadable(f"{path} is not a folder: name the folder with the notes")
    return path.absolute()


def files_below(folder: Path, told: Told) -> Iterator[Found]:
    """Every file that has something in it, in the order of the names."""
    yield from _below(folder, "", told)


def files_near(path: Path) -> Iterator[Path]:
    """The file itself, or the files of a folder and of those below, nearest first, as far as a look
    goes that is to cost little: to know an export one need not have seen all of it."""
    waiting = [path]
    left = _LOOKED_AT
    for _ in range(_LEVELS_LOOKED_AT):
        folders: list[Path] = []
        for place in waiting:
            if os.path.isfile(place):
                yield place
                continue
            try:
                entries = sorted(os.scandir(place), key=lambda entry: entry.name)[:left]
            except OSError:
                continue
            left -= len(entries)
            shown = [entry for entry in entries if not _is_hidden(entry.name)]
            folders += [place / entry.name for entry in shown if _is(entry, os.DirEntry.is_dir)]
            yield from (place / entry.name for entry in shown if _is(entry, os.DirEntry.is_file))
        waiting = folders


def _is(entry: os.DirEntry[str], kind: Callable[..., bool]) -> bool:
    try:
        return kind(entry, follow_symlinks=False)
    except OSError:
        return False


def _below(folder: Path, prefix: str, told: Told) -> Iterator[Found]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        told(Skipped(prefix or str(folder), f"cannot be read: {error.strerror}"))
        return
    for entry in entries:
        name = prefix + entry.name
        if entry.is_symlink():
            told(Skipped(name, "a link: it is not followed"))
        elif entry.is_dir():
            if _is_hidden(entry.name):
                told(Skipped(f"{name}/", _hidden(Path(entry.path))))
            elif name.count("/") >= _DEEPEST:
                told(Skipped(f"{name}/", f"more than {_DEEPEST} folders deep"))
            else:
                yield from _below(folder / entry.name, f"{name}/", told)
        else:
            why = _why_not(entry)
            if why is None:
                modified = utc(entry.stat(follow_symlinks=False).st_mtime)
                yield Found(folder / entry.name, name, modified)
            else:
                emptied = str(folder / entry.name) if why == _EMPTY else None
                told(Skipped(name, why, known_as=emptied))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _why_not(entry: os.DirEntry[str]) -> str | None:
    try:
        status = entry.stat(follow_symlinks=False)
        entry.name.encode()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if _is_hidden(entry.name):
        return "hidden"
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    if not status.st_size:
        return _EMPTY
    ending = entry.name.lower().rpartition(".")[2]
    if ending in (*_SOUND, *_FILM):
        return "sound and film are not read"
    return f"files of this kind ({ending}) are not read" if ending in _UNREAD else None


def _hidden(folder: Path) -> str:
    files = sum(len(files) for _, _, files in os.walk(folder))
    return f"hidden, with {counted(files, 'file', 'files')} in it" if files else "hidden"


def read_text(found: Found, told: Told) -> str | None:
    """The text of a file; None if it cannot be read, which is reported."""
    try:
        if found.path.stat().st_size > _LONGEST_TEXT:
            told(Skipped(found.name, f"a text of more than {_LONGEST_TEXT // 2**20} MB"))
            return None
        data = found.path.read_bytes()
    except OSError as error:
        told(Skipped(found.name, f"cannot be read: {error.strerror}"))
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        why = "it is not UTF-8: its tags and properties were read as Windows-1252"
        told(Skipped(found.name, why, is_taken=True))
        return data.decode("cp1252", errors="replace")
