"""Finds the file inside an embedded object: a small compound file that is the document itself, has
it in a stream of its own, or holds any file with its name (a package)."""

import io
import struct
from pathlib import PurePath
from typing import Any

from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.containers import kind_of_ole
from kb.engine.ingest.extract.embedded.found import File
from kb.engine.ingest.extract.embedded.graph import is_graph, table_of

_SIGN = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PACKAGE = "\x01ole10native"
# Where an object keeps its document, if it is not one itself.
_STREAMS = ("package", "embeddedodf", "contents", "attachcontents")
_EQUATION, _WORKBOOK, _ABOUT = "equation native", "workbook", "\x01compobj"
_READ = ("doc", "xls", "ppt", "msg")
_LARGEST = 64 * 2**20
_SENSELESS = (struct.error, LookupError, ValueError, OSError, TypeError, AttributeError)


def file_of(name: str, data: bytes) -> File:
    """The file inside an object, however it is wrapped; anything else is that file itself."""
    if not data.startswith(_SIGN):
        return (name, data) if data else "empty ones are not"
    try:
        import olefile  # an engine that was renewed without its packages reads the rest

        container = olefile.OleFileIO(data)
        streams = {path[0].lower(): path for path in container.listdir() if len(path) == 1}
        if _PACKAGE in streams:
            return packaged(_stream(container, streams[_PACKAGE])[4:], name)
        if _EQUATION in streams:
            return "formulas of the Equation Editor are not"
        if _WORKBOOK in streams and is_graph(workbook := _stream(container, streams[_WORKBOOK])):
            return table_of(workbook)
        inner = next((streams[stream] for stream in _STREAMS if stream in streams), None)
        if inner is not None and not streams.keys() & {"worddocument", "workbook", "book"}:
            return PurePath(name).stem, _stream(container, inner)
        if kind_of_ole(io.BytesIO(data), "") not in _READ:
            return f"objects of {_program(container, streams)} are not"
    except ModuleNotFoundError:
        return "without olefile objects are not"
    except (*_SENSELESS, RecursionError):
        return "damaged ones are not"
    return name, data


def packaged(data: bytes, name: str) -> File:
    """A file of any kind that was dropped onto a document: two names, then its bytes."""
    try:
        label, _, rest = data[2:].partition(b"\0")
        _, _, rest = rest.partition(b"\0")
        copied = struct.unpack_from("<I", rest, 4)[0]
        size = struct.unpack_from("<I", rest, 8 + copied)[0]
        inside = rest[12 + copied : 12 + copied + size]
    except struct.error:
        inside = label = b""
    if not inside:  # a picture of Paint is there without a name
        return (name, data) if data else "links to other files are not"
    called = line(label.decode("cp1252", "replace")).replace("\\", "/").rpartition("/")[2]
    return called or name, inside


def _program(container: Any, streams: dict[str, list[str]]) -> str:
    """The program that made an object, by its own words."""
    if _ABOUT not in streams:
        return "an unknown program"
    about = _stream(container, streams[_ABOUT])
    length = struct.unpack_from("<I", about.ljust(32, b"\0"), 28)[0]
    return line(about[32 : 32 + length].decode("cp1252", "replace"), 60) or "an unknown program"


def _stream(container: Any, path: list[str]) -> bytes:
    with container.openstream(path) as stream:
        return bytes(stream.read(_LARGEST))
