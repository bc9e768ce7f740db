"""Reads paragraphs and tables of a Word document, in the text and everywhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kb.engine.ingest.extract.markup import Item, entry, heading
from kb.engine.ingest.extract.ooxml.docx_pages import TURN, Turn
from kb.engine.ingest.extract.ooxml.docx_styles import Label, Styles
from kb.engine.ingest.extract.ooxml.docx_text import (
    BOX,
    UNSEEN,
    Breaks,
    Segment,
    inside,
    is_placeholder,
    segments,
)
from kb.engine.ingest.extract.ooxml.drawing import drawn
from kb.engine.ingest.extract.ooxml.office_file import Office, W, whole
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.ingest.extract.zip_package import Element, Relation

P, TBL, TR = f"{W}p", f"{W}tbl", f"{W}tr"
_BODY, _PROPERTIES, _CELL, _SPAN = (f"{W}{name}" for name in ("body", "pPr", "tc", "gridSpan"))
_CELL_PROPERTIES, _ROW_PROPERTIES = f"{W}tcPr", f"{W}trPr"
NOTES = {"footnotes": "Footnote", "endnotes": "Endnote", "comments": "Comment"}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CLOSED = frozenset(
    (*UNSEEN, BOX, _PROPERTIES, _CELL_PROPERTIES, _ROW_PROPERTIES, f"{W}tblPr", f"{W}tblGrid")
)
_DEEPEST = 30  # tables, boxes and notes within each other
_WIDEST = 64  # columns that Word lets a cell span

Relations = dict[str, Relation]


@dataclass(slots=True)
class Row:
    """A row of a table. `leading` page breaks come before its text, `breaks` in all."""

    cells: list[str] = field(default_factory=list)
    attached: list[Item] = field(default_factory=list)
    leading: int = 0
    breaks: int = 0


class Story:
    """Reads what the document's parts are made of. `title` is there once it has been come by."""

    def __init__(self, office: Office, breaks: Breaks) -> None:
        self.title: str | None = None
        self._package = office.package
        self._breaks = breaks
        self._styles = Styles(office)
        self._depth = 0
        self._notes = {kind: _notes(office, kind) for kind in NOTES}

    def paragraph(self, element: Element, relations: Relations) -> Iterator[Item | Turn]:
        """One of the text itself, which page breaks may cut."""
        properties = properties_of(element)
        level = self._styles.heading(properties)
        label = self._styles.label(properties)
        for number, segment in enumerate(segments(element, self._breaks)):
            if number:
                yield TURN
            text = segment.text
            if text:
                yield self._written(text, level, label)
                level = label = None
            yield from self._attached(segment, relations)

    def row(self, element: Element, relations: Relations) -> Row:
        """One of a table in the text itself."""
        return self._row(element, relations, "rendered" if self._breaks == "rendered" else "none")

    def items(self, container: Element, relations: Relations) -> Iterator[Item]:
        """Everything in a container that page breaks do not divide."""
        with self._deeper():
            for block in within(container, (P, TBL)):
                if block.tag == TBL:
                    yield from self.table(block, relations)
                else:
                    properties = properties_of(block)
                    level = self._styles.heading(properties)
                    label = self._styles.label(properties)
                    for segment in segments(block, "none"):
                        if segment.text:
                            yield self._written(segment.text, level, label)
                        yield from self._attached(segment, relations)

    def left_notes(self, kind: str) -> Iterator[Item]:
        """The notes of a kind that nothing in the text refers to."""
        for identifier in list(self._notes[kind]):
            yield from self._note(kind, identifier)

    def _written(self, text: str, level: int | None, label: Label | None) -> Item:
        if level is not None:
            if level == 0 and self.title is None:
                self.title = " ".join(text.split())
            numbered = label is not None and label.text != "-"
            return heading(f"{label.text} {text}" if label and numbered else text, max(level, 1))
        return Item("paragraph", text) if label is None else entry(text, label.level, label.text)

    def _attached(self, segment: Segment, relations: Relations) -> Iterator[Item]:
        for words in segment.pictures:
            yield Item("paragraph", words)
        for box in segment.boxes:
            yield from self.items(box, relations)
        for drawing in segment.drawings:
            yield from drawn(self._package, drawing, relations)
        for kind, identifier in segment.notes:
            yield from self._note(kind, identifier)

    def _note(self, kind: str, identifier: str) -> Iterator[Item]:
        """Each note is read once, since a note may refer to itself."""
        element, relations = self._notes[kind].pop(identifier, (None, {}))
        if element is not None:
            author = " ".join(element.get(f"{W}author", "").split())
            name = f"{NOTES[kind]} by {author}" if author else NOTES[kind]
            text = "\n".join(item.text for item in self.items(element, relations))
            if text:
                yield Item("paragraph", f"{name}: {text}")

    def table(self, element: Element, relations: Relations) -> Iterator[Item]:
        if is_one_column(element):
            for row in within(element, (TR,)):
                for cell in within(row, (_CELL,)):
                    yield from self.items(cell, relations)
            return
        attached: list[Item] = []
        first = True
        for tr in within(element, (TR,)):
            row = self._row(tr, relations, "none")
            if any(row.cells):
                yield Item("header" if first else "row", pipe_row(row.cells))
                first = False
            attached += row.attached
        yield from attached

    def _row(self, element: Element, relations: Relations, breaks: Breaks) -> Row:
        row = Row()
        properties = element.find(_ROW_PROPERTIES)
        if properties is not None:
            if properties.find(f"{W}del") is not None:
                return row
            before = properties.find(f"{W}gridBefore")
            row.cells += [""] * min(0 if before is None else whole(before.get(f"{W}val")), _WIDEST)
        with self._deeper():
            for cell in within(element, (_CELL,)):
                self._cell(cell, relations, breaks, row)
        return row

    def _cell(self, cell: Element, relations: Relations, breaks: Breaks, row: Row) -> None:
        """All of a cell on one line; the rows of a table inside it are parted by semicolons."""
        texts: list[str] = []
        passed = 0
        for block in within(cell, (P, TBL)):
            if block.tag == TBL:
                texts.append(self._inner_table(block, relations, row))
                continue
            label = self._styles.label(properties_of(block))
            for number, segment in enumerate(segments(block, breaks)):
                passed += 1 if number else 0
                if segment.text:
                    row.leading = max(row.leading, 0 if any(texts) else passed)
                    texts.append(f"{label.text} {segment.text}" if label else segment.text)
                    label = None
                texts += segment.pictures
                texts += [item.text for box in segment.boxes for item in self.items(box, relations)]
                if segment.notes or segment.drawings:
                    rest = Segment(notes=segment.notes, drawings=segment.drawings)
                    row.attached += self._attached(rest, relations)
        row.breaks = max(row.breaks, passed)
        row.cells += [" ".join(texts), *[""] * (_columns(cell) - 1)]

    def _inner_table(self, table: Element, relations: Relations, row: Row) -> str:
        lines = []
        for tr in within(table, (TR,)):
            inner = self._row(tr, relations, "none")
            row.attached += inner.attached
            lines.append(", ".join(filter(None, inner.cells)))
        return "; ".join(filter(None, lines))

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._package.too_deep()
        yield
        self._depth -= 1


