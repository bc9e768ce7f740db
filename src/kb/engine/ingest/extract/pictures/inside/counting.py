"""Estimates how many pictures are inside a file without opening it."""

import mmap
import re
import zipfile
from pathlib import Path

from kb.engine.ingest.extract.list_of_contents import list_of_contents
from kb.engine.ingest.extract.odf.flat import is_flat

# Programs leave pictures that were pasted under names of their own, as `image1.tmp`.
_PICTURE = re.compile(r"\.(?:png|jpe?g|jpe|jfif|gif|tiff?|bmp|dib|webp|tmp)$", re.IGNORECASE)
_IN_OFFICE = re.compile(rb"(?:media|Pictures)/", re.IGNORECASE)
_IN_BOOK = re.compile(rb"\.(?:png|jp|jfif|gif|tif|bmp|dib|webp|tmp)", re.IGNORECASE)
_FOLDER = re.compile(r"(?:^|/)(?:media|Pictures)/", re.IGNORECASE)
_LEAST = 400  # bytes: no picture of words has less
# The object of an image is never packed, as all that is a stream of its own.
_IN_PDF = re.compile(rb"/Subtype\s{0,2}/Image\b")
_IN_HTML = re.compile(rb"data:image/(?:png|jpe?g|gif|webp|bmp);base64,", re.IGNORECASE)
_IN_FLAT = re.compile(rb"<office:binary-data\b")
_FLAT_KINDS = ("odt", "odp", "ods")
_MOST = 10_000


def count(path: Path, kind: str) -> int:
    if kind == "pdf":
        return _matches(path, _IN_PDF)
    if kind == "html":
        return _matches(path, _IN_HTML)
    if kind in _FLAT_KINDS and is_flat(path):
        return _matches(path, _IN_FLAT)
    with path.open("rb") as file:
        # Most documents have none, which the names alone tell.
        names = list_of_contents(file)
        if names and not (_IN_BOOK if kind == "epub" else _IN_OFFICE).search(names):
            return 0
        with zipfile.ZipFile(file) as archive:
            return sum(
                is_picture(member.filename, anywhere=kind == "epub") and member.file_size >= _LEAST
                for member in archive.infolist()
            )


def is_picture(name: str, *, anywhere: bool = False) -> bool:
    """Whether a part of a document is a picture in it. One elsewhere is a preview of the whole."""
    return _PICTURE.search(name) is not None and (anywhere or _FOLDER.search(name) is not None)


def _matches(path: Path, pattern: re.Pattern[bytes]) -> int:
    found = 0
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for _ in pattern.finditer(data):
                found += 1
                if found == _MOST:
                    break
    return found
