"""Objects in files of Office 97 to 2003: storages, or in PowerPoint compound files of their own."""

import re
import struct
from collections.abc import Iterator
from functools import partial

from kb.engine.errors import KbError
from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.embedded.found import File, Found, told_apart
from kb.engine.ingest.extract.embedded.object import file_of
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.ole import biff_texts, ppt
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.doc_file import WordFile
from kb.engine.ingest.extract.ole.doc_formats import Formats
from kb.engine.ingest.extract.ole.ppt_records import Presentation
from kb.engine.ingest.extract.ole.storage import as_file

_POOL = "ObjectPool"  # of Word
_SHEETS = "MBD"  # begins the names of Excel's
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,8}")
_CODES = re.compile("\x13[^\x13-\x15]*(?:\x14|$)|[\x01\x08\x14\x15]")  # of fields
_LINE_ENDS = re.compile("[\r\n\x07\x0b\x0c]")
_MOST = 200  # objects whose places are looked for
_MOST_BEFORE = 5_000  # characters


def found(source: Source) -> Iterator[Found]:
    compound = Compound(source)
    with making_sense(source):
        storages = _storages(compound)
        slides = [] if storages or "PowerPoint Document" not in compound else _on_slides(compound)
        places = _places(compound, {_number(path[-1]) for path in storages[:_MOST]})
    yield from told_apart(
        Found(f"object {places.get(_number(path[-1]), number)}", partial(_stored, compound, path))
        for number, path in enumerate(storages, start=1)
    )
    for slide, data in slides:
        yield Found(f"object on slide {slide}", partial(file_of, "object", data))


def _storages(compound: Compound) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    for path in compound.names():
        if len(path) > 2 and path[0] == _POOL:
            found[path[0], path[1]] = None
        elif len(path) > 1 and path[0].startswith(_SHEETS):
            found[(path[0],)] = None
    return list(found)


def _places(compound: Compound, numbers: set[int]) -> dict[int, str]:
    """The places of the objects with these numbers, as far as the file says."""
    if not numbers:
        return {}
    try:
        found = _in_text(compound, numbers) if _POOL in compound else _on_sheets(compound, numbers)
        return dict(found)
    except (KbError, struct.error):  # it was read before: what is wrong with it was said
        return {}


def _number(storage: str) -> int:
    """Word and Excel name storages by numbers: `_1066129853`, `MBD0005A2F1`."""
    if storage.startswith(_SHEETS):
        digits = storage.removeprefix(_SHEETS)
        return int(digits, 16) if _HEXADECIMAL.fullmatch(digits) else -1
    digits = storage.removeprefix("_")
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _in_text(compound: Compound, numbers: set[int]) -> Iterator[tuple[int, str]]:
    file = WordFile(compound)
    for number, place in dict(Formats(file).objects()).items():
        for piece in file.stretches() if number in numbers else ():
            behind = (place - piece.place) // piece.width
            if 0 <= behind < piece.end - piece.start:
                at = piece.start + behind
                shown = _CODES.sub("", file.text[max(0, at - _MOST_BEFORE) : at])
                lines = [line for line in _LINE_ENDS.split(shown) if line.strip()]
                yield number, beside(lines[-1] if lines else "")
                break


def _on_sheets(compound: Compound, numbers: set[int]) -> Iterator[tuple[int, str]]:
    """What a sheet says of an object has its number in it."""
    for sheet in biff_texts.sheets(compound.stream("Workbook", "Book"), "cp1252"):
        said = b"".join(sheet.objects)
        for number in numbers:
            if number >= 0 and struct.pack("<I", number) in said:
                yield number, f"on {sheet.name}"


def _stored(compound: Compound, path: tuple[str, ...]) -> File:
    data = as_file(compound, list(path))
    return "large ones are not" if data is None else file_of("object", data)


def _on_slides(compound: Compound) -> list[tuple[int, bytes]]:
    try:
        return list(ppt.objects(Presentation(compound)))
    except KbError:  # it was read before: what is wrong with it was said
        return []
