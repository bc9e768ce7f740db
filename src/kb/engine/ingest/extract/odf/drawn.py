"""Finds what is drawn in an OpenDocument file, and where it stands."""

from collections.abc import Iterator

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.odf.odf_file import DRAW, OFFICE, TABLE, TEXT, OpenDocument
from kb.engine.ingest.extract.zip_package import Element


def drawn(document: OpenDocument) -> Iterator[tuple[Element, str, int | None]]:
    """Each element with its place in words, and the number of its slide or sheet. Without those,
    the place is the text before it."""
    last, place = "", ""
    number: int | None = None
    slides = sheets = 0
    for element in () if document.content is None else document.content.iter():
        if element.tag == f"{DRAW}page":
            slides += 1
            number, place = slides, f"on slide {slides}"
        elif element.tag == f"{TABLE}table" and element.getparent().tag == f"{OFFICE}spreadsheet":
            sheets += 1
            number, place = sheets, f"on {element.get(f'{TABLE}name', '')}"
        elif element.tag in (f"{TEXT}p", f"{TEXT}h"):
            text = "".join(element.itertext())
            last = text if text.strip() else last
        elif element.tag in (f"{DRAW}image", f"{DRAW}object-ole"):
            yield element, place or beside(last), number
