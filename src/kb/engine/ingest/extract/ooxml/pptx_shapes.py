"""Reads the shapes of a slide: text, tables, charts, SmartArt, image texts."""

from collections.abc import Iterator

from kb.engine.ingest.extract.counting import counted
from kb.engine.ingest.extract.markup import Item, entry, table
from kb.engine.ingest.extract.ooxml.drawing import (
    CHARTS,
    drawn,
    paragraph_text,
    picture_text,
    text_of,
)
from kb.engine.ingest.extract.ooxml.office_file import A, P, whole
from kb.engine.ingest.extract.zip_package import Element, Package, Relation

_LEAVES = (f"{P}sp", f"{P}pic", f"{P}graphicFrame", f"{P}cxnSp")
_GROUP = f"{P}grpSp"
_LISTS = ("body", "obj")  # placeholders whose paragraphs have bullets unless they say otherwise
_WAYS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter"} | {
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}


def shapes(root: Element) -> Iterator[Element]:
    """The shapes of a slide from back to front; a group before its contents."""
    tree = root.find(f"{P}cSld/{P}spTree")
    pending = [] if tree is None else list(tree[::-1])
    while pending:
        element = pending.pop()
        if element.tag in _LEAVES:
            yield element
            continue
        if element.tag == _GROUP:
            yield element
        pending += element[::-1]


def placeholder(shape: Element) -> str | None:
    """The kind of placeholder that a shape fills; None for one that stands for itself."""
    found = shape.find(f"{P}nvSpPr/{P}nvPr/{P}ph")
    return None if found is None else found.get("type", "obj")


def shape_items(shape: Element, package: Package, relations: dict[str, Relation]) -> Iterator[Item]:
    for properties in shape[:1]:
        for words in map(picture_text, properties.iterchildren(f"{P}cNvPr")):
            if words:
                yield Item("paragraph", words)
    if shape.tag == f"{P}sp":
        yield from _paragraphs(shape)
    elif shape.tag == f"{P}graphicFrame":
        for grid in shape.iter(f"{A}tbl"):
            rows = ([text_of(cell) for cell in row.iter(f"{A}tc")] for row in grid.iter(f"{A}tr"))
            yield from table([cells for cells in rows if any(cells)])
        for drawing in shape.iter(*CHARTS):
            yield from drawn(package, drawing, relations)


def _paragraphs(shape: Element) -> Iterator[Item]:
    """Paragraphs without bullets stay together, as in their frame."""
    is_list = placeholder(shape) in _LISTS
    counts: dict[int, int] = {}
    lines: list[str] = []
    for paragraph in shape.iterfind(f"{P}txBody/{A}p"):
        text = paragraph_text(paragraph)
        if not text:
            continue
        properties = paragraph.find(f"{A}pPr")
        label = _label(properties, is_list, counts)
        if label is None:
            counts.clear()
            lines.append(text)
            continue
        if lines:
            yield Item("paragraph", "\n".join(lines))
            lines = []
        yield entry(text, _level(properties), label)
    if lines:
        yield Item("paragraph", "\n".join(lines))


def _label(properties: Element | None, is_list: bool, counts: dict[int, int]) -> str | None:
    """The bullet or number of a paragraph; `counts` has the current count of each level."""
    bullets = {} if properties is None else {child.tag: child for child in properties}
    level = _level(properties)
    numbering = bullets.get(f"{A}buAutoNum")
    if numbering is None:
        counts.pop(level, None)
        if f"{A}buNone" in bullets:
            return None
        return "-" if is_list or f"{A}buChar" in bullets or f"{A}buBlip" in bullets else None
    for deeper in [deeper for deeper in counts if deeper > level]:
        del counts[deeper]
    counts[level] = counts.get(level, whole(numbering.get("startAt"), 1) - 1) + 1
    kind = numbering.get("type", "")
    way = next((way for start, way in _WAYS.items() if kind.startswith(start)), "decimal")
    return f"{counted(counts[level], way)}{')' if 'Paren' in kind else '.'}"


def _level(properties: Element | None) -> int:
    return 0 if properties is None else whole(properties.get("lvl"))
