"""Reads files into pages: the bytes tell what a file is, and each kind has its extractor."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from kb.engine.errors import NoTextFound, UnsupportedFormat
from kb.engine.ingest.extract import embedded
from kb.engine.ingest.extract.extraction import Extraction, Ocr, Source
from kb.engine.ingest.extract.formats import BY_KIND, FORMATS, REFUSED
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.ingest.extract.memory_files import read_in_memory
from kb.engine.ingest.extract.pictures import inside
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

__all__ = ["Extraction", "Ocr", "Source", "extract", "extract_as", "load"]

_DEFAULT_PASSWORD = f"{__name__}.ooxml.default_password"

_ADVICE = {each.kind: each.advice for each in REFUSED}
_OLE = ("doc", "xls", "ppt", "ole")  # what encrypted files of newer programs can be taken for


def extract(source: Source) -> Extraction:
    """Read a file. Raises UnsupportedFormat for what has no extractor, NoTextFound for a file
    without words, TextTooLong for one with too many, PasswordNeeded for one that is locked."""
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    return extract_as(kind, source)


def extract_as(kind: str, source: Source) -> Extraction:
    """The same for a file whose kind is known already."""
    if not source.path.stat().st_size:
        message = f"{source.filename} is empty: there is not one byte in it"
        raise NoTextFound(message, filename=source.filename)
    if kind in _OLE and _is_encrypted_office(source):
        return _unlocked(source)
    if kind not in BY_KIND:
        raise _unsupported(source.filename, kind)
    if source.wanted == "pictures":
        return _pictures(source, kind)
    extraction = _whole(source, kind)
    pictures = extraction.pictures or inside.count(source, kind)
    return replace(extraction, reader=extraction.reader or kind, pictures=pictures)


def _whole(source: Source, kind: str) -> Extraction:
    """The document, with what other programs set into it."""
    if embedded.are_in(source.path, kind):
        return embedded.extract(source, kind, _extractor(kind), extract)
    return _extractor(kind)(source)


def _pictures(source: Source, kind: str) -> Extraction:
    """Only what needs OCR: a picture itself, or the pictures inside a document."""
    if BY_KIND[kind].is_picture:
        return _extractor(kind)(source)
    if BY_KIND[kind].holds_files and kind != "pdf":
        extraction = _extractor(kind)(source)
    elif embedded.are_in(source.path, kind):
        extraction = embedded.extract(source, kind, partial(_inside, kind=kind), extract)
    else:
        return _inside(source, kind)
    return replace(extraction, pages=inside.without_text(extraction.pages))


def _inside(source: Source, kind: str) -> Extraction:
    if BY_KIND[kind].pictures:
        return inside.extract(source, kind, extract)
    return Extraction("text", "txt", iter([Page("")]))


def load(kinds: Collection[str] = tuple(BY_KIND)) -> None:
    """Import these extractors; each other comes with its first file. A package may be missing."""
    for kind in kinds:
        with suppress(ModuleNotFoundError):
            _extractor(kind)
    if "eml" in kinds and find_spec("msoffcrypto") is not None:  # files within files can be read
        import_module(_DEFAULT_PASSWORD)
    if "eml" in kinds and find_spec("olefile") is not None:
        embedded.load()


def _extractor(kind: str) -> Callable[[Source], Extraction]:
    module, _, function = BY_KIND[kind].reader.partition(":")
    extractor = getattr(import_module(f"{__name__}.{module}"), function or "extract")
    if BY_KIND[kind].holds_files:  # of any kind
        return partial(extractor, read=extract)
    found: Callable[[Source], Extraction] = extractor
    return found


def _unlocked(source: Source) -> Extraction:
    """The content behind the password that Excel tries by itself."""
    package = import_module(_DEFAULT_PASSWORD).decrypted(source.path)
    if package is None:
        raise Refusals(source.filename).locked()
    return read_in_memory(source, package, extract)


def _is_encrypted_office(source: Source) -> bool:
    package = import_module(f"{__name__}.zip_package")
    return bool(package.is_encrypted_office(source.path))


def _unsupported(filename: str, kind: str) -> UnsupportedFormat:
    reason = _ADVICE.get(kind, f"it is of the type {kind}")
    names = ", ".join(each.name for each in FORMATS)
    return UnsupportedFormat(
        f"{filename} cannot be read: {reason}. Supported: {names}",
        filename=filename,
        format=kind,
        reason=reason,
        supported=sorted(BY_KIND),
    )
