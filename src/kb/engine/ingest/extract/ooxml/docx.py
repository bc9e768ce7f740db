"""Word documents, page by page where there are page breaks: everything that a reader sees."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.ooxml.docx_pages import (
    MARGINS,
    TURN,
    Turn,
    aside,
    begins_page,
    breaks_of,
    paged,
    section_turns,
)
from kb.engine.ingest.extract.ooxml.docx_story import (
    NOTES,
    TBL,
    TR,
    P,
    Story,
    is_one_column,
    is_unseen,
    properties_of,
    within,
)
from kb.engine.ingest.extract.ooxml.docx_text import Breaks
from kb.engine.ingest.extract.ooxml.office_file import Office, W, extraction, open_office
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.ingest.extract.zip_package import Element, forget
from kb.engine.pages import Page

_ENDINGS = ("docx", "docm", "dotx", "dotm")
_MOST_BLOCKS = 2_000_000  # paragraphs and rows; most would be empty
_FIELDS = (f"{W}instrText", f"{W}fldSimple")
_TITLE_WITHIN = 50  # items; what is named a title further on is not the document's


def extract(source: Source) -> Extraction:
    office = open_office(source)
    breaks = breaks_of(office.package, office.main)
    story = Story(office, breaks)
    items = _Body(office, story, breaks).items()
    opening = list(islice(items, _TITLE_WITHIN))
    pages = _pages(office, story, breaks, chain(opening, items))
    title = office.title or story.title
    return extraction("docx", _ENDINGS, source, pages, title, office.metadata)


def _pages(
    office: Office, story: Story, breaks: Breaks, items: Iterable[Item | Turn]
) -> Iterator[Page]:
    yield from paged(items, breaks, office.package)
    for kind in NOTES:
        yield from aside(kind, story.left_notes(kind))
    margins: dict[Item, None] = {}  # the same headers stand in several sections
    for part in (*office.related("header"), *office.related("footer")):
        root = office.package.xml(part)
        counts_pages = next(root.iter(*_FIELDS), None) is not None
        for item in story.items(root, office.package.relations(part)):
            if any(map(str.isalpha, item.text)) or not counts_pages:  # no page number alone
                margins[item] = None
    yield from aside(MARGINS, margins)


class _Body:
    """The text itself, read row by row and let go of: it takes ten times the memory of the file."""

    def __init__(self, office: Office, story: Story, breaks: Breaks) -> None:
        self._office = office
        self._story = story
        self._hard = breaks == "hard"
        self._sections = iter(section_turns(office.package, office.main) if self._hard else ())
        self._attached: list[Item] = []  # to the rows so far; they come after their table
        self._one_column: bool | None = None  # None before the first row of a table
        self._first_row = True

    def items(self) -> Iterator[Item | Turn]:
        block: Element = None  # the paragraph or row that is being read
        blocks = 0
        package, main = self._office.package, self._office.main
        for event, element in package.stream(main, (P, TR, TBL), ("start", "end")):
            if event == "start":
                if block is None and element.tag != TBL:
                    block = element
            elif element is block:
                block = None
                blocks += 1
                if blocks > _MOST_BLOCKS:
                    raise package.too_large(f"it has more than {_MOST_BLOCKS:,} paragraphs")
                if not is_unseen(element):
                    is_row = element.tag == TR
                    yield from self._row(element) if is_row else self._paragraph(element)
                forget(element)
            elif block is None and element.tag == TBL:
                yield from self._end_table()
                forget(element)

    def _paragraph(self, element: Element) -> Iterator[Item | Turn]:
        items = self._story.paragraph(element, self._office.relations)
        return self._between_hard_breaks(element, items) if self._hard else items

    def _between_hard_breaks(
        self, element: Element, items: Iterator[Item | Turn]
    ) -> Iterator[Item | Turn]:
        properties = properties_of(element)
        if begins_page(properties):
            yield TURN
        yield from items
        ends_section = properties is not None and properties.find(f"{W}sectPr") is not None
        if ends_section and next(self._sections, False):
            yield TURN

    def _row(self, element: Element) -> Iterator[Item | Turn]:
        if self._one_column is None:
            self._one_column = is_one_column(next(element.iterancestors(TBL), element))
        if self._one_column:
            for cell in within(element, (f"{W}tc",)):
                for block in within(cell, (P, TBL)):
                    if block.tag == P:
                        yield from self._story.paragraph(block, self._office.relations)
                    else:
                        yield from self._story.table(block, self._office.relations)
            return
        row = self._story.row(element, self._office.relations)
        if row.leading:
            yield from self._flush()
            yield from [TURN] * row.leading
        if any(row.cells):
            yield Item("header" if self._first_row else "row", pipe_row(row.cells))
            self._first_row = False
        self._attached += row.attached
        if row.breaks > row.leading:
            yield from self._flush()
            yield from [TURN] * (row.breaks - row.leading)

    def _end_table(self) -> Iterator[Item]:
        yield from self._flush()
        self._one_column = None
        self._first_row = True

    def _flush(self) -> Iterator[Item]:
        yield from self._attached
        self._attached = []
