"""Opens a zipped document: its parts as bytes or XML, with a parser that fetches and expands
nothing. Each part is read up to a limit, whatever its stated size."""

import codecs
import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lxml import etree

from kb.engine.ingest.extract.refusals import Refusals

MAX_MEMBERS = 10_000
MAX_PART = 64 * 2**20  # bytes of one part, unpacked
MAX_TOTAL = 256 * 2**20  # bytes of all parts that are read
_MAX_DIRECTORY = 8 * 2**20  # bytes of the list of members, which is read before it can be counted
_MAX_MARKUP = 1_500_000  # tags and attributes of one tree: each takes some 200 bytes of memory
_MAX_STREAMED = 8_000_000  # tags of a part that is read element by element: it takes a minute
_MAX_ELEMENT = 8 * 2**20  # bytes of one element where a part is read element by element

Element = Any  # lxml has no types of its own
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
# The strict form of Office files has the same elements under other names.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
_SAFE = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
_BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    NotImplementedError,
    UnicodeDecodeError,
    ValueError,
    OverflowError,
    OSError,  # a part that is said to begin before the file does
)
# Nothing can be imported once a reader is confined, and Python loads these when first needed.
codecs.lookup("cp437")  # for the names of members
codecs.lookup("utf-16-le")


class Relation(NamedTuple):
    """A link from one part to another; `kind` is the last word of its type, such as `image`."""

    kind: str
    target: str


class Package(Refusals):
    """The parts of a zipped document. Every method may raise DamagedFile, ContentTooLarge,
    NestedTooDeep or PasswordNeeded."""

    def __init__(self, path: Path, filename: str) -> None:
        super().__init__(filename)
        self._left = MAX_TOTAL
        self._zip = self._open(path)
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS:
            raise self.too_large(f"it holds more than {MAX_MEMBERS:,} files")
        self._members = {member.filename.replace("\\", "/"): member for member in members}
        self._folded = {name.lower(): name for name in self._members}
        self.names = tuple(self._members)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._folded

    def read(self, name: str) -> bytes:
        """A part's bytes. Names of parts are the same in capitals and small letters."""
        member = self._members.get(self._folded.get(name.lower(), name))
        if member is None:
            raise self.damaged(f"its part {name} is missing")
        if member.flag_bits & 1:
            raise self.locked()
        # The others can unpack to any size at once, and no program writes documents with them.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self.damaged(f"its part {name} is packed in an unknown way")
        limit = min(MAX_PART, self._left)
        try:
            with self._zip.open(member) as file:
                data = file.read(limit + 1)
        except _BROKEN_ZIP as error:
            raise self.damaged(f"its part {name} cannot be unpacked") from error
        if len(data) > limit:
            what = f"{name} unpacks to" if limit == MAX_PART else "its parts unpack to"
            raise self.too_large(f"{what} more than {limit // 2**20} MB")
        self._left -= len(data)
        return data

    def xml(self, name: str, *, doctype: bool = False) -> Element:
        """The root of a part. `doctype` permits a document type that declares nothing."""
        data = self._markup(name)
        if data.count(b"<") + data.count(b"=") > _MAX_MARKUP:
            raise self.too_large(f"{name} has more than {_MAX_MARKUP:,} tags and attributes")
        try:
            root = _parsed(data)
        except etree.XMLSyntaxError as error:
            raise self._refusal(name, error) from error
        self._check_doctype(name, root, doctype)
        # Keep one form of what is stored in several, else it would be read more than once.
        for alternatives in list(root.iter(ALTERNATIVES)):
            for unwanted in alternatives[1:]:
                alternatives.remove(unwanted)
        return root

    def stream(
        self,
        name: str,
        tags: Sequence[str],
        events: Sequence[str] = ("end",),
        *,
        doctype: bool = False,
    ) -> Iterator[tuple[str, Element]]:
        """The elements of a large part as they come. The caller releases each with `forget`."""
        data = self._markup(name)
        if data.count(b"<") > _MAX_STREAMED:
            raise self.too_large(f"{name} has more than {_MAX_STREAMED:,} tags")
        source = _Paced(data)
        first = True
        try:
            for event, element in etree.iterparse(source, events=events, tag=tags, **_SAFE):
                if first:
                    self._check_doctype(name, element, doctype)
                    first = False
                yield event, element
                source.mark = source.tell()
        except etree.XMLSyntaxError as error:
            raise self._refusal(name, error) from error
        except _TooMuchAtOnce as error:
            limit = _MAX_ELEMENT // 2**20
            raise self.too_large(f"{name} has an element of more than {limit} MB") from error

    def relations(self, name: str) -> dict[str, Relation]:
        """The parts that a part links to, by id; those of the whole package if `name` is empty."""
        folder, base = posixpath.split(name)
        listed = posixpath.join(folder, "_rels", f"{base}.rels")
        if listed not in self:
            return {}
        relations = {}
        for element in self.xml(listed).iter(_RELATIONS):
            if element.get("TargetMode") != "External":
                kind = element.get("Type", "").rsplit("/", 1)[-1]
                target = self._target(folder, element.get("Target", ""))
                relations[element.get("Id", "")] = Relation(kind, target)
        return relations

    def _open(self, path: Path) -> zipfile.ZipFile:
        file = _Directory(path)
        try:
            archive = zipfile.ZipFile(file)
        except _TooMuchAtOnce as error:
            raise self.too_large("its list of contents is too long") from error
        except _BROKEN_ZIP as error:
            raise self.damaged("it is cut off, or no archive at all") from error
        file.most = None
        return archive

    def _target(self, folder: str, target: str) -> str:
        target = target.replace("\\", "/").partition("#")[0]
        if target.startswith("/"):
            name = target.lstrip("/")
        else:
            name = posixpath.normpath(posixpath.join(folder, target))
        return name if name in self else unquote(name)

    def _markup(self, name: str) -> bytes:
        data = self.read(name)
        if data[:1].isspace():
            data = data.lstrip()
        return _STRICT.sub(_TRANSITIONAL, data) if b"//purl.oclc.org/ooxml/" in data else data

    def _check_doctype(self, name: str, element: Element, permitted: bool) -> None:
        info = element.getroottree().docinfo
        if not info.doctype and info.internalDTD is None:
            return
        declares = info.internalDTD is not None and any(
            True for _ in (*info.internalDTD.iterentities(), *info.internalDTD.iterelements())
        )
        if declares or not permitted:
            raise self.damaged(f"{name} declares a document type, which documents never do")

    def _refusal(self, name: str, error: etree.XMLSyntaxError) -> Exception:
        """What the parser's complaint means: it has limits of its own, by code and by words."""
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            return self.too_large(f"{name} needs too much memory")
        if "depth" in str(error.msg):
            return self.too_deep()
        if "XML_PARSE_HUGE" in str(error.msg) or "amplification" in str(error.msg):
            return self.too_large(f"{name} has a single text of many megabytes")
        return self.damaged(f"{name} is not proper XML")


