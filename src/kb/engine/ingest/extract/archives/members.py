"""Unpacks an archive one file at a time, up to limits, since an archive may lie about sizes."""

import bz2
import gzip
import lzma
import posixpath
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Protocol, cast

from kb.engine.errors import ContentTooLarge
from kb.engine.ingest.extract.archives.zip_names import names_of
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.refusals import Refusals

MAX_FILES = 5_000
MAX_FILE = 64 * 2**20  # bytes of one file, unpacked
MAX_TOTAL = 512 * 2**20  # bytes of all files together
_UNPACK = "unpack it and add the files"
LOCKED = f"it is protected by a password: {_UNPACK}"
_TOO_LARGE = f"it is larger than {MAX_FILE // 2**20} MB"
_MAX_RATIO = 200  # unpacked to packed: text comes to 20, what repeats one byte to 1,000
_ALWAYS = 32 * 2**20  # bytes that may come of the smallest archive
_LZMA_MEMORY = 128 * 2**20
_BLOCK = 512  # bytes of a tar file
_AT_ONCE = 65_536  # bytes
_LONGEST_TARGET = 4_096  # bytes of a path
_LINKS = 0xA  # the upper bits of a file's mode that is a link
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    struct.error,
    OverflowError,
    IndexError,
)


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Archive(Refusals):
    """One archive; `kind` is how it is packed. Raises ContentTooLarge and DamagedFile."""

    def __init__(self, source: Source, kind: str) -> None:
        super().__init__(source.filename)
        self._source = source
        self._kind = kind
        size = source.path.stat().st_size
        self._left = min(MAX_TOTAL, max(_ALWAYS, _MAX_RATIO * size))
        self._limit = self._left
        self.links: dict[str, str] = {}  # names, and where they lead: known after `files`

    def files(self) -> Iterator[tuple[str, bytes | str]]:
        """Each file by its name: its bytes, or why they cannot be had."""
        try:
            if self._kind == "zip":
                yield from self._zipped()
            else:
                yield from self._packed()
        except _BROKEN as error:
            raise self.damaged("it is cut off, or no archive at all") from error

    def only_file(self) -> tuple[str, bytes | str] | None:
        """The one file that was packed by itself, as `files` has them; None for an archive."""
        if self._kind == "zip":
            return None
        try:
            with self._source.path.open("rb") as raw:
                stream = _Peeking(_unpacked(raw, self._kind))
                if _is_tar(stream.peeked):
                    return None
                return _without_ending(self._source.filename), self._read(stream)
        except _BROKEN as error:
            raise self.damaged("it is cut off, or no archive at all") from error

    def names(self) -> list[str]:
        """Of a zip file, which lists them; else empty."""
        if self._kind != "zip":
            return []
        try:
            with zipfile.ZipFile(self._source.path) as archive:
                members = [member for member in archive.infolist() if _is_file(member)]
                return [_printable(name) for name in names_of(members)]
        except _BROKEN as error:
            raise self.damaged("it is cut off, or no archive at all") from error

    def _zipped(self) -> Iterator[tuple[str, bytes | str]]:
        with zipfile.ZipFile(self._source.path) as archive:
            members = [member for member in archive.infolist() if _is_file(member)]
            self._count(len(members))
            for member, name in zip(members, names_of(members), strict=True):
                yield _printable(name), self._unzipped(archive, member)
            for member in filter(_is_link, archive.infolist()):
                self._note_link(member.filename, self._target(archive, member))

    def _target(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
        """Which is written in its place."""
        target = self._unzipped(archive, member) if member.file_size < _LONGEST_TARGET else ""
        if isinstance(target, str):
            return ""
        return posixpath.join(posixpath.dirname(member.filename), target.decode("utf-8", "replace"))

    def _note_link(self, name: str, target: str) -> None:
        if len(self.links) < MAX_FILES and not _is_litter(name):
            self.links[_printable(name)] = _printable(posixpath.normpath(target))

    def _unzipped(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | str:
        if member.flag_bits & 1:
            return LOCKED
        # The others can unpack to any size at once.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return f"it is packed in a way that is not read here: {_UNPACK}"
        try:
            with archive.open(member) as file:
                return self._read(file)
        except _BROKEN:
            return "it is damaged"

    def _packed(self) -> Iterator[tuple[str, bytes | str]]:
        """A tar file, packed or not."""
        with self._source.path.open("rb") as raw:
            stream = cast(BinaryIO, _unpacked(raw, self._kind))
            count = 0
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    if member.issym():  # seen from the folder it is in
                        beside = posixpath.dirname(member.name)
                        self._note_link(member.name, posixpath.join(beside, member.linkname))
                    elif member.islnk():
                        self._note_link(member.name, member.linkname)
                    if not member.isreg() or _is_litter(member.name):
                        continue
                    count += 1
                    self._count(count)
                    if member.size > MAX_FILE:  # what is passed over is unpacked, too
                        self._spend(member.size)
                        yield _printable(member.name), _TOO_LARGE
                        continue
                    file = archive.extractfile(member)
                    yield _printable(member.name), b"" if file is None else self._read(file)

    def _read(self, file: _Stream) -> bytes | str:
        data = file.read(min(MAX_FILE, self._left) + 1)
        self._spend(len(data))
        return data if len(data) <= MAX_FILE else _TOO_LARGE

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ContentTooLarge(
                f"{self._source.filename} unpacks to more than {self._limit // 2**20} MB:"
                f" {_UNPACK}",
                filename=self._source.filename,
            )

    def _count(self, files: int) -> None:
        if files > MAX_FILES:
            raise ContentTooLarge(
                f"{self._source.filename} holds more than {MAX_FILES:,} files:"
                " unpack it and add the folder",
                filename=self._source.filename,
            )


class _Peeking:
    """A stream whose beginning is known before it is read."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self.peeked = stream.read(_BLOCK)
        self._ahead = self.peeked

    def read(self, size: int, /) -> bytes:
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        more = size - len(ahead)
        return ahead + self._stream.read(more) if more else ahead


class _Xz:
    """An xz stream that may not have the memory it likes: Python's own file cannot be told so."""

    def __init__(self, raw: _Stream) -> None:
        self._raw = raw
        self._decoder = lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)

    def read(self, size: int, /) -> bytes:
        pieces = []
        while size > 0 and not self._decoder.eof:
            data = self._raw.read(_AT_ONCE) if self._decoder.needs_input else b""
            if not data and self._decoder.needs_input:
                raise EOFError
            pieces.append(self._decoder.decompress(data, size))
            size -= len(pieces[-1])
        return b"".join(pieces)


def _unpacked(raw: BinaryIO, kind: str) -> _Stream:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw)
    if kind == "bzip2":
        return bz2.BZ2File(raw)
    return _Xz(raw) if kind == "xz" else raw


def _is_tar(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError:
        return False
    return True


def _is_file(member: zipfile.ZipInfo) -> bool:
    return not member.is_dir() and not _is_link(member) and not _is_litter(member.filename)


def _is_link(member: zipfile.ZipInfo) -> bool:
    return member.external_attr >> 28 == _LINKS and member.create_system == 3


def _is_litter(name: str) -> bool:
    """Files that systems leave in folders for themselves."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2] in (".DS_Store", "Thumbs.db")


def _printable(name: str) -> str:
    """A path within the archive on one line; where it would lead outside, it leads nowhere here."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    path = "".join(c if c.isprintable() else " " for c in "/".join(parts))
    return path[-300:] or "unnamed"


def _without_ending(filename: str) -> str:
    name = filename.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name
