"""Turns the characters of a Word file into paragraphs, rows, notes and boxes."""

import struct
from itertools import pairwise

from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.ole.doc_file import Part, WordFile, positions, whole_characters
from kb.engine.ingest.extract.ole.doc_formats import Formats, Paragraph
from kb.engine.ingest.extract.ole.doc_lists import Lists
from kb.engine.ingest.extract.ooxml.docx_pages import Turn
from kb.engine.ingest.extract.rtf.story import Story
from kb.engine.ingest.extract.symbols import symbol

_CELL, _TAB, _LINE, _BREAK, _PARAGRAPH, _COLUMN = "\x07", "\t", "\x0b", "\x0c", "\r", "\x0e"
_FIELD, _RESULT, _FIELD_END = "\x13", "\x14", "\x15"
_ENDS = frozenset((_CELL, _BREAK, _PARAGRAPH))
_SHOWN = {_TAB: "\t", _LINE: "\n", _COLUMN: "\n", "\x1e": "-", "\xa0": " "}
_SEPARATORS = 6  # stories of headers that hold the lines above notes
_CONTINUOUS = 0
_NOTE_REFERENCES = (("footnotes", 2, 3, 2, "Footnote"), ("endnotes", 46, 47, 2, "Endnote"))
_COMMENT_SIZE = 30
_BOX_SIZE, _ANCHOR_SIZE, _SECTION_SIZE = 22, 26, 12
_DEEPEST_FIELD = 50


