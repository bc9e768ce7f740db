"""SVG: the words in a drawing, or else those drawn as shapes, read by OCR, or else a description.
Renderers read files and follow references: only what is in the drawing itself is rendered."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kb.engine.ingest import ocr
from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.pictures.colours import colour_name
from kb.engine.ingest.extract.pictures.inside import CAN_DRAW
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.plain.xml import tree_of
from kb.engine.ingest.extract.web.tag_scanner import data_uris_removed, scan, walk
from kb.engine.pages import Page, Remark

_MAX_BYTES = 64 * 2**20  # pictures may be written into a drawing
_SHAPES = {
    "rect": "rectangle",
    "circle": "circle",
    "ellipse": "ellipse",
    "line": "line",
    "polyline": "polyline",
    "polygon": "polygon",
    "path": "path",
    "image": "picture",
}
_UNSEEN = frozenset({"script", "style"})
_BLOCKS = frozenset({"text", "title", "desc", "p", "div", "li", "td", "h1", "h2", "h3", "flowpara"})
_FEW_LETTERS = 20  # of a drawing's words: others may be drawn
_DRAWN = 500  # characters that shapes are written with: less is an icon
_PLACED = "\v"  # no character of XML, so it is in no text
_MOST_COLOURS = 5
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_HEX = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE)
_NAMED = re.compile(r"[a-z]{3,20}", re.IGNORECASE)
_STYLE_COLOUR = re.compile(r"(?:fill|stroke):\s*([^;]{1,30})", re.IGNORECASE)
_NO_COLOURS = frozenset({"none", "inherit", "transparent", "currentcolor", "initial", "unset"})


def extract(source: Source) -> Extraction:
    drawing, tree = _drawing(read_text(source, _MAX_BYTES), careful=source.careful)
    said = drawing.said
    metadata = about(
        {
            "author": said.get("creator"),
            "created": iso_date(said.get("date")),
            "language": said.get("language"),
            "description": said.get("description"),
            "keywords": said.get("subject"),
            "dimensions": drawing.size(),
        }
    )
    title = line(drawing.title or said.get("title", "")) or None
    return Extraction("image", "svg", _pages(source, drawing, tree), title, metadata)


def _pages(source: Source, drawing: "_Drawing", tree: Any) -> Iterator[Page | Remark]:
    if source.start:
        return
    words = drawing.words()
    is_drawn = (
        CAN_DRAW
        and tree is not None
        and source.ocr.engine != "off"
        and drawing.may_hold_drawn_words(words)
    )
    if source.wanted != "all" and is_drawn != (source.wanted == "pictures"):
        yield Page("", method="later" if is_drawn else "text")
        return
    if is_drawn:
        found = _recognised(tree)
        if found.doubt:
            yield Remark(f"the drawing {found.doubt}")
        elif any(map(str.isalnum, found.text)):
            text = "\n\n".join(filter(None, [words, found.text]))
            yield Page(text, markup="markdown", method="ocr", lines_count=False)
            return
    if words:
        for piece in cut(words):
            yield Page(piece, markup="markdown", lines_count=False)
    else:
        yield Page(drawing.description(), method="image", lines_count=False)


def _recognised(tree: Any) -> ocr.Recognised:
    """The words that are drawn as shapes."""
    reader = ocr.reader()
    if reader is None:
        raise OcrNeeded(1)
    # Where there is a reader of pictures, what draws them is loaded, and else it must not be.
    from kb.engine.ingest.extract.pictures.inside.drawing import picture_of

    picture = picture_of(tree)
    return ocr.Recognised("", 0.0) if picture is None else reader.document().read(picture)


def words_of(markup: str, *, careful: bool) -> str:
    """The words of a drawing that is part of something else."""
    return _drawing(markup, careful=careful)[0].words()


def _drawing(markup: str, *, careful: bool) -> tuple["_Drawing", Any | None]:
    """What is in a drawing, and its tree, if it has one."""
    markup = data_uris_removed(_DECLARATION.sub("", markup, count=1))
    drawing = _Drawing()
    tree = None if careful else tree_of(markup)
    if tree is None:
        scan(markup, drawing)
    else:
        walk(tree, drawing)
    return drawing, tree


class _Drawing:
    """Takes tags and text as they come; keeps the words, and counts the drawn shapes."""

    def __init__(self) -> None:
        self.title = ""
        self.said: dict[str, str] = {}  # in the metadata, by the name of the element
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._open: list[str] = []  # elements whose text is read, and those of the metadata
        self._size: tuple[str, str] = ("", "")
        self._shapes: Counter[str] = Counter()
        self._colours: Counter[str] = Counter()
        self._drawn = 0  # characters that shapes are written with
        self._depth = 0
        self._y = ""  # where the text stands

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if tag == "metadata" or "metadata" in self._open[:1]:
            self._open.append(tag)
            return
        if tag == "svg" and not any(self._size):
            self._size = _size(attributes)
        if tag in _SHAPES:
            self._shapes[_SHAPES[tag]] += 1
            self._drawn += len(attributes.get("d") or attributes.get("points") or "")
        self._count_colours(attributes)
        label = attributes.get("aria-label")
        if label:
            self._flush()
            self._lines.append(line(label))
        if tag in _BLOCKS or tag in _UNSEEN:
            self._flush()
            self._open.append(tag)
        elif tag == "tspan" and self._open:
            self._inline.append(self._gap(attributes))
        elif tag == "br":
            self._inline.append("\n")

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag in self._open[-3:]:
            if self._open[0] != "metadata":
                self._flush(is_title=tag == "title" and self._depth <= 1)
            while self._open.pop() != tag:
                continue

    def text(self, data: str) -> None:
        if not self._open or self._open[-1] in _UNSEEN:
            return
        if self._open[0] == "metadata":
            self._note(data)
        else:
            self._inline.append(data.replace("\n", " "))

    def words(self) -> str:
        """The title as a heading, and each text once, in the order of the file."""
        self._flush()
        heading = [f"# {self.title}"] if self.title else []
        lines = dict.fromkeys(text for text in self._lines if text and text != self.title)
        described = [text for text in [self.said.get("description", "")] if text not in lines]
        return "\n\n".join([*heading, *filter(None, described), *lines])

    def may_hold_drawn_words(self, words: str) -> bool:
        return self._drawn >= _DRAWN and sum(map(str.isalnum, words)) < _FEW_LETTERS

    def size(self) -> str | None:
        return " × ".join(self._size) if all(self._size) else None

    def description(self) -> str:
        """The description of a drawing without words."""
        size = self.size()
        sentences = [f"SVG drawing, {size}." if size else "SVG drawing."]
        counted = [
            f"{count} {shape}{'s' if count > 1 else ''}"
            for shape, count in self._shapes.most_common()
        ]
        if counted:
            sentences.append(f"Shapes: {', '.join(counted)}.")
        if self._colours:
            names = [name for name, _ in self._colours.most_common(_MOST_COLOURS)]
            sentences.append(f"Colours: {', '.join(names)}.")
        return " ".join(sentences)

    def _note(self, data: str) -> None:
        """A value of the metadata, under the outermost name that is known."""
        words = line(data)
        known = ("creator", "date", "language", "description", "subject", "title")
        name = next((tag for tag in self._open if tag in known), None)
        if words and name:
            before = self.said.get(name)
            self.said[name] = line(f"{before}, {words}") if before else words

    def _count_colours(self, attributes: Mapping[str, str]) -> None:
        written = [attributes.get("fill"), attributes.get("stroke")]
        written += _STYLE_COLOUR.findall((attributes.get("style") or "")[:1_000])
        self._colours.update(name for name in map(_colour, written) if name)

    def _gap(self, attributes: Mapping[str, str]) -> str:
        """What stands before a span: it may be a new line, a new word or, set one by one, just the
        next letter."""
        y, before = attributes.get("y", self._y), self._y
        self._y = y
        if y != before or attributes.get("dy", "0").strip("0.empx"):
            return "\n"
        return _PLACED if "x" in attributes else ""

    def _flush(self, *, is_title: bool = False) -> None:
        texts = [_joined(text.split(_PLACED)) for text in "".join(self._inline).split("\n")]
        self._inline.clear()
        text = "\n".join(filter(None, texts))
        if is_title and not self.title:
            self.title = line(text)
        elif text:
            self._lines.append(text)


def _joined(spans: list[str]) -> str:
    """Spans with places of their own are words, unless most are single letters."""
    letters = sum(len(span) < 2 for span in spans) * 2 > len(spans)
    return " ".join(("" if letters else " ").join(spans).split())


def _size(attributes: Mapping[str, str]) -> tuple[str, str]:
    width, height = attributes.get("width") or "", attributes.get("height") or ""
    box = (attributes.get("viewbox") or attributes.get("viewBox") or "").replace(",", " ").split()
    if len(box) == 4 and not (width[:1].isdigit() and height[:1].isdigit() and "%" not in width):
        width, height = box[2:]
    return line(width.removesuffix("px"))[:20], line(height.removesuffix("px"))[:20]


def _colour(written: str | None) -> str | None:
    value = (written or "").strip()
    if _HEX.fullmatch(value):
        digits = value[1:] if len(value) == 7 else "".join(digit * 2 for digit in value[1:])
        return colour_name(*(int(digits[at : at + 2], 16) for at in (0, 2, 4)))
    if _NAMED.fullmatch(value) and value.lower() not in _NO_COLOURS:
        return value.lower()
    return None
