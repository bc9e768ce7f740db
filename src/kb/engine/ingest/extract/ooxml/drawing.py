"""Reads the words of shapes, charts and SmartArt, which Word, PowerPoint and Excel draw alike."""

from collections.abc import Iterator
from itertools import groupby

from kb.engine.ingest.extract.markup import Item, entry, table
from kb.engine.ingest.extract.number_formats.number_format import plain, reader_of
from kb.engine.ingest.extract.ooxml.office_file import A, M, R, targets, whole
from kb.engine.ingest.extract.zip_package import Element, Package, Relation

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
CX = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"

CHARTS = (f"{C}chart", f"{CX}chart", f"{DGM}relIds")  # what stands for a part of its own
_MOST_POINTS = 2_000  # of a series; with more it is a picture of measurements, not of facts
_MOST_IN_ALL = 100_000  # points of a chart
_MOST_LEVELS = 10  # of categories
_POINTS = tuple(f"{space}{name}" for space in (C, CX) for name in ("pt", "chartSpace"))
_PLACES = {f"{C}cat", f"{C}xVal"}
_VALUES = {f"{C}val", f"{C}yVal"}


def text_of(body: Element) -> str:
    """The text in a shape, one line for each paragraph."""
    return "\n".join(filter(None, map(paragraph_text, body.iter(f"{A}p"))))


def paragraph_text(paragraph: Element) -> str:
    pieces = []
    for element in paragraph.iter(f"{A}t", f"{A}br", f"{M}t"):
        pieces.append("\n" if element.tag == f"{A}br" else element.text or "")
    return "".join(pieces).strip()


def picture_text(properties: Element) -> str:
    """The alternative text of a picture; may be empty."""
    said = (properties.get("title"), properties.get("descr"))
    words = dict.fromkeys(" ".join(text.split()) for text in said if text)
    return f"[Image: {'. '.join(words)}]" if any(words) else ""


def drawn(
    package: Package, element: Element, relations: dict[str, Relation], *, data: bool = True
) -> list[Item]:
    """The words of the chart or SmartArt that one of `CHARTS` stands for; `data` with numbers."""
    identifier = element.get(f"{R}dm" if element.tag == f"{DGM}relIds" else f"{R}id")
    relation = relations.get(identifier or "")
    if relation is None or relation.target not in package:
        return []
    if element.tag == f"{DGM}relIds":
        points = package.xml(relation.target).iter(f"{DGM}pt")
        return [entry(" ".join(text.split())) for text in map(text_of, points) if text]
    root = _without_far_points(package, relation.target)
    items = list(_new_chart(root) if element.tag == f"{CX}chart" else _chart(root, data))
    for part in targets(package, package.relations(relation.target), "chartUserShapes"):
        items += [Item("paragraph", text) for text in [text_of(package.xml(part))] if text]
    return items


def _without_far_points(package: Package, part: str) -> Element:
    """A chart's root. Charts of measurements hold copies of whole columns, which are let go of."""
    root = None
    for count, (_, element) in enumerate(package.stream(part, _POINTS)):
        root = element.getroottree().getroot()
        is_far = count > _MOST_IN_ALL or whole(element.get("idx")) >= _MOST_POINTS
        if is_far and element is not root:
            element.getparent().remove(element)
    if root is None:
        raise package.damaged(f"{part} is no chart")
    return root


def _chart(root: Element, data: bool) -> Iterator[Item]:
    """Its titles and, as tables, its series."""
    titles = [
        " ".join(text.split())
        for title in root.iter(f"{C}title")
        for text in [text_of(title) or _cached(title)]
        if text
    ]
    labels = [text for label in root.iter(f"{C}dLbl") for text in [text_of(label)] if text]
    names = [_cached(name) for name in root.iterfind(f".//{C}ser/{C}tx")]
    words = [*titles, *labels] if data else [*titles, *labels, *filter(None, names)]
    if words:
        yield Item("paragraph", f"Chart: {'; '.join(dict.fromkeys(words))}")
    if data:
        for places, series in groupby(map(_series, root.iter(f"{C}ser")), key=lambda one: one[0]):
            columns = list(series)
            header = ["", *(name for _, name, _ in columns)]
            rows = (
                [places.get(at, ""), *(values.get(at, "") for _, _, values in columns)]
                for at in sorted({*places, *(at for _, _, values in columns for at in values)})
            )
            yield from table([header, *rows])


def _series(series: Element) -> tuple[dict[int, str], str, dict[int, str]]:
    """Where its points are, its name, and their values."""
    places: dict[int, str] = {}
    values: dict[int, str] = {}
    name = ""
    for child in series:
        if child.tag in _PLACES:
            places = _points(child)
        elif child.tag in _VALUES:
            values = _points(child)
        elif child.tag == f"{C}tx":
            name = _cached(child)
    return places, name, values


def _points(element: Element) -> dict[int, str]:
    """By number; where categories have several levels, the outer ones come first."""
    code = element.findtext(f".//{C}formatCode") or ""
    show = reader_of(code) or plain
    points: dict[int, str] = {}
    for level in element.findall(f".//{C}lvl")[:_MOST_LEVELS] or [element]:
        for number, raw in {whole(p.get("idx")): _cached(p) for p in level.iter(f"{C}pt")}.items():
            shown = show(raw) if code else raw
            points[number] = f"{shown} {points[number]}" if number in points else shown
    return points


def _cached(element: Element) -> str:
    return " ".join(value.text or "" for value in element.iter(f"{C}v")).strip()


def _new_chart(root: Element) -> Iterator[Item]:
    """The kinds of charts that came in 2016: funnels, maps, sunbursts, waterfalls."""
    titles = [" ".join(text_of(title).split()) for title in root.iter(f"{CX}title")]
    names = [" ".join((name.text or "").split()) for name in root.iter(f"{CX}v")]
    points = [(point.text or "").strip() for point in root.iter(f"{CX}pt")][:_MOST_POINTS]
    words = dict.fromkeys(filter(None, [*titles, *names, *points]))
    if words:
        yield Item("paragraph", f"Chart: {'; '.join(words)}")
