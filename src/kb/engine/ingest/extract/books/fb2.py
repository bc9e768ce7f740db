"""FictionBook: a book in one XML file, chapter by chapter, with its notes behind them."""

from collections.abc import Iterator

from lxml import etree

from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item, heading, join, table
from kb.engine.ingest.extract.ooxml.office_file import bounded
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.zip_package import Element
from kb.engine.pages import Page, Remark

_MAX_BYTES = 64 * 2**20
_MOST_TAGS = 1_000_000  # each takes some 200 bytes of memory
_MOST_CHAPTERS = 5_000
_LONGEST_TITLE = 120  # characters
_PARSER = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
_LINES = frozenset({"p", "v", "subtitle", "text-author", "date"})
_BLOCKS = _LINES | {"title", "stanza", "table", "image", "empty-line"}
_NAMES = ("first-name", "middle-name", "last-name", "nickname")


def extract(source: Source) -> Extraction:
    root = _root(source)
    info = root.find("{*}description/{*}title-info")
    said = {} if info is None else {_tag(child): _text(child) for child in info}
    authors = [] if info is None else [_name(author) for author in info.iterfind("{*}author")]
    day = None if info is None else info.find("{*}date")
    metadata = about(
        {
            "author": ", ".join(filter(None, authors)),
            "language": said.get("lang"),
            "description": said.get("annotation"),
            "created": iso_date((day.get("value") or day.text) if day is not None else None),
        }
    )
    chapters = list(_chapters(root))
    if not chapters:
        raise Refusals(source.filename).no_text()
    return Extraction(
        "epub",
        "fb2",
        _pages(root, chapters, source),
        title=line(said.get("book-title", "")) or None,
        metadata=metadata,
        page_count=min(len(chapters), _MOST_CHAPTERS),
    )


def _root(source: Source) -> Element:
    refusals = Refusals(source.filename)
    with source.path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES or data.count(b"<") > _MOST_TAGS:
        raise refusals.too_large("no book has as much text")
    if b"<!ENTITY" in data:
        raise refusals.damaged("it declares entities, which books never do")
    # Many were written by hand: what is not quite right is read as far as it goes.
    parser = etree.XMLParser(recover=True, remove_comments=True, remove_pis=True, **_PARSER)
    try:
        root = etree.fromstring(data.lstrip(), parser)
    except etree.XMLSyntaxError as error:
        raise refusals.damaged("it is no XML at all") from error
    if root is None or root.find("{*}body") is None:
        raise refusals.damaged("there is no book in it")
    return root


def _chapters(root: Element) -> Iterator[tuple[str, list[Item]]]:
    """What stands before the first, then each by its title; the last bodies are notes."""
    annotation = root.find("{*}description/{*}title-info/{*}annotation")
    if annotation is not None and _text(annotation):
        yield "annotation", list(_items(annotation, 1))
    for body in root.iterfind("{*}body"):
        opening = list(_items([child for child in body if _tag(child) != "section"], 1))
        if opening:
            yield _title(body) or "opening", opening
        for section in body.iterfind("{*}section"):
            items = list(_items(section, 1))
            if items:
                yield _title(section) or _title(body) or body.get("name") or "", items


def _pages(
    root: Element, chapters: list[tuple[str, list[Item]]], source: Source
) -> Iterator[Page | Remark]:
    if len(chapters) > _MOST_CHAPTERS:
        raise Refusals(source.filename).too_large(f"it has more than {_MOST_CHAPTERS:,} chapters")
    pages = (
        Page(text, number, title[:_LONGEST_TITLE] or None, "markdown", lines_count=False)
        for number, (title, items) in enumerate(chapters, start=1)
        for text in cut(join(items))
    )
    yield from bounded(pages, source)
    pictures = sum(1 for _ in root.iterfind("{*}body//{*}image"))
    if pictures:
        yield Remark("its picture was not read" if pictures == 1 else "its pictures were not read")


def _items(container: Element | list[Element], level: int) -> Iterator[Item]:
    """Text beside the blocks is a paragraph, whatever stands around it."""
    loose = [] if isinstance(container, list) else [container.text]
    for element in container:
        if any(_tag(each) in _BLOCKS for each in element.iter()):
            yield from _paragraph(loose)
            yield from _block(element, level)
            loose = [element.tail]
        else:
            loose += [*element.itertext(), element.tail]
    yield from _paragraph(loose)


def _paragraph(texts: list[str | None]) -> Iterator[Item]:
    text = " ".join("".join(filter(None, texts)).split())
    if text:
        yield Item("paragraph", text)


def _block(element: Element, level: int) -> Iterator[Item]:
    tag = _tag(element)
    if tag == "title":
        yield from [heading(text, level) for text in [_text(element)] if text]
    elif tag in _LINES:
        text = _text(element)
        if text:
            is_heading = tag == "subtitle"
            yield heading(text, level + 1) if is_heading else Item("paragraph", text)
    elif tag == "stanza":  # the verses of a poem stand close together
        text = "\n".join(filter(None, map(_text, element)))
        yield from [Item("paragraph", text)] if text else []
    elif tag == "table":
        rows = ([_text(cell) for cell in row] for row in element.iter("{*}tr"))
        yield from table([cells for cells in rows if any(cells)])
    elif tag == "image":
        words = " ".join(filter(None, (element.get("title"), element.get("alt"))))
        yield from [Item("paragraph", f"[Image: {words}]")] if words.strip() else []
    else:
        yield from _items(element, level + 1 if tag == "section" else level)


def _title(element: Element) -> str:
    title = element.find("{*}title")
    return "" if title is None else _text(title)


def _name(author: Element) -> str:
    parts = {_tag(child): _text(child) for child in author}
    return " ".join(filter(None, (parts.get(name, "") for name in _NAMES)))


def _text(element: Element) -> str:
    """Words in one line; paragraphs within, as of a title, are parted."""
    if any(_tag(child) in _LINES for child in element):
        return " ".join(filter(None, map(_text, element)))
    return " ".join("".join(element.itertext()).split())


def _tag(element: Element) -> str:
    """Its name; empty for what is no element, as a reference to an entity."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
