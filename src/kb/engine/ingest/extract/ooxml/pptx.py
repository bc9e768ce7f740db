"""Presentations, slide by slide: everything on a slide, its notes and its comments."""

from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.ooxml.drawing import text_of
from kb.engine.ingest.extract.ooxml.office_file import (
    Office,
    P,
    R,
    extraction,
    open_office,
    targets,
)
from kb.engine.ingest.extract.ooxml.pptx_shapes import placeholder, shape_items, shapes
from kb.engine.ingest.extract.paging import slide_pages
from kb.engine.ingest.extract.zip_package import Element, Relation
from kb.engine.pages import Page

_ENDINGS = ("pptx", "pptm", "ppsx", "ppsm", "potx", "potm")
_MOST_SLIDES = 5_000
_OFF = ("0", "false", "off")
_TITLES = ("title", "ctrTitle")
_MARGINS = ("ftr", "dt", "hdr")  # footer, date, header: the same on every slide
_NUMBER = "sldNum"


def extract(source: Source) -> Extraction:
    office = open_office(source)
    slides = _slide_parts(office)
    pages, title = _pages(office, slides), _title(office, slides)
    return extraction("pptx", _ENDINGS, source, pages, title, office.metadata, len(slides))


def _slide_parts(office: Office) -> list[str]:
    """In the order in which they are shown, which their names do not tell."""
    root = office.package.xml(office.main)
    entries = (slide.get(f"{R}id", "") for slide in root.iterfind(f"{P}sldIdLst/{P}sldId"))
    found = (office.relations[entry].target for entry in entries if entry in office.relations)
    slides = [part for part in found if part in office.package]
    if len(slides) > _MOST_SLIDES:
        raise office.package.too_large(f"it has more than {_MOST_SLIDES:,} slides")
    return slides


def _title(office: Office, slides: list[str]) -> str | None:
    """PowerPoint names what nobody has named after itself; then the first slide tells more."""
    if office.title and "powerpoint" not in office.title.lower():
        return office.title
    return _slide_title(office.package.xml(slides[0])) or None if slides else None


def _slide_title(root: Element) -> str:
    titles = (text_of(shape) for shape in shapes(root) if placeholder(shape) in _TITLES)
    return " ".join(" ".join(titles).split())


def _pages(office: Office, slides: list[str]) -> Iterator[Page]:
    deck = _Deck(office)
    for number, part in enumerate(slides, start=1):
        root = office.package.xml(part)
        items = list(deck.items(root, office.package.relations(part)))
        title = _slide_title(root)
        yield from slide_pages(number, title, items, is_hidden=root.get("show") in _OFF)


class _Deck:
    """What slides have in common is read once, with the first slide that shows it."""

    def __init__(self, office: Office) -> None:
        self._package = office.package
        self._told: set[str] = set()  # footers, and parts that lie behind slides
        self._authors: dict[str, str] = {}
        for part in (*office.related("commentAuthors"), *office.related("authors")):
            for author in self._package.xml(part):
                self._authors[author.get("id", "")] = " ".join(author.get("name", "").split())

    def items(self, root: Element, relations: dict[str, Relation]) -> Iterator[Item]:
        """All but the title."""
        for shape in shapes(root):
            kind = placeholder(shape)
            if kind in _MARGINS:
                yield from self._once(text_of(shape))
            elif kind != _NUMBER and kind not in _TITLES:
                yield from shape_items(shape, self._package, relations)
        yield from self._behind(relations)
        for part in targets(self._package, relations, "notesSlide"):
            notes = self._package.xml(part)
            bodies = (s for s in shapes(notes) if placeholder(s) in (None, "body"))
            text = "\n".join(filter(None, map(text_of, bodies)))
            if text:
                yield Item("paragraph", f"Notes: {text}")
        for part in targets(self._package, relations, "comments"):
            yield from self._comments(self._package.xml(part))

    def _once(self, text: str) -> Iterator[Item]:
        if text and text not in self._told:
            self._told.add(text)
            yield Item("paragraph", text)

    def _behind(self, relations: dict[str, Relation]) -> Iterator[Item]:
        """What the layout and the master show on each slide; their placeholders show nothing."""
        for layout in targets(self._package, relations, "slideLayout"):
            if layout not in self._told:
                yield from self._static(layout)
                for master in targets(
                    self._package, self._package.relations(layout), "slideMaster"
                ):
                    if master not in self._told:
                        yield from self._static(master)

    def _static(self, part: str) -> Iterator[Item]:
        self._told.add(part)
        relations = self._package.relations(part)
        for shape in shapes(self._package.xml(part)):
            if placeholder(shape) is None:
                yield from shape_items(shape, self._package, relations)

    def _comments(self, root: Element) -> Iterator[Item]:
        """Both forms: of old with a plain text each, and those of 2021 with replies."""
        for comment in root.iter("{*}cm", "{*}reply"):
            author = self._authors.get(comment.get("authorId", ""), "")
            bodies = (body for body in comment if body.tag.endswith(("}text", "}txBody")))
            text = "\n".join(text_of(body) or body.text or "" for body in bodies).strip()
            if text:
                said = f"Comment by {author}" if author else "Comment"
                yield Item("paragraph", f"{said}: {text}")
