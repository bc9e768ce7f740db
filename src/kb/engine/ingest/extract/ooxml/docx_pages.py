"""Divides a Word document into pages where they ended the last time Word saved it. Without that
record the author's own breaks count, as long as no text between two is longer than a page."""

import re
from collections.abc import Iterable, Iterator

from kb.engine.ingest.extract.markup import Item, heading, join
from kb.engine.ingest.extract.ooxml.docx_text import OFF, Breaks
from kb.engine.ingest.extract.ooxml.office_file import W
from kb.engine.ingest.extract.paging import MAX_PAGE, cut
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.zip_package import Element, Package, forget
from kb.engine.pages import Page

_MOST_PAGES = 5_000
_MOST_ON_A_PAGE = 10_000  # characters; small print on large paper has fewer
_LONGEST_HEADER = 10_000  # characters of a table's first row that are worth repeating
# An element cannot be mistaken for text here: in text, `<` is written in another way.
_RENDERED = re.compile(rb"<\w{1,20}:lastRenderedPageBreak\b")
_HARD = re.compile(rb"<\w{1,20}:(?:br\b[^<>]{0,200}\btype\s{0,9}=\s{0,9}.page|pageBreakBefore\b)")
_P, _TR, _SECTION = f"{W}p", f"{W}tr", f"{W}sectPr"


class Turn:
    """A page ends here."""


TURN = Turn()


def breaks_of(package: Package, part: str) -> Breaks:
    """Which page breaks a document has that tell where its pages are."""
    data = package.read(part)
    if _RENDERED.search(data):
        return "rendered"
    return "hard" if _HARD.search(data) else "none"


def section_turns(package: Package, part: str) -> list[bool]:
    """For each section that ends within the text, whether the next begins on a new page."""
    kinds = []
    for _, element in package.stream(part, (_SECTION, _P, _TR)):
        if element.tag == _SECTION:
            kind = element.find(f"{W}type")
            kinds.append("nextPage" if kind is None else kind.get(f"{W}val", "nextPage"))
        else:
            forget(element)
    return [kind not in ("continuous", "nextColumn") for kind in kinds[1:]]


def begins_page(properties: Element | None) -> bool:
    """Whether a paragraph was set to begin a page."""
    found = None if properties is None else properties.find(f"{W}pageBreakBefore")
    return found is not None and found.get(f"{W}val") not in OFF


def paged(items: Iterable[Item | Turn], breaks: Breaks, refusals: Refusals) -> Iterator[Page]:
    """Without page breaks it is one page without a number, as long as a page may be."""
    page = _OpenPage(None if breaks == "none" else 1, breaks == "hard")
    for item in items:
        if isinstance(item, Turn):
            yield from page.turn()
            if (page.number or 0) > _MOST_PAGES:
                raise refusals.too_large(f"it has more than {_MOST_PAGES:,} pages")
        else:
            if page.length + len(item.text) > MAX_PAGE:
                yield from page.written()
            page.add(item)
    yield from page.written()


def breaks_told(page_count: int | None, items: Iterable[Item | Turn]) -> Breaks:
    """Those of a file that knows only of breaks that the author set. How many pages there were when
    it was saved tells whether these are all."""
    turns = sum(isinstance(item, Turn) for item in items)
    if page_count is not None:
        return "rendered" if page_count == turns + 1 else "none"
    return "hard" if turns else "none"


MARGINS = "headers and footers"


def aside(location: str, items: Iterable[Item]) -> Iterator[Page]:
    """Text without a page of its own, each once. A heading separates it from the last chapter."""
    said = list(dict.fromkeys(items))
    for text in cut(join([heading(location.capitalize()), *said])) if said else ():
        yield Page(text, location=location, markup="markdown", lines_count=False)


class _OpenPage:
    """The page being filled. Where a table goes on from the page before, its header comes again."""

    def __init__(self, number: int | None, by_hard_breaks: bool) -> None:
        self.number = number
        self.length = 0
        self._by_hard_breaks = by_hard_breaks
        self._items: list[Item] = []
        self._header: Item | None = None

    def add(self, item: Item) -> None:
        if item.kind != "row":
            is_header = item.kind == "header" and len(item.text) <= _LONGEST_HEADER
            self._header = item if is_header else None
        elif not self._items and self._header is not None:
            self._items.append(self._header)
            self.length += len(self._header.text) + 1
        self._items.append(item)
        self.length += len(item.text) + 2

    def turn(self) -> Iterator[Page]:
        if self.number is None:
            return
        yield from self.written()
        if self.number is not None:
            self.number += 1

    def written(self) -> Iterator[Page]:
        if self._by_hard_breaks and self.length > _MOST_ON_A_PAGE:
            self.number = None  # it is more than one page, and nobody knows how many
        for text in cut(join(self._items)):
            yield Page(text, self.number, markup="markdown", lines_count=False)
        self._items = []
        self.length = 0
