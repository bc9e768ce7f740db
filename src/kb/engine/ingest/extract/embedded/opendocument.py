"""Objects of other programs in OpenDocument files; LibreOffice's own are read with the text."""

import base64
from collections.abc import Iterator
from functools import partial

from kb.engine.ingest.extract.embedded.found import File, Found
from kb.engine.ingest.extract.embedded.object import file_of
from kb.engine.ingest.extract.embedded.picture import ENDINGS, drawing_of
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.odf.drawn import drawn
from kb.engine.ingest.extract.odf.odf_file import DRAW, OFFICE, XLINK, open_document
from kb.engine.ingest.extract.zip_package import Element, Package

_PREVIEWS = "ObjectReplacements/"  # of objects, whose names have no ending


def found(source: Source) -> Iterator[Found]:
    document = open_document(source)
    package = document.package
    pictures: dict[str, str] = {}
    for element, where, _ in drawn(document):
        if element.tag == f"{DRAW}object-ole":
            yield Found(f"object {where}", partial(_file, package, element))
        elif element.tag == f"{DRAW}image":
            name = element.get(f"{XLINK}href", "").removeprefix("./")
            if name in package and (name.lower().endswith(ENDINGS) or name.startswith(_PREVIEWS)):
                pictures.setdefault(name, where)
    for name, where in pictures.items():
        yield Found(f"picture {where}", partial(_drawing, package, name), is_picture=True)


def _drawing(package: Package, name: str) -> File:
    return drawing_of(name.rpartition("/")[2], package.read(name))


def _file(package: Package, element: Element) -> File:
    name = element.get(f"{XLINK}href", "").removeprefix("./")
    written = element.findtext(f"{OFFICE}binary-data")
    if written:
        try:
            return file_of("object", base64.b64decode(written))
        except ValueError:
            return "damaged ones are not"
    return file_of(name, package.read(name)) if name in package else "links to other files are not"
