"""File in, pages out: the bytes tell what a file is, and each kind has its extractor."""

from collections.abc import Callable

from kb.engine.errors import PasswordNeeded, UnsupportedFormat
from kb.engine.ingest.extract import (
    code,
    data,
    delimited,
    docx,
    eml,
    epub,
    html,
    image,
    markdown,
    markup_xml,
    notebook,
    odp,
    ods,
    odt,
    pdf,
    pptx,
    rtf,
    svg,
    text,
    xlsx,
)
from kb.engine.ingest.extract.extraction import Extraction, Ocr, Source
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.ingest.extract.package import is_encrypted_office

__all__ = ["EXTRACTORS", "Extraction", "Ocr", "Source", "extract"]


def _extract_mail(source: Source) -> Extraction:
    return eml.extract(source, extract)


EXTRACTORS: dict[str, Callable[[Source], Extraction]] = {
    "code": code.extract,
    "csv": delimited.extract,
    "docx": docx.extract,
    "eml": _extract_mail,
    "epub": epub.extract,
    "html": html.extract,
    "ipynb": notebook.extract,
    "json": data.extract,
    "jsonl": data.extract_lines,
    "markdown": markdown.extract,
    "odp": odp.extract,
    "ods": ods.extract,
    "odt": odt.extract,
    "pdf": pdf.extract,
    "pptx": pptx.extract,
    "rtf": rtf.extract,
    "svg": svg.extract,
    "text": text.extract,
    "xlsx": xlsx.extract,
    "xml": markup_xml.extract,
    **dict.fromkeys(("bmp", "gif", "jpeg", "png", "tiff", "webp"), image.extract),
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
    if kind in (*_OLD_OFFICE, "ole") and is_encrypted_office(source.path):
        raise PasswordNeeded(
            f"{source.filename} is protected by a password: remove it and add the file again",
            filename=source.filename,
        )
    extractor = EXTRACTORS.get(kind)
    if extractor is None:
        raise _unsupported(source.filename, kind)
    return extractor(source)


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