def _parsed(data: bytes) -> Element:
    parser = etree.XMLParser(**_SAFE)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        # Some programs give an id twice, and nobody here asks for ids. A parser that is told to
        # collect none (`collect_ids`) would load document types instead. The error's own list has
        # the errors of earlier parts, too.
        if any(entry.type != etree.ErrorTypes.DTD_ID_REDEFINED for entry in parser.error_log):
            raise
        return etree.fromstring(data, etree.XMLParser(recover=True, **_SAFE))


def forget(element: Element) -> None:
    """Free an element that has been read, and what stood before it under the same parent."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def is_encrypted_office(path: Path) -> bool:
    """Whether a file of the old Office container is a new Office file behind a password."""
    with path.open("rb") as file:
        header = file.read(512)
        if len(header) < 512 or not header.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
            return False
        shift = struct.unpack_from("<H", header, 30)[0]
        sector = struct.unpack_from("<I", header, 48)[0]
        size = 1 << shift if shift in (9, 12) else 512
        allocation = struct.unpack_from("<109I", header, 76)
        wanted = "EncryptedPackage".encode("utf-16-le")
        for _ in range(_MOST_DIRECTORY_SECTORS):
            file.seek((sector + 1) * size)
            entries = file.read(size)
            if any(entries[at : at + 34] == wanted + b"\0\0" for at in range(0, len(entries), 128)):
                return True
            table, index = divmod(sector, size // 4)
            if table >= len(allocation):
                return False
            file.seek((allocation[table] + 1) * size + index * 4)
            following = file.read(4)
            if len(following) < 4:
                return False
            sector = struct.unpack("<I", following)[0]
        return False


_MOST_DIRECTORY_SECTORS = 256  # an encrypted document has a dozen entries


class _TooMuchAtOnce(Exception):
    """More bytes were asked for in one go than any honest document needs."""


class _Paced(io.BytesIO):
    """Bytes for a parser that must come to the end of an element before too many are read."""

    mark = 0

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() - self.mark > _MAX_ELEMENT:
            raise _TooMuchAtOnce
        return super().read(size)


class _Directory(io.FileIO):
    """A file that gives `most` bytes at once, until that is lifted."""

    most: int | None = _MAX_DIRECTORY

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None else size
        if self.most is None:
            return super().read(wanted)
        if wanted > self.most:
            raise _TooMuchAtOnce
        return super().read(self.most if wanted < 0 else wanted)
