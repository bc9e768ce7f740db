"""Kindle books, chapter by chapter. Inside, such a book is one long web page."""

import re
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb.engine.errors import ContentTooLarge, PasswordNeeded
from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.books.mobi_huffman import Unpacker
from kb.engine.ingest.extract.books.mobi_palm import Records, unpacked, without_tail
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.ole.compound import making_sense
from kb.engine.ingest.extract.ooxml.office_file import extraction
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.web.page import read_page
from kb.engine.pages import Page

_ENDINGS = ("mobi", "azw3", "azw", "prc", "pdb")
_MAX_BYTES = 256 * 2**20
_MAX_TEXT = 64 * 2**20  # bytes, with the tags
_MAX_RECORD = 65_536  # bytes that a record unpacks to
_PACKED, _CODED = 2, 17_480
_NOTHING = 0xFFFFFFFF
_NEWER_PART = 121  # where the second form of the book begins, in files that hold two
_SAID = {100: "author", 101: "publisher", 103: "description", 105: "subject", 106: "created"}
_LANGUAGE, _TITLE = 524, 503
_BREAK = re.compile(rb"<mbp:pagebreak[^>]{0,200}>(?:</mbp:pagebreak>)?|(?=<html[ >])", re.I)
_ENDS = re.compile(rb"</(?:body|html)>", re.I)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LONGEST_TITLE = 120
_LONGEST_PART = 20_000  # characters of pages without titles that are put together
_LOOKED_AT = 10_000  # bytes
_NEWER = 8  # the version of books whose pages are kept in parts


class _Head(NamedTuple):
    """The contents of a book's first record."""

    packing: int
    texts: int  # records of them
    is_locked: bool
    charset: str
    version: int
    tail_flags: int
    code: int
    code_count: int
    flows: int
    title: str
    said: dict[int, list[bytes]]


def extract(source: Source) -> Extraction:
    size = source.path.stat().st_size
    if size > _MAX_BYTES:
        raise _too_large(source, _MAX_BYTES)
    with making_sense(source):
        records = Records(source.path.read_bytes())
        first, head = _newest(records)
        if head.is_locked:
            raise PasswordNeeded(
                f"{source.filename} is locked against copying (DRM): its text cannot be read",
                filename=source.filename,
            )
        data = _text(records, first, head, source)
    said = {
        name: "; ".join(decode(value, head.charset) for value in head.said.get(number, []))
        for number, name in _SAID.items()
    }
    said["created"] = iso_date(said["created"]) or ""
    said["language"] = "".join(decode(v, head.charset) for v in head.said.get(_LANGUAGE, [])[:1])
    pages, title = _pages(data, head, source), line(head.title) or None
    return extraction("epub", _ENDINGS, source, pages, title, about(said))


def _newest(records: Records) -> tuple[int, _Head]:
    """The newer form of the book, if there are two: its first record's number, and its head."""
    head = _head(records[0])
    boundary = head.said.get(_NEWER_PART)
    if boundary and len(boundary[0]) == 4:
        first = struct.unpack(">I", boundary[0])[0]
        if first < len(records) and len(records[first]) > 200:
            return first, _head(records[first])
    return 0, head


def _head(record: bytes) -> _Head:
    packing, _, _, count, _, lock = struct.unpack_from(">HHIHHH", record)
    if record[16:20] != b"MOBI":  # a text of a Palm organiser
        return _Head(packing, count, lock != 0, "cp1252", 0, 0, 0, 0, _NOTHING, "", {})
    length, _, page, _, version = struct.unpack_from(">5I", record, 20)
    name, name_length = struct.unpack_from(">II", record, 84)
    code, code_count = struct.unpack_from(">II", record, 112)
    more = struct.unpack_from(">I", record, 128)[0] & 0x40
    said = _told(record[16 + length :]) if more else {}
    charset = "utf-8" if page == 65_001 else "cp1252"
    title = next(iter(said.get(_TITLE, [])), record[name : name + name_length])
    tail = struct.unpack_from(">H", record, 242)[0] if length >= 228 and len(record) > 243 else 0
    flows = struct.unpack_from(">I", record, 192)[0] if version >= _NEWER else _NOTHING
    written = decode(title, charset)
    return _Head(
        *(packing, count, lock != 0, charset, version, tail, code, code_count, flows, written),
        said=said,
    )


def _told(data: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    if data[:4] != b"EXTH":
        return found
    count = struct.unpack_from(">I", data, 8)[0]
    at = 12
    for _ in range(min(count, 1_000)):
        if at + 8 > len(data):
            break
        kind, length = struct.unpack_from(">II", data, at)
        found.setdefault(kind, []).append(data[at + 8 : at + length])
        at += max(length, 8)
    return found


def _text(records: Records, first: int, head: _Head, source: Source) -> bytes:
    coded = None
    if head.packing == _CODED:
        phrases = [records[first + head.code + n] for n in range(1, min(head.code_count, 1_000))]
        coded = Unpacker(records[first + head.code], phrases, _MAX_RECORD)
    pieces = []
    size = 0
    for number in range(1, head.texts + 1):
        record = without_tail(records[first + number], head.tail_flags)
        if coded is not None:
            record = coded.unpack(record)
        elif head.packing == _PACKED:
            record = unpacked(record, _MAX_RECORD)
        size += len(record)
        if size > _MAX_TEXT:
            raise _too_large(source, _MAX_TEXT)
        pieces.append(record)
    text = b"".join(pieces)
    flows = records[first + head.flows] if head.flows != _NOTHING else b""
    if flows[:4] == b"FDST" and len(flows) >= 20:  # what comes after the first are styles
        start, end = struct.unpack_from(">II", flows, 12)
        text = text[start:end]
    return text


def _pages(data: bytes, head: _Head, source: Source) -> Iterator[Page]:
    number = 0
    for text, title in _together(_chapters(data, head)):
        for piece in cut(text):
            number += 1
            location = title or f"part {number}"
            yield Page(piece, number, location, markup="markdown", lines_count=False)
    if not number:
        raise Refusals(source.filename).no_text()


def _together(chapters: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pages without a title go with what is before them: a dictionary has one for every word."""
    text = title = ""
    for more, named in chapters:
        if text and (named or len(text) + len(more) > _LONGEST_PART):
            yield text, title
            text, title = more, named
        else:
            text, title = f"{text}\n\n{more}" if text else more, title or named
    if text:
        yield text, title


def _chapters(data: bytes, head: _Head) -> Iterator[tuple[str, str]]:
    if head.version == 0 and b"<" not in data[:_LOOKED_AT]:  # a text of a Palm organiser
        yield decode(data, head.charset), ""
        return
    if head.version >= _NEWER:  # parts of a page come behind the page that they belong in
        data = _ENDS.sub(b"", data)
    for piece in _BREAK.split(data):
        text = read_page(decode(piece, head.charset), whole=True).markdown if piece.strip() else ""
        if text:
            found = _HEADING.search(text)
            yield text, found[1][:_LONGEST_TITLE] if found else ""


def _too_large(source: Source, limit: int) -> ContentTooLarge:
    return Refusals(source.filename).too_large(f"it has more than {limit // 2**20} MB")
