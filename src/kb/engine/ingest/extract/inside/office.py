"""Pictures in Word, PowerPoint and Excel files, and where they stand."""

from collections.abc import Iterator
from functools import partial

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.inside.counting import is_picture
from kb.engine.ingest.extract.inside.picture import Found, beside, extraction
from kb.engine.ingest.extract.office import A, Office, P, R, S, W, open_office, targets, whole
from kb.engine.ingest.extract.package import Element, Package, Relation, forget
from kb.engine.ingest.extract.xlsx_cells import letters_of

_BLIP = f"{A}blip"
_OLD = "{urn:schemas-microsoft-com:vml}imagedata"
_IDS = (f"{R}embed", f"{R}id")
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_ANCHORS = tuple(f"{_XDR}{kind}Anchor" for kind in ("twoCell", "oneCell", "absolute"))

Relations = dict[str, Relation]


def extract(source: Source) -> Extraction:
    office = open_office(source)
    root = office.main.rpartition("/")[0]
    kind = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}.get(root.rpartition("/")[2], "docx")
    found = list({"docx": _document, "pptx": _slides, "xlsx": _sheets}[kind](office))
    return extraction(kind, source, found)


def _document(office: Office) -> Iterator[Found]:
    """In the text by what stands before them, then those of headers, notes and the like."""
    package, last, turns = office.package, "", 0
    seen: set[str] = set()
    places: list[tuple[str, str, int]] = []
    breaks = f"{W}lastRenderedPageBreak"
    for _, paragraph in package.stream(office.main, (f"{W}p",)):
        turns += sum(1 for _ in paragraph.iter(breaks))
        text = "".join(each.text or "" for each in paragraph.iter(f"{W}t"))
        last = text if text.strip() else last
        for target in _pictures(package, paragraph, office.relations):
            places.append((beside(last), target, turns + 1))
        if not any(True for _ in paragraph.iterancestors(f"{W}p")):
            forget(paragraph)
    for place, target, page in places:
        seen.add(target)
        yield Found(place, partial(package.read, target), page if turns else None)
    for name in package.names:
        if is_picture(name) and name.startswith("word/") and name not in seen:
            yield Found("in a header, a note or a shape", partial(package.read, name))


def _slides(office: Office) -> Iterator[Found]:
    package = office.package
    entries = package.xml(office.main).iterfind(f"{P}sldIdLst/{P}sldId")
    relations = (office.relations.get(entry.get(f"{R}id", "")) for entry in entries)
    slides = [each.target for each in relations if each and each.target in package]
    for number, part in enumerate(slides, start=1):
        for target in _pictures(package, package.xml(part), package.relations(part)):
            yield Found(f"on slide {number}", partial(package.read, target), number)


def _sheets(office: Office) -> Iterator[Found]:
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
                    yield Found(place, partial(package.read, target), number)


def _pictures(package: Package, element: Element, relations: Relations) -> Iterator[str]:
    """The parts that are shown within an element, in order, each once."""
    shown: dict[str, None] = {}
    for each in element.iter(_BLIP, _OLD):
        relation = next((relations[i] for i in map(each.get, _IDS) if i in relations), None)
        if relation is not None and relation.target in package and is_picture(relation.target):
            shown[relation.target] = None
    return iter(shown)
