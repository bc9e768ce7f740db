"""Pictures in Word, PowerPoint and Excel files, and where they stand."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.ooxml.office_file import (
    A,
    Office,
    P,
    R,
    S,
    W,
    open_office,
    targets,
    whole,
)
from kb.engine.ingest.extract.ooxml.xlsx_cells import letters_of
from kb.engine.ingest.extract.pictures.inside.counting import is_picture
from kb.engine.ingest.extract.pictures.inside.picture import Found, extraction
from kb.engine.ingest.extract.zip_package import Element, Package, Relation, forget

_BLIP = f"{A}blip"
_OLD = "{urn:schemas-microsoft-com:vml}imagedata"
_IDS = (f"{R}embed", f"{R}id")
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_ANCHORS = tuple(f"{_XDR}{kind}Anchor" for kind in ("twoCell", "oneCell", "absolute"))

# Where pictures are that stand in no paragraph, on no slide and in no sheet.
_ELSEWHERE = {
    "docx": "in a header, a note or a shape",
    "pptx": "in a layout, a note or a diagram",
    "xlsx": "in a header, a cell or a chart",
}

Relations = dict[str, Relation]


class _Shown(NamedTuple):
    """A picture by its part, where it is in words, and on which page."""

    place: str
    part: str
    number: int | None = None


def extract(source: Source) -> Extraction:
    office = open_office(source)
    root = office.main.rpartition("/")[0]
    kind = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}.get(root.rpartition("/")[2], "docx")
    package = office.package
    shown = list({"docx": _document, "pptx": _slides, "xlsx": _sheets}[kind](office))
    known = {each.part for each in shown}
    others = [name for name in package.names if is_picture(name) and name not in known]
    found = [*shown, *(_Shown(_ELSEWHERE[kind], name) for name in others)]
    return extraction(
        kind,
        source,
        [Found(each.place, partial(package.read, each.part), each.number) for each in found],
    )


def _document(office: Office) -> Iterator[_Shown]:
    """By the text before them."""
    package, last, turns = office.package, "", 0
    places: list[_Shown] = []
    breaks = f"{W}lastRenderedPageBreak"
    for _, paragraph in package.stream(office.main, (f"{W}p",)):
        turns += sum(1 for _ in paragraph.iter(breaks))
        text = "".join(each.text or "" for each in paragraph.iter(f"{W}t"))
        last = text if text.strip() else last
        for target in _pictures(package, paragraph, office.relations):
            places.append(_Shown(beside(last), target, turns + 1))
        if not any(True for _ in paragraph.iterancestors(f"{W}p")):
            forget(paragraph)
    return iter(places if turns else [each._replace(number=None) for each in places])


def _slides(office: Office) -> Iterator[_Shown]:
    package = office.package
    entries = package.xml(office.main).iterfind(f"{P}sldIdLst/{P}sldId")
    relations = (office.relations.get(entry.get(f"{R}id", "")) for entry in entries)
    slides = [each.target for each in relations if each and each.target in package]
    for number, part in enumerate(slides, start=1):
        for target in _pictures(package, package.xml(part), package.relations(part)):
            yield _Shown(f"on slide {number}", target, number)


def _sheets(office: Office) -> Iterator[_Shown]:
    package = office.package
    for number, entry in enumerate(package.xml(office.main).iterfind(f"{S}sheets/{S}sheet"), 1):
        relation = office.relations.get(entry.get(f"{R}id", ""))
        if relation is None or relation.target not in package:
            continue
        name = entry.get("name", "")
        for drawing in targets(package, package.relations(relation.target), "drawing"):
            relations = package.relations(drawing)
            for anchor in package.xml(drawing).iter(*_ANCHORS):
                row, column = (
                    whole(anchor.findtext(f"{_XDR}from/{_XDR}{axis}")) + 1
                    for axis in ("row", "col")
                )
                for target in _pictures(package, anchor, relations):
                    place = f"at {name}!{letters_of(column)}{row}"
                    yield _Shown(place, target, number)


def _pictures(package: Package, element: Element, relations: Relations) -> Iterator[str]:
    """The parts that are shown within an element, in order, each once."""
    shown: dict[str, None] = {}
    for each in element.iter(_BLIP, _OLD):
        relation = next((relations[i] for i in map(each.get, _IDS) if i in relations), None)
        if relation is not None and relation.target in package and is_picture(relation.target):
            shown[relation.target] = None
    return iter(shown)
