"""Tells what kind of document an archive or an old Office file holds."""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterable
from typing import BinaryIO

from kb.engine.errors import ContentTooLarge
from kb.engine.ingest.extract.extraction import ending
from kb.engine.ingest.extract.list_of_contents import list_of_contents, names_in

_MAX_MEMBERS = 10_000
_MAX_DIRECTORY = 4 * 2**20  # bytes that the list of that many members can take
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_LOCATOR_64 = b"PK\x06\x07"
_END_WITHIN = 2**16 + 22  # bytes: the end of an archive and its longest comment
_ZIPPED = frozenset({"docx", "pptx", "xlsx", "odt", "ods", "odp", "epub"})
_OFFICE_FOLDERS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"), ("visio/", "vsdx"))
_OFFICE_PART = re.compile(rb"officedocument\.(wordprocessing|presentation|spreadsheet)ml\.")
_OFFICE_PARTS = {b"wordprocessing": "docx", b"presentation": "pptx", b"spreadsheet": "xlsx"}
_IWORK = frozenset({"index.apxl", "Index.zip", "buildVersionHistory.plist", ".iwpv2"})
IWORK_ENDINGS = ("pages", "numbers", "key")
_MIME_TYPES = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
    (b"application/vnd.oasis.opendocument.graphics", "odg"),
)
_MIME_TYPE_WITHIN = 38 + 60  # bytes, where it is not packed: behind its own name
_BODY = re.compile(rb"<office:body\s*>\s*<office:(text|spreadsheet|presentation)\b")
_BODIES = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
_MAX_LOOK = 4 * 2**20  # bytes; the body comes after the styles
_OLE_STREAMS = (
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PP97_DUALSTORAGE", "ppt"),  # beside what PowerPoint 95 reads
    ("PersistentStorage Directory", "ppt95"),
    ("PP40", "ppt95"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
    ("__nameid_version1.0", "msg"),
    ("VisioDocument", "vsd"),
    ("Quill", "publisher"),
    ("Props12", "project"),
    ("MatOST", "works"),
    ("NativeContent_MAIN", "quattro"),
    ("\x05HwpSummaryInformation", "hwp"),
)
_BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,  # it is encrypted, or packed in an unknown way
    ValueError,
    struct.error,
    OverflowError,
)
_BROKEN_OLE = (
    ModuleNotFoundError,
    OSError,
    ValueError,
    IndexError,
    KeyError,
    AttributeError,
    TypeError,
    struct.error,
)
# Of those that cannot be opened, whose readers say what is wrong, or that nobody reads anyway.
_OLE_ENDINGS = {each: each for each in ("doc", "xls", "ppt", "msg", "vsd")} | {
    "mpp": "project",
    "pub": "publisher",
}


def kind_of_zip(file: BinaryIO, filename: str) -> str:
    """By what is in the archive, or by the name if its list of contents is damaged. Raises
    ContentTooLarge before a list is read that no document has."""
    named = ending(filename)
    otherwise = named if named in _ZIPPED else "zip"
    try:
        if _directory_size(file) > _MAX_DIRECTORY:
            raise _too_many(filename)
        quickly = _kind_at_once(file)
        if quickly is not None:
            return quickly
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if len(names) > _MAX_MEMBERS:
                raise _too_many(filename)
            return _kind_of_members(archive, names)
    except _BROKEN_ZIP:
        return otherwise  # whoever reads that kind says what is wrong with it


def _kind_at_once(file: BinaryIO) -> str | None:
    """That of a document as most programs write it; None for what has to be taken apart."""
    names = names_in(list_of_contents(file))
    if names[:1] == ["mimetype"]:
        file.seek(0)
        beginning = file.read(_MIME_TYPE_WITHIN)
        return next((kind for said, kind in _MIME_TYPES if beginning[38:].startswith(said)), None)
    return _kind_of_office(names) if len(names) <= _MAX_MEMBERS else None


def _kind_of_office(names: list[str]) -> str | None:
    if "[Content_Types].xml" in names:
        for folder, kind in _OFFICE_FOLDERS:
            if any(name.lower().startswith(folder) for name in names):
                return "xlsb" if "xl/workbook.bin" in names else kind
    return None


def _kind_of_members(archive: zipfile.ZipFile, names: list[str]) -> str:
    if "[Content_Types].xml" in names:
        office = _kind_of_office(names)
        if office is not None:
            return office
        elsewhere = _found(archive, "[Content_Types].xml", _OFFICE_PART, _OFFICE_PARTS)
        if elsewhere:
            return elsewhere
    if any(name.endswith(".fdseq") for name in names):
        return "xps"
    said = _kind_it_says(archive) if "mimetype" in names else None
    if said is not None:
        return said
    if "META-INF/container.xml" in names:
        return "epub"
    if any(name.endswith(".iwa") or name in _IWORK for name in names) or bundle(names):
        return "iwork"
    if "content.xml" in names:  # packed without the member that says what it is
        return _found(archive, "content.xml", _BODY, _BODIES) or "zip"
    return "zip"


def _kind_it_says(archive: zipfile.ZipFile) -> str | None:
    with archive.open("mimetype") as member:
        said = member.read(100).strip()
    # Templates and the like add a word: …text-template.
    return next((kind for mime_type, kind in _MIME_TYPES if said.startswith(mime_type)), None)


def bundle(names: Iterable[str]) -> str:
    """The folder that is all of an archive and a document of Apple's; empty if it is none."""
    folders = {name.partition("/")[0] for name in names if not name.startswith("__MACOSX/")}
    folder = folders.pop() if len(folders) == 1 else ""
    return folder if ending(folder) in IWORK_ENDINGS else ""


def _found(
    archive: zipfile.ZipFile, name: str, sign: re.Pattern[bytes], kinds: dict[bytes, str]
) -> str | None:
    """The kind that a member tells by what it says."""
    with archive.open(name) as member:
        found = sign.search(member.read(_MAX_LOOK))
    return kinds[found[1]] if found else None


def _directory_size(file: BinaryIO) -> int:
    """How many bytes the list of contents says it has: it is read whole before it is counted."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_WITHIN))
    tail = file.read(_END_WITHIN)
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        return 0
    # A large archive writes the true numbers before that: 56 bytes, and 20 that say where.
    large = at - 76
    if large >= 0 and tail[at - 20 : at - 16] == _LOCATOR_64 and tail[large : large + 4] == _END_64:
        return int(struct.unpack_from("<Q", tail, large + 40)[0])
    return int(struct.unpack_from("<I", tail, at + 12)[0])


def _too_many(filename: str) -> ContentTooLarge:
    return ContentTooLarge(
        f"{filename} holds more than {_MAX_MEMBERS:,} files: that is an archive, not a document",
        filename=filename,
    )


def kind_of_ole(file: BinaryIO, filename: str) -> str:
    """By the streams in its root: what lies deeper is of documents set into this one."""
    names = _names_in_root(file)
    for stream, kind in _OLE_STREAMS:
        if stream.lower() in names:
            return kind
    return "ole" if names else _OLE_ENDINGS.get(ending(filename), "ole")


def _names_in_root(file: BinaryIO) -> frozenset[str]:
    """In small letters; empty for a container that cannot be opened."""
    file.seek(0)
    try:
        import olefile  # an engine that was renewed without its packages reads all other files

        container = olefile.OleFileIO(file)
        return frozenset(entry.name.lower() for entry in container.root.kids)
    except (*_BROKEN_OLE, RecursionError):
        return frozenset()
