"""Objects in files of Office 97 to 2003: storages of it, or compound files in PowerPoint's own."""

from collections.abc import Iterator
from functools import partial

from kb.engine.errors import KbError
from kb.engine.ingest.extract.embedded.found import File, Found
from kb.engine.ingest.extract.embedded.object import file_of
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.ole import ppt
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.ppt_records import Presentation
from kb.engine.ingest.extract.ole.storage import as_file

_POOL = "ObjectPool"  # of Word
_SHEETS = "MBD"  # begins the names of Excel's


def found(source: Source) -> Iterator[Found]:
    compound = Compound(source)
    with making_sense(source):
        storages = _storages(compound)
        slides = [] if storages or "PowerPoint Document" not in compound else _on_slides(compound)
    for number, path in enumerate(storages, start=1):
        yield Found(f"object {number}", partial(_stored, compound, path))
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


def _stored(compound: Compound, path: tuple[str, ...]) -> File:
    data = as_file(compound, list(path))
    return "large ones are not" if data is None else file_of("object", data)


def _on_slides(compound: Compound) -> list[tuple[int, bytes]]:
    try:
        return list(ppt.objects(Presentation(compound)))
    except KbError:  # it was read before: what is wrong with it was said
        return []
