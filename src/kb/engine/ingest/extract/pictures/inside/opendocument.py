"""Pictures in OpenDocument texts, slides and sheets, and where they stand."""

import base64
import binascii
from collections.abc import Iterator
from functools import partial

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.odf.odf_file import (
    DRAW,
    OFFICE,
    TABLE,
    TEXT,
    XLINK,
    OpenDocument,
    open_document,
)
from kb.engine.ingest.extract.pictures.inside.counting import is_picture
from kb.engine.ingest.extract.pictures.inside.picture import Found, extraction

# Where pictures are that no text, slide or sheet shows.
_ELSEWHERE = "in a master, a header or an object"
_KINDS = {"text": "odt", "presentation": "odp", "spreadsheet": "ods"}


def extract(source: Source) -> Extraction:
    document = open_document(source)
    body = None if document.content is None else document.content.find(f"{OFFICE}body")
    kinds = [] if body is None else [child.tag.removeprefix(OFFICE) for child in body]
    kind = next((_KINDS[name] for name in kinds if name in _KINDS), "odt")
    shown: set[str] = set()
    found = list(_found(document, shown))
    package = document.package
    others = [name for name in package.names if is_picture(name) and name not in shown]
    found += [Found(_ELSEWHERE, partial(package.read, name)) for name in others]
    return extraction(kind, source, found)


def _found(document: OpenDocument, shown: set[str]) -> Iterator[Found]:
    """By the slide or sheet they are on; in a text by what stands before them.

    The names of those that are `shown` are added there.
    """
    package, last, place = document.package, "", ""
    number: int | None = None
    slides = sheets = 0
    content = () if document.content is None else document.content.iter()
    for element in content:
        if element.tag == f"{DRAW}page":
            slides += 1
            number, place = slides, f"on slide {slides}"
        elif element.tag == f"{TABLE}table" and element.getparent().tag == f"{OFFICE}spreadsheet":
            sheets += 1
            number, place = sheets, f"on {element.get(f'{TABLE}name', '')}"
        elif element.tag in (f"{TEXT}p", f"{TEXT}h"):
            text = "".join(element.itertext())
            last = text if text.strip() else last
        elif element.tag == f"{DRAW}image":
            where = place or beside(last)
            name = element.get(f"{XLINK}href", "").removeprefix("./")
            written = element.findtext(f"{OFFICE}binary-data")
            if name in package and is_picture(name):
                shown.add(name)
                yield Found(where, partial(package.read, name), number)
            elif written:
                yield Found(where, partial(_decoded, written), number)


def _decoded(written: str) -> bytes:
    try:
        return base64.b64decode(written)
    except (binascii.Error, ValueError):
        return b""