class Texts:
    """All texts of one file. `title` is there once `document` has come by it."""

    def __init__(self, file: WordFile) -> None:
        self.title: str | None = None
        self._file = file
        self._formats = Formats(file)
        self._lists = Lists(file)
        self._fonts = _fonts(file.structure(15)) if not file.is_old else []
        self._turning = self._section_turns()
        self._attached: dict[int, list[Item]] = {}  # by the character they hang on
        self._left: list[Item] = []  # what hangs on none that there is

    def document(self) -> list[Item | Turn]:
        self._attach_notes()
        self._attach_comments()
        self._attach_boxes()
        story = Story()
        self._tell(story, self._file.parts["text"], pages=True)
        for items in self._attached.values():
            self._left += items
        story.attach(self._left)
        return story.finish()

    def margins(self) -> list[Item]:
        """The headers and footers, each once."""
        part = self._file.parts["headers"]
        places = positions(self._file.structure(11), 0)[0]
        found = []
        for start, end in zip(places[_SEPARATORS:], places[_SEPARATORS + 1 :], strict=False):
            found += self._inside(Part(part.start + start, min(part.start + end, part.end)))
        found += self._inside(self._file.parts["header boxes"])
        return list(dict.fromkeys(found))

    def _inside(self, part: Part) -> list[Item]:
        """A text that no page break cuts."""
        story = Story()
        self._tell(story, part)
        return [item for item in story.finish() if isinstance(item, Item)]

    def _tell(self, story: Story, part: Part, *, pages: bool = False) -> None:
        text = self._file.text
        start, last = part.start, min(part.end, len(text))
        fields = _Fields()
        for position in (at for at in range(start, last) if text[at] in _ENDS):
            mark = text[position]
            paragraph = self._formats.paragraph(position)
            if self._file.is_old:
                paragraph = _guessed(text, start, position)
            self._begin(story, paragraph, pages and paragraph.new_page)
            self._say(story, text, start, position, fields)
            if mark == _CELL and paragraph.ends_row:
                story.end_row()
            elif mark == _CELL:
                story.end_cell()
            elif mark == _BREAK and pages and self._turning.get(position, True):
                story.turn()
            else:
                self._end_paragraph(story, paragraph)
            start = position + 1
        if start < last:
            self._begin(story, Paragraph(), False)
            self._say(story, text, start, last, fields)
            story.end_paragraph()

    def _begin(self, story: Story, paragraph: Paragraph, new_page: bool) -> None:
        if new_page and not paragraph.in_table:
            story.turn()
        shape = story.shape
        shape.in_table = paragraph.in_table
        shape.level = None if paragraph.level is None else max(paragraph.level, 1)
        shape.depth = paragraph.list_level
        shape.mark = None

    def _end_paragraph(self, story: Story, paragraph: Paragraph) -> None:
        if story.has_words:
            story.shape.mark = self._lists.mark(paragraph.list_number, paragraph.list_level)
            if paragraph.level == 0 and self.title is None:
                self.title = " ".join(story.said.split()) or None
        story.end_paragraph()

    def _say(self, story: Story, text: str, start: int, end: int, fields: "_Fields") -> None:
        hidden: dict[int, str] = {}
        for first, last, sign in self._formats.unusual(start, end):
            shown = "" if sign is None else self._sign(*sign)
            hidden |= dict.fromkeys(range(first, min(last, end)), shown)
        pieces = []
        for position in range(start, end):
            character = text[position]
            if position in self._attached:
                story.attach(self._attached.pop(position))
            if character in (_FIELD, _RESULT, _FIELD_END):
                fields.meet(character)
            elif fields.are_shown:
                if position in hidden:
                    pieces.append(hidden[position])
                elif character >= " ":
                    pieces.append("" if character in "\x1f\xad" else character)
                else:
                    pieces.append(_SHOWN.get(character, ""))
        story.say(whole_characters("".join(pieces)).replace("\0", ""))

    def _sign(self, font: int, place: int) -> str:
        name = self._fonts[font] if font < len(self._fonts) else ""
        return symbol(name, f"{place:x}")

    def _attach_notes(self) -> None:
        for name, references, texts, size, called in _NOTE_REFERENCES:
            part = self._file.parts[name]
            places = positions(self._file.structure(references), size)[0]
            starts = positions(self._file.structure(texts), 0)[0]
            for number, (start, end) in enumerate(pairwise(starts)):
                if number + 1 < len(places):
                    self._attach(places[number], called, part, start, end)

    def _attach_comments(self) -> None:
        part = self._file.parts["comments"]
        places, said = positions(self._file.structure(4), _COMMENT_SIZE)
        starts = positions(self._file.structure(5), 0)[0]
        authors = _strings(self._file.structure(36))
        for number, (start, end) in enumerate(pairwise(starts)):
            if number >= len(said):
                break
            author = struct.unpack_from("<H", said[number], 20)[0]
            by = f" by {authors[author]}" if author < len(authors) and authors[author] else ""
            self._attach(places[number], f"Comment{by}", part, start, end)

    def _attach_boxes(self) -> None:
        """Boxes stand where the drawing is anchored that they belong to."""
        part = self._file.parts["boxes"]
        starts, said = positions(self._file.structure(56), _BOX_SIZE)
        anchors, drawings = positions(self._file.structure(40), _ANCHOR_SIZE)
        anchored = {drawing[:4]: at for at, drawing in zip(anchors, drawings, strict=False)}
        for number, (start, end) in enumerate(pairwise(starts)):
            if start >= part.end - part.start:
                break
            items = self._inside(Part(part.start + start, min(part.start + end, part.end)))
            at = anchored.get(said[number][14:18])
            if at is None:
                self._left += items
            else:
                self._attached.setdefault(at, []).extend(items)

    def _attach(self, at: int, called: str, part: Part, start: int, end: int) -> None:
        items = self._inside(Part(part.start + start, min(part.start + end, part.end)))
        text = "\n".join(item.text for item in items)
        if text:
            self._attached.setdefault(at, []).append(Item("paragraph", f"{called}: {text}"))

    def _section_turns(self) -> dict[int, bool]:
        """For the last character of each section, whether the next begins on a new page."""
        places, sections = positions(self._file.structure(6), _SECTION_SIZE)
        turning = {}
        for number in range(1, len(sections)):
            at = struct.unpack_from("<I", sections[number], 2)[0]
            turning[places[number] - 1] = self._section_break(at) != _CONTINUOUS
        return turning

    def _section_break(self, at: int) -> int:
        if at == 0xFFFFFFFF or self._file.is_old:
            return 2
        length = int.from_bytes(self._file.main[at : at + 2], "little")
        said = self._file.main[at + 2 : at + 2 + length]
        position = said.find(b"\x09\x30")  # the kind of the break
        return said[position + 2] if 0 <= position < len(said) - 2 else 2


class _Fields:
    """Whether what stands here is seen: of a field that is its result, not what it is made by."""

    def __init__(self) -> None:
        self._open: list[bool] = []

    @property
    def are_shown(self) -> bool:
        return all(self._open)

    def meet(self, mark: str) -> None:
        if mark == _FIELD:
            if len(self._open) < _DEEPEST_FIELD:
                self._open.append(False)
        elif self._open and mark == _RESULT:
            self._open[-1] = True
        elif self._open:
            self._open.pop()


def _guessed(text: str, start: int, end: int) -> Paragraph:
    """In files before Word 97: two marks of cells in a row end a row."""
    if text[end] != _CELL:
        return Paragraph()
    return Paragraph(in_table=True, ends_row=start == end and end > 0 and text[end - 1] == _CELL)


def _strings(structure: bytes) -> list[str]:
    """Names behind their lengths."""
    found = []
    at = 0
    while at + 2 <= len(structure):
        length = struct.unpack_from("<H", structure, at)[0]
        text = structure[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
        found.append(" ".join(text.split()))
        at += 2 + 2 * length
    return found


def _fonts(structure: bytes) -> list[str]:
    """The names of fonts by their numbers."""
    found = []
    at = 4
    while at < len(structure):
        length = structure[at]
        name = structure[at + 40 : at + 1 + length].decode("utf-16-le", "replace")
        found.append(name.partition("\0")[0])
        at += 1 + length
    return found
