"""Opens an OpenDocument file: its parts, and what it says about itself. For ODT, ODS and ODP."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.odf.flat import FlatPackage, is_flat
from kb.engine.ingest.extract.ooxml.office_file import whole
from kb.engine.ingest.extract.zip_package import Element, Package

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
OFFICE = f"{{{_ODF}office:1.0}}"
TEXT = f"{{{_ODF}text:1.0}}"
TABLE = f"{{{_ODF}table:1.0}}"
DRAW = f"{{{_ODF}drawing:1.0}}"
STYLE = f"{{{_ODF}style:1.0}}"
FO = f"{{{_ODF}xsl-fo-compatible:1.0}}"
FORM = f"{{{_ODF}form:1.0}}"
PRESENTATION = f"{{{_ODF}presentation:1.0}}"
_META = f"{{{_ODF}meta:1.0}}"
_SVG = f"{{{_ODF}svg-compatible:1.0}}"
_LOCKED = re.compile(rb"<(?:\w{1,20}:)?encryption-data\b")
DC = "{http://purl.org/dc/elements/1.1/}"
XLINK = "{http://www.w3.org/1999/xlink}"


CONTENT = "content.xml"


class OpenDocument(NamedTuple):
    """An opened file. `page_count` is what its program counted when it was saved. `content` is
    None where it is to be read piece by piece."""

    package: Package
    content: Element | None
    styles: Element | None
    title: str | None
    metadata: dict[str, Any]
    page_count: int | None

    def body(self, kind: str) -> Element:
        """The kind of the document: `text`, `spreadsheet` or `presentation`."""
        path = f"{OFFICE}body/{OFFICE}{kind}"
        found = None if self.content is None else self.content.find(path)
        if found is None:
            raise self.package.damaged(f"there is no {kind} in it")
        return found

    def all_styles(self, *tags: str) -> Iterator[Element]:
        """Those of the whole document first, then those of single places; of these tags, if any."""
        for root in (self.styles, self.content):
            if root is not None:
                for group in root.iterchildren(f"{OFFICE}styles", f"{OFFICE}automatic-styles"):
                    yield from group.iterchildren(*tags or "*")


def open_document(source: Source, *, whole_content: bool = True) -> OpenDocument:
    package = (FlatPackage if is_flat(source.path) else Package)(source.path, source.filename)
    _refuse_locked(package)
    said: dict[str, list[str]] = {}
    page_count = None
    if "meta.xml" in package:
        for element in package.xml("meta.xml", doctype=True).iterfind(f"{OFFICE}meta/*"):
            if element.tag == f"{_META}document-statistic":
                page_count = whole(element.get(f"{_META}page-count")) or None
            elif element.text:
                said.setdefault(element.tag, []).append(element.text)
    first = {name: values[0] for name, values in said.items()}
    metadata = about(
        {
            "author": first.get(f"{_META}initial-creator") or first.get(f"{DC}creator"),
            "subject": first.get(f"{DC}subject"),
            "description": first.get(f"{DC}description"),
            "keywords": ", ".join(said.get(f"{_META}keyword", [])),
            "language": first.get(f"{DC}language"),
            "created": iso_date(first.get(f"{_META}creation-date")),
            "modified": iso_date(first.get(f"{DC}date")),
        }
    )
    return OpenDocument(
        package,
        package.xml(CONTENT, doctype=True) if whole_content else None,
        package.xml("styles.xml", doctype=True) if "styles.xml" in package else None,
        line(first.get(f"{DC}title", "")) or None,
        metadata,
        page_count,
    )


def _refuse_locked(package: Package) -> None:
    """The list of parts is not parsed: in old files its names are explained in another file."""
    manifest = "META-INF/manifest.xml"
    if manifest in package and _LOCKED.search(package.read(manifest)):
        raise package.locked()


def picture_text(frame: Element) -> str:
    """The alternative text of a picture or shape; may be empty."""
    said = (frame.findtext(f"{_SVG}title"), frame.findtext(f"{_SVG}desc"))
    words = dict.fromkeys(" ".join(text.split()) for text in said if text)
    return f"[Image: {'. '.join(words)}]" if any(words) else ""


def comment(element: Element, text: str) -> str:
    """A comment with its author, where one is named."""
    author = " ".join((element.findtext(f"{DC}creator") or "").split())
    return f"Comment by {author}: {text}" if author else f"Comment: {text}"
