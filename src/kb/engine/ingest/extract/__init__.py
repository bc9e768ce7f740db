"""File in, pages out: the bytes tell what a file is, and each kind has its extractor."""

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

from kb.engine.errors import PasswordNeeded, UnsupportedFormat
from kb.engine.ingest.extract.extraction import Extraction, Ocr, Source
from kb.engine.ingest.extract.kind import kind_of

__all__ = ["EXTRACTORS", "Extraction", "Ocr", "Source", "extract", "load"]

# The module of each kind, and the function in it if it is not `extract`. Most of them bring along
# large libraries, so whoever only wants to know what an Extraction is does not import them.
EXTRACTORS = {
    "code": "code",
    "csv": "delimited",
    "docx": "docx",
    "eml": "eml",
    "epub": "epub",
    "html": "html",
    "ipynb": "notebook",
    "json": "data",
    "jsonl": "data.extract_lines",
    "markdown": "markdown",
    "odp": "odp",
    "ods": "ods",
    "odt": "odt",
    "pdf": "pdf",
    "pptx": "pptx",
    "rtf": "rtf",
    "svg": "svg",
    "text": "text",
    "xlsx": "xlsx",
    "xml": "markup_xml",
    **dict.fromkeys(("bmp", "gif", "jpeg", "png", "tiff", "webp"), "image"),
}

# As people call them, in the order in which they are told.
_NAMES = {
    "pdf": "PDF",
    "docx": "DOCX",
    "pptx": "PPTX",
    "xlsx": "XLSX",
    "odt": "ODT",
    "ods": "ODS",
    "odp": "ODP",
    "rtf": "RTF",
    "epub": "EPUB",
    "html": "HTML",
    "eml": "EML",
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
    "svg": "SVG",
    "markdown": "markdown",
    "code": "source code",
    "text": "plain text",
}
_OLD_OFFICE = {"doc": ("Word", "docx"), "xls": ("Excel", "xlsx"), "ppt": ("PowerPoint", "pptx")}
_ADVICE = {
    "msg": "it is a mail in Outlook's own form: save it as eml",
    "xlsb": "it is a binary workbook: save it as xlsx",
    "heic": "it is a HEIC picture: save it as jpg",
    "avif": "it is an AVIF picture: save it as jpg",
    "postscript": "it is PostScript: save it as pdf",
    **dict.fromkeys(
        ("zip", "gzip", "7z", "rar", "bzip2", "xz"), "it is an archive: unpack it and add the files"
    ),
    "binary": "it is a binary file of unknown type",
    "ole": "it is a binary file of unknown type",
}


def extract(source: Source) -> Extraction:
    """Read a file.

    Raises UnsupportedFormat for what has no extractor, NoTextFound for a file without words,
    TextTooLong for one with too many, PasswordNeeded for one that is locked.
    """
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    if kind in (*_OLD_OFFICE, "ole") and _is_encrypted_office(source):
        raise PasswordNeeded(
            f"{source.filename} is protected by a password: remove it and add the file again",
            filename=source.filename,
        )
    if kind not in EXTRACTORS:
        raise _unsupported(source.filename, kind)
    return _extractor(kind)(source)


def load(kinds: Iterable[str] = EXTRACTORS) -> None:
    """Import the extractors of these kinds. Otherwise each is imported with its first file."""
    for kind in kinds:
        _extractor(kind)


def _extractor(kind: str) -> Callable[[Source], Extraction]:
    module, _, function = EXTRACTORS[kind].partition(".")
    extractor = getattr(import_module(f"{__name__}.{module}"), function or "extract")
    if kind == "eml":  # what is attached to a mail is of any kind
        return partial(extractor, read=extract)
    found: Callable[[Source], Extraction] = extractor
    return found


def _is_encrypted_office(source: Source) -> bool:
    package = import_module(f"{__name__}.package")
    return bool(package.is_encrypted_office(source.path))


def _unsupported(filename: str, kind: str) -> UnsupportedFormat:
    reason = _ADVICE.get(kind, f"it is of the type {kind}")
    if kind in _OLD_OFFICE:
        program, newer = _OLD_OFFICE[kind]
        reason = f"it is an old {program} file (97–2003): save it as {newer} and add that"
    names = ", ".join(name for kind, name in _NAMES.items() if kind in EXTRACTORS)
    return UnsupportedFormat(
        f"{filename} cannot be read: {reason}. Supported: {names}",
        filename=filename,
        format=kind,
        supported=sorted(EXTRACTORS),
    )
