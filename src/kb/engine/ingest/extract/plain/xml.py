"""Any other XML as readable text: names and values, records as tables, prose as prose. Invalid XML,
or with entities, is read as plain text: nothing is expanded or fetched."""

import re
from itertools import groupby, islice
from typing import Any

from lxml import etree

from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.paging import pages_of
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.plain.value_tree import Pairs, render
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_MOST_TAGS = 1_000_000  # that are made into a tree: each takes some 200 bytes of memory
_ABOUT_XML = (
    "{http://www.w3.org/XML/1998/namespace}",
    "{http://www.w3.org/2001/XMLSchema-instance}",
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_PARSER = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def extract(source: Source) -> Extraction:
    text = read_text(source)
    root = tree_of(text)
    named = ending(source.filename)
    if root is None:
        return Extraction("xml" if named == "xml" else "text", named, iter([Page(text)]))
    rendered = render(_value(root))
    if not rendered:
        raise Refusals(source.filename).no_text()
    pages = pages_of(rendered)
    return Extraction(
        "xml",
        named if named != "txt" else "xml",
        islice(pages, source.start, None),
        title=_title(root),
    )


def tree_of(text: str) -> Any | None:
    """None if it is invalid XML, is nested too deep, or declares a type of its own."""
    if "<!ENTITY" in text or text.count("<") > _MOST_TAGS:
        return None
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, **_PARSER)
    try:
        # The text is decoded already: what it says about its charset no longer holds.
        return etree.fromstring(_DECLARATION.sub("", text, count=1).encode(), parser)
    except etree.XMLSyntaxError:
        return None


def _value(root: Any) -> Any:
    """An element as a value: its text, or the names and values inside it."""
    top = Pairs()
    waiting = [top]
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            waiting[-2].append((_name(element), _grouped(waiting.pop())))
            continue
        entries = Pairs(_attributes(element))
        text = None if _has_structure(element) else " ".join(_prose(element).split())
        if text:
            entries.append(("", text))
        waiting.append(entries)
        if text is not None:
            walker.skip_subtree()
    return top[0][1]


def _attributes(element: Any) -> list[tuple[str, str]]:
    """Those that say something; XML's own are about how to read it."""
    return [
        (name.rpartition("}")[2], value.strip())
        for name, value in element.attrib.items()
        if value.strip() and not name.startswith(_ABOUT_XML)
    ]


def _has_structure(element: Any) -> bool:
    """Whether an element holds elements alone; one with text between them is a piece of prose."""
    if not len(element) or (element.text or "").strip():
        return False
    return not any((child.tail or "").strip() for child in element)


def _prose(element: Any) -> str:
    """Tags part no word, but those that hold tags alone: a note and its parts."""
    gap = " " if _has_structure(element) else ""
    inner = gap.join(f"{_prose(child)}{child.tail or ''}" for child in element)
    return f"{gap}{element.text or ''}{inner}{gap}"


def _grouped(entries: Pairs) -> Any:
    """Neighbours of one name as a list; a text without anything beside it as the text."""
    if len(entries) == 1 and not entries[0][0]:
        return entries[0][1]
    grouped = Pairs()
    for name, group in groupby(entries, key=lambda entry: entry[0]):
        values = [value for _, value in group]
        grouped.append((name, values if len(values) > 1 else values[0]))
    return grouped


def _name(element: Any) -> str:
    return str(etree.QName(element).localname)


def _title(root: Any) -> str | None:
    found = root.find(".//{*}title")
    return line("".join(found.itertext())) or None if found is not None else None
