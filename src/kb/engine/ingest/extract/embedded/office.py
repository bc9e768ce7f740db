"""Objects in Word, PowerPoint and Excel files, and where they stand."""

from collections.abc import Iterator
from functools import partial

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.embedded.found import File, Found
from kb.engine.ingest.extract.embedded.object import file_of
from kb.engine.ingest.extract.embedded.picture import ENDINGS, drawing_of
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.ooxml.office_file import A, Office, P, R, S, W, open_office
from kb.engine.ingest.extract.zip_package import Package, Relation, forget

_OBJECT = "{urn:schemas-microsoft-com:office:office}OLEObject"
_SHOWN = (_OBJECT, f"{A}blip", "{urn:schemas-microsoft-com:vml}imagedata")
_TAKEN_IN = f"{W}altChunk"
_KINDS = frozenset({"oleObject", "package", "aFChunk"})


def found(source: Source) -> Iterator[Found]:
    """Objects in their order, those that stand in none of the main parts, then pictures."""
    office = open_office(source)
    package = office.package
    told: set[str] = set()
    shown = [*_placed(office), *_elsewhere(package)]
    for place, part in sorted(shown, key=lambda each: each[1].lower().endswith(ENDINGS)):
        if part in package and part not in told:
            told.add(part)
            is_picture = part.lower().endswith(ENDINGS)
            what = "picture" if is_picture else "object"
            yield Found(place.replace("object", what, 1), partial(_file, package, part), is_picture)


def _file(package: Package, part: str) -> File:
    name, data = part.rpartition("/")[2], package.read(part)
    return drawing_of(name, data) if name.lower().endswith(ENDINGS) else file_of(name, data)


def _is_wanted(relation: Relation) -> bool:
    return relation.kind in _KINDS or relation.target.lower().endswith(ENDINGS)


def _placed(office: Office) -> Iterator[tuple[str, str]]:
    main = (
        office.package.xml(office.main)
        if not office.main.endswith(("document.xml", ".bin"))
        else None
    )
    slides = () if main is None else main.iterfind(f"{P}sldIdLst/{P}sldId")
    for number, slide in enumerate(slides, start=1):
        yield from _of_part(office, slide.get(f"{R}id", ""), f"object on slide {number}")
    sheets = () if main is None else main.iterfind(f"{S}sheets/{S}sheet")
    for sheet in sheets:
        yield from _of_part(office, sheet.get(f"{R}id", ""), f"object on {sheet.get('name', '')}")
    if main is None and office.main.endswith(".xml"):
        yield from _in_text(office)


def _of_part(office: Office, identifier: str, place: str) -> Iterator[tuple[str, str]]:
    relation = office.relations.get(identifier)
    if relation is not None and relation.target in office.package:
        for inner in office.package.relations(relation.target).values():
            if _is_wanted(inner):
                yield place, inner.target


def _in_text(office: Office) -> Iterator[tuple[str, str]]:
    """By what stands before them."""
    last = ""
    for _, element in office.package.stream(office.main, (f"{W}p", _TAKEN_IN)):
        objects = [element] if element.tag == _TAKEN_IN else list(element.iter(*_SHOWN))
        text = "".join(each.text or "" for each in element.iter(f"{W}t"))
        last = text if text.strip() else last
        what = "text taken in" if element.tag == _TAKEN_IN else "object"
        for each in objects:
            relation = office.relations.get(each.get(f"{R}id") or each.get(f"{R}embed", ""))
            if relation is not None and _is_wanted(relation):
                yield f"{what} {beside(last)}", relation.target
        if not any(True for _ in element.iterancestors(f"{W}p")):
            forget(element)


def _elsewhere(package: Package) -> Iterator[tuple[str, str]]:
    """The sheet that a chart was drawn from is none: its points are in the chart."""
    for name in package.names:
        folder, _, listed = name.rpartition("_rels/")
        if listed.endswith(".rels") and "chart" not in folder.lower():
            for relation in package.relations(f"{folder}{listed.removesuffix('.rels')}").values():
                if _is_wanted(relation):
                    yield "object elsewhere in it", relation.target
