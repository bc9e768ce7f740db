"""EPUB: a book in reading order, chapter by chapter, each cited by its title in the contents. A
chapter is a file of the book's spine that has text, or a drawing with text."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from kb.engine.errors import PasswordNeeded
from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.pictures.svg import words_of
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.web.page import read_page
from kb.engine.ingest.extract.web.tag_scanner import scan
from kb.engine.ingest.extract.zip_package import Package
from kb.engine.pages import Page

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"
# Fonts are made unreadable outside of their book in two ways; that keeps nobody from the text.
_FONTS_ONLY = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
_TEXTS = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_DRAWING = "image/svg+xml"
_MOST_FALLBACKS = 5
_FIRST_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_MOST_CHAPTERS = 5_000
_LONGEST_TITLE = 120  # characters
_MOST_ENTRIES = 10_000  # of the table of contents
_DEEPEST_ENTRY = 6


class _Item(NamedTuple):
    """A file of the book, as its list of files has it."""

    name: str
    media_type: str
    properties: str
    fallback: str  # the id of a file that says the same in a more usual form


def extract(source: Source) -> Extraction:
    package = Package(source.path, source.filename)
    _refuse_locked(package, source.filename)
    book = _Book(package, source)
    said = book.said
    metadata = about(
        {
            "author": ", ".join(said.get("creator", [])),
            "created": iso_date(next(iter(said.get("date", [])), None)),
            "language": next(iter(said.get("language", [])), None),
            "publisher": next(iter(said.get("publisher", [])), None),
            "subject": ", ".join(said.get("subject", [])),
            "description": " ".join(said.get("description", [])),
        }
    )
    title = line(next(iter(said.get("title", [])), "")) or None
    return Extraction("epub", "epub", book.pages(), title=title, metadata=metadata)


def _refuse_locked(package: Package, filename: str) -> None:
    if _ENCRYPTION not in package:
        return
    for method in package.xml(_ENCRYPTION).iter("{*}EncryptionMethod"):
        if method.get("Algorithm") not in _FONTS_ONLY:
            raise PasswordNeeded(
                f"{filename} is locked against copying (DRM): its text cannot be read",
                filename=filename,
            )


class _Book:
    """The files of a book in their order, and what its contents call them."""

    def __init__(self, package: Package, source: Source) -> None:
        self._package = package
        self._source = source
        main = self._main()
        root = package.xml(main, doctype=True)
        self._folder = posixpath.dirname(main)
        self.said = _said(root)
        self._items = {
            item.get("id", ""): _Item(
                self._name(item.get("href", "")),
                item.get("media-type", ""),
                item.get("properties", ""),
                item.get("fallback", ""),
            )
            for item in root.iter("{*}item")
        }
        self._spine = [ref.get("idref", "") for ref in root.iter("{*}itemref")]
        self._titles = self._contents(root)

    def pages(self) -> Iterator[Page]:
        """Chapters that have text, numbered as they come."""
        number = 0
        for reference in self._spine:
            item = self._readable(reference)
            text = self._text(item) if item is not None else ""
            if item is None or not text:
                continue
            number += 1
            if number > _MOST_CHAPTERS:
                raise self._package.too_large(f"it has more than {_MOST_CHAPTERS:,} chapters")
            if number > self._source.start:
                yield from self._chapter(item, text, number)
        if not number:
            filename = self._source.filename
            raise Refusals(filename).no_text()

    def _main(self) -> str:
        """The file that lists all others: as the container says, else the only one of its kind."""
        if _CONTAINER in self._package:
            for root in self._package.xml(_CONTAINER).iter("{*}rootfile"):
                name = root.get("full-path", "")
                if name in self._package:
                    return str(name)
        for name in self._package.names:
            if name.lower().endswith(".opf"):
                return name
        raise self._package.damaged("its list of chapters is missing")

    def _name(self, href: str, folder: str | None = None) -> str:
        path = unquote(href.partition("#")[0])
        return posixpath.normpath(posixpath.join(self._folder if folder is None else folder, path))

    def _readable(self, reference: str) -> _Item | None:
        """A file of the spine, or what stands in for one that only some programs can show."""
        for _ in range(_MOST_FALLBACKS):
            item = self._items.get(reference)
            if item is None:
                break
            if item.media_type in (*_TEXTS, _DRAWING) and item.name in self._package:
                return item
            reference = item.fallback
        return None

    def _text(self, item: _Item) -> str:
        markup = decode(self._package.read(item.name))
        if item.media_type == _DRAWING:
            return words_of(markup, careful=self._source.careful)
        return read_page(markup, careful=self._source.careful, whole=True).markdown

    def _chapter(self, item: _Item, text: str, number: int) -> Iterator[Page]:
        headings = self._titles.get(item.name, ())
        found = _FIRST_HEADING.search(text)
        title = headings[-1] if headings else line(found[1] if found else "", _LONGEST_TITLE)
        if found is not None and line(found[1], _LONGEST_TITLE) == title:
            headings = headings[:-1]
        location = title or f"chapter {number}"
        for piece in cut(text):
            yield Page(
                piece,
                number=number,
                location=location,
                markup="markdown",
                lines_count=False,
                headings=headings,
            )

    def _contents(self, root: Any) -> dict[str, tuple[str, ...]]:
        """The titles above each file, outermost first: from the newer contents, else the older."""
        for item in self._items.values():
            if "nav" in item.properties.split() and item.name in self._package:
                reader = _NavigationReader()
                scan(decode(self._package.read(item.name)), reader)
                return self._first_titles(reader.entries, posixpath.dirname(item.name))
        listed = root.find(".//{*}spine")
        older = self._items.get(listed.get("toc", "") if listed is not None else "")
        if older is None or older.name not in self._package:
            return {}
        entries = _older_contents(self._package.xml(older.name, doctype=True))
        return self._first_titles(entries, posixpath.dirname(older.name))

    def _first_titles(
        self, entries: list[tuple[str, tuple[str, ...]]], folder: str
    ) -> dict[str, tuple[str, ...]]:
        titles: dict[str, tuple[str, ...]] = {}
        for href, path in entries[:_MOST_ENTRIES]:
            titles.setdefault(self._name(href, folder), path[:_DEEPEST_ENTRY])
        return titles


def _said(root: Any) -> dict[str, list[str]]:
    """The book's metadata, by the names of the Dublin Core."""
    said: dict[str, list[str]] = {}
    for element in root.iter(f"{_DC}*"):
        words = line("".join(element.itertext()))
        if words:
            said.setdefault(element.tag.removeprefix(_DC).lower(), []).append(words)
    return said