def within(container: Element, tags: tuple[str, ...]) -> Iterator[Element]:
    """The elements of these names that a reader sees in a container, but not those inside them.
    Content controls and similar wrappers are looked through."""
    pending = inside(container)
    while pending:
        element = pending.pop()
        if element.tag in tags:
            yield element
        elif element.tag not in _CLOSED and not is_placeholder(element):
            pending += inside(element)


def properties_of(paragraph: Element) -> Element | None:
    """They come first, or not at all."""
    return paragraph[0] if len(paragraph) and paragraph[0].tag == _PROPERTIES else None


def is_unseen(element: Element) -> bool:
    """Whether an element around it hides it from readers."""
    if element.getparent().tag == _BODY:
        return False
    for around in element.iterancestors():
        if around.tag in UNSEEN or is_placeholder(around):
            return True
        if around.tag == _FALLBACK and around.getprevious() is not None:
            return True
    return False


def is_one_column(table: Element) -> bool:
    """Such a table is a frame around text, and is read as text."""
    grid = table.find(f"{W}tblGrid")
    return grid is not None and len(grid.findall(f"{W}gridCol")) == 1


def _columns(cell: Element) -> int:
    """How many columns a cell takes."""
    span = cell[0].find(_SPAN) if len(cell) and cell[0].tag == _CELL_PROPERTIES else None
    return 1 if span is None else min(max(whole(span.get(f"{W}val")), 1), _WIDEST)


def _notes(office: Office, kind: str) -> dict[str, tuple[Element, Relations]]:
    notes: dict[str, tuple[Element, Relations]] = {}
    for part in office.related(kind):
        relations = office.package.relations(part)
        for note in office.package.xml(part):
            if "eparator" not in note.get(f"{W}type", ""):  # the line above the notes
                notes[note.get(f"{W}id", "")] = (note, relations)
    return notes
