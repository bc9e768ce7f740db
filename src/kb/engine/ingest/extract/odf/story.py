"""Reads paragraphs, lists and tables of an OpenDocument file, in the text and everywhere else."""

from collections.abc import Iterator

from kb.engine.ingest.extract.markup import Item, entry, heading
from kb.engine.ingest.extract.odf.forms import Forms
from kb.engine.ingest.extract.odf.numbering import Counts, Numbering
from kb.engine.ingest.extract.odf.odf_file import (
    DRAW,
    OFFICE,
    TABLE,
    TEXT,
    XLINK,
    OpenDocument,
    comment,
    picture_text,
)
from kb.engine.ingest.extract.odf.paragraph import Segment, is_drawn, segments
from kb.engine.ingest.extract.odf.styles import Styles
from kb.engine.ingest.extract.ooxml.docx_pages import TURN, Turn
from kb.engine.ingest.extract.ooxml.office_file import whole
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.ingest.extract.zip_package import Element

_P, _H, _LIST, _TABLE = f"{TEXT}p", f"{TEXT}h", f"{TEXT}list", f"{TABLE}table"
_NOTES = {"footnote": "Footnote", "endnote": "Endnote"}
_ROW_GROUPS = tuple(
    f"{TABLE}{name}" for name in ("table-header-rows", "table-rows", "table-row-group")
)
_CELLS = (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
_UNSEEN = frozenset(
    f"{TEXT}{name}"
    for name in (
        "tracked-changes",
        "sequence-decls",
        "variable-decls",
        "user-field-decls",
        "table-of-content-source",
        "alphabetical-index-source",
        "illustration-index-source",
        "table-index-source",
        "object-index-source",
        "user-index-source",
        "bibliography-source",
    )
) | {f"{OFFICE}forms", f"{TABLE}shapes"}
_WIDEST = 64  # columns that a cell may span or be repeated over
_MOST_POINTS = 2_000  # rows of a chart; with more it is a picture of measurements


class Story:
    """Reads what a document is made of. `title` is there once it has been come by."""

    def __init__(self, document: OpenDocument) -> None:
        self.title: str | None = None
        self._package = document.package
        self._styles = Styles(document)
        self._numbering = Numbering(document)
        self._forms = Forms()
        self._objects: set[str] = set()  # each is told once, since one may hold itself

    def items(self, container: Element) -> Iterator[Item]:
        """Everything in a container that page breaks do not divide."""
        return (item for item in self.flow(container) if isinstance(item, Item))

    def flow(self, container: Element) -> Iterator[Item | Turn]:
        """Everything in the text itself, with the ends of pages."""
        for element in container:
            tag = element.tag
            if tag in (_P, _H):
                yield from self._paragraph(element)
            elif tag == _LIST:
                yield from self._list(element)
            elif tag == _TABLE:
                yield from self._table(element)
            elif tag == f"{TEXT}soft-page-break":
                yield TURN
            elif is_drawn(element):
                yield from self._shape(element)
            elif tag == f"{OFFICE}annotation":
                yield from self._attached(element)
            elif tag not in _UNSEEN:
                yield from self.flow(element)

    def _paragraph(
        self, element: Element, mark: str | None = None, level: int = 1
    ) -> Iterator[Item | Turn]:
        style = element.get(f"{TEXT}style-name", "")
        if self._styles.breaks_before(style):
            yield TURN
        for number, segment in enumerate(segments(element)):
            if number:
                yield TURN
            if segment.text:
                yield self._written(element, segment.text, style, mark, level)
                mark = None
            for attached in segment.attached:
                yield from self._attached(attached)
        if self._styles.breaks_after(style):
            yield TURN

    def _written(
        self, element: Element, text: str, style: str, mark: str | None, level: int
    ) -> Item:
        if element.tag == _H:
            level = whole(element.get(f"{TEXT}outline-level"), 1)
            number = mark or self._number(element, style, level)
            return heading(f"{number} {text}" if number not in ("", "-") else text, level)
        if self._styles.is_title(style):
            self.title = self.title or " ".join(text.split())
            return heading(text)
        return Item("paragraph", text) if mark is None else entry(text, level - 1, mark)

    def _number(self, element: Element, style: str, level: int) -> str:
        """Of a heading that is in no list."""
        is_numbered = self._styles.list_style(style) != ""
        return self._numbering.heading(element, level) if is_numbered else ""

    def _list(self, element: Element) -> Iterator[Item | Turn]:
        style = element.get(f"{TEXT}style-name") or self._style_of_first(element)
        yield from self._entries(element, style, 1, self._numbering.begin(element, style))

    def _entries(
        self, element: Element, style: str, level: int, counts: Counts
    ) -> Iterator[Item | Turn]:
        """Its items; a list inside an item has the style of the list around it."""
        for item in element:
            if item.tag == f"{TEXT}soft-page-break":
                yield TURN
                continue
            # An item may only be there to hold a list that is one level deeper.
            is_counted = item.tag == f"{TEXT}list-item" and any(b.tag in (_P, _H) for b in item)
            mark = self._numbering.item(item, style, level, counts) if is_counted else None
            for block in item:
                if block.tag == _LIST:
                    inner = block.get(f"{TEXT}style-name") or style
                    yield from self._entries(block, inner, level + 1, counts)
                elif block.tag in (_P, _H):
                    yield from self._paragraph(block, mark, level)
                    mark = None
                elif block.tag == f"{TEXT}soft-page-break":
                    yield TURN

    def _style_of_first(self, element: Element) -> str:
        """The list style that the paragraphs of a list without one bring along."""
        first = next(element.iter(_P, _H), None)
        name = None if first is None else first.get(f"{TEXT}style-name", "")
        return (self._styles.list_style(name) if name else None) or ""

    def _table(self, element: Element) -> Iterator[Item | Turn]:
        first = True
        after: list[Item] = []  # what hangs on the cells comes after their table
        if self._styles.breaks_before(element.get(f"{TABLE}style-name", "")):
            yield TURN
        for row in _rows(element):
            if row.tag == f"{TEXT}soft-page-break":
                yield TURN
                continue
            cells, attached, broken = self._cells(row)
            if any(cells):
                yield Item("header" if first else "row", pipe_row(cells))
                first = False
            after += attached
            if broken:
                yield TURN
        yield from after

    def _cells(self, row: Element) -> tuple[list[str], list[Item], bool]:
        """The texts of a row, the notes on them, and whether a page ends within it."""
        cells: list[str] = []
        notes: list[Item] = []
        broken = False
        for cell in row:
            if cell.tag not in _CELLS:
                continue
            texts: list[str] = []
            for block in cell:
                if block.tag == _TABLE:
                    texts.append(self._inner_table(block))
                elif block.tag in (_P, _H):
                    found = segments(block)
                    broken = broken or len(found) > 1
                    for segment in found:
                        texts.append(segment.text)
                        notes += self._hung_on(segment, texts)
                else:
                    texts += [item.text.strip() for item in self.items([block])]
            repeated = min(whole(cell.get(f"{TABLE}number-columns-repeated"), 1), _WIDEST)
            cells += [" ".join(filter(None, texts))] * repeated
        while cells and not cells[-1]:
            cells.pop()
        return cells, notes, broken

    def _hung_on(self, segment: Segment, texts: list[str]) -> Iterator[Item]:
        """What hangs on a text in a cell: shapes go into the cell, notes behind the table."""
        for element in segment.attached:
            if is_drawn(element):
                texts += [item.text for item in self._shape(element)]
            else:
                yield from self._attached(element)

    def _inner_table(self, table: Element) -> str:
        """The rows of a table inside a cell, parted by semicolons."""
        rows = (self._cells(row)[0] for row in _rows(table) if row.tag == f"{TABLE}table-row")
        return "; ".join(", ".join(filter(None, cells)) for cells in rows if any(cells))

    def _attached(self, element: Element) -> Iterator[Item]:
        """A note, a comment or a shape."""
        if element.tag == f"{TEXT}note":
            body = element.find(f"{TEXT}note-body")
            kind = _NOTES.get(element.get(f"{TEXT}note-class", ""), "Note")
            text = "" if body is None else _joined(self.items(body))
            if text:
                yield Item("paragraph", f"{kind}: {text}")
        elif element.tag == f"{OFFICE}annotation":
            text = _joined(self.items(element))
            if text:
                yield Item("paragraph", comment(element, text))
        else:
            yield from self._shape(element)

    def _shape(self, element: Element) -> Iterator[Item]:
        """A picture by its description, a box by its text, a chart or formula by its own."""
        words = picture_text(element)
        if words:
            yield Item("paragraph", words)
        shown = self._forms.words(element) if element.tag == f"{DRAW}control" else ""
        if shown:
            yield Item("paragraph", shown)
        for child in element:
            if child.tag in (_P, _H, _LIST) or is_drawn(child) or child.tag == _TABLE:
                yield from self.items([child])
            elif child.tag in (f"{DRAW}text-box", f"{DRAW}a"):
                yield from self.items(child)
            elif child.tag == f"{DRAW}object":
                yield from self._object(child)

    def _object(self, element: Element) -> Iterator[Item]:
        """A chart, a formula, a sheet or a text: a document of its own inside this one, or where
        there is one file for all, inside the element."""
        root = element.find(f"{OFFICE}document")
        formula = element.find("{*}math")
        name = element.get(f"{XLINK}href", "").removeprefix("./").rstrip("/")
        part = f"{name}/content.xml"
        if root is None and formula is None:
            if not name or part not in self._package or part in self._objects:
                return
            self._objects.add(part)
            root = self._package.xml(part, doctype=True)
        for written in (root if formula is None else formula).iter("{*}annotation"):
            if (written.text or "").strip():
                yield Item("paragraph", f"Formula: {' '.join(written.text.split())}")
        for body in () if root is None else root.iterfind(f"{OFFICE}body/*"):
            if body.tag == f"{OFFICE}chart":
                yield from self._chart(body)
            else:
                yield from self.items(body)

    def _chart(self, chart: Element) -> Iterator[Item]:
        titles = [_joined(self.items(title)) for title in chart.iter("{*}title", "{*}subtitle")]
        if any(titles):
            yield Item("paragraph", f"Chart: {'; '.join(filter(None, titles))}")
        for table in chart.iter(_TABLE):
            if len(list(_rows(table))) <= _MOST_POINTS:
                yield from (item for item in self._table(table) if isinstance(item, Item))


def _rows(table: Element) -> Iterator[Element]:
    """Rows and page breaks between them, in whatever groups they are."""
    for element in table:
        if element.tag in _ROW_GROUPS:
            yield from _rows(element)
        elif element.tag in (f"{TABLE}table-row", f"{TEXT}soft-page-break"):
            yield element


def _joined(items: Iterator[Item]) -> str:
    return "\n".join(item.text for item in items)