def _older_contents(root: Any) -> list[tuple[str, tuple[str, ...]]]:
    entries = []
    for point in root.iter("{*}navPoint"):
        content = point.find("{*}content")
        above = [*reversed(list(point.iterancestors("{*}navPoint"))), point]
        labels = (each.findtext("{*}navLabel/{*}text") or "" for each in above)
        path = tuple(filter(None, (line(label, _LONGEST_TITLE) for label in labels)))
        if content is not None and path:
            entries.append((content.get("src", ""), path))
        if len(entries) >= _MOST_ENTRIES:
            break
    return entries


class _NavigationReader:
    """Keeps the links of the table of contents; other lists of links may follow it."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, tuple[str, ...]]] = []
        self._navs: list[bool] = []  # of those that are open, which are tables of contents
        self._seen = False
        self._path: list[str] = []
        self._depth = 0
        self._href: str | None = None
        self._label: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "nav":
            kinds = attributes.get("type", "toc").split()
            self._navs.append("toc" in kinds and not self._seen)
            self._seen = self._seen or self._navs[-1]
        elif tag == "ol":
            self._depth += 1
        elif tag == "a" or (tag == "span" and self._href is None):  # a span is an entry, too
            self._href = attributes.get("href", "")
            self._label.clear()

    def end(self, tag: str) -> None:
        if tag == "nav" and self._navs:
            self._navs.pop()
        elif tag == "ol":
            self._depth -= 1
        elif (tag == "a" and self._href is not None) or (tag == "span" and self._href == ""):
            label = line("".join(self._label), _LONGEST_TITLE)
            if label and any(self._navs):
                del self._path[max(self._depth - 1, 0) :]
                self._path.append(label)
                if self._href:
                    self.entries.append((self._href, tuple(self._path)))
            self._href = None

    def text(self, data: str) -> None:
        self._label.append(data)
