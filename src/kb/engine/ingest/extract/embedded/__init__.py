"""Reads what other programs embedded in a document, each object by its own reader. Objects come
after the text, whose readers know nothing of them, and are cited by their places."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module

from kb.engine.errors import KbError, NoTextFound
from kb.engine.ingest.extract.archives.attached import Read, Refused
from kb.engine.ingest.extract.archives.parts import Item, Parts
from kb.engine.ingest.extract.embedded.found import Found
from kb.engine.ingest.extract.embedded.look import are_in
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.formats import BY_KIND, FORMATS
from kb.engine.pages import Page, Remark

__all__ = ["are_in", "extract", "load"]

_MOST = 200  # objects of a document
_FEW_NEW = 0.3  # of the words of a picture: they are pieces of known ones
_A_LETTER_OR_TWO = 2
_TOLD = 5  # places that a warning names


def extract(
    source: Source, kind: str, extractor: Callable[[Source], Extraction], read: Read
) -> Extraction:
    """The document with its objects; `read` reads each of them."""
    try:
        extraction = extractor(replace(source, start=0, careful=False))
    except NoTextFound as error:
        extraction = Extraction(BY_KIND[kind].doc_type or kind, kind, _raising(error))
    parts = Parts(source, read)
    return replace(extraction, pages=parts.after_start(_pages(extraction, source, kind, parts)))


def load() -> None:
    """Import all of it, for a process that can import nothing any more."""
    for module in {each.objects for each in FORMATS} - {""}:
        import_module(f"{__name__}.{module}")


def _raising(error: NoTextFound) -> Iterator[Item]:
    raise error
    yield


def _pages(extraction: Extraction, source: Source, kind: str, parts: Parts) -> Iterator[Item]:
    """A document may have no text but that of its objects."""
    without_text = None
    known: set[str] = set()  # words
    try:
        yield from _noted(parts.own(extraction.pages), known)
    except NoTextFound as error:
        without_text = error
    yield from _noted(_objects(source, kind, parts, known), known)
    if without_text is not None and not known:
        raise without_text


def _noted(items: Iterable[Item], known: set[str]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Page):
            known.update([""] if item.method == "later" else item.text.split())
        yield item


def _objects(source: Source, kind: str, parts: Parts, known: set[str]) -> Iterator[Item]:
    not_read: dict[str, list[str]] = {}  # where, by why
    module = import_module(f"{__name__}.{BY_KIND[kind].objects}")
    found: Iterator[Found] = module.found(source)
    try:
        for count, each in enumerate(found):
            if count == _MOST:
                yield Remark(f"more than {_MOST} objects: the others were not read")
                return
            yield parts.begin(each.place)
            if parts.is_deadly:
                yield Remark(f"{each.place} was not read: it kills its reader")
                continue
            for item in _of_object(each, parts):
                if each.is_picture and not _says_more(item, known):
                    continue
                if isinstance(item, str):
                    not_read.setdefault(item, []).append(each.place)
                else:
                    yield item
    except KbError as error:
        yield Remark(f"not all objects embedded by other programs were found: {error.message}")
    for why, places in not_read.items():
        yield Remark(_not_read(why, list(dict.fromkeys(places)), len(places)))


def _of_object(found: Found, parts: Parts) -> Iterator[Item | str]:
    """Those of one object; a text says why it is not read, with its kind."""
    try:
        file = found.file()
    except KbError as error:
        yield Remark(f"{found.place} was not read: {error.message}")
        return
    if file is None:
        return
    if isinstance(file, str):
        yield f"{file} read"
        return
    name, data = file
    place = f"{found.place} ({name})" if found.is_named(name) else found.place
    for page in parts.pages(data, name, place):
        if isinstance(page, Refused):
            yield page.why
        elif not isinstance(page, Page) or page.text or page.method == "later":
            yield page


def _says_more(item: Item | str, known: set[str]) -> bool:
    """Whether a picture has words that nobody has said. Formulas are drawn letter by letter."""
    words = item.text.split() if isinstance(item, Page) else []
    new = sum(len(word) > _A_LETTER_OR_TWO and word not in known for word in words)
    return new > len(words) * _FEW_NEW


def _not_read(why: str, places: list[str], count: int) -> str:
    more = f" and {len(places) - _TOLD:,} more places" if len(places) > _TOLD else ""
    what = "1 object was" if count == 1 else f"{count:,} objects were"
    if count > 1 and why.startswith("it "):
        why = f"each {why.removeprefix('it ')}"
    return f"{what} not read, as {why}: {'; '.join(places[:_TOLD])}{more}"
