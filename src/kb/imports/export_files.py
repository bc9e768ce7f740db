"""The files of an unpacked export and the objects in them; archives inside it are opened.

Depending on the size of the export, programs put the same files into one archive, several, or an
archive of archives. People who unpacked some of them by hand have a mixture.
"""

import atexit
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kb.imports.archive import unpacked
from kb.imports.fit import BROKEN, is_broken
from kb.imports.folder import Found, files_below, files_near
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.json_elements import BadJson, decoded, elements

_MOST_ARCHIVES = 100
_DEEPEST = 2
_HEAD = 1 << 16
_LISTS = ("conversations", "projects")


def export_files(path: Path, inner: re.Pattern[str], told: Told) -> list[Found]:
    """Every file of an export, also in archives inside it whose names `inner` knows. A single file
    is an export of one file. An archive that cannot be opened is reported as damaged."""
    found = _all(path.absolute(), told)
    for _ in range(_DEEPEST):
        archives = [file for file in found if inner.fullmatch(file.path.name)]
        for archive in archives[:_MOST_ARCHIVES]:
            found.remove(archive)
            try:
                status = archive.path.stat()
                folder = _unpacked_until_the_end(archive.path, status.st_mtime_ns, status.st_size)
                if folder == archive.path:
                    raise Unreadable("no archive any more: fetch the export again")
            except (Unreadable, OSError) as error:
                told(Skipped(archive.name, str(error), is_damage=True))
                continue
            place = archive.name.rpartition("/")[0]
            below = _all(folder, told)
            found += [replace(file, name=_joined(place, file.name)) for file in below]
    return sorted(found, key=lambda file: file.name)


# Whoever reads an export may still be sending its files when the last of its items is out, and may
# read it twice: what was unpacked stays until the program ends.
_until_the_end = ExitStack()
atexit.register(_until_the_end.close)


@cache
def _unpacked_until_the_end(archive: Path, _modified: int, _size: int) -> Path:
    return _until_the_end.enter_context(unpacked(archive))


def _all(path: Path, told: Told) -> list[Found]:
    if path.is_dir():
        return list(files_below(path, told))
    return [Found(path, path.name, None)]


def _joined(place: str, name: str) -> str:
    return f"{place}/{name}" if place else name


def heads(path: Path, names: re.Pattern[str], inner: re.Pattern[str]) -> Iterator[str]:
    """How the files of these names begin, also those in archives within, without unpacking any. A
    file that is named by itself may be called whatever it likes."""
    for file in files_near(path):
        name = file.relative_to(path).as_posix()
        with suppress(OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
            if file == path or names.fullmatch(name):
                with file.open("rb") as content:
                    yield decoded(content.read(_HEAD), "replace")
            elif inner.fullmatch(file.name):
                with zipfile.ZipFile(file) as archive:
                    for member in filter(names.fullmatch, archive.namelist()):
                        with archive.open(member) as content:
                            yield decoded(content.read(_HEAD), "replace")


def objects_in(file: Found, told: Told) -> Iterator[tuple[str, Json]]:
    """The objects of a JSON file, each with its position; other values are reported."""
    number = 0
    try:
        for number, element in enumerate(_unwrapped(file.path), start=1):
            where = f"{file.name}, entry {number}"
            if isinstance(element, dict):
                if is_broken(element):
                    told(Skipped(where, BROKEN, is_taken=True))
                yield where, element
            else:
                told(Skipped(where, "not an object"))
    except BadJson as error:
        why = f"the file is cut or damaged ({error}); fetch the export again"
        told(Skipped(f"{file.name}, from entry {number + 1} on", why, is_damage=True))
    except OSError as error:
        told(Skipped(file.name, f"cannot be read: {error.strerror}"))


def _unwrapped(path: Path) -> Iterator[Any]:
    """Each element; where they are a list under a name, as some tools write them, those of it."""
    for element in elements(path):
        named = [element.get(name) for name in _LISTS] if isinstance(element, dict) else []
        lists = [each for each in named if isinstance(each, list)]
        if lists and not {"uuid", "id", "mapping", "chat_messages"} & set(element):
            yield from lists[0]
        else:
            yield element


def distinct(items: Iterator[Item], told: Told) -> Iterator[Item]:
    """Each key once: an export may hold the same thing in two of its files."""
    seen: set[str] = set()
    for item in items:
        if item.key in seen:
            told(Skipped(item.title, "it is in this export twice"))
        else:
            seen.add(item.key)
            yield item
