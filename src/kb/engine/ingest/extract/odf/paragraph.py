"""Reads a paragraph of an OpenDocument file, with the notes and boxes anchored to it."""

from dataclasses import dataclass, field

from kb.engine.ingest.extract.odf.odf_file import DRAW, OFFICE, TEXT
from kb.engine.ingest.extract.ooxml.office_file import whole
from kb.engine.ingest.extract.zip_package import Element

_MOST_SPACES = 100
_SIGNS = {f"{TEXT}tab": "\t", f"{TEXT}line-break": "\n"}
_BREAK = f"{TEXT}soft-page-break"
_SPACES = f"{TEXT}s"
_NUMBER = f"{TEXT}number"  # of a heading, where a program has written it down
_ATTACHED = frozenset({f"{TEXT}note", f"{OFFICE}annotation"})
_DRAWN = tuple(
    f"{DRAW}{shape}"
    for shape in (
        "frame",
        "g",
        "custom-shape",
        "rect",
        "ellipse",
        "circle",
        "line",
        "polyline",
        "polygon",
        "path",
        "connector",
        "caption",
        "measure",
        "control",
    )
)
_UNSEEN = frozenset(
    {
        f"{OFFICE}annotation-end",
        f"{OFFICE}event-listeners",
        f"{TEXT}ruby-text",
        f"{TEXT}tracked-changes",
        f"{TEXT}note-citation",
    }
)


@dataclass(slots=True)
class Segment:
    """What a paragraph holds on one page. `attached` are notes, comments and drawn shapes."""

    pieces: list[str] = field(default_factory=list)
    attached: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()


def segments(paragraph: Element) -> list[Segment]:
    """A paragraph as page breaks cut it: nearly always one segment."""
    found = [Segment()]
    _read(paragraph, found)
    return found


def is_drawn(element: Element) -> bool:
    return element.tag in _DRAWN


def _read(element: Element, found: list[Segment]) -> None:
    _say(element.text, found)
    for child in element:
        tag = child.tag
        if tag == _SPACES:
            spaces = whole(child.get(f"{TEXT}c"), 1)
            found[-1].pieces.append(" " * min(spaces, _MOST_SPACES))
        elif tag in _SIGNS:
            found[-1].pieces.append(_SIGNS[tag])
        elif tag == _BREAK:
            found.append(Segment())
        elif tag in _ATTACHED or tag in _DRAWN:
            found[-1].attached.append(child)
        elif tag == f"{TEXT}ruby":
            _read_ruby(child, found)
        elif tag not in _UNSEEN:
            _read(child, found)
            if tag == _NUMBER:
                found[-1].pieces.append(" ")
        _say(child.tail, found)


def _read_ruby(element: Element, found: list[Segment]) -> None:
    """A word, then how it is pronounced."""
    _read(element, found)
    sound = element.findtext(f"{TEXT}ruby-text")
    if sound:
        found[-1].pieces.append(f" ({sound.strip()})")


def _say(text: str | None, found: list[Segment]) -> None:
    """White space in a file counts as one space; more spaces have elements of their own."""
    if text:
        found[-1].pieces.append(" ".join(f"|{text}|".split())[1:-1])
