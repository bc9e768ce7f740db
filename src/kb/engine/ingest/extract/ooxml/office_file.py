"""Opens an Office file: its main part, and what it says about itself."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kb.engine.errors import TextTooLong
from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.extraction import Extraction, Source, usual_ending
from kb.engine.ingest.extract.plain.text import MAX_BYTES
from kb.engine.ingest.extract.zip_package import Package, Relation
from kb.engine.pages import Page

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"

_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_CORE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"


class Office(NamedTuple):
    """An opened file: its parts, the name of the main one, and its properties."""

    package: Package
    main: str
    relations: dict[str, Relation]
    title: str | None
    metadata: dict[str, Any]

    def related(self, kind: str) -> list[str]:
        """The names of the parts of a kind that the main part links to, and that are there."""
        return targets(self.package, self.relations, kind)


def open_office(source: Source, main_kind: str = "officeDocument") -> Office:
    package = Package(source.path, source.filename)
    relations = package.relations("")
    main = next(iter(targets(package, relations, main_kind)), None)
    if main is None:
        raise package.damaged("it does not say which of its parts is the document")
    told: dict[str, str] = {}
    for part in targets(package, relations, "core-properties"):
        told |= {element.tag: element.text or "" for element in package.xml(part)}
    metadata = about(
        {
            "author": told.get(f"{_DC}creator"),
            "subject": told.get(f"{_DC}subject"),
            "keywords": told.get(f"{_CORE}keywords"),
            "language": told.get(f"{_DC}language"),
            "created": iso_date(told.get(f"{_TERMS}created")),
            "modified": iso_date(told.get(f"{_TERMS}modified")),
        }
    )
    title = line(told.get(f"{_DC}title", "")) or None
    return Office(package, main, package.relations(main), title, metadata)


def targets(package: Package, relations: dict[str, Relation], kind: str) -> list[str]:
    found = (relation.target for relation in relations.values() if relation.kind == kind)
    return [target for target in found if target in package]


def extraction(
    doc_type: str,
    endings: Sequence[str],
    source: Source,
    pages: Iterable[Page],
    title: str | None,
    metadata: dict[str, Any],
    page_count: int | None = None,
) -> Extraction:
    """Of a file of any program; `endings` are those of its format, the usual one first."""
    ending = usual_ending(source.filename, endings)
    return Extraction(doc_type, ending, bounded(pages, source), title, metadata, page_count)


def bounded(pages: Iterable[Page], source: Source) -> Iterator[Page]:
    """The pages after those that are done already, as long as they are not too much text."""
    characters = 0
    for number, page in enumerate(pages, start=1):
        characters += len(page.text)
        if characters > MAX_BYTES:
            limit = MAX_BYTES // 2**20
            raise TextTooLong(
                f"{source.filename} holds more than {limit} MB of text; split it and add the parts",
                filename=source.filename,
                limit_mb=limit,
            )
        if number > source.start:
            yield page


def whole(value: str | None, otherwise: int = 0) -> int:
    """A whole number out of an attribute, which may hold anything."""
    digits = (value or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else otherwise
