"""Reads a paragraph of a Word document, with the notes, boxes and charts anchored to it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kb.engine.ingest.extract.ooxml.drawing import CHARTS, picture_text, text_of
from kb.engine.ingest.extract.ooxml.office_file import A, M, W, whole
from kb.engine.ingest.extract.symbols import symbol
from kb.engine.ingest.extract.zip_package import ALTERNATIVES, Element

_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_WPS = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}"
_PIC = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
_V = "{urn:schemas-microsoft-com:vml}"

BOX = f"{W}txbxContent"
_CONTROL = f"{W}sdt"
UNSEEN = (f"{W}del", f"{W}moveFrom")
OFF = ("0", "false", "off")
_SIGNS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
    f"{M}rad": "√",
}
_MATHS = {f"{M}den": "/", f"{M}sup": "^", f"{M}sub": "_"}
_SHAPES = ("shape", "rect", "roundrect", "oval", "line", "group", "image")
_MOVED = re.compile("[\uf020-\uf0ff]")  # signs of symbol fonts, where Unicode has none
_NOTES = {
    f"{W}footnoteReference": "footnotes",
    f"{W}endnoteReference": "endnotes",
    f"{W}commentReference": "comments",
}

Breaks = Literal["rendered", "hard", "none"]


@dataclass(slots=True)
class Segment:
    """What a paragraph holds on one page. `notes` are the kinds and ids of notes and comments that
    it refers to, `boxes` the contents of text boxes, `drawings` charts and SmartArt, `pictures`
    their descriptions."""

    pieces: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    drawings: list[Element] = field(default_factory=list)
    pictures: dict[str, None] = field(default_factory=dict)  # in order, each once

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()


def inside(element: Element) -> list[Element]:
    """The contents of an element, last first. If something is stored in several forms, only one."""
    return list(element[:1] if element.tag == ALTERNATIVES else element[::-1])


def is_placeholder(element: Element) -> bool:
    """A content control that nobody has filled in: it shows a request to do so, not content."""
    return element.tag == _CONTROL and element.find(f"{W}sdtPr/{W}showingPlcHdr") is not None


def segments(paragraph: Element, breaks: Breaks) -> list[Segment]:
    """A paragraph as page breaks cut it: nearly always one segment."""
    return _Reader(paragraph, breaks).segments


class _Reader:
    """Goes through a paragraph once, however deep what it holds is nested."""

    def __init__(self, paragraph: Element, breaks: Breaks) -> None:
        self.segments = [Segment()]
        self._breaks = breaks
        self._fields: list[bool] = []  # for each open field, whether its result has begun
        self._instructions = 0  # open fields whose result has not
        self._hidden = False
        pending = inside(paragraph)
        while pending:
            element = pending.pop()
            read = _READERS.get(element.tag)
            if read is None or not read(self, element):
                pending += inside(element)

    def _say(self, text: str) -> None:
        if not self._hidden and not self._instructions:
            self.segments[-1].pieces.append(text)

    def _text(self, element: Element) -> bool:
        text = (element.text or "").replace("\n", " ")
        if not text.isascii() and _MOVED.search(text):
            fonts = element.find(f"../{W}rPr/{W}rFonts")
            font = "" if fonts is None else fonts.get(f"{W}ascii", "")
            text = _MOVED.sub(lambda sign: symbol(font, f"{ord(sign[0]):x}"), text)
        self._say(text)
        return True

    def _sign(self, element: Element) -> bool:
        self._say(_SIGNS[element.tag])
        return False

    def _note(self, element: Element) -> bool:
        self.segments[-1].notes.append((_NOTES[element.tag], element.get(f"{W}id", "")))
        return True

    def _drawing(self, element: Element) -> bool:
        self.segments[-1].drawings.append(element)
        return True

    def _run(self, _: Element) -> bool:
        self._hidden = False
        return False

    def _run_properties(self, element: Element) -> bool:
        vanish = element.find(f"{W}vanish")
        self._hidden = vanish is not None and vanish.get(f"{W}val") not in OFF
        return True

    def _skip(self, _: Element) -> bool:
        return True

    def _content_control(self, element: Element) -> bool:
        return is_placeholder(element)

    def _break(self, element: Element) -> bool:
        if element.get(f"{W}type") == "page" and self._breaks == "hard":
            self.segments.append(Segment())
        else:
            self._say("\n")
        return False

    def _rendered_break(self, _: Element) -> bool:
        if self._breaks == "rendered":
            self.segments.append(Segment())
        return False

    def _field(self, element: Element) -> bool:
        """Between `begin` and `separate` a field is an instruction; what follows is its result."""
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            self._say(_form_field(element))
            self._fields.append(False)
            self._instructions += 1
        elif kind in ("separate", "end") and self._fields:
            self._instructions -= not self._fields.pop()
            if kind == "separate":
                self._fields.append(True)
        return True

    def _symbol(self, element: Element) -> bool:
        self._say(symbol(element.get(f"{W}font", ""), element.get(f"{W}char", "")))
        return False

    def _ruby(self, element: Element) -> bool:
        """The word first, then how it is pronounced, which is stored the other way round."""
        word, sound = (
            "".join(text.text or "" for text in element.iterfind(f"{W}{part}//{W}t"))
            for part in ("rubyBase", "rt")
        )
        self._say(f"{word} ({sound})" if sound else word)
        return True

    def _operator(self, element: Element) -> bool:
        sign = element.find(f"{M}naryPr/{M}chr")
        self._say("∫" if sign is None else sign.get(f"{M}val", ""))
        return False

    def _maths(self, element: Element) -> bool:
        """Formulas on one line, as one would type them."""
        if next(element.iter(f"{M}t"), None) is not None:
            self._say(_MATHS[element.tag])
        return False

    def _box(self, element: Element) -> bool:
        self.segments[-1].boxes.append(element)
        return True

    def _picture(self, element: Element) -> bool:
        self._show(picture_text(element))
        return False

    def _canvas(self, element: Element) -> bool:
        self._show(text_of(element))
        return True

    def _old_picture(self, element: Element) -> bool:
        words = " ".join((element.get("alt") or "").split())
        self._show(f"[Image: {words}]" if words else "")
        return False

    def _word_art(self, element: Element) -> bool:
        self._show(" ".join(element.get("string", "").split()))
        return False

    def _show(self, words: str) -> None:
        """A picture and its frame often say the same."""
        if words:
            self.segments[-1].pictures[words] = None


def _form_field(element: Element) -> str:
    """What the boxes of a form show that have no text: whether ticked, and which item is chosen."""
    box = element.find(f"{W}ffData/{W}checkBox")
    if box is not None:
        state = box.find(f"{W}checked")
        state = box.find(f"{W}default") if state is None else state
        return "☐" if state is None or state.get(f"{W}val") in OFF else "☒"
    items = element.find(f"{W}ffData/{W}ddList")
    if items is None:
        return ""
    chosen = items.find(f"{W}result")
    entries = items.findall(f"{W}listEntry")
    number = 0 if chosen is None else whole(chosen.get(f"{W}val"))
    return str(entries[number].get(f"{W}val", "")) if number < len(entries) else ""


# What each element says; True where nothing inside it matters any more.
_READERS: dict[str, Callable[[_Reader, Element], bool]] = {
    f"{W}t": _Reader._text,
    f"{M}t": _Reader._text,
    **dict.fromkeys(_SIGNS, _Reader._sign),
    **dict.fromkeys(_NOTES, _Reader._note),
    **dict.fromkeys(CHARTS, _Reader._drawing),
    f"{W}r": _Reader._run,
    f"{W}rPr": _Reader._run_properties,
    f"{W}pPr": _Reader._skip,
    f"{W}sdt": _Reader._content_control,
    f"{W}br": _Reader._break,
    f"{W}lastRenderedPageBreak": _Reader._rendered_break,
    f"{W}fldChar": _Reader._field,
    f"{W}sym": _Reader._symbol,
    f"{W}ruby": _Reader._ruby,
    f"{M}nary": _Reader._operator,
    **dict.fromkeys(_MATHS, _Reader._maths),
    BOX: _Reader._box,
    f"{_WP}docPr": _Reader._picture,
    f"{_PIC}cNvPr": _Reader._picture,
    f"{_WPS}cNvPr": _Reader._picture,
    f"{A}txBody": _Reader._canvas,
    f"{_V}textpath": _Reader._word_art,
    **dict.fromkeys((f"{_V}{shape}" for shape in _SHAPES), _Reader._old_picture),
    **dict.fromkeys(UNSEEN, _Reader._skip),
}
