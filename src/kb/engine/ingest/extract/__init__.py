"""File in, pages out: the bytes tell what a file is, and each kind has its extractor."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingest.extract import embedded
from kb.engine.ingest.extract.extraction import Extraction, Ocr, Source
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.ingest.extract.memory_files import file_in_memory
from kb.engine.ingest.extract.pictures import inside
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.models import Page, Remark, Unread

__all__ = ["EXTRACTORS", "Extraction", "Ocr", "Source", "extract", "extract_as", "load"]

# The module of each kind, and behind a colon the function in it if it is not `extract`. Most of
# them bring along large libraries, so whoever only wants to know what an Extraction is does not
# import them.
EXTRACTORS = {
    "code": "plain.code",
    "csv": "plain.delimited",
    "doc": "ole.doc",
    "docx": "ooxml.docx",
    "eml": "mail.eml",
    "epub": "books.epub",
    "fb2": "books.fb2",
    "html": "web",
    "ipynb": "plain.notebook",
    "iwork": "archives.iwork",
    "json": "plain.data",
    "jsonl": "plain.data:extract_lines",
    "markdown": "plain.markdown",
    "mbox": "mail.mbox",
    "metafile": "pictures.metafile",
    "mobi": "books.mobi",
    "msg": "mail.msg",
    "odp": "odf.odp",
    "ods": "odf.ods",
    "odt": "odf.odt",
    "pdf": "pdf.pdf_file",
    "ppt": "ole.ppt",
    "pptx": "ooxml.pptx",
    "pst": "mail.pst",
    "rtf": "rtf.document",
    "svg": "pictures.svg",
    "tex": "plain.tex.latex",
    "text": "plain.text",
    "vsdx": "ooxml.vsdx",
    "xls": "ole.xls",
    "xlsb": "ooxml.xlsb",
    "xlsx": "ooxml.xlsx",
    "xml": "plain.xml",
    "zip": "archives.archive:zipped",
    "tar": "archives.archive:tar",
    "gzip": "archives.archive:gzipped",
    "bzip2": "archives.archive:bzipped",
    "xz": "archives.archive:xz",
    **dict.fromkeys(("avif", "bmp", "gif", "jp2", "jpeg", "png", "tiff", "webp"), "pictures.image"),
    "heic": "pictures.image:extract_heic",
}

_DEFAULT_PASSWORD = f"{__name__}.ooxml.default_password"

# Whose extractors are given one for what is inside of them.
_WITH_FILES = frozenset(
    {"eml", "iwork", "mbox", "msg", "pdf", "pst", "zip", "tar", "gzip", "bzip2", "xz"}
)

# Which are pictures themselves.
_RECOGNISED = frozenset({"avif", "bmp", "gif", "heic", "jp2", "jpeg", "png", "svg", "tiff", "webp"})

# As people call them, in the order in which they are told.
_NAMES = {
    "pdf": "PDF",
    "docx": "DOCX",
    "pptx": "PPTX",
    "xlsx": "XLSX",
    "doc": "DOC",
    "ppt": "PPT",
    "xls": "XLS",
    "xlsb": "XLSB",
    "vsdx": "VSDX",
    "odt": "ODT",
    "ods": "ODS",
    "odp": "ODP",
    "rtf": "RTF",
    "epub": "EPUB",
    "mobi": "MOBI",
    "fb2": "FB2",
    "html": "HTML",
    "eml": "EML",
    "msg": "MSG",
    "mbox": "MBOX",
    "pst": "PST",
    "csv": "CSV",
    "json": "JSON",
    "jsonl": "JSONL",
    "xml": "XML",
    "ipynb": "Jupyter notebooks",
    "jpeg": "JPG",
    "png": "PNG",
    "gif": "GIF",
    "tiff": "TIFF",
    "webp": "WebP",
    "bmp": "BMP",
    "heic": "HEIC",
    "avif": "AVIF",
    "jp2": "JP2",
    "svg": "SVG",
    "metafile": "EMF and WMF",
    "markdown": "markdown",
    "tex": "TeX",
    "code": "source code",
    "text": "plain text",
    "zip": "ZIP",
    "tar": "TAR",
    "gzip": "GZ",
    "bzip2": "BZ2",
    "xz": "XZ",
    "iwork": "iWork files with a preview",
}
_UNPACK = "unpack it and add the files"
_ADVICE = {
    "onenote": "it is a OneNote section: export it as pdf or docx",
    "ppt95": "it is a presentation of PowerPoint 95 or older: save it as pptx",
    "vsd": "it is an old Visio drawing: save it as vsdx",
    "publisher": "it is a Publisher document: save it as pdf",
    "project": "it is a plan of Microsoft Project: save it as xlsx or pdf",
    "works": "it is a document of Microsoft Works: save it as docx",
    "odg": "it is an OpenDocument drawing: save it as pdf",
    "postscript": "it is PostScript: save it as pdf",
    "djvu": "it is a DjVu book: save it as pdf",
    "xps": "it is an XPS document: save it as pdf",
    "chm": "it is a help file of Windows (CHM): unpack it and add its pages",
    "wordperfect": "it is a WordPerfect document: save it as docx",
    "word2": "it is a document of Word 2: save it as docx",
    "hwp": "it is a document of Hangul (HWP): save it as docx or pdf",
    "lotus": "it is a sheet of Lotus 1-2-3: save it as xlsx",
    "7z": f"it is a 7-Zip archive: {_UNPACK}",
    "rar": f"it is a RAR archive: {_UNPACK}",
    "zstd": f"it is an archive packed by Zstandard: {_UNPACK}",
    "program": "it is a program",
    "sqlite": "it is a database of SQLite: export its tables as csv",
    **dict.fromkeys(
        ("mp3", "ogg", "flac", "wav"), "it is a sound recording: add what is said in it as text"
    ),
    **dict.fromkeys(("mp4", "avi", "matroska"), "it is a video: add what is said in it as text"),
    "binary": "it is a binary file of unknown type",
    "ole": "it is a binary file of unknown type",
}
_OLE = ("doc", "xls", "ppt", "ole")  # what encrypted files of newer programs can be taken for


def extract(source: Source) -> Extraction:
    """Read a file.

    Raises UnsupportedFormat for what has no extractor, NoTextFound for a file without words,
    TextTooLong for one with too many, PasswordNeeded for one that is locked.
    """
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    return extract_as(kind, source)


def extract_as(kind: str, source: Source) -> Extraction:
    """The same for a file whose kind is known already."""
    if kind in _OLE and _is_encrypted_office(source):
        return _unlocked(source)
    if kind not in EXTRACTORS:
        raise _unsupported(source.filename, kind)
    if source.wanted == "pictures":
        return _pictures(source, kind)
    extraction = _whole(source, kind)
    return replace(
        extraction, reader=extraction.reader or kind, pictures=inside.count(source, kind)
    )


def _whole(source: Source, kind: str) -> Extraction:
    """The document, with what other programs set into it."""
    if embedded.are_in(source.path, kind):
        return embedded.extract(source, kind, _extractor(kind), extract)
    return _extractor(kind)(source)


def _pictures(source: Source, kind: str) -> Extraction:
    """What is recognised alone: of a picture all, of a document what is inside it."""
    if kind in _RECOGNISED:
        return _extractor(kind)(source)
    if kind in _WITH_FILES and kind != "pdf":
        extraction = _extractor(kind)(source)
    elif embedded.are_in(source.path, kind):
        extraction = embedded.extract(source, kind, partial(_inside, kind=kind), extract)
    else:
        return _inside(source, kind)
    return replace(extraction, pages=inside.without_text(extraction.pages))


def _inside(source: Source, kind: str) -> Extraction:
    if kind in inside.KINDS:
        return inside.extract(source, kind, extract)
    return Extraction("text", "txt", iter([Page("")]))


def load(kinds: Collection[str] = tuple(EXTRACTORS)) -> None:
    """Import the extractors of these kinds. Otherwise each is imported with its first file.

    An engine that was renewed without its packages reads all that does not need them.
    """
    for kind in kinds:
        with suppress(ModuleNotFoundError):
            _extractor(kind)
    if "eml" in kinds and find_spec("msoffcrypto") is not None:  # files within files can be read
        import_module(_DEFAULT_PASSWORD)
    if "eml" in kinds and find_spec("olefile") is not None:
        embedded.load()


def _extractor(kind: str) -> Callable[[Source], Extraction]:
    module, _, function = EXTRACTORS[kind].partition(":")
    extractor = getattr(import_module(f"{__name__}.{module}"), function or "extract")
    if kind in _WITH_FILES:  # which are of any kind
        return partial(extractor, read=extract)
    found: Callable[[Source], Extraction] = extractor
    return found


def _unlocked(source: Source) -> Extraction:
    """What is behind the password that Excel tries by itself."""
    package = import_module(_DEFAULT_PASSWORD).decrypted(source.path)
    if package is None:
        raise Refusals(source.filename).locked()
    with ExitStack() as stack:
        path = stack.enter_context(file_in_memory(package))
        found = extract(replace(source, path=path))
        open_files = stack.pop_all()
    return replace(found, pages=_until_read(found.pages, open_files))


def _until_read(
    pages: Iterator[Page | Unread | Remark], open_files: ExitStack
) -> Iterator[Page | Unread | Remark]:
    with open_files:
        yield from pages


def _is_encrypted_office(source: Source) -> bool:
    package = import_module(f"{__name__}.zip_package")
    return bool(package.is_encrypted_office(source.path))


def _unsupported(filename: str, kind: str) -> UnsupportedFormat:
    reason = _ADVICE.get(kind, f"it is of the type {kind}")
    names = ", ".join(name for kind, name in _NAMES.items() if kind in EXTRACTORS)
    return UnsupportedFormat(
        f"{filename} cannot be read: {reason}. Supported: {names}",
        filename=filename,
        format=kind,
        supported=sorted(EXTRACTORS),
    )
