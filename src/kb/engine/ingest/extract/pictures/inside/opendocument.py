"""Pictures in OpenDocument texts, slides and sheets, and where they stand."""

import base64
from collections.abc import Iterator
from functools import partial

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.odf.drawn import drawn
from kb.engine.ingest.extract.odf.odf_file import DRAW, OFFICE, XLINK, OpenDocument, open_document
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
    """The names of those that are `shown` are added there."""
    package = document.package
    for element, where, number in drawn(document):
        if element.tag == f"{DRAW}image":
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
    except ValueError:
        return b""
