"""Visio drawings, page by page: the text on shapes, and the data of shapes."""

from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item, heading, join
from kb.engine.ingest.extract.ooxml.office_file import Office, R, extraction, open_office
from kb.engine.ingest.extract.paging import pages_of
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.zip_package import Element
from kb.engine.pages import Page

_ENDINGS = ("vsdx", "vsdm", "vstx", "vstm", "vssx", "vssm")
_V = "{http://schemas.microsoft.com/office/visio/2012/main}"
_MOST_PAGES = 5_000
_DEEPEST = 50  # shapes within shapes


def extract(source: Source) -> Extraction:
    office = open_office(source, "document")
    listed = _listed(office, "pages", "page")
    pages, count = _pages(office, listed, source), len(listed) or None
    return extraction("vsdx", _ENDINGS, source, pages, office.title, office.metadata, count)


def _listed(office: Office, kind: str, one: str) -> list[tuple[Element, str]]:
    """The pages or masters, each with the part it is in."""
    found = []
    for part in office.related(kind):
        relations = office.package.relations(part)
        for entry in office.package.xml(part):
            link = entry.find(f"{_V}Rel")
            relation = relations.get("" if link is None else link.get(f"{R}id", ""))
            if relation is not None and relation.kind == one and relation.target in office.package:
                found.append((entry, relation.target))
    if len(found) > _MOST_PAGES:
        raise office.package.too_large(f"it has more than {_MOST_PAGES:,} pages")
    return found


def _pages(office: Office, pages: list[tuple[Element, str]], source: Source) -> Iterator[Page]:
    masters = _Masters(office)
    empty = True
    for number, (entry, part) in enumerate(pages, start=1):
        name = " ".join(entry.get("Name", entry.get("NameU", "")).split())
        items = [Item("paragraph", text) for text in masters.texts(office.package.xml(part))]
        empty = empty and not items
        items = [heading(name or f"Page {number}"), *items] if items else []
        location = f"page {number}, {name}" if name else f"page {number}"
        yield from pages_of(join(items), number, location)
    if empty:
        raise Refusals(source.filename).no_text()


class _Masters:
    """What shapes say by what they were made from, where they say nothing themselves."""

    def __init__(self, office: Office) -> None:
        self._texts: dict[str, dict[str, str]] = {}  # by master and shape
        for entry, part in _listed(office, "masters", "master"):
            shapes = office.package.xml(part).iter(f"{_V}Shape")
            self._texts[entry.get("ID", "")] = {
                shape.get("ID", ""): _words(shape.find(f"{_V}Text")) for shape in shapes
            }

    def texts(self, root: Element) -> Iterator[str]:
        for container in root.iterfind(f"{_V}Shapes"):
            yield from self._inside(container, "", 0)

    def _inside(self, container: Element, master: str, depth: int) -> Iterator[str]:
        for shape in container.iterfind(f"{_V}Shape"):
            own = shape.get("Master") or master
            text = shape.find(f"{_V}Text")
            if text is not None:
                words = _words(text)
            else:
                words = self._texts.get(own, {}).get(shape.get("MasterShape", ""), "")
                if not words and shape.get("Master") and shape.get("MasterShape") is None:
                    words = next(iter(self._texts.get(own, {}).values()), "")
            said = [words, *_data(shape)]
            if any(said):
                yield "\n".join(filter(None, said))
            if depth < _DEEPEST:
                for inner in shape.iterfind(f"{_V}Shapes"):
                    yield from self._inside(inner, own, depth + 1)


def _words(text: Element | None) -> str:
    if text is None:
        return ""
    lines = "".join(text.itertext()).replace("\u2028", "\n").splitlines()
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _data(shape: Element) -> Iterator[str]:
    """The data of a shape, name by name."""
    for row in shape.iterfind(f"{_V}Section[@N='Property']/{_V}Row"):
        cells = {cell.get("N"): cell.get("V", "").strip() for cell in row.iterfind(f"{_V}Cell")}
        if cells.get("Label") and cells.get("Value"):
            yield f"{cells['Label']}: {cells['Value']}"
