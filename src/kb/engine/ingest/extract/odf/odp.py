"""OpenDocument presentations, slide by slide: everything on a slide, and its notes."""

from collections.abc import Iterable, Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.odf.odf_file import (
    DRAW,
    OFFICE,
    PRESENTATION,
    STYLE,
    OpenDocument,
    open_document,
)
from kb.engine.ingest.extract.odf.story import Story
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.ingest.extract.paging import slide_pages
from kb.engine.ingest.extract.zip_package import Element
from kb.engine.pages import Page

_ENDINGS = ("odp", "otp", "fodp")
_MOST_SLIDES = 5_000
_CLASS = f"{PRESENTATION}class"
_NOTES = f"{PRESENTATION}notes"
_MARGINS = ("header", "footer", "date-time")
_NO_CONTENT = frozenset({"page-number", "page"})  # the number, and the small slide on its notes


def extract(source: Source) -> Extraction:
    document = open_document(source)
    slides = document.body("presentation").findall(f"{DRAW}page")
    if len(slides) > _MOST_SLIDES:
        raise document.package.too_large(f"it has more than {_MOST_SLIDES:,} slides")
    deck = _Deck(document)
    pages, title = deck.pages(slides), document.title
    title = title or (deck.title(slides[0]) or None if slides else None)
    return extraction("odp", _ENDINGS, source, pages, title, document.metadata, len(slides))


class _Deck:
    """What slides have in common is read once, with the first slide that shows it."""

    def __init__(self, document: OpenDocument) -> None:
        self._story = Story(document)
        self._told: set[str] = set()
        self._declared: dict[tuple[str, str], str] = {}  # headers and footers by kind and name
        for kind in _MARGINS:
            for element in document.body("presentation").iterfind(f"{PRESENTATION}{kind}-decl"):
                name = element.get(f"{PRESENTATION}name", "")
                self._declared[kind, name] = " ".join((element.text or "").split())
        self._masters: dict[str, Element] = {}
        if document.styles is not None:
            for master in document.styles.iterfind(f"{OFFICE}master-styles/{STYLE}master-page"):
                self._masters[master.get(f"{STYLE}name", "")] = master
        self._hidden = {
            style.get(f"{STYLE}name", "")
            for style in document.all_styles()
            if any(part.get(f"{PRESENTATION}visibility") == "hidden" for part in style)
        }

    def pages(self, slides: list[Element]) -> Iterator[Page]:
        for number, slide in enumerate(slides, start=1):
            items = list(self._items(slide))
            title = self.title(slide)
            is_hidden = slide.get(f"{DRAW}style-name", "") in self._hidden
            yield from slide_pages(number, title, items, is_hidden=is_hidden)

    def title(self, slide: Element) -> str:
        titles = (shape for shape in slide if shape.get(_CLASS) == "title")
        texts = (item.text for shape in titles for item in self._story.items([shape]))
        return " ".join(" ".join(texts).split())

    def _items(self, slide: Element) -> Iterator[Item]:
        """All but the title."""
        for shape in slide:
            kind = shape.get(_CLASS, "")
            if kind in _MARGINS:
                yield from self._once(self._story.items([shape]))
            elif shape.tag == _NOTES:
                yield from self._notes(shape)
            elif kind != "title" and kind not in _NO_CONTENT and shape.tag != f"{OFFICE}forms":
                yield from self._story.items([shape])
        yield from self._behind(slide)

    def _behind(self, slide: Element) -> Iterator[Item]:
        """The content of the slide's master, with the header and footer that it fills in."""
        for kind in _MARGINS:
            name = slide.get(f"{PRESENTATION}use-{kind}-name", "")
            text = self._declared.get((kind, name), "")
            yield from self._once([Item("paragraph", text)] if text else [])
        name = slide.get(f"{DRAW}master-page-name", "")
        master = self._masters.pop(name, None)
        for shape in () if master is None else master:
            if shape.get(_CLASS) in _MARGINS:
                items = self._story.items([shape])
                yield from self._once(item for item in items if not _is_placeholder(item.text))
            elif shape.tag not in (_NOTES, f"{OFFICE}forms") and not shape.get(_CLASS):
                yield from self._once(self._story.items([shape]))

    def _once(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if item.text not in self._told:
                self._told.add(item.text)
                yield item

    def _notes(self, notes: Element) -> Iterator[Item]:
        shapes = [shape for shape in notes if shape.get(_CLASS, "notes") == "notes"]
        text = "\n".join(item.text for shape in shapes for item in self._story.items([shape]))
        if text.strip():
            yield Item("paragraph", f"Notes: {text}")


def _is_placeholder(text: str) -> bool:
    """`<footer>` stands where the slide's own would be."""
    return text.startswith("<") and text.endswith(">")
