"""Presentations of PowerPoint 97 to 2003, slide by slide: texts, tables, notes, comments."""

import struct
import zlib
from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.markup import Item, entry, table
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.ppt_records import Presentation, Record
from kb.engine.ingest.extract.ole.ppt_shapes import Shape, Text, shapes, texts
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.ingest.extract.paging import slide_pages
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_ENDINGS = ("ppt", "pps", "pot")
_MOST_SLIDES = 5_000
_LIST, _PERSIST, _SLIDE_INFO, _NOTES_INFO, _SLIDE_ATOM = 4080, 1011, 1017, 1009, 1007
_COMMENT, _STRING, _MARGINS = 12_000, 4026, 4057
_FIRST_TEXT = 3999  # texts and how they are set have this number or a higher one
_SLIDES, _MASTERS, _NOTES = 0, 1, 2  # which of the lists it is
_TITLES, _BODIES, _NOTE = (0, 6), (1, 5, 7, 8), 2
_HIDDEN = 4
_OBJECT_ATOM, _OBJECT_SHOWN, _STORAGE = 4035, 3009, 4113
_LARGEST_OBJECT = 32 * 2**20


def extract(source: Source) -> Extraction:
    compound = Compound(source)
    with making_sense(source):
        deck = _Deck(Presentation(compound))
        pages = list(deck.pages())
    if not any(page.text for page in pages):
        raise Refusals(source.filename).no_text()
    title = _title(compound.title, deck.title)
    return extraction("pptx", _ENDINGS, source, pages, title, compound.metadata, len(pages))


def _title(said: str | None, shown: str) -> str | None:
    """PowerPoint names what nobody has named after itself; then the first slide tells more."""
    return said if said and "powerpoint" not in said.lower() else shown or None


def objects(presentation: Presentation) -> Iterator[tuple[int, bytes]]:
    """What other programs set onto slides: the number of the slide, and a compound file."""
    stored: dict[int, int] = {}
    for atom in presentation.document.within(_OBJECT_ATOM):
        if len(atom.data) >= 20:
            _, _, identifier, _, reference = struct.unpack_from("<5I", atom.data)
            stored[identifier] = reference
    for number, (reference, _, _) in enumerate(_Deck(presentation).slides(), start=1):
        slide = presentation.record(reference)
        for shown in () if slide is None else slide.within(_OBJECT_SHOWN):
            identifier = int.from_bytes(shown.data[:4], "little")
            record = presentation.record(stored.pop(identifier, -1))
            if record is not None and record.kind == _STORAGE:
                yield number, _unpacked(record)


def _unpacked(record: Record) -> bytes:
    if not record.instance:
        return record.data
    try:
        return zlib.decompressobj().decompress(record.data[4:], _LARGEST_OBJECT)
    except zlib.error:
        return b""


class _Deck:
    def __init__(self, presentation: Presentation) -> None:
        self.title = ""
        self._presentation = presentation
        self._notes = self._notes_by_slide()
        self._masters = {identifier: ref for ref, identifier, _ in self._listed(_MASTERS)}
        self._told: set[str] = set()  # footers, which are told once

    def slides(self) -> Iterator[tuple[int, int, list[Text]]]:
        return self._listed(_SLIDES)

    def pages(self) -> Iterator[Page]:
        for number, (reference, identifier, outline) in enumerate(self.slides(), start=1):
            slide = self._presentation.record(reference)
            if slide is None or number > _MOST_SLIDES:
                continue
            drawn = list(shapes(slide, outline))
            title = " ".join(
                " ".join(shape.text.words.split()) for shape in drawn if shape.kind in _TITLES
            )
            items = list(self._items(drawn, title))
            items += self._behind(slide)
            items += self._margins(slide)
            note = self._notes.get(identifier)
            if note is not None:
                items += _noted(note)
            items += _comments(slide)
            self.title = self.title or title
            yield from slide_pages(number, title, items, is_hidden=_is_hidden(slide))

    def _items(self, drawn: list[Shape], title: str) -> Iterator[Item]:
        for shape in drawn:
            if shape.rows:
                yield from table(shape.rows)
            elif shape.kind not in _TITLES or not title:
                yield from _paragraphs(shape.text)

    def _behind(self, slide: Record) -> Iterator[Item]:
        """What the master shows on each slide; its placeholders show nothing."""
        info = slide.first(_SLIDE_ATOM)
        identifier = struct.unpack_from("<I", info.data.ljust(16, b"\0"), 12)[0] if info else 0
        master = self._presentation.record(self._masters.pop(identifier, -1))
        if master is not None:
            drawn = [shape for shape in shapes(master, []) if not shape.is_placeholder]
            yield from self._items(drawn, "")

    def _margins(self, record: Record) -> Iterator[Item]:
        for container in record.children():
            if container.kind == _MARGINS:
                for text in container.children():
                    words = text.text.strip("\0 ") if text.kind == _STRING else ""
                    if words and words not in self._told:
                        self._told.add(words)
                        yield Item("paragraph", words)

    def _listed(self, which: int) -> Iterator[tuple[int, int, list[Text]]]:
        """The positions of the slides, by their numbers, and the texts of their outline."""
        for container in self._presentation.document.children():
            if container.kind != _LIST or container.instance != which:
                continue
            entry: tuple[int, int] | None = None
            inside: list[Record] = []
            for record in container.children():
                if record.kind == _PERSIST and len(record.data) >= 16:
                    if entry is not None:
                        yield (*entry, list(texts(inside)))
                    reference, _, _, identifier = struct.unpack_from("<IIiI", record.data)
                    entry, inside = (reference, identifier), []
                elif record.kind >= _FIRST_TEXT:
                    inside.append(record)
            if entry is not None:
                yield (*entry, list(texts(inside)))

    def _notes_by_slide(self) -> dict[int, Record]:
        found = {}
        for reference, _, _ in self._listed(_NOTES):
            notes = self._presentation.record(reference)
            info = None if notes is None else notes.first(_NOTES_INFO)
            if notes is not None and info is not None and len(info.data) >= 4:
                found[struct.unpack_from("<I", info.data)[0]] = notes
        return found


def _paragraphs(text: Text) -> Iterator[Item]:
    for number, words in enumerate(text.words.replace("\x0b", "\n").split("\r")):
        if words.strip():
            is_entry = text.kind in _BODIES
            level = text.levels[number] if number < len(text.levels) else 0
            yield entry(words.strip(), level) if is_entry else Item("paragraph", words.strip())


def _noted(notes: Record) -> Iterator[Item]:
    said = [shape.text.words for shape in shapes(notes, []) if shape.kind == _NOTE]
    text = "\n".join(said).replace("\r", "\n").replace("\x0b", "\n").strip()
    if text:
        yield Item("paragraph", f"Notes: {text}")


def _comments(slide: Record) -> Iterator[Item]:
    for comment in slide.within(_COMMENT):
        said = {r.instance: r.text.strip("\0 ") for r in comment.children() if r.kind == _STRING}
        if said.get(1):
            by = f"Comment by {said[0]}" if said.get(0) else "Comment"
            yield Item("paragraph", f"{by}: {said[1]}")


def _is_hidden(slide: Record) -> bool:
    info = slide.first(_SLIDE_INFO)
    return info is not None and len(info.data) >= 12 and bool(info.data[10] & _HIDDEN)
