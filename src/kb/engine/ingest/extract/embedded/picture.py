"""Unpacks a part of a document if it is a Windows drawing; None for everything else."""

import zlib

from kb.engine.ingest.extract.embedded.found import File
from kb.engine.ingest.extract.kind import is_metafile

ENDINGS = (".emf", ".wmf", ".emz", ".wmz")
_PACKED = b"\x1f\x8b"
_LARGEST = 64 * 2**20
_GZIP = 31  # what zlib calls the form


def drawing_of(name: str, data: bytes) -> File:
    if data[:2] == _PACKED:
        try:
            data = zlib.decompressobj(_GZIP).decompress(data, _LARGEST)
        except zlib.error:
            return None
    return (name, data) if is_metafile(data) else None
