"""An archive or an old Office file in, the kind of document it holds out."""

import struct
import zipfile
import zlib
from typing import BinaryIO

from kb.engine.errors import ContentTooLarge
from kb.engine.ingest.extract.extraction import ending

_MAX_MEMBERS = 10_000
_MAX_DIRECTORY = 4 * 2**20  # bytes that the list of that many members can take
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_LOCATOR_64 = b"PK\x06\x07"
_END_WITHIN = 2**16 + 22  # bytes: the end of an archive and its longest comment
_ZIPPED = frozenset({"docx", "pptx", "xlsx", "odt", "ods", "odp", "epub"})
_OFFICE_FOLDERS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"), ("visio/", "vsdx"))
_MIME_TYPES = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
    (b"application/vnd.oasis.opendocument.graphics", "odg"),
)
_OLE_STREAMS = (
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("__nameid_version1.0", "msg"),
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
_OLE_ENTRY = 128  # bytes of an entry of the directory; its name comes first
_OLE_READ = 64 * 1024  # bytes of the directory: the streams that tell are among the first


def kind_of_zip(file: BinaryIO, filename: str) -> str:
    """By what is in the archive; the name is asked only if its list of contents is damaged.

    Raises ContentTooLarge before a list is read that no document has.
    """
    named = ending(filename)
    otherwise = named if named in _ZIPPED else "zip"
    try:
        if _directory_size(file) > _MAX_DIRECTORY:
            raise _too_many(filename)
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if len(names) > _MAX_MEMBERS:
                raise _too_many(filename)
            return _kind_of_members(archive, names)
    except _BROKEN_ZIP:
        return otherwise  # whoever reads that kind says what is wrong with it


def _kind_of_members(archive: zipfile.ZipFile, names: list[str]) -> str:
    if "[Content_Types].xml" in names:
        for folder, kind in _OFFICE_FOLDERS:
            if any(name.lower().startswith(folder) for name in names):
                return "xlsb" if "xl/workbook.bin" in names else kind
    if "mimetype" in names:
        with archive.open("mimetype") as member:
            said = member.read(100).strip()
        for mime_type, kind in _MIME_TYPES:
            # Templates and the like add a word: …text-template.
            if said.startswith(mime_type):
                return kind
    return "epub" if "META-INF/container.xml" in names else "zip"


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
    """`doc`, `xls`, `ppt` or `msg` by the streams in it; `ole` for what else uses the container."""
    file.seek(0)
    header = file.read(512)
    if len(header) == 512:
        shift = struct.unpack_from("<H", header, 30)[0]
        sector = struct.unpack_from("<I", header, 48)[0]
        file.seek((sector + 1) << (shift if shift in (9, 12) else 9))
        entries = file.read(_OLE_READ)
        names = {_entry_name(entries[at : at + 66]) for at in range(0, len(entries), _OLE_ENTRY)}
        for stream, kind in _OLE_STREAMS:
            if stream in names:
                return kind
    named = ending(filename)
    return named if named in ("doc", "xls", "ppt", "msg") else "ole"


def _entry_name(entry: bytes) -> str:
    if len(entry) < 66:
        return ""
    length = struct.unpack_from("<H", entry, 64)[0]
    return entry[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
